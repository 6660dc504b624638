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

// The search for a scale of little error for sixteen groups at once, one per lane.
enum {
  MLT_SEARCH_LANES = 16,
  MLT_SEARCH_SEEDS = 4,  // how many of the best scales are refined by least squares
};
typedef struct {
  const float *shares;  // the scales to try, as shares of that of the full range
  size_t count;
  int low, high, zero;  // the codes, and the zero point of symmetric schemes
  float half_steps;     // steps of the greatest magnitude of symmetric schemes
  int affine;           // whether zero points are searched
  int half;             // whether scales and decoded values are halves
} mlt_scale_search;
// Sixteen rows of n values to n vectors of sixteen.
void mlt_transpose_lanes(int level, const float *rows, size_t n, float *tile);
// `least` and `most` are those of each lane's n values; a lane of zeros gets the scale 0.
void mlt_search_lanes(int level, const float *tile, size_t n, const float *least,
                      const float *most, const mlt_scale_search *how, float *scales,
                      int32_t *zeros);

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

// Scalar k-means. Prefix sums of weights and of weighted values, n + 1 each, of n distinct values
// in rising order; `bounds` receives k + 1 rising positions, segment i is bounds[i] ..<
// bounds[i + 1].
// `guess` is the Lagrange multiplier to try first. With k >= n the last segments are empty.
typedef struct {
  double *best;                           // n + 1
  uint32_t *from, *candidates, *starts;   // n + 1 each
  double *coarse;                         // mlt_kmeans_coarse_count(n)
  int level;
} mlt_kmeans_space;
void mlt_kmeans_solve(const double *s0, const double *s1, size_t n, size_t k, double guess,
                      mlt_kmeans_space *space, uint32_t *bounds);
size_t mlt_kmeans_coarse_count(size_t n);
// Marks the stretches between `m` + 1 edges in which a boundary of the optimum may lie, given how
// much merging all values of each stretch costs at most; `lambda` is the guess and what was found.
// Returns 0 when there are too few edges or there is no memory, else 1.
int mlt_kmeans_open(const double *s0, const double *s1, size_t m, size_t k, double loss, int level,
                    double *lambda, uint8_t *open);
// mlt_kmeans_solve for very many values, most of which are merged where no boundary can be.
// Returns 0 when that would not help, else 1.
int mlt_kmeans_windows(const float *values, const double *s0, const double *s1, size_t n, size_t k,
                       double guess, int level, uint32_t *bounds);

// The greatest magnitude bits; those of an infinity or above mean special values.
uint32_t mlt_peak16(int level, const uint16_t *data, size_t n);
uint32_t mlt_peak32(int level, const uint32_t *data, size_t n);

// Counts by bit pattern, added to 65536 or 256 bins.
void mlt_histogram16(const uint16_t *data, size_t n, uint32_t *bins);
void mlt_histogram8(const uint8_t *data, size_t n, uint32_t *bins);
// The distinct halves of a histogram in rising order, -0 with +0, the bins cleared; no magnitude
// exceeds `peak`. Returns how many there are, at most 2 * peak + 1.
size_t mlt_sorted16(int level, uint32_t *bins, uint32_t peak, float *values,
                    uint32_t *counts);
// Singles as unsigned keys in the order of the values, -0 as +0; sorted; their distinct values.
void mlt_order_keys32(const uint32_t *data, size_t n, uint32_t *keys);
void mlt_sort32(uint32_t *keys, uint32_t *other, size_t n);
size_t mlt_sorted32(const uint32_t *keys, size_t n, float *values, uint32_t *counts);

// Prefix sums of the weights and of the weighted values less `shift`.
typedef struct {
  double count, squares, signal;  // squares of the moved values, signal of the values themselves
} mlt_prefix;
mlt_prefix mlt_prefix_sums(const float *values, const uint32_t *counts, size_t n, double shift,
                           double *s0, double *s1);

// Codes: how many of the rising `cuts` are below the order key of the value. `index` compares with
// all (for few), `search` halves, `lookup` reads a table of all bit patterns (of the upper halves
// of the keys for singles, from which it goes on).
void mlt_index16(int level, const uint16_t *data, size_t n, const int16_t *cuts, size_t count,
                 uint8_t *codes);
void mlt_index32(int level, const uint32_t *data, size_t n, const int32_t *cuts, size_t count,
                 uint8_t *codes);
void mlt_search16(const uint16_t *data, size_t n, const int16_t *cuts, size_t count,
                  uint8_t *codes);
void mlt_search32(const uint32_t *data, size_t n, const int32_t *cuts, size_t count,
                  uint8_t *codes);
void mlt_lookup16(const uint16_t *data, size_t n, const uint8_t *table, uint8_t *codes);
void mlt_lookup8(const uint8_t *data, size_t n, const uint8_t *table, uint8_t *codes);
void mlt_lookup32(const uint32_t *data, size_t n, const uint8_t *first, const int32_t *cuts,
                  size_t count, uint8_t *codes);
// Codes of 1, 2, 3, 4, 6 or 8 bits, lowest bit first; (n * bits + 7) / 8 bytes. Codes fit.
void mlt_pack_codes(int level, const uint8_t *codes, size_t n, int bits, uint8_t *bytes);

// How many magnitude bits are above and equal to `cut`.
typedef struct {
  uint64_t above, equal;
} mlt_magnitudes;
mlt_magnitudes mlt_count16(int level, const uint16_t *data, size_t n, uint32_t cut);
mlt_magnitudes mlt_count32(int level, const uint32_t *data, size_t n, uint32_t cut);
// One bit per value, set where the magnitude bits are `least` or more; unused bits are 0.
void mlt_mask16(int level, const uint16_t *data, size_t n, uint32_t least, uint8_t *mask);
void mlt_mask32(int level, const uint32_t *data, size_t n, uint32_t least, uint8_t *mask);
// The elements whose bit is set, in order; `out` has room for n + 8.
size_t mlt_compact8(const uint8_t *data, const uint8_t *mask, size_t n, uint8_t *out);
size_t mlt_compact16(const uint16_t *data, const uint8_t *mask, size_t n, uint16_t *out);
size_t mlt_compact32(const uint32_t *data, const uint8_t *mask, size_t n, uint32_t *out);
// How many of the first n bits are set.
size_t mlt_count_bits(const uint8_t *mask, size_t n);

// The nearest of `count` entries of `width` components for n vectors, whose component c is at
// vectors[c * plane + i]; ties go to the lower entry. `distances` (squares) may be null.
void mlt_nearest_vectors(int level, const float *vectors, size_t plane, size_t n, size_t width,
                         const float *entries, size_t count, uint8_t *codes, float *distances);

// Counts of singles by bits 15 ... 30, and of those whose bits 15 ... 30 are `upper` by the lower
// 15; added to 65536 bins.
void mlt_histogram_upper32(const uint32_t *data, size_t n, uint32_t *bins);
void mlt_histogram_lower32(const uint32_t *data, size_t n, uint32_t upper, uint32_t *bins);
// The elements whose bit is set, zeros elsewhere.
void mlt_zero16(const uint16_t *data, const uint8_t *mask, size_t n, uint16_t *out);
void mlt_zero32(const uint32_t *data, const uint8_t *mask, size_t n, uint32_t *out);
// Squares of all elements and of those whose bit is not set; greatest magnitudes of these and all.
typedef struct {
  double signal, error;
  float worst, peak;
} mlt_masked_sums;
mlt_masked_sums mlt_masked_sums16(int level, const uint16_t *data, const uint8_t *mask, size_t n);
mlt_masked_sums mlt_masked_sums32(int level, const uint32_t *data, const uint8_t *mask, size_t n);

// Singles by the upper 16 bits of their order keys, whose least and greatest are merged.
void mlt_histogram_keys32(const uint32_t *data, size_t n, uint32_t *bins, uint32_t *least,
                          uint32_t *most);
// Singles in bins of 2^shift keys, those of an upper half from `first` on, as `plan` says for each:
// first << 5 | shift. A bin holds the sum of the lower halves and, from bit 40 on, the count of less
// than 2^24 values; flushing adds it to counts and sums and clears it.
void mlt_fill_bins32(const uint32_t *data, size_t n, const uint32_t *plan, uint64_t *bins);
void mlt_flush_bins32(uint64_t *bins, size_t n, uint32_t *counts, uint64_t *sums);
// The keys in bins that are open; `keys` has room for n + 1.
size_t mlt_open_keys32(const uint32_t *data, size_t n, const uint32_t *plan, const uint8_t *open,
                       uint32_t *keys);
// The error of singles that decode to the table's entries of their codes.
mlt_masked_sums mlt_code_sums32(int level, const uint32_t *data, const uint8_t *codes, size_t n,
                                const float *table);

// Adds bins to others.
void mlt_add_bins32(const uint32_t *bins, size_t n, uint32_t *total);
void mlt_add_bins(const uint32_t *bins, size_t n, uint64_t *total);
void mlt_add_bins64(const uint64_t *bins, size_t n, uint64_t *total);
// The bin of the element number `count`, from 1, and how many are before that bin; n if none.
size_t mlt_rank_bin(const uint64_t *bins, size_t n, uint64_t count, uint64_t *before);
// Sums of halves by magnitude bits, of which those below `cut` and all but `ties` at it are lost.
mlt_masked_sums mlt_magnitude_sums16(const uint64_t *bins, uint32_t cut, uint64_t ties,
                                     uint64_t *count);

// For each of `inner` columns of `size` magnitudes: a flag where all but the `gone` least are, of
// equal ones the first; none where the magnitude is 0.
void mlt_keep_largest(const uint32_t *magnitudes, size_t inner, size_t size, size_t gone,
                      uint8_t *flags);
