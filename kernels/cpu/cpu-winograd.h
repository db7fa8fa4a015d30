/* Private to cpu-winograd*.c and cpu-conv.c: 3x3 convolutions by Winograd's minimal filtering, F(4x4, 3x3)
 * and, for the smallest images, F(2x2, 3x3).
 *
 * A tile of 4x4 outputs needs 36 multiplications an input and output channel instead of 144. With d a 6x6 tile of x
 * (neighbours overlap by 2), w a filter and g a 4x4 tile of y's gradient (A. Lavin, S. Gray, "Fast Algorithms for
 * Convolutional Neural Networks", 2015, section 4):
 *
 *   y  = A' [(G w G') * (B' d B)] A        forward; the input's gradient is the same with the filters rotated by 180°
 *   dw = G' [Σ (B' d B) * (A g A')] G      the weights' gradient, the dual of the same three matrices
 *
 * so that the sums over channels (or tiles) are 36 matrix products, one for each position of the 6x6 tile. The matrices
 * are Cook's and Toom's for the points 0, ±a, ±b and infinity. Rounding errors grow with the spread of the points; of
 * the pairs of short binary fractions that were tried, a = 5/8 and b = 3/2 lose least (0.7·10⁻⁶ of the result's norm,
 * 1.6·10⁻⁶ with the usual 1 and 2, 0.16·10⁻⁶ for a direct convolution). Images of 2x2 take tiles of 2x2 outputs and 16
 * products, with the points 0, ±1 and infinity.
 *
 * A value that is not finite spreads: a NaN or an infinity in one pixel makes all of its tiles' outputs NaN, where a
 * direct convolution has it in nine of them. No NaN is ever lost.
 *
 * Everything transformed lies in panels of PANEL channels, [positions][channels / PANEL][tiles or channels][PANEL], the
 * last one filled up with zeros: what one call of the inner product reads lies side by side. */
#ifndef LOOM_CPU_WINOGRAD_H
#define LOOM_CPU_WINOGRAD_H

#include "kernels/cpu/cpu.h"

/* UNSUPPORTED if the algorithm does not apply, is not permitted, or, with LOOM_CONV_AUTO, is not faster. */
LoomStatus ISA (cpu_winograd) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                               LoomMessage *message);
LoomStatus ISA (cpu_winograd_input_grad) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,
                                          CpuKernel **kernel, LoomMessage *message);
LoomStatus ISA (cpu_winograd_weight_grad) (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,
                                           CpuKernel **kernel, LoomMessage *message);

/* Decides whether this convolution uses the algorithm. All three kernels call it, so that a layer's passes agree. */
bool ISA (cpu_winograd_fits) (const LoomKernelSpec *spec, const LoomTensorDesc *x, const LoomTensorDesc *w,
                              const LoomTensorDesc *y);
/* The operations of its products, including the parts of tiles outside the image and the padding of panels. */
double ISA (cpu_winograd_flops) (const LoomKernelSpec *spec);
/* The side of a tile of y: 4, or 2 if that needs fewer multiplications (images of 2x2). */
int ISA (cpu_winograd_step) (const LoomTensorDesc *y);

#endif
