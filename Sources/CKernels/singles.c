#include "CKernels.h"

#pragma STDC FP_CONTRACT OFF

// Unsigned keys in the order of the values, -0 as +0.
static inline uint32_t order_key(uint32_t bits) {
  bits = bits == 0x80000000u ? 0 : bits;
  return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

void mlt_histogram_keys32(const uint32_t *data, size_t n, uint32_t *bins, uint32_t *least,
                          uint32_t *most) {
  uint32_t low = *least, high = *most;
  for (size_t i = 0; i < n; i++) {
    uint32_t key = order_key(data[i]);
    bins[key >> 16]++;
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  *least = low;
  *most = high;
}

void mlt_fill_bins32(const uint32_t *data, size_t n, const uint32_t *plan, uint64_t *bins) {
  for (size_t i = 0; i < n; i++) {
    uint32_t key = order_key(data[i]), part = plan[key >> 16], lower = key & 0xFFFF;
    bins[(part >> 5) + (lower >> (part & 31))] += lower | (uint64_t)1 << 40;
  }
}

void mlt_flush_bins32(uint64_t *bins, size_t n, uint32_t *counts, uint64_t *sums) {
  for (size_t i = 0; i < n; i++) {
    counts[i] += (uint32_t)(bins[i] >> 40);
    sums[i] += bins[i] & 0xFFFFFFFFFFu;
    bins[i] = 0;
  }
}

size_t mlt_open_keys32(const uint32_t *data, size_t n, const uint32_t *plan, const uint8_t *open,
                       uint32_t *keys) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t key = order_key(data[i]), part = plan[key >> 16];
    keys[count] = key;
    count += open[(part >> 5) + ((key & 0xFFFF) >> (part & 31))];
  }
  return count;
}
