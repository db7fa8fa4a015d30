/* conv2d and its gradients: oneDNN's, but for images of one channel (cpu-conv-first.c). */
#include "kernels/cpu/cpu-conv-first.h"

static LoomStatus
create_forward (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                LoomMessage *message)
{
  LoomStatus status = ISA (cpu_conv_first) (device, spec, attrs_size, kernel, message);

  return status == LOOM_STATUS_UNSUPPORTED ? cpu_onednn_conv2d (device, spec, attrs_size, kernel, message) : status;
}

static LoomStatus
create_weight_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                    LoomMessage *message)
{
  LoomStatus status = ISA (cpu_conv_first_weight) (device, spec, attrs_size, kernel, message);

  return status == LOOM_STATUS_UNSUPPORTED ? cpu_onednn_conv2d_weight_grad (device, spec, attrs_size, kernel, message)
                                           : status;
}

const CpuPrimitive ISA (cpu_conv2d) = { "conv2d", sizeof (LoomConv2dAttrs), create_forward };
const CpuPrimitive ISA (cpu_conv2d_input_grad)
    = { "conv2d_input_grad", sizeof (LoomConv2dAttrs), cpu_onednn_conv2d_input_grad };
const CpuPrimitive ISA (cpu_conv2d_weight_grad)
    = { "conv2d_weight_grad", sizeof (LoomConv2dAttrs), create_weight_grad };
