/* conv2d_weight_grad as an implicit matrix product (im2col by blocks), NHWC.
 *
 * With a row for each tap and input channel, dw [R·S·C, K] = x' [R·S·C, pixels] · g [pixels, K], where a pixel is one
 * of y's and x' has the elements that a tap reads for it. A block of pixels is gathered into panels at a time, x' as
 * [taps·C / PANEL][block][PANEL] and g [N,P,Q,K] as [K / PANEL][block][PANEL], and its products are added to the sums
 * [K / PANEL][taps·C][PANEL]. Threads share the pixels of a block and then its products. The blocks depend only on the
 * shape, so every sum has one order for any number of threads.
 *
 * oneDNN 2.6's direct kernels take a third longer with strides (37, 30 and 36 against 25, 23 and 23 ms for ResNet-18's
 * three of 3x3 at batch 128) and twice as long from three channels to 64 (10 to 14 against 6 ms). Without strides, and
 * from 1x1 or to 32 channels, they are as fast or faster, also with strides forward and for the input's gradient. One
 * thread: tests/kernels/bench-kernels 1 WORD [onednn|implicit], WORD "stride 2" or "conv1". */
#include "kernels/cpu/cpu-conv-implicit.h"
#include "kernels/cpu/cpu-conv-sizes.h"
#include "kernels/cpu/cpu-panels.h"
#include "kernels/options.h"

#include <string.h>

#define BLOCK_BYTES (1 * 1024 * 1024) /* of a block's panels; the minimum if sums are small */
#define BLOCK_LEAST (384 * 1024)
/* a block this many times as large as the sums, which it reads and writes, makes their cost negligible */
#define SUMS      16
#define BLOCK_MIN 128 /* pixels; in smaller blocks the sums would be read and written too often */
#define GROUP     64  /* pixels whose gradient is summed by one thread for the bias */
#define CHUNK     16  /* input channels that are put in their places at a time */
#define FEW       16  /* input channels; for fewer, oneDNN's kernels are slow if there are MANY output channels */
#define MANY      64

typedef struct
{
  CpuKernel k;
  CPU_CONV_SIZES;
  int64_t stride[2], dilation[2];
  int64_t rows;           /* input channels whose results are written at a time */
  int64_t blocks, panels; /* of PANEL: of the rows, of K */
  int64_t pixels, block;  /* all pixels; those of a block, a multiple of GROUP */
  bool has_bias;
} Implicit;

typedef struct
{
  const Implicit *self;
  const float *x, *g; /* [N,H,W,C]; [N,P,Q,K] */
  float *dw;          /* [K,C,R,S] */
  /* Scratch: [blocks][block][PANEL]; [panels][block][PANEL]; [panels][rows][PANEL]; [block / GROUP][panels·PANEL] and a
   * row for their sum. */
  float *taps, *gradients, *sums, *bias;
  int64_t pixel, n; /* the block: its first pixel, and the number of its pixels */
} Call;

/* Writes n floats, or zeros, to the rows from `row` on of pixel t. */
INLINE void
put_rows (const Call *call, int64_t t, int64_t row, const float *from, int64_t n)
{
  const Implicit *self = call->self;

  while (n > 0)
    {
      int64_t at = row % PANEL, part = n < PANEL - at ? n : PANEL - at;
      float *to = call->taps + (row / PANEL * self->block + t) * PANEL + at;

      for (int64_t i = 0; i < part; i += LANES)
        store (to + i, from != NULL ? load (from + i, part - i) : (V){ 0 }, part - i);
      if (from != NULL)
        from += part;
      row += part;
      n -= part;
    }
}

/* Gathers the operands of all taps for pixel t of the block, which is pixel (p, q) of an image. Without dilation a row
 * of taps inside the image is contiguous. */
INLINE void
gather_pixel (const Call *call, int64_t t, const float *image, int64_t p, int64_t q)
{
  const Implicit *self = call->self;
  int64_t C = self->C, h = p * self->stride[0] - self->top, w = q * self->stride[1] - self->left;
  bool joined = self->dilation[1] == 1 && w >= 0 && w + self->S <= self->W;

  for (int64_t r = 0; r < self->R; r++, h += self->dilation[0])
    {
      bool inside = h >= 0 && h < self->H;

      if (joined || !inside)
        put_rows (call, t, r * self->S * C, inside ? image + (h * self->W + w) * C : NULL, self->S * C);
      else
        for (int64_t s = 0; s < self->S; s++)
          {
            int64_t column = w + s * self->dilation[1];

            put_rows (call, t, (r * self->S + s) * C,
                      column >= 0 && column < self->W ? image + (h * self->W + column) * C : NULL, C);
          }
    }
}

static void
part_pixels (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Implicit *self = call->self;
  int64_t K = self->K;

  for (int64_t group = from; group < to; group++)
    {
      float *bias = call->bias + group * self->panels * PANEL;
      int64_t pixel = call->pixel + group * GROUP, q = pixel % self->Q, p = pixel / self->Q % self->P;
      const float *image = call->x + pixel / (self->P * self->Q) * self->H * self->W * self->C;

      memset (bias, 0, (size_t)(self->panels * PANEL) * sizeof *bias);
      for (int64_t t = group * GROUP; t < (group + 1) * GROUP && t < call->n; t++)
        {
          const float *g = call->g + (call->pixel + t) * K;

          gather_pixel (call, t, image, p, q);
          if (++q == self->Q)
            {
              q = 0;
              if (++p == self->P)
                {
                  p = 0;
                  image += self->H * self->W * self->C;
                }
            }
          for (int64_t c = 0; c < self->panels * PANEL; c += LANES)
            {
              V v = c < K ? load (g + c, K - c) : (V){ 0 };

              *(V *)(call->gradients + (c / PANEL * self->block + t) * PANEL + c % PANEL) = v;
              *(V *)(bias + c) += v;
            }
        }
    }
}

/* Item: PANEL rows of a panel of K; the rows of one part of x' stay in the cache for all panels. */
static void
part_products (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Implicit *self = call->self;

  for (int64_t item = from; item < to; item++)
    {
      int64_t row = item / self->panels * PANEL, panel = item % self->panels;
      int64_t rows = self->rows - row < PANEL ? self->rows - row : PANEL;

      ISA (cpu_product_columns)
      (rows, call->taps + row * self->block, call->gradients + panel * self->block * PANEL, call->n, PANEL,
       call->sums + (panel * self->rows + row) * PANEL, call->pixel > 0);
    }
}

/* Item: CHUNK input channels of a panel of K, from [taps·C][PANEL] to [K][C][taps]. */
static void
part_filters (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Implicit *self = call->self;
  int64_t chunks = (self->C + CHUNK - 1) / CHUNK, taps = self->R * self->S;

  for (int64_t item = from; item < to; item++)
    {
      int64_t panel = item / chunks, first = item % chunks * CHUNK;
      int64_t end = first + CHUNK < self->C ? first + CHUNK : self->C;

      for (int64_t k = 0; k < PANEL && panel * PANEL + k < self->K; k++)
        for (int64_t c = first; c < end; c++)
          for (int64_t t = 0; t < taps; t++)
            call->dw[((panel * PANEL + k) * self->C + c) * taps + t]
                = call->sums[(panel * self->rows + t * self->C + c) * PANEL + k];
    }
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Implicit *self = (Implicit *)k;
  Call call = { .self = self, .g = b[0], .x = b[1], .dw = b[2], .taps = b[k->n_in + k->n_out] };
  int64_t width = self->panels * PANEL;
  float *total;

  call.gradients = call.taps + self->blocks * self->block * PANEL;
  call.sums = call.gradients + self->panels * self->block * PANEL;
  call.bias = call.sums + self->panels * self->rows * PANEL;
  total = call.bias + self->block / GROUP * width;
  memset (total, 0, (size_t)width * sizeof *total);
  for (call.pixel = 0; call.pixel < self->pixels; call.pixel += self->block)
    {
      int64_t groups;

      call.n = self->pixels - call.pixel < self->block ? self->pixels - call.pixel : self->block;
      groups = (call.n + GROUP - 1) / GROUP;
      cpu_parallel (k->threads, groups, part_pixels, &call);
      cpu_parallel (k->threads, self->blocks * self->panels, part_products, &call);
      for (int64_t group = 0; group < groups && self->has_bias; group++)
        for (int64_t c = 0; c < width; c++)
          total[c] += call.bias[group * width + c];
    }
  cpu_parallel (k->threads, self->panels * ((self->C + CHUNK - 1) / CHUNK), part_filters, &call);
  if (self->has_bias)
    memcpy (b[3], total, (size_t)self->K * sizeof *total);
  return LOOM_STATUS_OK;
}

/* The operations that are executed, including those for padding of panels. */
double
ISA (cpu_conv_implicit_flops) (const LoomKernelSpec *spec)
{
  return loom_conv_flops (spec, 1, PANEL);
}

/* TRUE if oneDNN's kernels are slow. The number of threads is not considered, so that it changes no bits. */
static bool
fits (const LoomKernelSpec *spec)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc *g = &spec->in[0], *x = &spec->in[1], *w = &spec->out[0];

  return cpu_all_f32 (spec) && !a->pooled && x->layout == LOOM_LAYOUT_NHWC && g->layout == LOOM_LAYOUT_NHWC
         && w->layout == LOOM_LAYOUT_PLAIN && a->groups == 1 && loom_desc_count (x) > 0 && loom_desc_count (g) > 0
         && loom_desc_count (w) > 0 && w->dim[0] >= PANEL
         && (w->dim[1] < FEW ? w->dim[0] >= MANY && w->dim[2] * w->dim[3] > 1
                             : (a->stride[0] > 1 || a->stride[1] > 1) && w->dim[2] * w->dim[3] > 1);
}

LoomStatus
ISA (cpu_conv_implicit_weight) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                                LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc *g = &spec->in[0], *x = &spec->in[1], *w = &spec->out[0];
  int64_t bytes;
  Implicit *self;

  if (!fits (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  CPU_CONV_TAKE_SIZES (self, a, x, w, g);
  for (int i = 0; i < 2; i++)
    {
      self->stride[i] = a->stride[i];
      self->dilation[i] = a->dilation[i];
    }
  self->has_bias = a->has_bias;
  self->rows = self->R * self->S * self->C;
  self->blocks = (self->rows + PANEL - 1) / PANEL;
  self->panels = (self->K + PANEL - 1) / PANEL;
  self->pixels = self->N * self->P * self->Q;
  bytes = SUMS * self->panels * self->rows * PANEL * (int64_t)sizeof (float);
  bytes = bytes < BLOCK_LEAST ? BLOCK_LEAST : bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
  self->block = bytes / ((self->blocks + self->panels) * PANEL * (int64_t)sizeof (float));
  self->block = self->block < BLOCK_MIN ? BLOCK_MIN : self->block;
  self->block = self->block < self->pixels ? self->block : self->pixels;
  self->block = (self->block + GROUP - 1) / GROUP * GROUP;
  self->k.base.scratch_bytes = (size_t)(((self->blocks + self->panels) * self->block + self->panels * self->rows
                                         + (self->block / GROUP + 1) * self->panels)
                                        * PANEL)
                               * sizeof (float);
  self->k.base.name = "own implicit product";
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}
