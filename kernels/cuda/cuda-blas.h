/* Names of cuBLASLt's configurations (cuda-blas-name.c). */
#ifndef LOOM_CUDA_BLAS_H
#define LOOM_CUDA_BLAS_H

#include <cublasLt.h>
#include <stdbool.h>

/* Nine attributes of at most ten digits. */
#define CUDA_BLAS_NAME 112

/* "cublaslt" alone if the library does not return the attributes. */
void cuda_blas_name (const cublasLtMatmulAlgo_t *algorithm, char name[CUDA_BLAS_NAME]);

/* The configuration of a name, for a product whose operands have the type `data`; false if the library does not have
 * it. cublasLtMatmulAlgoCheck() tests whether it takes a given product. */
bool cuda_blas_from_name (cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t scale,
                          cudaDataType_t data, cudaDataType_t result, const char *name, cublasLtMatmulAlgo_t *algorithm);

#endif
