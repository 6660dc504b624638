#pragma once
#include <stddef.h>
#include <stdint.h>

// Numeric kernels with run-time dispatch. Every kernel takes the level first; all levels give the
// same bits. Data need the alignment of their element only.

enum {
  MLT_KERNELS_BASELINE = 0,  // the compiler's default target
  MLT_KERNELS_V3 = 1,        // x86-64-v3: AVX2, F16C
  MLT_KERNELS_V4 = 2,        // x86-64-v4: AVX-512
};

// The highest level that this processor runs.
int mlt_kernel_level_available(void);

// How one group is quantized: r = clamp(w / scale, low, high) rounded half to even; the decoded
// value is scale * r, the stored code r + zero. `inverse` is 1 / scale (half kernels only).
typedef struct {
  float inverse, scale, low, high;
} mlt_affine;

// What a scale costs: sum of squared errors, greatest absolute error, sum of w*r, sum of r*r.
typedef struct {
  double error, product, square;
  float worst;
} mlt_fit;

// Per-position parameters of rows; each array has room for `n` rounded up to 16.
typedef struct {
  const float *inverse, *scale, *low, *high;
} mlt_affine_row;

// Per-position results of rows, added to; arrays as long as those of mlt_affine_row. `product` and
// `square` are used with MLT_MOMENTS only. For halves `worst` is the
// square.
typedef struct {
  double *error, *product, *square;
  float *worst;
} mlt_fit_row;

// Smallest and greatest value of each run as order keys: the bits as an integer, the magnitude
// bits inverted where the sign is set. Keys beyond those of the infinities are NaN.
void mlt_range_runs16(int level, const uint16_t *data, size_t runs, size_t run, int16_t *low,
                      int16_t *high);
void mlt_range_runs32(int level, const uint32_t *data, size_t runs, size_t run, int32_t *low,
                      int32_t *high);
// The same per position of `rows` rows of `n` values that start `stride` values apart; `low` and
// `high` are merged with what they hold.
void mlt_range_rows16(int level, const uint16_t *data, size_t rows, size_t stride, size_t n,
                      int16_t *low, int16_t *high);
void mlt_range_rows32(int level, const uint32_t *data, size_t rows, size_t stride, size_t n,
                      int32_t *low, int32_t *high);

enum {
  MLT_MOMENTS = 1,    // compute `product` and `square` too
  MLT_UNCLAMPED = 2,  // the caller knows that no quotient rounds outside low...high
};

// The fit of one run. Half data decode to a rounded half, single data to a rounded single.
void mlt_fit_run16(int level, const uint16_t *data, size_t n, mlt_affine affine, int options,
                   mlt_fit *fit);
void mlt_fit_run32(int level, const uint32_t *data, size_t n, mlt_affine affine, int options,
                   mlt_fit *fit);
void mlt_fit_rows16(int level, const uint16_t *data, size_t rows, size_t stride, size_t n,
                    mlt_affine_row affine, int options, mlt_fit_row fit);
void mlt_fit_rows32(int level, const uint32_t *data, size_t rows, size_t stride, size_t n,
                    mlt_affine_row affine, int options, mlt_fit_row fit);

// Codes of one byte each; returns the sum of w*w.
double mlt_encode_run16(int level, const uint16_t *data, size_t n, mlt_affine affine,
                        int options, int zero, uint8_t *codes);
double mlt_encode_run32(int level, const uint32_t *data, size_t n, mlt_affine affine,
                        int options, int zero, uint8_t *codes);
// Rows of `n` values that start `stride` values apart; the codes of a row too.
double mlt_encode_rows16(int level, const uint16_t *data, size_t rows, size_t stride, size_t n,
                         mlt_affine_row affine, int options, const uint8_t *zero,
                         uint8_t *codes);
double mlt_encode_rows32(int level, const uint32_t *data, size_t rows, size_t stride, size_t n,
                         mlt_affine_row affine, int options, const uint8_t *zero,
                         uint8_t *codes);

// Asks for `count` bytes to be brought into the second-level cache, in order.
void mlt_prefetch(const void *data, size_t count);

// Two codes per byte, the even one low; (n + 1) / 2 bytes.
void mlt_pack_nibbles(int level, const uint8_t *codes, size_t n, uint8_t *bytes);
// The inverse: n codes, sign-extended when `is_signed` is not 0.
void mlt_unpack_nibbles(int level, const uint8_t *bytes, size_t n, int is_signed, uint8_t *codes);

// Conversions to single precision.
void mlt_widen_half(int level, const uint16_t *data, size_t n, float *out);
void mlt_widen_int8(int level, const int8_t *data, size_t n, float *out);
void mlt_widen_uint8(int level, const uint8_t *data, size_t n, float *out);
// Half from single, ties to even, beyond the range infinity, NaN quiet with its upper payload.
void mlt_narrow(int level, const float *data, size_t n, uint16_t *out);

// (values - offset) * scale in single precision; the difference is rounded to half first when
// `round_difference` is not 0.
void mlt_shift_scale_run(int level, const float *values, size_t n, float offset, float scale,
                         int round_difference, float *out);
void mlt_shift_scale_row(int level, const float *values, size_t n, const float *offset,
                         const float *scale, int round_difference, float *out);

// What single-precision data hold.
typedef struct {
  uint64_t nan, infinite, above_half, vanishing;  // above_half: finite, an infinity as half
  uint32_t greatest;                              // magnitude bits of the greatest finite value
} mlt_survey;
void mlt_survey32(int level, const uint32_t *data, size_t n, mlt_survey *survey);

// Half from single with the sums of the error of finite data; `limit` clamps the magnitude.
typedef struct {
  double signal, error;
  float worst;
} mlt_narrow_sums;
void mlt_narrow_measured(int level, const uint32_t *data, size_t n, float limit, uint16_t *out,
                         mlt_narrow_sums *sums);
