/* Pooling in own loops, NHWC (vectors of channels) and plain.
 *
 * Both layouts are accessed through strides. In NHWC the innermost loop runs over the contiguous channels of one
 * position; in plain tensors it runs over one window. Threads share images, so no two of them add to one gradient. */
#include "kernels/cpu/cpu.h"

#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define CHANNELS 64 /* channels of a block, whose current maxima stay in registers */

typedef struct
{
  CpuKernel k;
  LoomPool2dAttrs a;
  bool nhwc, wide; /* wide: where is i32 */
  bool halves;     /* adjacent windows of 2×2, all inside the input */
  bool bf16;       /* bf16 is converted to f32, one image at a time */
  int64_t N, C, H, W, P, Q;
  double ns;
} Pool;

typedef struct
{
  const Pool *self;
  const float *in; /* x [N,C,H,W], or [N,H,W,C]; of a gradient g [N,C,P,Q] or [N,P,Q,C] */
  float *out;      /* y as g, dx as x */
  void *indices;   /* winning tap of each window, as y: u8, or i32 where `wide` */
} Call;

/* The taps of output position p along one axis that are inside the input: from … to-1. */
static inline void
taps (int64_t p, int64_t n, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, int64_t *from, int64_t *to)
{
  int64_t start = p * stride - pad;

  *from = start < 0 ? (-start + dilation - 1) / dilation : 0;
  *to = kernel;
  while (*to > *from && start + (*to - 1) * dilation >= n)
    --*to;
}

#define INDEX_SET(self, indices, i, v)                                                                                 \
  do                                                                                                                   \
    {                                                                                                                  \
      if ((self)->wide)                                                                                                \
        ((int32_t *)(indices))[i] = (int32_t)(v);                                                                      \
      else                                                                                                             \
        ((uint8_t *)(indices))[i] = (uint8_t)(v);                                                                      \
    }                                                                                                                  \
  while (0)
#define INDEX_GET(self, indices, i) ((self)->wide ? ((const int32_t *)(indices))[i] : ((const uint8_t *)(indices))[i])

/* Output position (p, q) of image [H,W,C], all channels; o is its first element in y and indices. */
static void
max_nhwc_place (const Pool *self, const float *image, float *y, void *indices, int64_t o, int64_t p, int64_t q)
{
  const LoomPool2dAttrs *a = &self->a;
  int64_t r0, r1, s0, s1, C = self->C;

  taps (p, self->H, a->kernel[0], a->stride[0], a->pad[0], a->dilation[0], &r0, &r1);
  taps (q, self->W, a->kernel[1], a->stride[1], a->pad[1], a->dilation[1], &s0, &s1);
  for (int64_t c0 = 0; c0 < C; c0 += CHANNELS)
    {
      int64_t n = C - c0 < CHANNELS ? C - c0 : CHANNELS;
      float best[CHANNELS];
      int32_t winner[CHANNELS];
      bool first = true;

      for (int64_t r = r0; r < r1; r++)
        for (int64_t s = s0; s < s1; s++)
          {
            int64_t h = p * a->stride[0] - a->pad[0] + r * a->dilation[0];
            int64_t v = q * a->stride[1] - a->pad[1] + s * a->dilation[1];
            const float *x = image + (h * self->W + v) * C + c0;
            int32_t tap = (int32_t)(r * a->kernel[1] + s);

            if (first)
              for (int64_t c = 0; c < n; c++)
                {
                  best[c] = x[c];
                  winner[c] = tap;
                }
            else
              for (int64_t c = 0; c < n; c++)
                {
                  int wins = (x[c] > best[c]) | (x[c] != x[c]);

                  best[c] = wins ? x[c] : best[c];
                  winner[c] = wins ? tap : winner[c];
                }
            first = false;
          }
      if (first)
        for (int64_t c = 0; c < n; c++)
          best[c] = 0, winner[c] = 0;
      memcpy (y + o * C + c0, best, (size_t)n * sizeof *best);
      if (self->wide)
        memcpy ((int32_t *)indices + o * C + c0, winner, (size_t)n * sizeof *winner);
      else
        for (int64_t c = 0; c < n; c++)
          ((uint8_t *)indices)[o * C + c0 + c] = (uint8_t)winner[c];
    }
}

/* One register: compilers split wider vectors into single elements. */
#ifdef __AVX512F__
#define LANES 16
#elif defined __AVX2__
#define LANES 8
#else
#define LANES 4
#endif

typedef float V __attribute__ ((vector_size (4 * LANES), aligned (4), may_alias));
typedef int32_t VI __attribute__ ((vector_size (4 * LANES), aligned (4), may_alias));

/* The same for LANES channels of a small window with taps inside the input. image [H,W,C] begins at the first of them,
 * o is the index of the first in y and indices [N,P,Q,C]. For fewer channels whole vectors are still loaded, which
 * needs LANES readable floats at every tap, and stored if `whole`; the next position overwrites the surplus. */
static inline __attribute__ ((always_inline)) void
max_vector (const Pool *self, const LoomPool2dAttrs *a, const float *image, float *y, uint8_t *indices, int64_t o,
            int64_t p, int64_t q, int64_t r0, int64_t r1, int64_t s0, int64_t s1, bool whole)
{
  int64_t C = self->C;
  V best = { 0 };
  VI winner = { 0 };
  bool first = true;

  for (int64_t r = r0; r < r1; r++)
    for (int64_t s = s0; s < s1; s++)
      {
        V x = *(const V *)(image
                           + ((p * a->stride[0] - a->pad[0] + r * a->dilation[0]) * self->W + q * a->stride[1]
                              - a->pad[1] + s * a->dilation[1])
                                 * C);
        VI tap = (VI){ 0 } + (int32_t)(r * a->kernel[1] + s);
        VI wins = (VI)((x > best) | (x != x));

        if (first)
          wins = ~(VI){ 0 };

        best = (V)((wins & (VI)x) | (~wins & (VI)best));
        winner = (wins & tap) | (~wins & winner);
        first = false;
      }
  if (whole)
    {
      *(V *)(y + o) = best;
#ifdef __AVX512F__
      _mm_storeu_si128 ((__m128i *)(indices + o), _mm512_cvtepi32_epi8 ((__m512i)winner));
#elif defined __AVX2__
      /* Written by hand, because the compiler splits the vector. */
      __m256i wide = (__m256i)winner;
      __m128i words = _mm_packs_epi32 (_mm256_castsi256_si128 (wide), _mm256_extracti128_si256 (wide, 1));

      _mm_storel_epi64 ((__m128i_u *)(indices + o), _mm_packus_epi16 (words, words));
#else
      for (int c = 0; c < LANES; c++)
        indices[o + c] = (uint8_t)winner[c];
#endif
      return;
    }
  for (int64_t c = 0; c < C; c++)
    y[o + c] = best[c];
  for (int64_t c = 0; c < C; c++)
    indices[o + c] = (uint8_t)winner[c];
}

/* One position of all channels by max_vector(), with all taps inside the input; false if it does not apply. image
 * [H,W,C] is that of sample n; y and indices [N,P,Q,C]. `end`: the last float from which LANES can be read. */
static inline __attribute__ ((always_inline)) bool
max_taps (const Pool *self, const LoomPool2dAttrs *a, const float *image, float *y, uint8_t *indices, int64_t n,
          int64_t p, int64_t q, int64_t r0, int64_t r1, int64_t s0, int64_t s1, const float *end)
{
  int64_t C = self->C, place = p * self->Q + q, o = (n * self->P * self->Q + place) * C;

  if (C < LANES)
    {
      if (image
              + ((p * a->stride[0] - a->pad[0] + (r1 - 1) * a->dilation[0]) * self->W + q * a->stride[1] - a->pad[1]
                 + (s1 - 1) * a->dilation[1])
                    * C
          > end)
        return false;
      max_vector (self, a, image, y, indices, o, p, q, r0, r1, s0, s1, place * C + LANES <= self->P * self->Q * C);
      return true;
    }
  /* The last vector overlaps the one before it if LANES does not divide the channels. */
  for (int64_t c = 0; c < C; c += LANES)
    {
      int64_t from = c + LANES <= C ? c : C - LANES;

      max_vector (self, a, image + from, y, indices, o + from, p, q, r0, r1, s0, s1, true);
    }
  return true;
}

#ifdef __AVX512F__
/* ---- windows of 2×2 that meet, whole vectors of channels ------------------ */

/* The maxima of a row of windows, and which tap each of them is; top and bottom [2·Q,C], y and indices [Q,C]. */
static void
max_row_2x2 (const float *top, const float *bottom, float *y, uint8_t *indices, int64_t Q, int64_t C)
{
  for (int64_t q = 0; q < Q; q++, top += C, bottom += C)
    for (int64_t c = 0; c < C; c += LANES, top += LANES, bottom += LANES, y += LANES, indices += LANES)
      {
        const __m512 tap[4] = { _mm512_loadu_ps (top), _mm512_loadu_ps (top + C), _mm512_loadu_ps (bottom),
                                _mm512_loadu_ps (bottom + C) };
        __m512 best = tap[0];
        __m512i winner = _mm512_setzero_si512 ();

#pragma GCC unroll 4
        for (int t = 1; t < 4; t++)
          {
            const __mmask16 wins
                = _mm512_cmp_ps_mask (tap[t], best, _CMP_GT_OQ) | _mm512_cmp_ps_mask (tap[t], tap[t], _CMP_UNORD_Q);

            best = _mm512_mask_mov_ps (best, wins, tap[t]);
            winner = _mm512_mask_mov_epi32 (winner, wins, _mm512_set1_epi32 (t));
          }
        _mm512_storeu_ps (y, best);
        _mm_storeu_si128 ((__m128i *)indices, _mm512_cvtepi32_epi8 (winner));
      }
}

/* The gradient of the same, where each value of g [Q,C] is stored at its winner and zeros at the other taps. */
static void
max_grad_row_2x2 (const float *g, const uint8_t *indices, float *top, float *bottom, int64_t Q, int64_t C)
{
  for (int64_t q = 0; q < Q; q++, top += C, bottom += C)
    for (int64_t c = 0; c < C; c += LANES, top += LANES, bottom += LANES, g += LANES, indices += LANES)
      {
        const __m512i winner = _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const __m128i *)indices));
        const __m512 from = _mm512_loadu_ps (g);
        float *const to[4] = { top, top + C, bottom, bottom + C };

#pragma GCC unroll 4
        for (int t = 0; t < 4; t++)
          _mm512_storeu_ps (to[t], _mm512_maskz_mov_ps (_mm512_cmpeq_epi32_mask (winner, _mm512_set1_epi32 (t)), from));
      }
}
#endif

/* True, and done, for image n of x [H,W,C] in whole vectors; y and indices [N,P,Q,C]. */
static bool
max_2x2 (const Pool *self, const float *image, float *y, uint8_t *indices, int64_t n)
{
#ifdef __AVX512F__
  const int64_t row = self->W * self->C, out = self->Q * self->C;

  if (!self->halves || self->C % LANES != 0)
    return false;
  for (int64_t p = 0; p < self->P; p++)
    max_row_2x2 (image + 2 * p * row, image + (2 * p + 1) * row, y + (n * self->P + p) * out,
                 indices + (n * self->P + p) * out, self->Q, self->C);
  return true;
#else
  return false;
#endif
}

/* The taps of the usual windows are constants, so that the compiler unrolls their loops. */
static inline bool
max_place (const Pool *self, const float *image, float *y, uint8_t *indices, int64_t n, int64_t p, int64_t q,
           const float *end)
{
  const LoomPool2dAttrs *a = &self->a, halves = { .kernel = { 2, 2 }, .stride = { 2, 2 }, .dilation = { 1, 1 } };
  int64_t r0, r1, s0, s1;

  if (self->halves)
    return max_taps (self, &halves, image, y, indices, n, p, q, 0, 2, 0, 2, end);
  taps (p, self->H, a->kernel[0], a->stride[0], a->pad[0], a->dilation[0], &r0, &r1);
  taps (q, self->W, a->kernel[1], a->stride[1], a->pad[1], a->dilation[1], &s0, &s1);
  return r0 < r1 && s0 < s1 && max_taps (self, a, image, y, indices, n, p, q, r0, r1, s0, s1, end);
}

/* The same for one plane [H,W], element o of y and indices. */
static void
max_plain_place (const Pool *self, const float *plane, float *y, void *indices, int64_t o, int64_t p, int64_t q)
{
  const LoomPool2dAttrs *a = &self->a;
  int64_t r0, r1, s0, s1, winner = -1;
  float best = 0;

  taps (p, self->H, a->kernel[0], a->stride[0], a->pad[0], a->dilation[0], &r0, &r1);
  taps (q, self->W, a->kernel[1], a->stride[1], a->pad[1], a->dilation[1], &s0, &s1);
  for (int64_t r = r0; r < r1; r++)
    for (int64_t s = s0; s < s1; s++)
      {
        float x = plane[(p * a->stride[0] - a->pad[0] + r * a->dilation[0]) * self->W + q * a->stride[1] - a->pad[1]
                        + s * a->dilation[1]];

        if (winner < 0 || x > best || x != x)
          {
            best = x;
            winner = r * a->kernel[1] + s;
          }
      }
  y[o] = best;
  INDEX_SET (self, indices, o, winner < 0 ? 0 : winner);
}

static void
part_max (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Pool *self = call->self;
  int64_t in_size = self->nhwc ? self->H * self->W * self->C : self->H * self->W;
  bool vectors = self->nhwc && !self->wide;
  const float *end = call->in + (self->nhwc ? self->N : self->N * self->C) * in_size - LANES;

  for (int64_t n = from; n < to; n++)
    {
      const float *image = call->in + n * in_size;

      if (vectors && max_2x2 (self, image, call->out, call->indices, n))
        continue;
      for (int64_t p = 0; p < self->P; p++)
        for (int64_t q = 0; q < self->Q; q++)
          if (!vectors || !max_place (self, image, call->out, call->indices, n, p, q, end))
            (self->nhwc ? max_nhwc_place : max_plain_place) (self, image, call->out, call->indices,
                                                             (n * self->P + p) * self->Q + q, p, q);
    }
}

/* For windows that do not overlap: every position of dx is written once, by whole vectors of channels, instead of being
 * cleared and then added to. g and indices [N,P,Q,C]; dx [N,H,W,C], of which sample n is written. */
static void
max_grad_apart (const Pool *self, const float *g, const uint8_t *indices, float *dx, int64_t n)
{
  int64_t C = self->C, H = self->H, W = self->W, kh = self->a.kernel[0], kw = self->a.kernel[1];

  dx += n * H * W * C;
  if (self->P * kh < H || self->Q * kw < W)
    memset (dx, 0, (size_t)(H * W * C) * sizeof *dx);
#ifdef __AVX512F__
  for (int64_t p = 0; self->halves && C % LANES == 0 && p < self->P; p++)
    {
      const int64_t o = (n * self->P + p) * self->Q * C;

      max_grad_row_2x2 (g + o, indices + o, dx + 2 * p * W * C, dx + (2 * p + 1) * W * C, self->Q, C);
    }
  if (self->halves && C % LANES == 0)
    return;
#endif
  for (int64_t p = 0; p < self->P; p++)
    for (int64_t r = 0; r < kh; r++)
      for (int64_t q = 0; q < self->Q; q++)
        for (int64_t s = 0; s < kw; s++)
          {
            int64_t o = ((n * self->P + p) * self->Q + q) * C;
            const float *from = g + o;
            const uint8_t *winner = indices + o;
            float *to = dx + ((p * kh + r) * W + q * kw + s) * C;
            uint8_t tap = (uint8_t)(r * kw + s);
            int64_t c = 0;

#ifdef __AVX512F__
            /* Written by hand, because the compiler processes 64 channels at a time, and fewer one by one. */
            for (; c + LANES <= C; c += LANES)
              {
                __m512i won = _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const __m128i *)(winner + c)));
                __mmask16 mine = _mm512_cmpeq_epi32_mask (won, _mm512_set1_epi32 (tap));

                _mm512_storeu_ps (to + c, _mm512_maskz_loadu_ps (mine, from + c));
              }
#endif
#pragma GCC ivdep
            for (; c < C; c++)
              to[c] = winner[c] == tap ? from[c] : 0.0f;
          }
}

static void
part_max_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Pool *self = call->self;
  const LoomPool2dAttrs *a = &self->a;
  int64_t C = self->nhwc ? self->C : 1, H = self->H, W = self->W, kw = a->kernel[1];
  int64_t place[256]; /* offset of each tap of a small window from its corner */
  bool table = a->kernel[0] * kw <= 256, padded = (a->pad[0] | a->pad[1]) != 0;

  if (self->nhwc && C >= 8 && table && !self->wide && !padded && a->stride[0] == a->kernel[0] && a->stride[1] == kw
      && a->dilation[0] == 1 && a->dilation[1] == 1 && self->P * a->kernel[0] <= H && self->Q * kw <= W)
    {
      for (int64_t n = from; n < to; n++)
        max_grad_apart (self, call->in, call->indices, call->out, n);
      return;
    }
  for (int64_t t = 0; table && t < a->kernel[0] * kw; t++)
    place[t] = (t / kw * a->dilation[0] * W + t % kw * a->dilation[1]) * C;
  for (int64_t n = from; n < to; n++)
    {
      float *dx = call->out + n * H * W * C;

      memset (dx, 0, (size_t)(H * W * C) * sizeof *dx);
      for (int64_t p = 0; p < self->P; p++)
        for (int64_t q = 0; q < self->Q; q++)
          {
            int64_t o = ((n * self->P + p) * self->Q + q) * C;
            int64_t h = p * a->stride[0] - a->pad[0], v = q * a->stride[1] - a->pad[1];
            float *corner = dx + (h * W + v) * C;

            /* A window without a maximum has tap 0, which may be outside. */
            if (padded && (h < 0 || v < 0 || h >= H || v >= W))
              {
                int64_t r0, r1, s0, s1;

                taps (p, H, a->kernel[0], a->stride[0], a->pad[0], a->dilation[0], &r0, &r1);
                taps (q, W, kw, a->stride[1], a->pad[1], a->dilation[1], &s0, &s1);
                if (r0 >= r1 || s0 >= s1)
                  continue;
              }
            if (table && !self->wide)
              for (int64_t c = 0; c < C; c++)
                corner[place[((const uint8_t *)call->indices)[o + c]] + c] += call->in[o + c];
            else
              for (int64_t c = 0; c < C; c++)
                {
                  int64_t t = INDEX_GET (self, call->indices, o + c);

                  corner[(t / kw * a->dilation[0] * W + t % kw * a->dilation[1]) * C + c] += call->in[o + c];
                }
          }
    }
}

/* As in PyTorch, a window is cut to input plus padding for the divisor that counts padding, and to the input for the
 * sum. */
static int64_t
window (int64_t p, int64_t n, int64_t kernel, int64_t stride, int64_t pad, bool count_pad, int64_t *from, int64_t *to)
{
  int64_t start = p * stride - pad, end = start + kernel < n + pad ? start + kernel : n + pad;

  *from = start > 0 ? start : 0;
  *to = end < n ? end : n;
  return count_pad ? end - start : *to - *from;
}

static void
part_avg (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Pool *self = call->self;
  const LoomPool2dAttrs *a = &self->a;
  int64_t C = self->nhwc ? self->C : 1, H = self->H, W = self->W;
  bool backward = call->indices != NULL;

  for (int64_t n = from; n < to; n++)
    {
      const float *x = call->in + n * H * W * C;
      float *dx = call->out + n * H * W * C;

      if (backward)
        memset (dx, 0, (size_t)(H * W * C) * sizeof *dx);
      for (int64_t p = 0; p < self->P; p++)
        for (int64_t q = 0; q < self->Q; q++)
          {
            int64_t h0, h1, v0, v1, o = ((n * self->P + p) * self->Q + q) * C;
            int64_t rows = window (p, H, a->kernel[0], a->stride[0], a->pad[0], a->count_include_pad, &h0, &h1);
            int64_t columns = window (q, W, a->kernel[1], a->stride[1], a->pad[1], a->count_include_pad, &v0, &v1);
            float factor = 1.0f / (float)(a->divisor != 0 ? a->divisor : rows * columns);
            float *y = call->out + o;

            if (!backward)
              for (int64_t c = 0; c < C; c++)
                y[c] = 0;
            for (int64_t h = h0; h < h1; h++)
              for (int64_t v = v0; v < v1; v++)
                if (backward)
                  for (int64_t c = 0; c < C; c++)
                    dx[(h * W + v) * C + c] += call->in[o + c] * factor;
                else
                  for (int64_t c = 0; c < C; c++)
                    y[c] += x[(h * W + v) * C + c];
            if (!backward && h0 < h1 && v0 < v1)
              for (int64_t c = 0; c < C; c++)
                y[c] *= factor;
          }
    }
}

/* The items that threads share: images, or planes of images. */
static int64_t
count_items (const Pool *self)
{
  return self->nhwc ? self->N : self->N * self->C;
}

typedef struct
{
  Call call;
  CpuPart part;
  bool backward;
  char *scratch; /* for each thread one converted input and output item, in f32 */
} Bf16Call;

static size_t
bf16_scratch (const Pool *self)
{
  int64_t channels = self->nhwc ? self->C : 1;
  size_t floats = (size_t)(channels * (self->H * self->W + self->P * self->Q) + LANES);

  return (floats * sizeof (float) + 63) & ~(size_t)63;
}

static void
part_bf16 (void *context, int64_t from, int64_t to)
{
  const Bf16Call *bf16 = context;
  const Pool *self = bf16->call.self;
  const LoomDevice *device = self->k.device;
  int64_t threads = self->k.threads, items = count_items (self), channels = self->nhwc ? self->C : 1;
  int64_t x = channels * self->H * self->W, y = channels * self->P * self->Q;
  int64_t n_in = bf16->backward ? y : x, n_out = bf16->backward ? x : y;
  /* Thread t begins at items·t/threads, from which t is computed here. */
  float *in = (float *)(bf16->scratch + (size_t)((from * threads + items - 1) / items) * bf16_scratch (self));
  float *out = in + n_in + LANES;

  for (int64_t i = from; i < to; i++)
    {
      char *indices = bf16->call.indices;
      Call call = { self, in, out, indices != NULL ? indices + i * y * (self->wide ? 4 : 1) : NULL };

      device->widen (in, (const uint16_t *)(const void *)bf16->call.in + i * n_in, LOOM_BF16, n_in);
      bf16->part (&call, 0, 1);
      device->narrow ((uint16_t *)(void *)bf16->call.out + i * n_out, LOOM_BF16, out, n_out);
    }
}

static LoomStatus
share (Pool *self, CpuPart part, bool backward, void *scratch, Call *call)
{
  Bf16Call bf16 = { *call, part, backward, scratch };

  if (count_items (self) == 0)
    return LOOM_STATUS_OK; /* an empty tensor may have a NULL address */
  cpu_share (&self->k, self->ns, count_items (self), self->bf16 ? part_bf16 : part, self->bf16 ? (void *)&bf16 : call);
  return LOOM_STATUS_OK;
}

static LoomStatus
work_max (CpuKernel *k, void *const *b, LoomMessage *message)
{
  return share ((Pool *)k, part_max, false, b[3], &(Call){ (Pool *)k, b[0], b[1], b[2] });
}

static LoomStatus
work_max_grad (CpuKernel *k, void *const *b, LoomMessage *message)
{
  return share ((Pool *)k, part_max_grad, true, b[3], &(Call){ (Pool *)k, b[0], b[2], b[1] });
}

static LoomStatus
work_avg (CpuKernel *k, void *const *b, LoomMessage *message)
{
  return share ((Pool *)k, part_avg, false, b[2], &(Call){ (Pool *)k, b[0], b[1], NULL });
}

static LoomStatus
work_avg_grad (CpuKernel *k, void *const *b, LoomMessage *message)
{
  return share ((Pool *)k, part_avg, true, b[2], &(Call){ (Pool *)k, b[0], b[1], b[0] });
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, const LoomTensorDesc *x,
        const LoomTensorDesc *y, const LoomTensorDesc *indices, CpuWork work, CpuKernel **kernel, LoomMessage *message)
{
  const LoomPool2dAttrs *a = spec->attrs;
  bool nhwc = x->layout == LOOM_LAYOUT_NHWC;
  Pool *self;

  if ((x->dtype != LOOM_F32 && x->dtype != LOOM_BF16) || y->dtype != x->dtype || x->rank != 4
      || !cpu_all_layout (spec, x->layout)
      || (indices != NULL && indices->dtype != (a->kernel[0] * a->kernel[1] <= 256 ? LOOM_U8 : LOOM_I32)))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->a = *a;
  self->nhwc = nhwc;
  self->wide = indices != NULL && indices->dtype == LOOM_I32;
  self->N = x->dim[0];
  self->C = x->dim[1];
  self->H = x->dim[2];
  self->W = x->dim[3];
  self->P = y->dim[2];
  self->Q = y->dim[3];
  self->halves = a->kernel[0] == 2 && a->kernel[1] == 2 && a->stride[0] == 2 && a->stride[1] == 2 && a->pad[0] == 0
                 && a->pad[1] == 0 && a->dilation[0] == 1 && a->dilation[1] == 1 && 2 * self->P <= self->H
                 && 2 * self->Q <= self->W;
  self->bf16 = x->dtype == LOOM_BF16;
  if (self->bf16)
    self->k.base.scratch_bytes = bf16_scratch (self) * (size_t)self->k.threads;
  self->ns = 0.15 * (double)loom_desc_count (x) + (nhwc ? 0.1 : 1.0) * (double)loom_desc_count (y);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

#define POOL(name, x, y, indices)                                                                                      \
  static LoomStatus create_##name (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,                  \
                                   CpuKernel **kernel, LoomMessage *message)                                           \
  {                                                                                                                    \
    return create (device, spec, attrs_size, x, y, indices, work_##name, kernel, message);                             \
  }

POOL (max, &spec->in[0], &spec->out[0], &spec->out[1])
POOL (max_grad, &spec->out[0], &spec->in[0], &spec->in[1])
POOL (avg, &spec->in[0], &spec->out[0], NULL)
POOL (avg_grad, &spec->out[0], &spec->in[0], NULL)

const CpuPrimitive ISA (cpu_max_pool2d) = { "max_pool2d", sizeof (LoomPool2dAttrs), create_max };
const CpuPrimitive ISA (cpu_max_pool2d_grad) = { "max_pool2d_grad", sizeof (LoomPool2dAttrs), create_max_grad };
const CpuPrimitive ISA (cpu_avg_pool2d) = { "avg_pool2d", sizeof (LoomPool2dAttrs), create_avg };
const CpuPrimitive ISA (cpu_avg_pool2d_grad) = { "avg_pool2d_grad", sizeof (LoomPool2dAttrs), create_avg_grad };
