/* A product by cuBLASLt, as its files share it: cuda-matmul.c makes and runs it, cuda-matmul-ask.c asks for
 * configurations, cuda-matmul-batch.c has its batches, cuda-matmul-sum.c the products that sum an operand. */
#ifndef LOOM_CUDA_MATMUL_H
#define LOOM_CUDA_MATMUL_H

#include <cublasLt.h>

#include "kernels/cuda/cuda-blas.h"
#include "kernels/cuda/cuda-internal.h"

#define BUFFER_ALIGNMENT 64 /* bytes, of what the arena gives */
#define PROPOSALS        4  /* configurations, of which the table of costs chooses; equal costs leave the first */

/* Batch axes after merging; strides are in elements and 0 where an operand broadcasts. */
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
  cublasComputeType_t compute; /* precision's; f32 is rounded to TF32 only where the run allows it */
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, y; /* our a is their B */
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace;
  int n_in;
  bool has_bias, epilogue_bias;
  LoomScalarOp slope;         /* ID: none */
  LoomDType slope_type;       /* of what it is read from */
  const void *bias;           /* where the epilogue has been told that it is, or what it sums goes, or its slope's z */
  bool empty_sum;             /* k is 0 */
  cudaDataType_t to;          /* the result's */
  size_t element, to_element; /* bytes of an operand's element and of a result's */
  size_t y_bytes;
  bool rounds;       /* the bias has another type than the result: */
  LoomKernel *round; /* brings it into the scratch at `made` */
  size_t made;       /* a bias that was rounded, or the mask of a ReLU's slope */
  int64_t m, n, k;
  Batches batches;  /* the innermost is one strided batch, the others are walked */
  int64_t outer;    /* how many calls the walk makes */
  LoomKernel *tail; /* what no epilogue does */
  bool has_sum, sum_b, epilogue_sum;
  LoomKernel *sum; /* where no epilogue makes it */
  char name[CUDA_BLAS_NAME + 16];
} Matmul;

/* Drops batch axes of one element and merges neighbours that all three walk alike; false where they do not broadcast.
 */
bool cuda_matmul_set_batches (Matmul *self, const LoomKernelSpec *spec);
/* With one matrix B for a whole batch of untransposed A, the batch is just more rows. */
void cuda_matmul_fold_batch (Matmul *self, const LoomMatmulAttrs *attrs);
/* Bytes that a configuration with this workspace wants. */
size_t cuda_matmul_scratch (Matmul *self, size_t workspace);
/* Asks cuBLASLt for configurations of the product with this epilogue, the best first; returns how many. */
int cuda_matmul_propose (Matmul *self, cublasLtEpilogue_t epilogue, cublasLtMatmulHeuristicResult_t found[PROPOSALS]);
/* The configuration of this name, NULL being the first: as it is proposed, or as it was for an earlier plan. */
bool cuda_matmul_find (Matmul *self, const char *name, const cublasLtMatmulHeuristicResult_t *found, int n,
                       cublasLtMatmulHeuristicResult_t *to);

/* Of a product that sums an operand: its options, and the one that a call names. */
LoomStatus cuda_matmul_sum_algorithms (Matmul *self, const LoomKernelSpec *spec, CudaAlgorithm *algorithms, int max,
                                       int *n_algorithms, LoomMessage *message);
LoomStatus cuda_matmul_configure_sum (Matmul *self, const LoomKernelSpec *spec, LoomMessage *message);

#endif
