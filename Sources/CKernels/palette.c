#include "CKernels.h"
#include "dispatch.h"

#pragma STDC FP_CONTRACT OFF

typedef int16_t i16x32 __attribute__((ext_vector_type(32)));
typedef uint16_t u16x32 __attribute__((ext_vector_type(32)));
typedef int8_t i8x32 __attribute__((ext_vector_type(32)));
typedef uint8_t u8x32 __attribute__((ext_vector_type(32)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));
typedef uint32_t u32x16 __attribute__((ext_vector_type(16)));
typedef uint8_t u8x16 __attribute__((ext_vector_type(16)));
typedef uint16_t u16x16 __attribute__((ext_vector_type(16)));
typedef double f64x16 __attribute__((ext_vector_type(16)));
typedef _Bool b32 __attribute__((ext_vector_type(32)));
typedef _Bool b16 __attribute__((ext_vector_type(16)));
typedef float f32x16 __attribute__((ext_vector_type(16)));

static inline float half_value(uint32_t bits) {
  uint32_t wide = (bits & 0x7FFF) << 13;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  value *= 0x1p112f;
  return bits & 0x8000 ? -value : value;
}

#define KERNELS "palette.inc"
#include "levels.inc"

uint32_t mlt_peak16(int level, const uint16_t *data, size_t n) { CALL(peak16, data, n) }
uint32_t mlt_peak32(int level, const uint32_t *data, size_t n) { CALL(peak32, data, n) }
void mlt_index16(int level, const uint16_t *data, size_t n, const int16_t *cuts, size_t count,
                 uint8_t *codes) {
  CALL(index16, data, n, cuts, count, codes)
}
void mlt_index32(int level, const uint32_t *data, size_t n, const int32_t *cuts, size_t count,
                 uint8_t *codes) {
  CALL(index32, data, n, cuts, count, codes)
}
mlt_magnitudes mlt_count16(int level, const uint16_t *data, size_t n, uint32_t cut) {
  CALL(count16, data, n, cut)
}
mlt_magnitudes mlt_count32(int level, const uint32_t *data, size_t n, uint32_t cut) {
  CALL(count32, data, n, cut)
}
void mlt_mask16(int level, const uint16_t *data, size_t n, uint32_t least, uint8_t *mask) {
  CALL(mask16, data, n, least, mask)
}
void mlt_mask32(int level, const uint32_t *data, size_t n, uint32_t least, uint8_t *mask) {
  CALL(mask32, data, n, least, mask)
}
void mlt_nearest_vectors(int level, const float *vectors, size_t plane, size_t n, size_t width,
                         const float *entries, size_t count, uint8_t *codes, float *distances) {
  CALL(nearest_vectors, vectors, plane, n, width, entries, count, codes, distances)
}

void mlt_histogram16(const uint16_t *data, size_t n, uint32_t *bins) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t a, b;
    __builtin_memcpy(&a, data + i, 8);
    __builtin_memcpy(&b, data + i + 4, 8);
    bins[a & 0xFFFF]++;
    bins[a >> 16 & 0xFFFF]++;
    bins[a >> 32 & 0xFFFF]++;
    bins[a >> 48]++;
    bins[b & 0xFFFF]++;
    bins[b >> 16 & 0xFFFF]++;
    bins[b >> 32 & 0xFFFF]++;
    bins[b >> 48]++;
  }
  for (; i < n; i++) bins[data[i]]++;
}

void mlt_histogram8(const uint8_t *data, size_t n, uint32_t *bins) {
  for (size_t i = 0; i < n; i++) bins[data[i]]++;
}

size_t mlt_sorted16(int level, uint32_t *bins, uint32_t peak, float *values, uint32_t *counts) {
  CALL(sorted16, bins, peak, values, counts)
}

void mlt_sort32(uint32_t *keys, uint32_t *other, size_t n) {
  uint32_t *from = keys, *to = other;
  static const int shifts[3] = {0, 11, 22}, widths[3] = {11, 11, 10};
  size_t heads[3][2048] = {{0}};
  for (size_t i = 0; i < n; i++) {
    uint32_t key = keys[i];
    heads[0][key & 2047]++;
    heads[1][key >> 11 & 2047]++;
    heads[2][key >> 22]++;
  }
  for (int digit = 0; digit < 3; digit++) {
    size_t *head = heads[digit], next = 0, size = (size_t)1 << widths[digit];
    int trivial = 0;
    for (size_t i = 0; i < size; i++) {
      size_t count = head[i];
      if (count == n) trivial = 1;
      head[i] = next;
      next += count;
    }
    if (trivial) continue;
    uint32_t shift = (uint32_t)shifts[digit], mask = (uint32_t)size - 1;
    for (size_t i = 0; i < n; i++) {
      uint32_t key = from[i];
      to[head[key >> shift & mask]++] = key;
    }
    uint32_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != keys) __builtin_memcpy(keys, from, n * sizeof *keys);
}

void mlt_order_keys32(const uint32_t *data, size_t n, uint32_t *keys) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = data[i] == 0x80000000u ? 0 : data[i];
    keys[i] = bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
  }
}

size_t mlt_sorted32(const uint32_t *keys, size_t n, float *values, uint32_t *counts) {
  size_t found = 0;
  for (size_t i = 0; i < n;) {
    uint32_t key = keys[i];
    size_t first = i;
    while (i < n && keys[i] == key) i++;
    uint32_t bits = key & 0x80000000u ? key ^ 0x80000000u : ~key;
    __builtin_memcpy(values + found, &bits, 4);
    counts[found++] = (uint32_t)(i - first);
  }
  return found;
}

mlt_prefix mlt_prefix_sums(const float *values, const uint32_t *counts, size_t n, double shift,
                           double *s0, double *s1) {
  double count = 0, sum = 0, squares = 0, signal = 0;
  s0[0] = s1[0] = 0;
  for (size_t i = 0; i < n; i++) {
    double value = values[i], weight = counts[i], moved = value - shift;
    count += weight;
    sum += weight * moved;
    squares += weight * (moved * moved);
    signal += weight * (value * value);
    s0[i + 1] = count;
    s1[i + 1] = sum;
  }
  return (mlt_prefix){count, squares, signal};
}

void mlt_lookup16(const uint16_t *data, size_t n, const uint8_t *table, uint8_t *codes) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t a, b, out;
    __builtin_memcpy(&a, data + i, 8);
    __builtin_memcpy(&b, data + i + 4, 8);
    out = (uint64_t)table[a & 0xFFFF] | (uint64_t)table[a >> 16 & 0xFFFF] << 8 |
          (uint64_t)table[a >> 32 & 0xFFFF] << 16 | (uint64_t)table[a >> 48] << 24 |
          (uint64_t)table[b & 0xFFFF] << 32 | (uint64_t)table[b >> 16 & 0xFFFF] << 40 |
          (uint64_t)table[b >> 32 & 0xFFFF] << 48 | (uint64_t)table[b >> 48] << 56;
    __builtin_memcpy(codes + i, &out, 8);
  }
  for (; i < n; i++) codes[i] = table[data[i]];
}

void mlt_lookup8(const uint8_t *data, size_t n, const uint8_t *table, uint8_t *codes) {
  for (size_t i = 0; i < n; i++) codes[i] = table[data[i]];
}

void mlt_search16(const uint16_t *data, size_t n, const int16_t *cuts, size_t count,
                  uint8_t *codes) {
  for (size_t i = 0; i < n; i++) {
    int16_t bits = (int16_t)data[i], key = (int16_t)(bits ^ (bits >> 15 & 0x7FFF));
    size_t low = 0, size = count;
    while (size > 1) {
      size_t half = size / 2;
      low += key > cuts[low + half - 1] ? half : 0;
      size -= half;
    }
    if (size == 1) low += key > cuts[low];
    codes[i] = (uint8_t)low;
  }
}

void mlt_search32(const uint32_t *data, size_t n, const int32_t *cuts, size_t count,
                  uint8_t *codes) {
  for (size_t i = 0; i < n; i++) {
    int32_t bits = (int32_t)data[i], key = bits ^ (bits >> 31 & 0x7FFFFFFF);
    size_t low = 0, size = count;
    while (size > 1) {
      size_t half = size / 2;
      low += key > cuts[low + half - 1] ? half : 0;
      size -= half;
    }
    if (size == 1) low += key > cuts[low];
    codes[i] = (uint8_t)low;
  }
}

void mlt_lookup32(const uint32_t *data, size_t n, const uint8_t *first, const int32_t *cuts,
                  size_t count, uint8_t *codes) {
  for (size_t i = 0; i < n; i++) {
    int32_t bits = (int32_t)data[i], key = bits ^ (bits >> 31 & 0x7FFFFFFF);
    size_t code = first[(uint32_t)(key >> 16) + 32768];
    while (code < count && key > cuts[code]) code++;
    codes[i] = (uint8_t)code;
  }
}

void mlt_pack_codes(int level, const uint8_t *codes, size_t n, int bits, uint8_t *bytes) {
  if (bits == 4) {
    mlt_pack_nibbles(level, codes, n, bytes);
    return;
  }
  if (bits == 8) {
    __builtin_memcpy(bytes, codes, n);
    return;
  }
  size_t total = (n * (size_t)bits + 7) / 8, done = 0;
  for (size_t i = 0; i < n; i += 8) {
    uint64_t x = 0;
    __builtin_memcpy(&x, codes + i, n - i < 8 ? n - i : 8);
    x = (x & 0x00FF00FF00FF00FFu) | (x & 0xFF00FF00FF00FF00u) >> (8 - bits);
    x = (x & 0x0000FFFF0000FFFFu) | (x & 0xFFFF0000FFFF0000u) >> (16 - 2 * bits);
    x = (x & 0x00000000FFFFFFFFu) | (x & 0xFFFFFFFF00000000u) >> (32 - 4 * bits);
    size_t room = total - done, take = room < (size_t)bits ? room : (size_t)bits;
    if (room >= 8) __builtin_memcpy(bytes + done, &x, 8);
    else __builtin_memcpy(bytes + done, &x, take);
    done += take;
  }
}

#define DEFINE_COMPACT(function, type)                                                          \
  size_t function(const type *data, const uint8_t *mask, size_t n, type *out) {                 \
    size_t count = 0, i = 0;                                                                    \
    for (; i + 8 <= n; i += 8) {                                                                \
      uint32_t bits = mask[i / 8];                                                              \
      if (bits == 0) continue;                                                                  \
      for (size_t j = 0; j < 8; j++) {                                                          \
        out[count] = data[i + j];                                                               \
        count += bits >> j & 1;                                                                 \
      }                                                                                         \
    }                                                                                           \
    for (; i < n; i++) {                                                                        \
      if (mask[i / 8] >> (i % 8) & 1) out[count++] = data[i];                                   \
    }                                                                                           \
    return count;                                                                               \
  }
DEFINE_COMPACT(mlt_compact8, uint8_t)
DEFINE_COMPACT(mlt_compact16, uint16_t)
DEFINE_COMPACT(mlt_compact32, uint32_t)

size_t mlt_count_bits(const uint8_t *mask, size_t n) {
  size_t count = 0, bytes = n / 8, i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    __builtin_memcpy(&word, mask + i, 8);
    count += (size_t)__builtin_popcountll(word);
  }
  for (; i < bytes; i++) count += (size_t)__builtin_popcount(mask[i]);
  if (n % 8) count += (size_t)__builtin_popcount(mask[bytes] & ((1u << n % 8) - 1));
  return count;
}

void mlt_histogram_upper32(const uint32_t *data, size_t n, uint32_t *bins) {
  for (size_t i = 0; i < n; i++) bins[data[i] >> 15 & 0xFFFF]++;
}

void mlt_histogram_lower32(const uint32_t *data, size_t n, uint32_t upper, uint32_t *bins) {
  for (size_t i = 0; i < n; i++) {
    if ((data[i] >> 15 & 0xFFFF) == upper) bins[data[i] & 0x7FFF]++;
  }
}

void mlt_zero16(const uint16_t *data, const uint8_t *mask, size_t n, uint16_t *out) {
  for (size_t i = 0; i < n; i++) out[i] = data[i] & (uint16_t)-(mask[i / 8] >> (i % 8) & 1);
}

void mlt_zero32(const uint32_t *data, const uint8_t *mask, size_t n, uint32_t *out) {
  for (size_t i = 0; i < n; i++) out[i] = data[i] & (uint32_t)-(mask[i / 8] >> (i % 8) & 1);
}

mlt_masked_sums mlt_code_sums32(int level, const uint32_t *data, const uint8_t *codes, size_t n,
                                const float *table) {
  CALL(code_sums32, data, codes, n, table)
}
mlt_masked_sums mlt_masked_sums16(int level, const uint16_t *data, const uint8_t *mask, size_t n) {
  CALL(masked_sums16, data, mask, n)
}
mlt_masked_sums mlt_masked_sums32(int level, const uint32_t *data, const uint8_t *mask, size_t n) {
  CALL(masked_sums32, data, mask, n)
}

void mlt_add_bins(const uint32_t *bins, size_t n, uint64_t *total) {
  for (size_t i = 0; i < n; i++) total[i] += bins[i];
}

void mlt_add_bins32(const uint32_t *bins, size_t n, uint32_t *total) {
  for (size_t i = 0; i < n; i++) total[i] += bins[i];
}

void mlt_add_bins64(const uint64_t *bins, size_t n, uint64_t *total) {
  for (size_t i = 0; i < n; i++) total[i] += bins[i];
}

size_t mlt_rank_bin(const uint64_t *bins, size_t n, uint64_t count, uint64_t *before) {
  uint64_t sum = 0;
  size_t i = 0;
  for (; i < n && sum + bins[i] < count; i++) sum += bins[i];
  *before = sum;
  return i;
}

mlt_masked_sums mlt_magnitude_sums16(const uint64_t *bins, uint32_t cut, uint64_t ties,
                                     uint64_t *count) {
  mlt_masked_sums sums = {0, 0, 0, 0};
  for (uint32_t bits = 0; bits < 0x7C00; bits++) {
    if (bins[bits] == 0) continue;
    float value = half_value(bits);
    double square = (double)value * value;
    *count += bins[bits];
    sums.signal += (double)bins[bits] * square;
    sums.peak = value;
    uint64_t lost = bits < cut ? bins[bits] : bits == cut ? bins[bits] - ties : 0;
    if (lost > 0) {
      sums.error += (double)lost * square;
      sums.worst = value;
    }
  }
  return sums;
}

void mlt_keep_largest(const uint32_t *magnitudes, size_t inner, size_t size, size_t gone,
                      uint8_t *flags) {
  for (size_t position = 0; position < inner; position++) {
    const uint32_t *start = magnitudes + position;
    for (size_t one = 0; one < size; one++) {
      uint32_t value = start[one * inner];
      size_t less = 0;
      for (size_t other = 0; other < one; other++) less += start[other * inner] < value;
      for (size_t other = one + 1; other < size; other++) less += start[other * inner] <= value;
      flags[one * inner + position] = less >= gone && value != 0;
    }
  }
}
