/* Translates errors of CUDA and its libraries into the engine's statuses.
 *
 * Most calls report the error of an earlier one, so the number describes the device rather than the call: out of memory
 * means that a plan was too large, and changes nothing; the errors of DEVICE_LOST end the context, and CUDA returns the
 * same number from every later call of the process. */
#include <stdatomic.h>
#include <stddef.h>

#include "kernels/cuda/cuda-internal.h"

#define DEVICES 64

static _Atomic int lost[DEVICES]; /* cudaError_t by device, of this process */
static _Thread_local int current;

typedef struct
{
  int code;
  LoomStatus status;
} Meaning;

static LoomStatus
find (const Meaning *table, size_t n, int code)
{
  for (size_t i = 0; i < n; i++)
    if (table[i].code == code)
      return table[i].status;
  return code == 0 ? LOOM_STATUS_OK : LOOM_STATUS_DEVICE;
}

#define FIND(table, code) find (table, sizeof table / sizeof table[0], code)

LoomStatus
cuda_status (int error)
{
  /* Numbers, if older toolkits have no name. */
  static const Meaning table[] = {
    { cudaErrorMemoryAllocation, LOOM_STATUS_OUT_OF_MEMORY },
    /* No kernel for this device, or none that the driver takes. */
    { cudaErrorInvalidDeviceFunction, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorInvalidKernelImage, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorNoKernelImageForDevice, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorInvalidPtx, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorUnsupportedPtxVersion, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorLaunchOutOfResources, LOOM_STATUS_UNSUPPORTED },
    { cudaErrorNotSupported, LOOM_STATUS_UNSUPPORTED },
    /* The context is lost, with the contents of the device's memory. */
    { cudaErrorDevicesUnavailable, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorDeviceUninitialized, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorECCUncorrectable, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorNvlinkUncorrectable, LOOM_STATUS_DEVICE_LOST },
    { 226 /* cudaErrorContained */, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorIllegalAddress, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorLaunchTimeout, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorContextIsDestroyed, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorAssert, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorHardwareStackError, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorIllegalInstruction, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorMisalignedAddress, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorInvalidAddressSpace, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorInvalidPc, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorLaunchFailure, LOOM_STATUS_DEVICE_LOST },
    { 721 /* cudaErrorTensorMemoryLeak */, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorMpsRpcFailure, LOOM_STATUS_DEVICE_LOST },
    { 810 /* cudaErrorMpsClientTerminated */, LOOM_STATUS_DEVICE_LOST },
    { 911 /* cudaErrorExternalDevice */, LOOM_STATUS_DEVICE_LOST },
    { cudaErrorUnknown, LOOM_STATUS_DEVICE_LOST },
  };

  return FIND (table, error);
}

LoomStatus
cuda_status_of_blas (int status)
{
  static const Meaning table[] = {
    { 3 /* CUBLAS_STATUS_ALLOC_FAILED */, LOOM_STATUS_OUT_OF_MEMORY },
    { 7 /* CUBLAS_STATUS_INVALID_VALUE */, LOOM_STATUS_INVALID },
    { 8 /* CUBLAS_STATUS_ARCH_MISMATCH */, LOOM_STATUS_UNSUPPORTED },
    { 15 /* CUBLAS_STATUS_NOT_SUPPORTED */, LOOM_STATUS_UNSUPPORTED },
  };

  return FIND (table, status);
}

LoomStatus
cuda_status_of_solver (int status)
{
  static const Meaning table[] = {
    { 2 /* CUSOLVER_STATUS_ALLOC_FAILED */, LOOM_STATUS_OUT_OF_MEMORY },
    { 3 /* CUSOLVER_STATUS_INVALID_VALUE */, LOOM_STATUS_INVALID },
    { 4 /* CUSOLVER_STATUS_ARCH_MISMATCH */, LOOM_STATUS_UNSUPPORTED },
    { 9 /* CUSOLVER_STATUS_NOT_SUPPORTED */, LOOM_STATUS_UNSUPPORTED },
  };

  return FIND (table, status);
}

/* cuDNN 9 numbers categories by thousands, followed by sub-codes; cuDNN 8 counts from 1. */
LoomStatus
cuda_status_of_dnn (int status)
{
  static const Meaning eight[] = {
    { 2 /* CUDNN_STATUS_ALLOC_FAILED */, LOOM_STATUS_OUT_OF_MEMORY },
    { 3 /* CUDNN_STATUS_BAD_PARAM */, LOOM_STATUS_INVALID },
    { 6 /* CUDNN_STATUS_ARCH_MISMATCH */, LOOM_STATUS_UNSUPPORTED },
    { 9 /* CUDNN_STATUS_NOT_SUPPORTED */, LOOM_STATUS_UNSUPPORTED },
    { 11 /* CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING */, LOOM_STATUS_UNSUPPORTED },
  };
  static const Meaning codes[] = {
    { 4003 /* …INTERNAL_ERROR_HOST_ALLOCATION_FAILED */, LOOM_STATUS_OUT_OF_MEMORY },
    { 4004 /* …INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED */, LOOM_STATUS_OUT_OF_MEMORY },
  };
  static const Meaning categories[] = {
    { 2 /* CUDNN_STATUS_BAD_PARAM… */, LOOM_STATUS_INVALID },
    { 3 /* CUDNN_STATUS_NOT_SUPPORTED… */, LOOM_STATUS_UNSUPPORTED },
  };

  if (status < 1000)
    return FIND (eight, status);
  if (FIND (codes, status) != LOOM_STATUS_DEVICE)
    return FIND (codes, status);
  return FIND (categories, status / 1000);
}

void
cuda_use (LoomDevice *device)
{
  current = device->index;
  cudaSetDevice (device->index);
}

cudaError_t
cuda_lost (int index)
{
  return index < DEVICES ? (cudaError_t)atomic_load (&lost[index]) : cudaSuccess;
}

LoomStatus
cuda_check (cudaError_t error, const char *what, LoomMessage *message)
{
  LoomStatus status;

  if (error == cudaSuccess)
    return LOOM_STATUS_OK;
  /* The runtime keeps an error until it is read; this clears it, so that no later launch reports it. */
  cudaGetLastError ();
  status = cuda_status ((int)error);
  if (status == LOOM_STATUS_DEVICE_LOST && current < DEVICES)
    {
      int none = cudaSuccess;

      atomic_compare_exchange_strong (&lost[current], &none, (int)error);
    }
  return cuda_fail (message, status, "%s failed: %s", what, cudaGetErrorString (error));
}

LoomStatus
cuda_library_check (LoomStatus status, const char *what, const char *text, LoomMessage *message)
{
  if (status == LOOM_STATUS_OK)
    return LOOM_STATUS_OK;
  if (status == LOOM_STATUS_DEVICE || status == LOOM_STATUS_DEVICE_LOST)
    {
      cudaError_t error = cuda_lost (current) != cudaSuccess ? cuda_lost (current) : cudaGetLastError ();
      LoomStatus cause = cuda_check (error, what, message);

      if (cause != LOOM_STATUS_OK)
        return cause;
    }
  return cuda_fail (message, status, "%s failed: %s", what, text);
}
