#include "CKernels.h"
#include "dispatch.h"

#pragma STDC FP_CONTRACT OFF

#define LANES 16
// Vectors between two flushes of single-precision sums into double-precision ones.
#define CHAIN 8

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef double f64x16 __attribute__((ext_vector_type(16)));
typedef double f64x8 __attribute__((ext_vector_type(8)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef double f64x2 __attribute__((ext_vector_type(2)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));
typedef uint32_t u32x16 __attribute__((ext_vector_type(16)));
typedef uint16_t u16x16 __attribute__((ext_vector_type(16)));
typedef int16_t i16x32 __attribute__((ext_vector_type(32)));
typedef uint8_t u8x16 __attribute__((ext_vector_type(16)));
typedef int8_t i8x16 __attribute__((ext_vector_type(16)));
typedef uint8_t u8x32 __attribute__((ext_vector_type(32)));
typedef _Float16 h16x16 __attribute__((ext_vector_type(16)));

int mlt_kernel_level_available(void) {
#if HAS_LEVELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return MLT_KERNELS_V4;
  if (__builtin_cpu_supports("x86-64-v3")) return MLT_KERNELS_V3;
#endif
  return MLT_KERNELS_BASELINE;
}

#define KERNELS "kernels.inc"
#include "levels.inc"

void mlt_range_runs16(int level, const uint16_t *data, size_t runs, size_t run, int16_t *low,
                      int16_t *high) {
  CALL(range_runs16, data, runs, run, low, high)
}
void mlt_range_runs32(int level, const uint32_t *data, size_t runs, size_t run, int32_t *low,
                      int32_t *high) {
  CALL(range_runs32, data, runs, run, low, high)
}
void mlt_range_rows16(int level, const uint16_t *data, size_t rows, size_t stride, size_t n,
                      int16_t *low, int16_t *high) {
  CALL(range_rows16, data, rows, stride, n, low, high)
}
void mlt_range_rows32(int level, const uint32_t *data, size_t rows, size_t stride, size_t n,
                      int32_t *low, int32_t *high) {
  CALL(range_rows32, data, rows, stride, n, low, high)
}
void mlt_fit_run16(int level, const uint16_t *data, size_t n, mlt_affine affine, int options,
                   mlt_fit *fit) {
  CALL(fit_run16, data, n, affine, options, fit)
}
void mlt_fit_run32(int level, const uint32_t *data, size_t n, mlt_affine affine, int options,
                   mlt_fit *fit) {
  CALL(fit_run32, data, n, affine, options, fit)
}
void mlt_fit_rows16(int level, const uint16_t *data, size_t rows, size_t stride, size_t n,
                    mlt_affine_row affine, int options, mlt_fit_row fit) {
  CALL(fit_rows16, data, rows, stride, n, affine, options, fit)
}
void mlt_fit_rows32(int level, const uint32_t *data, size_t rows, size_t stride, size_t n,
                    mlt_affine_row affine, int options, mlt_fit_row fit) {
  CALL(fit_rows32, data, rows, stride, n, affine, options, fit)
}
double mlt_encode_run16(int level, const uint16_t *data, size_t n, mlt_affine affine,
                        int options, int zero, uint8_t *codes) {
  CALL(encode_run16, data, n, affine, options, zero, codes)
}
double mlt_encode_run32(int level, const uint32_t *data, size_t n, mlt_affine affine,
                        int options, int zero, uint8_t *codes) {
  CALL(encode_run32, data, n, affine, options, zero, codes)
}
double mlt_encode_rows16(int level, const uint16_t *data, size_t rows, size_t stride, size_t n,
                         mlt_affine_row affine, int options, const uint8_t *zero,
                         uint8_t *codes) {
  CALL(encode_rows16, data, rows, stride, n, affine, options, zero, codes)
}
double mlt_encode_rows32(int level, const uint32_t *data, size_t rows, size_t stride, size_t n,
                         mlt_affine_row affine, int options, const uint8_t *zero,
                         uint8_t *codes) {
  CALL(encode_rows32, data, rows, stride, n, affine, options, zero, codes)
}
void mlt_prefetch(const void *data, size_t count) {
  for (size_t i = 0; i < count; i += 64) __builtin_prefetch((const char *)data + i, 0, 2);
}
void mlt_pack_nibbles(int level, const uint8_t *codes, size_t n, uint8_t *bytes) {
  CALL(pack_nibbles, codes, n, bytes)
}
void mlt_unpack_nibbles(int level, const uint8_t *bytes, size_t n, int is_signed, uint8_t *codes) {
  CALL(unpack_nibbles, bytes, n, is_signed, codes)
}
void mlt_widen_half(int level, const uint16_t *data, size_t n, float *out) {
  CALL(widen_half, data, n, out)
}
void mlt_widen_int8(int level, const int8_t *data, size_t n, float *out) {
  CALL(widen_int8, data, n, out)
}
void mlt_widen_uint8(int level, const uint8_t *data, size_t n, float *out) {
  CALL(widen_uint8, data, n, out)
}
void mlt_narrow(int level, const float *data, size_t n, uint16_t *out) {
  CALL(narrow, data, n, out)
}
void mlt_shift_scale_run(int level, const float *values, size_t n, float offset, float scale,
                         int round_difference, float *out) {
  CALL(shift_scale_run, values, n, offset, scale, round_difference, out)
}
void mlt_shift_scale_row(int level, const float *values, size_t n, const float *offset,
                         const float *scale, int round_difference, float *out) {
  CALL(shift_scale_row, values, n, offset, scale, round_difference, out)
}
void mlt_survey32(int level, const uint32_t *data, size_t n, mlt_survey *survey) {
  CALL(survey32, data, n, survey)
}
void mlt_narrow_measured(int level, const uint32_t *data, size_t n, float limit, uint16_t *out,
                         mlt_narrow_sums *sums) {
  CALL(narrow_measured, data, n, limit, out, sums)
}
