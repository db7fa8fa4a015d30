/* conv2d and conv2d_weight_grad for one input channel, NHWC, 3x3 or 5x5, stride 1.
 *
 * One channel leaves oneDNN's kernels, which block over channels, at a tenth of their
 * speed (bench-kernels 1 conv1 onednn, and first). Here the vector runs over the output
 * channels: each tap broadcasts one pixel against 16 weights. Images are copied into a
 * frame of zeros first, so that taps need no test for the border. With fewer than 16
 * channels whole vectors are stored all the same, in ascending order, and the next pixel
 * writes over the surplus. It needs the 32 registers of AVX-512. */
#include "kernels/cpu/cpu-conv-first.h"
#include "kernels/cpu/cpu-conv-sizes.h"

#ifdef __AVX512F__

#include <string.h>

#define LANES  16
#define IMAGES 4 /* of one partial sum of the weight gradient */

typedef float V __attribute__ ((vector_size (64), aligned (4), may_alias));
typedef int32_t VI __attribute__ ((vector_size (64)));

typedef struct
{
  CpuKernel k;
  CPU_CONV_SIZES;           /* C is 1, R = S */
  int64_t frame_h, frame_w; /* the padded image */
  bool has_bias, relu;
  LoomScalarOp act; /* when it is not relu */
  int64_t blocks;   /* of LANES output channels */
  int64_t chunks;   /* of IMAGES images */
  double ns;
} First;

typedef struct
{
  const First *self;
  const float *x, *g; /* [N,H,W,1]; [N,P,Q,K] */
  float *y;           /* [N,P,Q,K] */
  /* Scratch: [blocks][R·R + 1][LANES], the bias last; sums of the same shape for each chunk;
   * [chunks][frame_h][frame_w]. */
  float *weights, *partial, *frames;
} Call;

/* image [H,W] into the middle of frame [frame_h,frame_w]. */
static float *
frame_image (const First *self, float *frame, const float *image)
{
  for (int64_t h = 0; h < self->H; h++)
    memcpy (frame + (h + self->top) * self->frame_w + self->left, image + h * self->W, (size_t)self->W * sizeof *image);
  return frame;
}

/* B neighbouring pixels of one row against LANES channels; taps [R·R, LANES]. */
#define FORWARD(B, SIZE)                                                                                               \
  static inline __attribute__ ((always_inline)) void forward_##B##_##SIZE (const float *x, int64_t frame_w,            \
                                                                           const V *taps, V start, V *acc)             \
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

/* acc [n][LANES] to image [P·Q,K] from pixel and channel on. */
static inline __attribute__ ((always_inline)) void
store_pixels (const First *self, float *image, int64_t pixel, int64_t channel, V *acc, int n)
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
        forward_##B##_3 (x, self->frame_w, taps, start, acc);                                                          \
      else                                                                                                             \
        forward_##B##_5 (x, self->frame_w, taps, start, acc);                                                          \
      store_pixels (self, image, p * self->Q + q, block * LANES, acc, B);                                              \
      q += B;                                                                                                          \
    }                                                                                                                  \
  while (0)

/* y [IMAGES,P,Q,K] by chunk of images. */
static void
part_forward (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const First *self = call->self;

  for (int64_t chunk = from; chunk < to; chunk++)
    {
      float *frame = call->frames + chunk * self->frame_h * self->frame_w;

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

static LoomStatus
work_forward (CpuKernel *k, void *const *b, LoomMessage *message)
{
  First *self = (First *)k;
  const float *w = b[1], *bias = self->has_bias ? b[2] : NULL;
  Call call = { .self = self, .x = b[0], .y = b[k->n_in], .weights = b[k->n_in + 1] };
  int64_t taps = self->R * self->R;

  call.frames = call.weights + self->blocks * (taps + 1) * LANES;
  for (int64_t c = 0; c < self->blocks * LANES; c++)
    {
      float *column = call.weights + c / LANES * (taps + 1) * LANES + c % LANES;

      for (int64_t t = 0; t < taps; t++)
        column[t * LANES] = c < self->K ? w[c * taps + t] : 0;
      column[taps * LANES] = c < self->K && bias != NULL ? bias[c] : 0;
    }
  cpu_share (k, self->ns, self->chunks, part_forward, &call);
  if (self->act != LOOM_SCALAR_ID)
    ISA (cpu_apply) (self->act, call.y, self->N * self->P * self->Q * self->K);
  return LOOM_STATUS_OK;
}

/* ---- weight gradient ---------------------------------------------------- */

/* Adds Σ over an image g [P,Q,K], x in its frame, of g[pixel, channel]·x[pixel + tap] to sums [SIZE·SIZE + 1, LANES],
 * the last row being Σ g. */
#define BACKWARD(SIZE)                                                                                                 \
  static void backward_##SIZE (const First *self, const float *frame, const float *g, int64_t remaining, float *sums)  \
  {                                                                                                                    \
    V acc[SIZE * SIZE], total = *(V *)(sums + SIZE * SIZE * LANES);                                                    \
    for (int t = 0; t < SIZE * SIZE; t++)                                                                              \
      acc[t] = *(V *)(sums + t * LANES);                                                                               \
    for (int64_t p = 0; p < self->P; p++)                                                                              \
      for (int64_t q = 0; q < self->Q; q++)                                                                            \
        {                                                                                                              \
          const float *x = frame + p * self->frame_w + q;                                                              \
          int64_t at = (p * self->Q + q) * self->K;                                                                    \
          V v = { 0 };                                                                                                 \
          if (at + LANES <= remaining)                                                                                 \
            v = *(const V *)(g + at);                                                                                  \
          else                                                                                                         \
            for (int64_t k = 0; k < remaining - at; k++)                                                               \
              v[k] = g[at + k];                                                                                        \
          total += v;                                                                                                  \
          for (int r = 0; r < SIZE; r++)                                                                               \
            for (int s = 0; s < SIZE; s++)                                                                             \
              acc[r * SIZE + s] += v * x[r * self->frame_w + s];                                                       \
        }                                                                                                              \
    for (int t = 0; t < SIZE * SIZE; t++)                                                                              \
      *(V *)(sums + t * LANES) = acc[t];                                                                               \
    *(V *)(sums + SIZE * SIZE * LANES) = total;                                                                        \
  }

BACKWARD (3)
BACKWARD (5)

/* partial [chunk][blocks][R·R + 1][LANES] by chunk of images. */
static void
part_backward (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const First *self = call->self;
  int64_t image = self->P * self->Q * self->K, size = self->blocks * (self->R * self->R + 1) * LANES;

  for (int64_t chunk = from; chunk < to; chunk++)
    {
      float *frame = call->frames + chunk * self->frame_h * self->frame_w, *sums = call->partial + chunk * size;

      memset (frame, 0, (size_t)(self->frame_h * self->frame_w) * sizeof *frame);
      memset (sums, 0, (size_t)size * sizeof *sums);
      for (int64_t n = chunk * IMAGES; n < self->N && n < (chunk + 1) * IMAGES; n++)
        {
          frame_image (self, frame, call->x + n * self->H * self->W);
          for (int64_t block = 0; block < self->blocks; block++)
            (self->R == 3 ? backward_3 : backward_5) (self, frame, call->g + n * image + block * LANES,
                                                      (self->N - n) * image - block * LANES,
                                                      sums + block * (self->R * self->R + 1) * LANES);
        }
    }
}

static LoomStatus
work_backward (CpuKernel *k, void *const *b, LoomMessage *message)
{
  First *self = (First *)k;
  Call call = { .self = self, .g = b[0], .x = b[1], .partial = b[k->n_in + k->n_out] };
  float *dw = b[2], *dbias = self->has_bias ? b[3] : NULL;
  int64_t taps = self->R * self->R, size = self->blocks * (taps + 1) * LANES;

  call.frames = call.partial + self->chunks * size;
  cpu_share (k, self->ns, self->chunks, part_backward, &call);
  for (int64_t c = 0; c < self->K; c++)
    for (int64_t t = 0; t <= taps; t++)
      {
        const float *from = call.partial + c / LANES * (taps + 1) * LANES + t * LANES + c % LANES;
        double sum = 0;

        for (int64_t chunk = 0; chunk < self->chunks; chunk++)
          sum += (double)from[chunk * size];
        if (t < taps)
          dw[c * taps + t] = (float)sum;
        else if (dbias != NULL)
          dbias[c] = (float)sum;
      }
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, const LoomTensorDesc *x,
        const LoomTensorDesc *w, const LoomTensorDesc *y, CpuWork work, CpuKernel **kernel, LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  int64_t R = w->dim[2];
  First *self;

  if (!cpu_all_f32 (spec) || x->dim[1] != 1 || a->groups != 1 || (R != 3 && R != 5) || w->dim[3] != R
      || a->stride[0] != 1 || a->stride[1] != 1 || a->dilation[0] != 1 || a->dilation[1] != 1
      || y->layout != LOOM_LAYOUT_NHWC || w->layout != LOOM_LAYOUT_PLAIN
      || (y->dim[1] > LANES && y->dim[1] % LANES != 0) || loom_desc_count (y) == 0)
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  CPU_CONV_TAKE_SIZES (self, a, x, w, y);
  self->frame_h = self->H + a->pad[0] + a->pad[1];
  self->frame_w = self->W + a->pad[2] + a->pad[3];
  self->has_bias = a->has_bias;
  self->relu = a->act == LOOM_SCALAR_RELU;
  self->act = self->relu ? LOOM_SCALAR_ID : a->act;
  self->blocks = (self->K + LANES - 1) / LANES;
  self->chunks = (self->N + IMAGES - 1) / IMAGES;
  self->ns = 0.2 * (double)(self->N * self->P * self->Q * self->blocks * R * R);
  self->k.base.name = "own first convolution";
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

static void
add_scratch (First *self, int64_t sums)
{
  self->k.base.scratch_bytes
      = (size_t)(sums * self->blocks * (self->R * self->R + 1) * LANES + self->chunks * self->frame_h * self->frame_w)
            * sizeof (float)
        + 64;
}

LoomStatus
ISA (cpu_conv_first) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                      LoomMessage *message)
{
  LoomStatus status
      = create (device, spec, attrs_size, &spec->in[0], &spec->in[1], &spec->out[0], work_forward, kernel, message);

  if (status == LOOM_STATUS_OK)
    add_scratch ((First *)*kernel, 1);
  return status;
}

LoomStatus
ISA (cpu_conv_first_weight) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                             LoomMessage *message)
{
  LoomStatus status
      = create (device, spec, attrs_size, &spec->in[1], &spec->out[0], &spec->in[0], work_backward, kernel, message);

  if (status == LOOM_STATUS_OK)
    add_scratch ((First *)*kernel, ((First *)*kernel)->chunks);
  return status;
}

#else

LoomStatus
ISA (cpu_conv_first) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                      LoomMessage *message)
{
  return LOOM_STATUS_UNSUPPORTED;
}

LoomStatus
ISA (cpu_conv_first_weight) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                             LoomMessage *message)
{
  return LOOM_STATUS_UNSUPPORTED;
}

#endif
