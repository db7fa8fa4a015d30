/* The tables of algorithms for conv2d and its gradients. */
#include "kernels/cpu/cpu-conv-first.h"
#include "kernels/cpu/cpu-conv-implicit.h"
#include "kernels/cpu/cpu-winograd.h"
#include "kernels/conv-pooled.h"
#include "kernels/options.h"

#include <string.h>

/* The kernel for zero images, which oneDNN does not support; the gradient of the weights is zero. */
static LoomStatus
zeros (CpuKernel *k, void *const *b, LoomMessage *message)
{
  for (int i = 0; i < k->n_out; i++)
    memset (b[k->n_in + i], 0, (size_t)loom_desc_count (&k->out[i]) * sizeof (float));
  return LOOM_STATUS_OK;
}

static LoomStatus
create_empty (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
              LoomMessage *message)
{
  if (spec->in[0].dim[0] != 0 || !cpu_all_f32 (spec) || loom_conv_is_pooled (spec))
    return LOOM_STATUS_UNSUPPORTED;
  *kernel = cpu_kernel_new (sizeof (CpuKernel), device, spec, attrs_size, zeros, message);
  return *kernel != NULL ? LOOM_STATUS_OK : LOOM_STATUS_OUT_OF_MEMORY;
}

/* The loops of the first convolution process 8 or 16 output channels at a time and do not pad the input channel. */
static double
first_flops (const LoomKernelSpec *spec)
{
  return loom_conv_flops (spec, 1, 8); /* a number above 8 is a multiple of 16, or at most 16 */
}

/* In the order in which they are tried if the caller has chosen none. An additional algorithm is one entry here. */
static const CpuAlgorithm forward[] = {
  { "empty", create_empty, NULL, NULL },
  { "first", ISA (cpu_conv_first), NULL, first_flops },
  { "winograd", ISA (cpu_winograd), NULL, ISA (cpu_winograd_flops) },
  { "onednn", cpu_onednn_conv2d, cpu_onednn_takes_conv, cpu_onednn_conv_flops },
  { 0 },
};

static const CpuAlgorithm input_grad[] = {
  { "empty", create_empty, NULL, NULL },
  { "winograd", ISA (cpu_winograd_input_grad), NULL, ISA (cpu_winograd_flops) },
  { "onednn", cpu_onednn_conv2d_input_grad, cpu_onednn_takes_conv, cpu_onednn_conv_flops },
  { 0 },
};

static const CpuAlgorithm weight_grad[] = {
  { "empty", create_empty, NULL, NULL },
  { "first", ISA (cpu_conv_first_weight), NULL, first_flops },
  { "winograd", ISA (cpu_winograd_weight_grad), NULL, ISA (cpu_winograd_flops) },
  { "implicit", ISA (cpu_conv_implicit_weight), NULL, ISA (cpu_conv_implicit_flops) },
  { "onednn", cpu_onednn_conv2d_weight_grad, cpu_onednn_takes_conv, cpu_onednn_conv_flops },
  { 0 },
};

const CpuPrimitive ISA (cpu_conv2d) = { "conv2d", sizeof (LoomConv2dAttrs), NULL, forward };
const CpuPrimitive ISA (cpu_conv2d_input_grad) = { "conv2d_input_grad", sizeof (LoomConv2dAttrs), NULL, input_grad };
const CpuPrimitive ISA (cpu_conv2d_weight_grad) = { "conv2d_weight_grad", sizeof (LoomConv2dAttrs), NULL, weight_grad };
