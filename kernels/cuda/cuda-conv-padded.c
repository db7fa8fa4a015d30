/* Convolutions with asymmetric padding, such as padding="same" of an even filter: cuDNN pads both sides alike. The
 * difference between the sides is added to the image as zeros, in scratch; cuDNN then takes the larger image with the
 * padding that both sides share. The weights' gradient reads that image, too, and the input's gradient is cut out of
 * the larger image's.
 *
 * The image is written and read once more, which costs a few per cent of a convolution of many channels. The
 * alternative is one thread for each element of the result (cuda-conv-direct.cu), in f32 only, which takes a hundred
 * times as long as cuDNN, and would need 16-bit images converted to f32. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-internal.h"
#include "kernels/options.h"

#define MOST_BUFFERS 6 /* three operands, two results, scratch */

typedef struct
{
  LoomKernel base;
  LoomKernel *convolve;
  LoomKernel *move; /* adds the border to the image, or removes it from its gradient */
  int image;        /* the number of the buffer that is the image, x or its gradient [N,C,H,W] */
  int scratch;      /* buffer number, after all operands and results */
  bool is_result;
  size_t padded; /* offset of the larger image in the scratch, after the convolution's own scratch */
} Padded;

static LoomStatus
padded_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Padded *self = (Padded *)base;
  void *convolve[MOST_BUFFERS], *const larger = (char *)buffers[self->scratch] + self->padded;
  void *const pad[] = { buffers[self->image], larger }, *const cut[] = { larger, buffers[self->image] };
  LoomStatus status = LOOM_STATUS_OK;

  memcpy (convolve, buffers, (size_t)(self->scratch + 1) * sizeof *convolve);
  convolve[self->image] = larger;
  if (!self->is_result)
    status = self->move->run (self->move, stream, pad, message);
  if (status == LOOM_STATUS_OK)
    status = self->convolve->run (self->convolve, stream, convolve, message);
  if (status == LOOM_STATUS_OK && self->is_result)
    status = self->move->run (self->move, stream, cut, message);
  return status;
}

static void
padded_free (LoomKernel *base)
{
  Padded *self = (Padded *)base;

  if (self->move != NULL)
    self->move->free (self->move);
  if (self->convolve != NULL)
    self->convolve->free (self->convolve);
  free (self);
}

bool
cuda_conv_padded_takes (const LoomKernelSpec *spec)
{
  const LoomConv2dAttrs *a = spec->attrs;

  return a->pad[0] != a->pad[1] || a->pad[2] != a->pad[3];
}

/* Makes the kernel that adds the border or removes it; before: rows and columns before the image. */
static LoomStatus
move_new (LoomDevice *device, const LoomTensorDesc *image, const LoomTensorDesc *larger, const int64_t before[2],
          bool is_result, LoomKernel **kernel, LoomMessage *message)
{
  LoomPadAttrs pad = { .value = 0 };
  LoomSliceAttrs slice;
  LoomKernelSpec spec = { .n_in = 1, .n_out = 1, .in = is_result ? larger : image, .out = is_result ? image : larger };

  for (int i = 0; i < 4; i++)
    {
      pad.start[i] = slice.start[i] = i < 2 ? 0 : before[i - 2];
      pad.step[i] = slice.step[i] = 1;
    }
  spec.primitive = is_result ? "slice" : "pad";
  spec.attrs = is_result ? (const void *)&slice : &pad;
  return is_result ? cuda_slice_new (device, &spec, kernel, message) : cuda_pad_new (device, &spec, kernel, message);
}

/* An input gradient is computed as a convolution if possible (cuda-conv-rewrite.c), which is faster in cuDNN. */
static const char *
algorithm_of (const LoomKernelSpec *call)
{
  if (strcmp (call->primitive, "conv2d") == 0)
    return "cudnn-implicit-precomp";
  return cuda_conv_flipped_takes (call) ? "cudnn-turned" : "cudnn-implicit";
}

LoomStatus
cuda_conv_padded_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const bool is_result = strcmp (spec->primitive, "conv2d_input_grad") == 0;
  const bool weights = strcmp (spec->primitive, "conv2d_weight_grad") == 0;
  const int image = is_result ? spec->n_in : weights ? 1 : 0, n = spec->n_in + spec->n_out;
  LoomConv2dAttrs attrs = *(const LoomConv2dAttrs *)spec->attrs;
  LoomTensorDesc desc[MOST_BUFFERS - 1];
  LoomKernelSpec call = *spec;
  int64_t before[2];
  LoomStatus status;
  Padded *self;

  if (!cuda_conv_padded_takes (spec) || n > MOST_BUFFERS - 1)
    return LOOM_STATUS_UNSUPPORTED;
  memcpy (desc, spec->in, (size_t)spec->n_in * sizeof *desc);
  memcpy (desc + spec->n_in, spec->out, (size_t)spec->n_out * sizeof *desc);
  for (int d = 0; d < 2; d++)
    {
      int64_t *pad = attrs.pad + 2 * d;
      const int64_t both = pad[0] < pad[1] ? pad[0] : pad[1];

      before[d] = pad[0] - both;
      desc[image].dim[2 + d] += pad[0] + pad[1] - 2 * both;
      pad[0] = pad[1] = both;
    }
  call.attrs = &attrs;
  call.in = desc;
  call.out = desc + spec->n_in;
  call.algorithm = algorithm_of (&call);
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base = (LoomKernel){ .run = padded_run,
                             .free = padded_free,
                             .name = is_result ? "cudnn-padded input gradient"
                                     : weights ? "cudnn-padded weight gradient"
                                               : "cudnn-padded forward" };
  self->image = image;
  self->scratch = n;
  self->is_result = is_result;
  status = cuda_conv2d_new (device, &call, &self->convolve, message);
  if (status == LOOM_STATUS_OK)
    status = move_new (device, loom_spec_operand (spec, image), &desc[image], before, is_result, &self->move, message);
  if (status != LOOM_STATUS_OK)
    {
      padded_free (&self->base);
      return status;
    }
  self->padded = (self->convolve->scratch_bytes + 63) & ~(size_t)63;
  self->base.scratch_bytes = self->padded + loom_desc_bytes (&desc[image]);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
