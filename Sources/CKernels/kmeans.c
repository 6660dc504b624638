#include <math.h>
#include <stdlib.h>

#include "CKernels.h"
#include "dispatch.h"

#pragma STDC FP_CONTRACT OFF

// Optimal segmentation of sorted weighted values. The gain of a segment is S1*S1/S0; the best sum
// of gains minus lambda per segment is a recursion with the Monge property, solved in one pass
// over a queue of candidates (Wilber 1988; Gronlund et al., "Fast exact k-means in 1D", 2017).

typedef struct {
  const double *s0, *s1;
  size_t n;
} points;

static inline double gain(points p, size_t i, size_t j) {
  double d1 = p.s1[j] - p.s1[i], d0 = p.s0[j] - p.s0[i];
  return d1 * d1 / d0;
}

typedef double f64x8 __attribute__((ext_vector_type(8)));
typedef _Bool b8 __attribute__((ext_vector_type(8)));
typedef int64_t i64x8 __attribute__((ext_vector_type(8)));

#define KERNELS "kmeans.inc"
#include "levels.inc"

static size_t pass(points p, double lambda, mlt_kmeans_space *space) {
  int level = space->level;
  CALL(pass, p, lambda, space)
}

static void trace(const uint32_t *from, size_t n, size_t count, uint32_t *bounds) {
  for (size_t j = n; count > 0; j = from[j]) bounds[count--] = (uint32_t)j;
  bounds[0] = 0;
}

// A path of k segments from two optimal ones of fewer and of more segments between which the
// optimum is linear in their number: the start of the longer one, then the rest of the shorter
// one (Aggarwal, Schieber, Tokuyama 1994).
static void splice(points p, size_t k, double few, double many, mlt_kmeans_space *space,
                   uint32_t *bounds) {
  size_t fewer = pass(p, few, space);
  if (fewer >= k) {  // equal by another path of the same value
    if (fewer == k) {
      trace(space->from, p.n, k, bounds);
      return;
    }
    fewer = 0;
  } else {
    trace(space->from, p.n, fewer, bounds);
  }
  if (fewer == 0) {
    fewer = 1;
    bounds[0] = 0;
    bounds[1] = (uint32_t)p.n;
  }
  size_t more = pass(p, many, space);
  uint32_t *longer = space->candidates;
  trace(space->from, p.n, more, longer);
  if (more <= k) {
    for (size_t i = 0; i <= more; i++) bounds[i] = longer[i];
    for (size_t i = more + 1; i <= k; i++) bounds[i] = (uint32_t)p.n;
    return;
  }
  size_t shift = k - fewer;
  for (size_t i = 0; i < fewer; i++) {
    if (bounds[i] <= longer[i + shift] && longer[i + shift + 1] <= bounds[i + 1]) {
      for (size_t j = fewer; j > i; j--) bounds[j + shift] = bounds[j];
      for (size_t j = 0; j <= i + shift; j++) bounds[j] = longer[j];
      return;
    }
  }
}

// A lambda whose best path has k segments; `bounds` are written when not null.
static double search(points p, size_t k, double guess, mlt_kmeans_space *space, double *coarse,
                     uint32_t *bounds) {
  // A rough multiplier from every 16th or 4th position first.
  size_t skip = p.n / 16 >= 16 * k ? 16 : p.n / 4 >= 8 * k ? 4 : 0;
  if (skip) {
    size_t n = p.n / skip, rest = p.n % skip != 0;
    double *s0 = coarse, *s1 = coarse + n + rest + 1;
    for (size_t i = 0; i <= n; i++) s0[i] = p.s0[i * skip], s1[i] = p.s1[i * skip];
    if (rest) s0[n + 1] = p.s0[p.n], s1[n + 1] = p.s1[p.n];
    points thin = {s0, s1, n + rest};
    guess = search(thin, k, guess, space, coarse + 2 * (n + rest + 1), 0);
  }
  double lambda = guess, many = 0, few = 0, gain_many = 0, gain_few = 0;
  size_t more = 0, fewer = 0;
  int is_chord = 0;
  const double offset = 0.95, target = log((double)k + offset);
  for (int step = 0;; step++) {
    size_t count = pass(p, lambda, space);
    if (count == k) {
      if (bounds) trace(space->from, p.n, k, bounds);
      return lambda;
    }
    int bracketed = more && fewer;
    if (bracketed && (count >= more || count <= fewer)) {
      if (is_chord || step > 100) break;
    }
    if (count > k) {
      many = lambda, more = count, gain_many = space->best[p.n] + lambda * (double)count;
    } else {
      few = lambda, fewer = count, gain_few = space->best[p.n] + lambda * (double)count;
    }
    if (!bounds && step >= 8) return lambda;
    if (!more || !fewer) {
      double ratio = ((double)count + offset) / ((double)k + offset);
      double factor = ratio * ratio * ratio;
      if (step > 3) factor *= factor;
      if (count > k) lambda *= factor > 1.02 ? factor : 1.02;
      else lambda *= factor < 0.98 ? factor : 0.98;
      if (!(lambda > 0x1p-1000)) lambda = 0x1p-1000;
      if (lambda > 0x1p1000) lambda = 0x1p1000;
      if (step > 400) break;
      continue;
    }
    // Some steps take the slope of the chord, at which a path between the two is the best one
    // unless there is none; the others narrow.
    is_chord = 0;
    double chord = (gain_many - gain_few) / (double)(more - fewer);
    if (step % 2 == 0 && step > 4) {
      if (!(chord > many && chord < few)) break;
      lambda = chord;
      is_chord = 1;
    } else if (step > 8) {
      lambda = sqrt(many) * sqrt(few);
    } else {
      double high = log((double)more + offset), low = log((double)fewer + offset);
      double t = (high - target) / (high - low);
      t = t < 0.02 ? 0.02 : t > 0.98 ? 0.98 : t;
      lambda = exp(log(many) + t * (log(few) - log(many)));
    }
    if (!(lambda > many && lambda < few)) break;
  }
  if (bounds) splice(p, k, few, many, space, bounds);
  return lambda;
}

void mlt_kmeans_solve(const double *s0, const double *s1, size_t n, size_t k, double guess,
                      mlt_kmeans_space *space, uint32_t *bounds) {
  if (k >= n) {
    for (size_t i = 0; i <= k; i++) bounds[i] = (uint32_t)(i < n ? i : n);
    return;
  }
  bounds[0] = 0;
  bounds[k] = (uint32_t)n;
  if (k == 1) return;
  points p = {s0, s1, n};
  search(p, k, guess, space, space->coarse, bounds);
}

static int make_space(mlt_kmeans_space *space, size_t n) {
  space->best = malloc((n + 1) * sizeof(double));
  space->from = malloc(3 * (n + 1) * sizeof(uint32_t));
  space->coarse = malloc(mlt_kmeans_coarse_count(n) * sizeof(double));
  if (!space->best || !space->from || !space->coarse) return 0;
  space->candidates = space->from + n + 1;
  space->starts = space->candidates + n + 1;
  return 1;
}

static void free_space(mlt_kmeans_space *space) {
  free(space->best);
  free(space->from);
  free(space->coarse);
}

// Positions between which all values are merged: count times width of a stretch of several values
// is at most `limit`.
static size_t edges(const float *values, const double *s0, size_t n, double limit,
                    uint32_t *positions) {
  size_t m = 0, first = 0;
  positions[0] = 0;
  for (size_t i = 1; i <= n; i++) {
    if (i < n && (s0[i + 1] - s0[first]) * ((double)values[i] - (double)values[first]) <= limit) {
      continue;
    }
    positions[++m] = (uint32_t)i;
    first = i;
  }
  return m;
}

// Moving every stretch of an optimal partition to the side of its mean loses at most count * width
// / 2 times the distance of the two centroids for each boundary inside a stretch, in all `loss`. So
// an edge is next to a boundary of the optimum only if some path of edges through it comes that
// close to the best one; all other stretches stay whole.
int mlt_kmeans_open(const double *s0, const double *s1, size_t m, size_t k, double loss, int level,
                    double *lambda, uint8_t *open) {
  mlt_kmeans_space space = {.level = level};
  double *memory = malloc(3 * (m + 1) * sizeof *memory);
  uint32_t *bounds = malloc((k + 1) * sizeof *bounds);
  int done = memory && bounds && m > k && k > 1 && make_space(&space, m);
  if (done) {
    double *r0 = memory, *r1 = r0 + m + 1, *forward = r1 + m + 1;
    for (size_t i = 0; i <= m; i++) r0[i] = s0[m] - s0[m - i], r1[i] = s1[m] - s1[m - i];
    points edge = {s0, s1, m}, reversed = {r0, r1, m};
    *lambda = search(edge, k, *lambda, &space, space.coarse, bounds);
    double known = -*lambda * (double)k;
    for (size_t i = 0; i < k; i++) known += gain(edge, bounds[i], bounds[i + 1]);
    pass(edge, *lambda, &space);
    for (size_t i = 0; i <= m; i++) forward[i] = space.best[i];
    pass(reversed, *lambda, &space);
    double least = known - loss * (1 + 1e-9) - 1e-11 * fabs(forward[m]);
    for (size_t i = 0; i < m; i++) {
      open[i] = forward[i] + space.best[m - i] >= least ||
                forward[i + 1] + space.best[m - i - 1] >= least;
    }
  }
  free(memory);
  free(bounds);
  free_space(&space);
  return done;
}

int mlt_kmeans_windows(const float *values, const double *s0, const double *s1, size_t n, size_t k,
                       double guess, int level, uint32_t *bounds) {
  size_t wanted = 1024 * k < 32768 ? 32768 : 1024 * k;
  if (k < 2 || n < 4 * wanted) return 0;
  double roots = 0;
  for (size_t i = 0; i + 64 < n; i += 64) {
    roots += sqrt((s0[i + 64] - s0[i]) * ((double)values[i + 64] - (double)values[i]));
  }
  double limit = roots / (double)wanted * (roots / (double)wanted);
  uint32_t *positions = malloc((n + 1) * sizeof *positions);
  if (!positions) return 0;
  size_t m = edges(values, s0, n, limit, positions);
  int done = 0;
  mlt_kmeans_space inner = {.level = level};
  double *thin = malloc(2 * (m + 1) * sizeof *thin), *fine = 0, lambda = guess;
  uint32_t *places = 0;
  uint8_t *open = malloc(m + 1);
  if (m > n / 2 || !thin || !open) goto end;
  for (size_t i = 0; i <= m; i++) {
    thin[i] = s0[positions[i]], thin[m + 1 + i] = s1[positions[i]];
  }
  double loss = limit * ((double)values[n - 1] - (double)values[0]) / 2;
  if (!mlt_kmeans_open(thin, thin + m + 1, m, k, loss, level, &lambda, open)) goto end;
  size_t total = 0;
  for (size_t i = 0; i < m; i++) total += open[i] ? positions[i + 1] - positions[i] : 1;
  if (total > n / 2) goto end;
  places = malloc((total + 1) * sizeof *places);
  fine = malloc(2 * (total + 1) * sizeof *fine);
  if (!places || !fine || !make_space(&inner, total)) goto end;
  total = 0;
  for (size_t i = 0; i < m; i++) {
    size_t step = open[i] ? 1 : positions[i + 1] - positions[i];
    for (size_t place = positions[i]; place < positions[i + 1]; place += step) {
      places[total++] = (uint32_t)place;
    }
  }
  places[total] = (uint32_t)n;
  for (size_t i = 0; i <= total; i++) {
    fine[i] = s0[places[i]], fine[total + 1 + i] = s1[places[i]];
  }
  points all = {fine, fine + total + 1, total};
  search(all, k, lambda, &inner, inner.coarse, bounds);
  for (size_t i = 0; i <= k; i++) bounds[i] = places[bounds[i]];
  done = 1;
end:
  free(positions);
  free(thin);
  free(fine);
  free(places);
  free(open);
  free_space(&inner);
  return done;
}

// Positions of a coarse search and of those inside it.
size_t mlt_kmeans_coarse_count(size_t n) { return n + 64; }
