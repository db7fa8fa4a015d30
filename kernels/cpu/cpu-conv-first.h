/* The first convolution of a network for grey images (C = 1), in own loops; private to cpu-conv*.c. UNSUPPORTED for
 * other convolutions. */
#ifndef LOOM_CPU_CONV_FIRST_H
#define LOOM_CPU_CONV_FIRST_H

#include "kernels/cpu/cpu.h"

LoomStatus ISA (cpu_conv_first) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                                 LoomMessage *message);
LoomStatus ISA (cpu_conv_first_weight) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,
                                        CpuKernel **kernel, LoomMessage *message);

#endif
