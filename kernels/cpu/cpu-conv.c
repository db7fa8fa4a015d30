/* conv2d and its gradients: oneDNN's, but for images of one channel (cpu-conv-first.c) and where Winograd's algorithm
 * pays (cpu-winograd.c). */
#include "kernels/cpu/cpu-conv-first.h"
#include "kernels/cpu/cpu-winograd.h"

#include <string.h>

/* Of no images there is nothing to compute, which oneDNN has no answer to; the gradient of the weights is zero. */
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
  if (spec->in[0].dim[0] != 0 || !cpu_all_f32 (spec))
    return LOOM_STATUS_UNSUPPORTED;
  *kernel = cpu_kernel_new (sizeof (CpuKernel), device, spec, attrs_size, zeros, message);
  return *kernel != NULL ? LOOM_STATUS_OK : LOOM_STATUS_OUT_OF_MEMORY;
}

static LoomStatus
create_forward (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                LoomMessage *message)
{
  LoomStatus status = create_empty (device, spec, attrs_size, kernel, message);

  if (status == LOOM_STATUS_UNSUPPORTED)
    status = ISA (cpu_conv_first) (device, spec, attrs_size, kernel, message);
  if (status == LOOM_STATUS_UNSUPPORTED)
    status = ISA (cpu_winograd) (device, spec, attrs_size, kernel, message);
  return status == LOOM_STATUS_UNSUPPORTED ? cpu_onednn_conv2d (device, spec, attrs_size, kernel, message) : status;
}

static LoomStatus
create_weight_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                    LoomMessage *message)
{
  LoomStatus status = create_empty (device, spec, attrs_size, kernel, message);

  if (status == LOOM_STATUS_UNSUPPORTED)
    status = ISA (cpu_conv_first_weight) (device, spec, attrs_size, kernel, message);
  if (status == LOOM_STATUS_UNSUPPORTED)
    status = ISA (cpu_winograd_weight_grad) (device, spec, attrs_size, kernel, message);
  return status == LOOM_STATUS_UNSUPPORTED ? cpu_onednn_conv2d_weight_grad (device, spec, attrs_size, kernel, message)
                                           : status;
}

static LoomStatus
create_input_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  LoomStatus status = create_empty (device, spec, attrs_size, kernel, message);

  if (status == LOOM_STATUS_UNSUPPORTED)
    status = ISA (cpu_winograd_input_grad) (device, spec, attrs_size, kernel, message);
  return status == LOOM_STATUS_UNSUPPORTED ? cpu_onednn_conv2d_input_grad (device, spec, attrs_size, kernel, message)
                                           : status;
}

const CpuPrimitive ISA (cpu_conv2d) = { "conv2d", sizeof (LoomConv2dAttrs), create_forward };
const CpuPrimitive ISA (cpu_conv2d_input_grad) = { "conv2d_input_grad", sizeof (LoomConv2dAttrs), create_input_grad };
const CpuPrimitive ISA (cpu_conv2d_weight_grad)
    = { "conv2d_weight_grad", sizeof (LoomConv2dAttrs), create_weight_grad };
