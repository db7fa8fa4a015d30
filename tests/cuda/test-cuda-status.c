/* Tests the statuses for errors of CUDA, cuBLASLt and cuDNN, by their names in the libraries' headers; and that a lost
 * device stays lost. The three functions of the runtime that this needs are defined here. */
#include <cublasLt.h>
#include <cudnn.h>
#include <glib.h>
#include <stdarg.h>

#include "kernels/cuda/cuda-internal.h"

static cudaError_t standing; /* the runtime's last error */

cudaError_t
cudaSetDevice (int index)
{
  return cudaSuccess;
}

cudaError_t
cudaGetLastError (void)
{
  cudaError_t error = standing;

  standing = cudaSuccess;
  return error;
}

const char *
cudaGetErrorString (cudaError_t error)
{
  return error == cudaErrorIllegalAddress ? "an illegal memory access was encountered" : "something";
}

LoomStatus
cuda_fail (LoomMessage *message, LoomStatus status, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_vsnprintf (message->text, sizeof message->text, format, args);
  va_end (args);
  return status;
}

typedef struct
{
  int code;
  LoomStatus status;
} Row;

static void
test_tables (void)
{
  static const Row runtime[] = {
    { cudaSuccess, LOOM_STATUS_OK },
    { cudaErrorMemoryAllocation, LOOM_STATUS_OUT_OF_MEMORY },
    { cudaErrorNotSupported, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorNoKernelImageForDevice, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorLaunchOutOfResources, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorIllegalAddress, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorLaunchFailure, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorLaunchTimeout, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorECCUncorrectable, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorInvalidValue, LOOM_STATUS_DEVICE },
    { cudaErrorStreamCaptureUnsupported, LOOM_STATUS_DEVICE },
  };
  static const Row blas[] = {
    { CUBLAS_STATUS_SUCCESS, LOOM_STATUS_OK },
    { CUBLAS_STATUS_ALLOC_FAILED, LOOM_STATUS_OUT_OF_MEMORY },
    { CUBLAS_STATUS_NOT_SUPPORTED, LOOM_STATUS_UNSUPPORTED },
    { CUBLAS_STATUS_ARCH_MISMATCH, LOOM_STATUS_UNSUPPORTED },
    { CUBLAS_STATUS_INVALID_VALUE, LOOM_STATUS_INVALID },
    { CUBLAS_STATUS_EXECUTION_FAILED, LOOM_STATUS_DEVICE },
    { CUBLAS_STATUS_INTERNAL_ERROR, LOOM_STATUS_DEVICE },
  };
  /* Numbers, since cuSOLVER's header may be missing. */
  static const Row solver[] = { { 0, LOOM_STATUS_OK },
                                { 2, LOOM_STATUS_OUT_OF_MEMORY },
                                { 3, LOOM_STATUS_INVALID },
                                { 4, LOOM_STATUS_UNSUPPORTED },
                                { 6, LOOM_STATUS_DEVICE } };
  static const Row dnn[]
      = { { CUDNN_STATUS_SUCCESS, LOOM_STATUS_OK },
          { CUDNN_STATUS_NOT_SUPPORTED, LOOM_STATUS_UNSUPPORTED },
          { CUDNN_STATUS_BAD_PARAM, LOOM_STATUS_INVALID },
          { CUDNN_STATUS_EXECUTION_FAILED, LOOM_STATUS_DEVICE },
          { CUDNN_STATUS_INTERNAL_ERROR, LOOM_STATUS_DEVICE },
#if CUDNN_MAJOR >= 9
          { CUDNN_STATUS_NOT_SUPPORTED_SHAPE, LOOM_STATUS_UNSUPPORTED },
          { CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, LOOM_STATUS_UNSUPPORTED },
          { CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, LOOM_STATUS_UNSUPPORTED },
          { CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE, LOOM_STATUS_UNSUPPORTED },
          { CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, LOOM_STATUS_INVALID },
          { CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, LOOM_STATUS_OUT_OF_MEMORY },
          { CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, LOOM_STATUS_OUT_OF_MEMORY },
          { CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED, LOOM_STATUS_DEVICE },
          { CUDNN_STATUS_EXECUTION_FAILED_CUDART, LOOM_STATUS_DEVICE },
          { CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, LOOM_STATUS_DEVICE },
#endif
          { 9, LOOM_STATUS_UNSUPPORTED },   /* cuDNN 8's NOT_SUPPORTED */
          { 2, LOOM_STATUS_OUT_OF_MEMORY }, /* its ALLOC_FAILED */
        };

  for (guint i = 0; i < G_N_ELEMENTS (runtime); i++)
    g_assert_cmpint (cuda_status (runtime[i].code), ==, runtime[i].status);
  for (guint i = 0; i < G_N_ELEMENTS (blas); i++)
    g_assert_cmpint (cuda_status_of_blas (blas[i].code), ==, blas[i].status);
  for (guint i = 0; i < G_N_ELEMENTS (solver); i++)
    g_assert_cmpint (cuda_status_of_solver (solver[i].code), ==, solver[i].status);
  for (guint i = 0; i < G_N_ELEMENTS (dnn); i++)
    g_assert_cmpint (cuda_status_of_dnn (dnn[i].code), ==, dnn[i].status);
}

/* A library that fails because the device is lost reports the runtime's error, then and in later calls. */
static void
test_lost (void)
{
  LoomDevice device = { .index = 3 };
  LoomMessage message = { "" };

  cuda_use (&device);
  g_assert_cmpint (cuda_library_check (LOOM_STATUS_DEVICE, "a convolution", "EXECUTION_FAILED", &message), ==,
                   LOOM_STATUS_DEVICE);
  g_assert_cmpstr (message.text, ==, "a convolution failed: EXECUTION_FAILED");
  g_assert_cmpint (cuda_lost (3), ==, cudaSuccess);
  standing = cudaErrorIllegalAddress;
  for (int again = 0; again < 2; again++)
    {
      g_assert_cmpint (cuda_library_check (LOOM_STATUS_DEVICE, "a convolution", "EXECUTION_FAILED", &message), ==,
                       LOOM_STATUS_DEVICE_LOST);
      g_assert_cmpstr (message.text, ==, "a convolution failed: an illegal memory access was encountered");
    }
  g_assert_cmpint (cuda_lost (3), ==, cudaErrorIllegalAddress);
  g_assert_cmpint (cuda_lost (2), ==, cudaSuccess);
  g_assert_cmpint (cuda_library_check (LOOM_STATUS_UNSUPPORTED, "a convolution", "NOT_SUPPORTED", &message), ==,
                   LOOM_STATUS_UNSUPPORTED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda-status/tables", test_tables);
  g_test_add_func ("/cuda-status/lost", test_lost);
  return g_test_run ();
}
