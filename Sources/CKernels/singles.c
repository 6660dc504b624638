#include <string.h>

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

void mlt_fill_bins32(const uint32_t *data, size_t n, const uint32_t *first, const uint8_t *shift,
                     uint32_t *counts, uint64_t *sums) {
  for (size_t i = 0; i < n; i++) {
    uint32_t key = order_key(data[i]), upper = key >> 16, lower = key & 0xFFFF;
    uint32_t bin = first[upper] + (lower >> shift[upper]);
    counts[bin]++;
    sums[bin] += lower;
  }
}

size_t mlt_open_keys32(const uint32_t *data, size_t n, const uint32_t *first, const uint8_t *shift,
                       const uint8_t *open, uint32_t *keys) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t key = order_key(data[i]), upper = key >> 16;
    keys[count] = key;
    count += open[first[upper] + ((key & 0xFFFF) >> shift[upper])];
  }
  return count;
}

mlt_masked_sums mlt_code_sums32(const uint32_t *data, const uint8_t *codes, size_t n,
                                const float *table) {
  double signal[4] = {0}, error[4] = {0};
  float worst = 0, peak = 0;
  for (size_t i = 0; i < n; i++) {
    float value;
    memcpy(&value, data + i, 4);
    double distance = (double)value - (double)table[codes[i]];
    signal[i & 3] += (double)value * value;
    error[i & 3] += distance * distance;
    float size = (float)(distance < 0 ? -distance : distance);
    float magnitude = value < 0 ? -value : value;
    worst = size > worst ? size : worst;
    peak = magnitude > peak ? magnitude : peak;
  }
  return (mlt_masked_sums){(signal[0] + signal[2]) + (signal[1] + signal[3]),
                           (error[0] + error[2]) + (error[1] + error[3]), worst, peak};
}
