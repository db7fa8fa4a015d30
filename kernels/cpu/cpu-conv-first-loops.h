/* The loops of cpu-conv-first.c over vectors of LANES floats, NAMED (x) being x_LANES. Included once for each width,
 * without a guard. */

typedef float NAMED (V) __attribute__ ((vector_size (LANES * 4), aligned (4), may_alias));
typedef int32_t NAMED (VI) __attribute__ ((vector_size (LANES * 4)));

#define V  NAMED (V)
#define VI NAMED (VI)

/* B neighbouring pixels of one row against LANES channels; taps [R·R, LANES]. */
#define FORWARD(B, SIZE)                                                                                               \
  static inline __attribute__ ((always_inline)) void NAMED (forward_##B##_##SIZE) (const float *x, int64_t frame_w,    \
                                                                                   const V *taps, V start, V *acc)     \
  {                                                                                                                    \
    for (int b = 0; b < B; b++)                                                                                        \
      acc[b] = start;                                                                                                  \
    for (int r = 0; r < SIZE; r++)                                                                                     \
      for (int s = 0; s < SIZE; s++)                                                                                   \
        for (int b = 0; b < B; b++)                                                                                    \
          acc[b] += taps[r * SIZE + s] * x[r * frame_w + s + b];                                                       \
  }

FORWARD (1, 3)
FORWARD (1, 5)
FORWARD (4, 3)
FORWARD (4, 5)
FORWARD (8, 3)
FORWARD (8, 5)
#if LANES == 16
FORWARD (2, 3)
FORWARD (2, 5)
#endif

/* acc [n][LANES] to image [P·Q,K] from pixel and channel on. */
static inline __attribute__ ((always_inline)) void
NAMED (store_pixels) (const First *self, float *image, int64_t pixel, int64_t channel, V *acc, int n)
{
  int64_t end = self->P * self->Q * self->K;

  for (int b = 0; b < n; b++)
    {
      int64_t at = (pixel + b) * self->K + channel;

      if (self->relu)
        acc[b] = (V)((VI)acc[b] & (VI)((acc[b] > 0) | (acc[b] != acc[b])));
      if (at + LANES <= end)
        *(V *)(image + at) = acc[b];
      else
        for (int64_t k = 0; k < self->K - channel && k < LANES; k++)
          image[at + k] = acc[b][k];
    }
}

#define PIXELS(B)                                                                                                      \
  do                                                                                                                   \
    {                                                                                                                  \
      const float *x = frame + p * self->frame_w + q;                                                                  \
      V acc[B];                                                                                                        \
      if (self->R == 3)                                                                                                \
        NAMED (forward_##B##_3) (x, self->frame_w, taps, start, acc);                                                  \
      else                                                                                                             \
        NAMED (forward_##B##_5) (x, self->frame_w, taps, start, acc);                                                  \
      NAMED (store_pixels) (self, image, p * self->Q + q, block * LANES, acc, B);                                      \
      q += B;                                                                                                          \
    }                                                                                                                  \
  while (0)

/* y [IMAGES,P,Q,K] by chunk of images. */
static void
NAMED (part_forward) (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const First *self = call->self;

  for (int64_t chunk = from; chunk < to; chunk++)
    {
      float *frame = call->frames + chunk * self->frame;

      memset (frame, 0, (size_t)(self->frame_h * self->frame_w) * sizeof *frame);
      for (int64_t n = chunk * IMAGES; n < self->N && n < (chunk + 1) * IMAGES; n++)
        {
          float *image = call->y + n * self->P * self->Q * self->K;

          frame_image (self, frame, call->x + n * self->H * self->W);
          for (int64_t block = 0; block < self->blocks; block++)
            {
              const V *taps = (const V *)(call->weights + block * (self->R * self->R + 1) * LANES);
              V start = taps[self->R * self->R];

              for (int64_t p = 0; p < self->P; p++)
                {
                  int64_t q = 0;

                  while (q + 8 <= self->Q)
                    PIXELS (8);
                  while (q + 4 <= self->Q)
                    PIXELS (4);
                  while (q < self->Q)
                    PIXELS (1);
                }
            }
        }
    }
}

#if LANES == 16
/* ---- with a pooling ------------------------------------------------------- */

/* The maxima of n windows of 2×2, of which top and bottom [2·n][LANES] are the rows, to y, indices [n][K]. */
static inline __attribute__ ((always_inline)) void
NAMED (store_maxima) (const First *self, const V *top, const V *bottom, float *y, uint8_t *indices, int n)
{
  for (int i = 0; i < n; i++)
    {
      const __m512 tap[4]
          = { (__m512)top[2 * i], (__m512)top[2 * i + 1], (__m512)bottom[2 * i], (__m512)bottom[2 * i + 1] };

      cpu_pool_window (tap, self->relu, y + i * self->K, indices + i * self->K);
    }
}

/* B pixels of two rows of the convolution, from row 2·p and column 2·q on, to B/2 windows. */
#define WINDOWS(B)                                                                                                     \
  do                                                                                                                   \
    {                                                                                                                  \
      const float *x = frame + 2 * p * self->frame_w + 2 * q;                                                          \
      const int64_t at = (p * Q + q) * self->K;                                                                        \
      V top[B], bottom[B];                                                                                             \
      if (self->R == 3)                                                                                                \
        {                                                                                                              \
          NAMED (forward_##B##_3) (x, self->frame_w, taps, start, top);                                                \
          NAMED (forward_##B##_3) (x + self->frame_w, self->frame_w, taps, start, bottom);                             \
        }                                                                                                              \
      else                                                                                                             \
        {                                                                                                              \
          NAMED (forward_##B##_5) (x, self->frame_w, taps, start, top);                                                \
          NAMED (forward_##B##_5) (x + self->frame_w, self->frame_w, taps, start, bottom);                             \
        }                                                                                                              \
      NAMED (store_maxima) (self, top, bottom, y + at, indices + at, B / 2);                                           \
      q += B / 2;                                                                                                      \
    }                                                                                                                  \
  while (0)

/* y and indices [IMAGES,P/2,Q/2,K] by chunk of images. */
static void
NAMED (part_forward_pooled) (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const First *self = call->self;
  const int64_t P = self->P / 2, Q = self->Q / 2;

  for (int64_t chunk = from; chunk < to; chunk++)
    {
      float *frame = call->frames + chunk * self->frame;

      memset (frame, 0, (size_t)(self->frame_h * self->frame_w) * sizeof *frame);
      for (int64_t n = chunk * IMAGES; n < self->N && n < (chunk + 1) * IMAGES; n++)
        {
          frame_image (self, frame, call->x + n * self->H * self->W);
          for (int64_t block = 0; block < self->blocks; block++)
            {
              const V *taps = (const V *)(call->weights + block * (self->R * self->R + 1) * LANES);
              const V start = taps[self->R * self->R];
              float *y = call->y + n * P * Q * self->K + block * LANES;
              uint8_t *indices = call->indices + n * P * Q * self->K + block * LANES;

              for (int64_t p = 0; p < P; p++)
                {
                  int64_t q = 0;

                  while (q + 4 <= Q)
                    WINDOWS (8);
                  while (q < Q)
                    WINDOWS (2);
                }
            }
        }
    }
}

#undef WINDOWS
#endif

/* ---- weight gradient ---------------------------------------------------- */

/* Adds Σ over an image g [P,Q,K], x in its frame, of g[pixel, channel]·x[pixel + tap] to sums [size·size + 1, LANES],
 * for the taps of `rows` rows from `first` on. With the first row it also adds Σ g to the last row of sums. */
static inline __attribute__ ((always_inline)) void
NAMED (backward_rows) (const First *self, const float *frame, const float *g, int64_t remaining, float *sums, int size,
                       int first, int rows)
{
  float *row = sums + first * size * LANES, *last = sums + size * size * LANES;
  V acc[25], total = *(V *)last;

#pragma GCC unroll 25
  for (int t = 0; t < rows * size; t++)
    acc[t] = *(V *)(row + t * LANES);
  for (int64_t p = 0; p < self->P; p++)
    for (int64_t q = 0; q < self->Q; q++)
      {
        const float *x = frame + (p + first) * self->frame_w + q;
        int64_t at = (p * self->Q + q) * self->K;
        V v = { 0 };

        if (at + LANES <= remaining)
          v = *(const V *)(g + at);
        else
          for (int64_t k = 0; k < remaining - at; k++)
            v[k] = g[at + k];
        if (first == 0)
          total += v;
#pragma GCC unroll 5
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 5
          for (int s = 0; s < size; s++)
            acc[r * size + s] += v * x[r * self->frame_w + s];
      }
#pragma GCC unroll 25
  for (int t = 0; t < rows * size; t++)
    *(V *)(row + t * LANES) = acc[t];
  if (first == 0)
    *(V *)last = total;
}

/* All rows of taps at once if there are registers for all sums, else two by two. */
#ifdef __AVX512F__
#define BACKWARD(SIZE) NAMED (backward_rows) (self, frame, g, remaining, sums, SIZE, 0, SIZE)
#else
#define BACKWARD(SIZE)                                                                                                 \
  do                                                                                                                   \
    {                                                                                                                  \
      NAMED (backward_rows) (self, frame, g, remaining, sums, SIZE, 0, 2);                                             \
      NAMED (backward_rows) (self, frame, g, remaining, sums, SIZE, 2, SIZE == 3 ? 1 : 2);                             \
      if (SIZE == 5)                                                                                                   \
        NAMED (backward_rows) (self, frame, g, remaining, sums, SIZE, SIZE - 1, 1);                                    \
    }                                                                                                                  \
  while (0)
#endif

static void
NAMED (backward_3) (const First *self, const float *frame, const float *g, int64_t remaining, float *sums)
{
  BACKWARD (3);
}

static void
NAMED (backward_5) (const First *self, const float *frame, const float *g, int64_t remaining, float *sums)
{
  BACKWARD (5);
}

#if LANES == 16
/* The same for the gradient g [P/2,Q/2,K] of a pooling, which flows to the pixel of each window that indices, of the
 * same shape, name. Of a row of taps, the pixels under all four of a window are in two rows of x, from which each lane
 * takes that of its own. Sums are in the order of windows. */
static inline __attribute__ ((always_inline)) void
NAMED (backward_pooled) (const First *self, const float *frame, const float *g, const uint8_t *indices, float *sums,
                         int size)
{
  const int64_t P = self->P / 2, Q = self->Q / 2, K = self->K, frame_w = self->frame_w;
  const __m512i places = _mm512_setr_epi32 (0, 1, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  V acc[25], total = *(V *)(sums + size * size * LANES);

#pragma GCC unroll 25
  for (int t = 0; t < size * size; t++)
    acc[t] = *(V *)(sums + t * LANES);
  for (int64_t p = 0; p < P; p++)
    for (int64_t q = 0; q < Q; q++)
      {
        const int64_t at = (p * Q + q) * K;
        const __m512i winner = _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const __m128i *)(indices + at)));
        const __m512i place = _mm512_permutexvar_epi32 (winner, places);
        const V v = *(const V *)(g + at);

        total += v;
#pragma GCC unroll 5
        for (int r = 0; r < size; r++)
          {
            const float *x = frame + (2 * p + r) * frame_w + 2 * q;
            const __m512 rows = (__m512)_mm512_insertf64x4 (_mm512_castpd256_pd512 ((__m256d)_mm256_loadu_ps (x)),
                                                            (__m256d)_mm256_loadu_ps (x + frame_w), 1);

#pragma GCC unroll 5
            for (int s = 0; s < size; s++)
              acc[r * size + s] += v * (V)_mm512_permutexvar_ps (_mm512_add_epi32 (place, _mm512_set1_epi32 (s)), rows);
          }
      }
#pragma GCC unroll 25
  for (int t = 0; t < size * size; t++)
    *(V *)(sums + t * LANES) = acc[t];
  *(V *)(sums + size * size * LANES) = total;
}

static void
NAMED (backward_pooled_3) (const First *self, const float *frame, const float *g, const uint8_t *indices, float *sums)
{
  NAMED (backward_pooled) (self, frame, g, indices, sums, 3);
}

static void
NAMED (backward_pooled_5) (const First *self, const float *frame, const float *g, const uint8_t *indices, float *sums)
{
  NAMED (backward_pooled) (self, frame, g, indices, sums, 5);
}
#endif

/* One image and block of channels. */
static void
NAMED (backward_image) (const Call *call, const float *frame, int64_t n, int64_t block, float *sums)
{
  const First *self = call->self;
  const int64_t image = self->P * self->Q * self->K, at = n * image + block * LANES;

#if LANES == 16
  const int64_t pooled = n * image / 4 + block * LANES;

  if (call->indices != NULL)
    {
      (self->R == 3 ? NAMED (backward_pooled_3) : NAMED (backward_pooled_5)) (self, frame, call->g + pooled,
                                                                              call->indices + pooled, sums);
      return;
    }
#endif
  (self->R == 3 ? NAMED (backward_3) : NAMED (backward_5)) (self, frame, call->g + at, self->N * image - at, sums);
}

/* partial [chunk][blocks][R·R + 1][LANES] by chunk of images. */
static void
NAMED (part_backward) (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const First *self = call->self;
  int64_t size = self->blocks * (self->R * self->R + 1) * LANES;

  for (int64_t chunk = from; chunk < to; chunk++)
    {
      float *frame = call->frames + chunk * self->frame, *sums = call->partial + chunk * size;

      memset (frame, 0, (size_t)(self->frame_h * self->frame_w) * sizeof *frame);
      memset (sums, 0, (size_t)size * sizeof *sums);
      for (int64_t n = chunk * IMAGES; n < self->N && n < (chunk + 1) * IMAGES; n++)
        {
          frame_image (self, frame, call->x + n * self->H * self->W);
          for (int64_t block = 0; block < self->blocks; block++)
            NAMED (backward_image) (call, frame, n, block, sums + block * (self->R * self->R + 1) * LANES);
        }
    }
}

#undef V
#undef VI
#undef FORWARD
#undef PIXELS
#undef BACKWARD
#undef LANES
