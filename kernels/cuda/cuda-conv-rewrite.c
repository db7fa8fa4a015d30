/* Convolutions that can be computed as something simpler: as a matrix product, if one element of the result reads the
 * whole image; and an input gradient as a convolution with the flipped filter, which cuDNN computes faster than the
 * gradient itself. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-internal.h"

/* ---- a product ------------------------------------------------------------------------------------ */

/* The convolution's x [N,C,R,S], w [K,C,R,S] and y [N,K,1,1] among a call's operands and results. */
typedef struct
{
  const LoomTensorDesc *x, *w, *y;
  bool forward, input_gradient;
} Images;

static Images
images_of (const LoomKernelSpec *spec)
{
  if (strcmp (spec->primitive, "conv2d_input_grad") == 0)
    return (Images){ &spec->out[0], &spec->in[1], &spec->in[0], false, true };
  if (strcmp (spec->primitive, "conv2d_weight_grad") == 0)
    return (Images){ &spec->in[1], &spec->out[0], &spec->in[0], false, false };
  return (Images){ &spec->in[0], &spec->in[1], &spec->out[0], true, false };
}

bool
cuda_conv_product_takes (const LoomKernelSpec *spec)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const Images i = images_of (spec);

  return a->groups == 1 && i.x->rank == 4 && cuda_all_plain (spec) && i.x->dtype == i.w->dtype && i.x->dtype == i.y->dtype
         && loom_desc_count (i.x) > 0 && loom_desc_count (i.w) > 0 && i.y->dim[2] == 1 && i.y->dim[3] == 1
         && i.x->dim[2] == i.w->dim[2] && i.x->dim[3] == i.w->dim[3] && a->pad[0] == 0 && a->pad[1] == 0 && a->pad[2] == 0
         && a->pad[3] == 0 && a->dilation[0] == 1 && a->dilation[1] == 1 && (i.forward || !a->has_bias);
}

/* The product's operands have the addresses of the convolution's: x·wᵀ, g·w or gᵀ·x. */
LoomStatus
cuda_conv_product_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const Images i = images_of (spec);
  const int64_t n = i.x->dim[0], k = i.w->dim[0], taps = i.w->dim[1] * i.w->dim[2] * i.w->dim[3];
  const LoomTensorDesc x = { .dtype = i.x->dtype, .rank = 2, .dim = { n, taps } };
  const LoomTensorDesc w = { .dtype = i.w->dtype, .rank = 2, .dim = { k, taps } };
  const LoomTensorDesc y = { .dtype = i.y->dtype, .rank = 2, .dim = { n, k } };
  const LoomMatmulAttrs attrs = { .trans_a = !i.forward && !i.input_gradient,
                                  .trans_b = i.forward,
                                  .has_bias = i.forward && a->has_bias,
                                  .act = i.forward ? a->act : LOOM_SCALAR_ID };
  LoomTensorDesc in[3], out;
  LoomKernelSpec product
      = { .primitive = "matmul", .attrs = &attrs, .n_in = spec->n_in, .n_out = 1, .in = in, .out = &out, .tf32 = spec->tf32 };

  if (!cuda_conv_product_takes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  in[0] = i.forward ? x : y;
  in[1] = i.forward || i.input_gradient ? w : x;
  if (spec->n_in == 3)
    in[2] = spec->in[2];
  out = i.forward ? y : i.input_gradient ? x : w;
  return cuda_matmul_new (device, &product, kernel, message);
}

/* ---- a flipped filter ----------------------------------------------------------------------------- */

typedef struct
{
  LoomKernel base;
  LoomKernel *flip, *convolve;
  size_t filter; /* offset of the flipped filter in the scratch, after the convolution's own scratch */
} Flipped;

static LoomStatus
flipped_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Flipped *self = (Flipped *)base;
  void *const flip[] = { buffers[1], (char *)buffers[3] + self->filter };
  void *const convolve[] = { buffers[0], flip[1], buffers[2], buffers[3] };
  LoomStatus status = self->flip->run (self->flip, stream, flip, message);

  return status != LOOM_STATUS_OK ? status : self->convolve->run (self->convolve, stream, convolve, message);
}

static void
flipped_free (LoomKernel *base)
{
  Flipped *self = (Flipped *)base;

  if (self->flip != NULL)
    self->flip->free (self->flip);
  if (self->convolve != NULL)
    self->convolve->free (self->convolve);
  free (self);
}

/* f32 only: cuDNN's gradients of 16-bit images are as fast as its convolutions. */
bool
cuda_conv_flipped_takes (const LoomKernelSpec *spec)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc *g = &spec->in[0], *w = &spec->in[1], *dx = &spec->out[0];

  if (strcmp (spec->primitive, "conv2d_input_grad") != 0 || g->rank != 4 || g->dtype != LOOM_F32 || w->dtype != LOOM_F32
      || dx->dtype != LOOM_F32 || g->layout != dx->layout || w->layout != LOOM_LAYOUT_PLAIN || a->groups != 1
      || loom_desc_count (g) == 0 || loom_desc_count (w) == 0 || loom_desc_count (dx) == 0)
    return false;
  for (int d = 0; d < 2; d++)
    {
      const int64_t reach = a->dilation[d] * (w->dim[2 + d] - 1);

      if (a->stride[d] != 1 || a->pad[2 * d] != a->pad[2 * d + 1] || a->pad[2 * d] > reach)
        return false;
    }
  return true;
}

/* dx [N,C,H,W] is g [N,K,P,Q] convolved with w as [C,K,R,S], rotated by 180°; its padding is the part of the filter
 * beyond the convolution's own padding (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning",
 * 2016). */
LoomStatus
cuda_conv_flipped_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc *w = &spec->in[1];
  LoomConv2dAttrs attrs = *a;
  LoomTensorDesc in[2] = { spec->in[0], *w };
  LoomKernelSpec convolve = { .primitive = "conv2d",
                              .attrs = &attrs,
                              .n_in = 2,
                              .n_out = 1,
                              .in = in,
                              .out = spec->out,
                              .algorithm = "cudnn-implicit-precomp",
                              .tf32 = spec->tf32 };
  LoomStatus status;
  Flipped *self;

  if (!cuda_conv_flipped_takes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  in[1].dim[0] = w->dim[1];
  in[1].dim[1] = w->dim[0];
  attrs.has_bias = false;
  attrs.act = LOOM_SCALAR_ID;
  for (int d = 0; d < 2; d++)
    attrs.pad[2 * d] = attrs.pad[2 * d + 1] = a->dilation[d] * (w->dim[2 + d] - 1) - a->pad[2 * d];
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base = (LoomKernel){ .run = flipped_run, .free = flipped_free, .name = "cudnn-turned input gradient" };
  status = cuda_flip_filter_new (device, w, &self->flip, message);
  if (status == LOOM_STATUS_OK)
    status = cuda_conv2d_new (device, &convolve, &self->convolve, message);
  if (status != LOOM_STATUS_OK)
    {
      flipped_free (&self->base);
      return status;
    }
  self->filter = (self->convolve->scratch_bytes + 63) & ~(size_t)63;
  self->base.scratch_bytes = self->filter + loom_desc_bytes (w);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
