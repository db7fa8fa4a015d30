/* Bit masks in the form that cuBLASLt's epilogue DRELU reads (cuda-mask.cu). */
#ifndef LOOM_CUDA_MASK_H
#define LOOM_CUDA_MASK_H

#include "kernels/cuda/cuda-internal.h"

#ifdef __cplusplus
extern "C"
{
#endif

  /* The bits of a row, which begin at a multiple of 128. */
  static inline int64_t
  cuda_mask_bits (int64_t columns)
  {
    return (columns + 127) / 128 * 128;
  }

  /* Enqueues mask[row][column] = z[row][column] > 0, for z [rows,columns] f32, bf16 or f16 without gaps. Bit b of a row
   * is bit b % 8 of its byte b / 8; bits after the columns are 0. mask has rows · cuda_mask_bits (columns) / 8 bytes at
   * a multiple of 16. */
  LoomStatus cuda_mask (LoomDevice *, LoomStream *, void *mask, const void *z, LoomDType, int64_t rows, int64_t columns,
                        LoomMessage *);

#ifdef __cplusplus
}
#endif

#endif
