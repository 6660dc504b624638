#include "CKernels.h"
#include "dispatch.h"

#pragma STDC FP_CONTRACT OFF

#define LANES MLT_SEARCH_LANES

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));
typedef uint32_t u32x16 __attribute__((ext_vector_type(16)));

#define KERNELS "search.inc"
#include "levels.inc"

void mlt_transpose_lanes(int level, const float *rows, size_t n, float *tile) {
  CALL(transpose_lanes, rows, n, tile)
}
void mlt_search_lanes(int level, const float *tile, size_t n, const float *least,
                      const float *most, const mlt_scale_search *how, float *scales,
                      int32_t *zeros) {
  CALL(search_lanes, tile, n, least, most, how, scales, zeros)
}
