/* A module that calls cuBLASLt and cuDNN as the back end does, without a GPU: they return statuses, but never success.
 * The test of log-answers opens it. */
#include <cublasLt.h>
#include <cudnn.h>

__attribute__ ((visibility ("default"))) void ask_libraries (void);

static void
ask_product (void)
{
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, y;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found;
  int n;

  cublasLtMatmulDescCreate (&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate (&a, CUDA_R_32F, 16, 8, 16);
  cublasLtMatrixLayoutCreate (&b, CUDA_R_32F, 8, 4, 8);
  cublasLtMatrixLayoutCreate (&y, CUDA_R_32F, 16, 4, 16);
  cublasLtMatmulPreferenceCreate (&preference);
  cublasLtMatmulAlgoGetHeuristic (NULL, product, a, b, y, y, preference, 1, &found, &n);
  cublasLtMatmulPreferenceDestroy (preference);
  cublasLtMatrixLayoutDestroy (y);
  cublasLtMatrixLayoutDestroy (b);
  cublasLtMatrixLayoutDestroy (a);
  cublasLtMatmulDescDestroy (product);
}

static void
ask_convolution (void)
{
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t shape;
  size_t bytes;

  cudnnCreateTensorDescriptor (&x);
  cudnnCreateTensorDescriptor (&y);
  cudnnCreateFilterDescriptor (&w);
  cudnnCreateConvolutionDescriptor (&shape);
  cudnnSetTensor4dDescriptor (x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 3, 8, 8);
  cudnnSetTensor4dDescriptor (y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 4, 8, 8);
  cudnnSetFilter4dDescriptor (w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, 3, 3, 3);
  cudnnSetConvolution2dDescriptor (shape, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  cudnnGetConvolutionForwardWorkspaceSize (NULL, x, w, shape, y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                           &bytes);
  cudnnGetConvolutionBackwardDataWorkspaceSize (NULL, w, y, shape, x, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, &bytes);
  cudnnGetConvolutionBackwardFilterWorkspaceSize (NULL, x, y, shape, w, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, &bytes);
  cudnnDestroyConvolutionDescriptor (shape);
  cudnnDestroyFilterDescriptor (w);
  cudnnDestroyTensorDescriptor (y);
  cudnnDestroyTensorDescriptor (x);
}

void
ask_libraries (void)
{
  ask_product ();
  ask_convolution ();
}
