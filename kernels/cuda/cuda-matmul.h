/* A product by cuBLASLt, shared by its files: cuda-matmul.c makes and runs it, cuda-matmul-heuristic.c finds
 * configurations, cuda-matmul-batch.c has its batches, cuda-matmul-sum.c the products with a sum over an operand. */
#ifndef LOOM_CUDA_MATMUL_H
#define LOOM_CUDA_MATMUL_H

#include <cublasLt.h>

#include "kernels/cuda/cuda-blas.h"
#include "kernels/cuda/cuda-internal.h"

#define BUFFER_ALIGNMENT 64 /* bytes, of addresses in the arena */
#define PROPOSALS        4  /* configurations from which the cost table chooses; equal costs leave the first */

/* Batch axes after merging; strides are in elements and 0 if an operand broadcasts. */
typedef struct
{
  int rank;
  int64_t dim[LOOM_MAX_RANK], a[LOOM_MAX_RANK], b[LOOM_MAX_RANK], y[LOOM_MAX_RANK];
} Batches;

typedef struct
{
  LoomDType dtype;
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
} Precision;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  const Precision *precision;
  cublasComputeType_t compute; /* precision's; f32 is rounded to TF32 only if the run allows it */
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, y; /* our a is cuBLASLt's B */
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace;
  int n_in;
  bool has_bias, epilogue_bias;
  LoomScalarOp derivative;    /* ID: none */
  LoomDType derivative_type;  /* of its operand z */
  const void *bias;           /* the last address set in the epilogue: bias, sum or z */
  bool empty_sum;             /* k is 0 */
  cudaDataType_t to;          /* the result's */
  size_t element, to_element; /* bytes of an operand's element and of a result's */
  size_t y_bytes;
  bool rounds;       /* the bias has another type than the result */
  LoomKernel *round; /* rounds it into the scratch at `made` */
  size_t made;       /* offset of the rounded bias, or of the mask of a ReLU's derivative */
  int64_t m, n, k;
  Batches batches;  /* the innermost is one strided batch, the host iterates over the others */
  int64_t outer;    /* number of calls */
  LoomKernel *tail; /* the part that no epilogue computes */
  bool has_sum, sum_b, epilogue_sum;
  LoomKernel *sum; /* NULL if an epilogue computes the sum */
  char name[CUDA_BLAS_NAME + 16];
} Matmul;

/* Drops batch axes of one element and merges neighbours whose strides agree in a, b and y; false if they do not
 * broadcast. */
bool cuda_matmul_set_batches (Matmul *self, const LoomKernelSpec *spec);
/* Turns the batch into more rows, if all of a batch of untransposed A share one matrix B. */
void cuda_matmul_fold_batch (Matmul *self, const LoomMatmulAttrs *attrs);
/* Bytes of scratch with a workspace of this size. */
size_t cuda_matmul_scratch (Matmul *self, size_t workspace);
/* Queries cuBLASLt for configurations of the product with this epilogue, the best first; returns their number. */
int cuda_matmul_propose (Matmul *self, cublasLtEpilogue_t epilogue, cublasLtMatmulHeuristicResult_t found[PROPOSALS]);
/* The configuration of this name, NULL being the first: a proposed one, or that of an earlier plan. */
bool cuda_matmul_find (Matmul *self, const char *name, const cublasLtMatmulHeuristicResult_t *found, int n,
                       cublasLtMatmulHeuristicResult_t *to);

/* Products with a sum over an operand: their options, and the option that a call names. */
LoomStatus cuda_matmul_sum_algorithms (Matmul *self, const LoomKernelSpec *spec, CudaAlgorithm *algorithms, int max,
                                       int *n_algorithms, LoomMessage *message);
LoomStatus cuda_matmul_configure_sum (Matmul *self, const LoomKernelSpec *spec, LoomMessage *message);

#endif
