/* A question to a library of CUDA, as one line of text: the same on a GPU, where the status is logged (log-answers.c),
 * and on the emulated one, which returns it again (answers/, described in README.md).
 *
 * The text is made through the library's public getters, so both sides write the same words. */
#ifndef CUDA_QUESTION_H
#define CUDA_QUESTION_H

#include <cublasLt.h>
#include <cudnn.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define QUESTION_BYTES 640

  /* cublasLtMatmulAlgoGetHeuristic(). */
  void question_matmul (char text[QUESTION_BYTES], cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                        cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        cublasLtMatmulPreference_t preference);

  /* The calls that return a convolution's workspace; `call` is forward, input_gradient or weight_gradient. */
  void question_convolution (char text[QUESTION_BYTES], const char *call, int algorithm, cudnnTensorDescriptor_t x,
                             cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t of, cudnnTensorDescriptor_t y);

#ifdef __cplusplus
}
#endif

#endif
