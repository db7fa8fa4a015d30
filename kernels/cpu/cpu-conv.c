/* conv2d and its gradients: all of them are oneDNN's. */
#include "kernels/cpu/cpu.h"

const CpuPrimitive ISA (cpu_conv2d) = { "conv2d", sizeof (LoomConv2dAttrs), cpu_onednn_conv2d };
const CpuPrimitive ISA (cpu_conv2d_input_grad)
    = { "conv2d_input_grad", sizeof (LoomConv2dAttrs), cpu_onednn_conv2d_input_grad };
const CpuPrimitive ISA (cpu_conv2d_weight_grad)
    = { "conv2d_weight_grad", sizeof (LoomConv2dAttrs), cpu_onednn_conv2d_weight_grad };
