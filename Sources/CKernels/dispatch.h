// Calls the variant of a function that fits the instruction set `level`, of those that a file makes by
// including its loops once per set under the suffixes _baseline, _v3 and _v4.

#ifndef MLT_DISPATCH_H
#define MLT_DISPATCH_H

#if defined(__x86_64__)
#define HAS_LEVELS 1
#define CALL(function, ...)                                 \
  switch (level) {                                          \
    case MLT_KERNELS_V4: return function##_v4(__VA_ARGS__); \
    case MLT_KERNELS_V3: return function##_v3(__VA_ARGS__); \
    default: return function##_baseline(__VA_ARGS__);       \
  }
#else
#define HAS_LEVELS 0
#define CALL(function, ...) \
  (void)level;              \
  return function##_baseline(__VA_ARGS__);
#endif

#endif
