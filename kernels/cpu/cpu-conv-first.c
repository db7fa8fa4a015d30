/* conv2d and conv2d_weight_grad for one input channel, NHWC, 3x3 or 5x5, stride 1.
 *
 * For one channel oneDNN's kernels, which block over channels, reach a tenth of their speed (bench-kernels 1 conv1
 * onednn, and first). Here vectors run over the output channels: each tap broadcasts one pixel against 8 or 16 weights.
 * Images are copied into a frame of zeros first, so that taps need no test for the border. If there are fewer channels
 * than a vector has lanes, whole vectors are still stored, in ascending order, and the next pixel overwrites the
 * surplus. Up to 8 channels use vectors of 8 with AVX-512 too.
 *
 * With a pooling the convolution's result stays in registers, and so does its gradient: of 64 images of 28×28 and 16
 * channels they have 3.2 MB, more than the second cache, and to write and read them again takes longer than all
 * products. */
#include "kernels/cpu/cpu-conv-first.h"
#include "kernels/cpu/cpu-conv-sizes.h"
#include "kernels/cpu/cpu-pool-window.h"
#include "kernels/conv-pooled.h"

#ifdef __AVX2__

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

/* With AVX2 oneDNN is faster for more channels. Microseconds on one thread for 64 images of 28×28 and 5×5 filters, own
 * loops and oneDNN 2.6: 6 channels forward 286 and 534, weight gradient 240 and 471; 16 channels 569 and 502, 487 and
 * 795 (`bench-kernels 1 conv1`). */
#define MOST_FORWARD  8
#define MOST_BACKWARD 16
#define IMAGES        4 /* of one partial sum of the weight gradient */
#define AFTER_FRAME   8 /* floats: loads of the last pixels pass the frame's end by up to 4, next to another thread's */

typedef struct
{
  CpuKernel k;
  CPU_CONV_SIZES;           /* C is 1, R = S */
  int64_t frame_h, frame_w; /* the padded image */
  int64_t frame;            /* floats of a chunk's frame, with those that vectors read after its end */
  bool has_bias, relu;
  bool pooled;      /* with a pooling (kernels/conv-pooled.h) */
  LoomScalarOp act; /* an activation other than relu */
  int64_t lanes;    /* of a vector: 8 or 16 */
  int64_t blocks;   /* of this number of output channels */
  int64_t chunks;   /* of IMAGES images */
  double ns;
} First;

typedef struct
{
  const First *self;
  const float *x, *g; /* [N,H,W,1]; [N,P,Q,K] */
  float *y;           /* [N,P,Q,K] */
  uint8_t *indices;   /* with a pooling [N,P/2,Q/2,K], the shape of g or y; else NULL */
  /* Scratch: [blocks][R·R + 1][lanes], the bias last; sums of the same shape for each chunk;
   * [chunks][frame]. */
  float *weights, *partial, *frames;
} Call;

/* Copies image [H,W] into the middle of frame [frame_h,frame_w]. */
static float *
frame_image (const First *self, float *frame, const float *image)
{
  for (int64_t h = 0; h < self->H; h++)
    memcpy (frame + (h + self->top) * self->frame_w + self->left, image + h * self->W, (size_t)self->W * sizeof *image);
  return frame;
}

/* Functions have their vector width in their name. */
#define NAMED_(x, lanes)  x##_##lanes
#define NAMED__(x, lanes) NAMED_ (x, lanes)
#define NAMED(x)          NAMED__ (x, LANES)

#define LANES 8
#include "kernels/cpu/cpu-conv-first-loops.h"
#ifdef __AVX512F__
#define LANES 16
#include "kernels/cpu/cpu-conv-first-loops.h"
#endif

#ifdef __AVX512F__
#define FOR_LANES(part) (self->lanes == 8 ? part##_8 : part##_16)
#else
#define FOR_LANES(part) part##_8
#endif

static int64_t
lanes_of (int64_t channels)
{
#ifdef __AVX512F__
  return channels <= 8 ? 8 : 16;
#else
  return 8;
#endif
}

static bool
takes_channels (int64_t channels, int64_t lanes, int64_t most)
{
  return channels <= lanes || (channels % lanes == 0 && (lanes == 16 || channels <= most));
}

static LoomStatus
work_forward (CpuKernel *k, void *const *b, LoomMessage *message)
{
  First *self = (First *)k;
  const float *w = b[1], *bias = self->has_bias ? b[2] : NULL;
  Call call = { .self = self, .x = b[0], .y = b[k->n_in], .weights = b[k->n_in + k->n_out] };
  int64_t taps = self->R * self->R, lanes = self->lanes;

  call.indices = self->pooled ? b[k->n_in + 1] : NULL;
  call.frames = call.weights + self->blocks * (taps + 1) * lanes;
  for (int64_t c = 0; c < self->blocks * lanes; c++)
    {
      float *column = call.weights + c / lanes * (taps + 1) * lanes + c % lanes;

      for (int64_t t = 0; t < taps; t++)
        column[t * lanes] = c < self->K ? w[c * taps + t] : 0;
      column[taps * lanes] = c < self->K && bias != NULL ? bias[c] : 0;
    }
#ifdef __AVX512F__
  if (self->pooled)
    cpu_share (k, self->ns, self->chunks, part_forward_pooled_16, &call);
  else
#endif
    cpu_share (k, self->ns, self->chunks, FOR_LANES (part_forward), &call);
  if (self->act != LOOM_SCALAR_ID)
    ISA (cpu_apply) (self->act, call.y, self->N * self->P * self->Q * self->K / (self->pooled ? 4 : 1));
  return LOOM_STATUS_OK;
}

static LoomStatus
work_backward (CpuKernel *k, void *const *b, LoomMessage *message)
{
  First *self = (First *)k;
  Call call = { .self = self, .g = b[0], .x = b[1], .partial = b[k->n_in + k->n_out] };
  float *dw = b[k->n_in], *dbias = self->has_bias ? b[k->n_in + 1] : NULL;
  int64_t taps = self->R * self->R, lanes = self->lanes, size = self->blocks * (taps + 1) * lanes;

  call.indices = self->pooled ? b[2] : NULL;
  call.frames = call.partial + self->chunks * size;
  cpu_share (k, self->ns, self->chunks, FOR_LANES (part_backward), &call);
  for (int64_t c = 0; c < self->K; c++)
    for (int64_t t = 0; t <= taps; t++)
      {
        const float *from = call.partial + c / lanes * (taps + 1) * lanes + t * lanes + c % lanes;
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
  int64_t R = w->dim[2], lanes = lanes_of (y->dim[1]);
  First *self;

  if (!loom_conv_pooled_fits (spec) || spec->n_in > LOOM_CONV_RESIDUAL
      || (a->pooled && (lanes != 16 || y->dim[1] % lanes != 0 || loom_conv_indices (spec)->layout != LOOM_LAYOUT_NHWC))
      || !cpu_all_f32 (spec) || x->dim[1] != 1 || a->groups != 1 || (R != 3 && R != 5) || w->dim[3] != R
      || a->stride[0] != 1 || a->stride[1] != 1 || a->dilation[0] != 1 || a->dilation[1] != 1
      || y->layout != LOOM_LAYOUT_NHWC || w->layout != LOOM_LAYOUT_PLAIN
      || !takes_channels (y->dim[1], lanes, work == work_forward ? MOST_FORWARD : MOST_BACKWARD)
      || loom_desc_count (y) == 0)
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  CPU_CONV_TAKE_SIZES (self, a, x, w, y);
  self->pooled = a->pooled;
  if (self->pooled)
    {
      self->P *= 2;
      self->Q *= 2;
    }
  self->frame_h = self->H + a->pad[0] + a->pad[1];
  self->frame_w = self->W + a->pad[2] + a->pad[3];
  self->frame = self->frame_h * self->frame_w + AFTER_FRAME;
  self->has_bias = a->has_bias;
  self->relu = a->act == LOOM_SCALAR_RELU;
  self->act = self->relu ? LOOM_SCALAR_ID : a->act;
  self->lanes = lanes;
  self->blocks = (self->K + lanes - 1) / lanes;
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
      = (size_t)(sums * self->blocks * (self->R * self->R + 1) * self->lanes + self->chunks * self->frame)
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
