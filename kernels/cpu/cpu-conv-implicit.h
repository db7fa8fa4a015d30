/* Private to cpu-conv*.c: convolutions as products whose left factor is gathered one block at a time. */
#ifndef LOOM_CPU_CONV_IMPLICIT_H
#define LOOM_CPU_CONV_IMPLICIT_H

#include "kernels/cpu/cpu.h"

/* The gradient of the weights; UNSUPPORTED if the algorithm does not apply or is not faster. */
LoomStatus ISA (cpu_conv_implicit_weight) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,
                                           CpuKernel **kernel, LoomMessage *message);
double ISA (cpu_conv_implicit_flops) (const LoomKernelSpec *spec);

#endif
