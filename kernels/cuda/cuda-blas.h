/* Names of cuBLASLt's configurations (cuda-blas-name.c). */
#ifndef LOOM_CUDA_BLAS_H
#define LOOM_CUDA_BLAS_H

#include <cublasLt.h>
#include <stdbool.h>

/* Nine attributes of at most ten digits. */
#define CUDA_BLAS_NAME 112

/* "cublaslt" alone where the library does not say. */
void cuda_blas_name (const cublasLtMatmulAlgo_t *algorithm, char name[CUDA_BLAS_NAME]);

/* The configuration of a name, for a product whose operands have the type `data`; false where the library has none such.
 * Whether it takes a given product, cublasLtMatmulAlgoCheck() says. */
bool cuda_blas_from_name (cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t scale,
                          cudaDataType_t data, cudaDataType_t result, const char *name, cublasLtMatmulAlgo_t *algorithm);

#endif
