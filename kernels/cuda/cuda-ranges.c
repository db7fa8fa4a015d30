/* Names of steps and nodes for a profiler, as NVTX ranges.
 *
 * NVTX 3 consists of headers only: the first call opens the library in NVTX_INJECTION64_PATH, which Nsight Systems and
 * Nsight Compute set for the programs that they start; without it every call returns at once. */
#include <stdlib.h>

#include <nvtx3/nvToolsExt.h>

#include "kernels/cuda/cuda-tools.h"

bool
cuda_has_profiler (void)
{
  const char *library = getenv ("NVTX_INJECTION64_PATH");

  return library != NULL && library[0] != '\0';
}

void
cuda_range_push (const char *name)
{
  nvtxRangePushA (name);
}

void
cuda_range_pop (void)
{
  nvtxRangePop ();
}
