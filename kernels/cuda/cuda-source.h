/* From an element-wise program to CUDA source and to machine code, without a device.
 *
 * This is separate from the launching code because run-time compilation needs no GPU: tests on a machine without one
 * compile every formula. */
#ifndef LOOM_CUDA_SOURCE_H
#define LOOM_CUDA_SOURCE_H

#include "kernels/backend.h"

#define CUDA_ELEMENTWISE_THREADS 256
#define CUDA_ELEMENTWISE_ENTRY   "loom_elementwise"

/* The access to an operand or a result, or to a part of it: its first element, and a stride for each of the plan's
 * axes. */
typedef struct
{
  int tensor; /* number of the operand, or of the result */
  int reg;    /* the register that is loaded or stored */
  int64_t offset;
  int64_t stride[LOOM_MAX_RANK];
} CudaWalk;

/* An element-wise call reduced to what its code depends on: axes in the order of the output's bytes, those of one
 * element dropped, neighbours merged if every operand allows it. A stride of 0 is a broadcast. */
typedef struct
{
  LoomElementwiseAttrs program;
  int n_in, n_out;
  LoomDType in_dtype[LOOM_EW_MAX_IN], out_dtype[LOOM_EW_MAX_OUT];
  int rank;
  int64_t dim[LOOM_MAX_RANK];
  int n_loads, n_stores;
  CudaWalk load[LOOM_EW_MAX_IN + LOOM_EW_MAX_PARTS], store[LOOM_EW_MAX_OUT + LOOM_EW_MAX_PARTS];
  int64_t count, largest; /* elements of the computed shape; elements of the largest tensor */
  bool flat;  /* every operand is one run of elements or a single one; the source is then the same for every count */
  int vector; /* elements of a thread: 4, or 1 if operands are not adjacent */
} CudaElementwisePlan;

/* LOOM_STATUS_INVALID with a sentence if the operands do not fit together, LOOM_STATUS_UNSUPPORTED if outputs differ in
 * layout or integers have an operation of floats only. */
LoomStatus cuda_elementwise_plan (const LoomKernelSpec *spec, CudaElementwisePlan *plan, LoomMessage *message);

/* CUDA C++ source of one kernel CUDA_ELEMENTWISE_ENTRY (in…, out…, long long n, int aligned). Freed by free(); NULL
 * without memory. */
char *cuda_elementwise_source (const CudaElementwisePlan *plan);

/* Compiles for an architecture (90 is sm_90) to an image that the driver loads: machine code, or PTX if the compiler
 * does not know the architecture yet. Freed by free(). */
LoomStatus cuda_compile (const char *source, int architecture, char **image, size_t *bytes, LoomMessage *message);

#endif
