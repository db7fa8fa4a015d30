/* Opens NCCL when ranks first exchange GPU memory. */
#include "kernels/cuda/cuda-nccl.h"

#include <string.h>

#include "kernels/cuda/cuda-library.h"

static const CudaFunction functions[] = {
  { "ncclGetVersion", offsetof (CudaNccl, get_version) },
  { "ncclGetUniqueId", offsetof (CudaNccl, get_unique_id) },
  { "ncclCommInitRank", offsetof (CudaNccl, init_rank) },
  { "ncclCommGetAsyncError", offsetof (CudaNccl, async_error) },
  { "ncclCommAbort", offsetof (CudaNccl, abort) },
  { "ncclCommDestroy", offsetof (CudaNccl, destroy) },
  { "ncclGetErrorString", offsetof (CudaNccl, error_string) },
  { "ncclGroupStart", offsetof (CudaNccl, group_start) },
  { "ncclGroupEnd", offsetof (CudaNccl, group_end) },
  { "ncclAllReduce", offsetof (CudaNccl, all_reduce) },
  { "ncclReduceScatter", offsetof (CudaNccl, reduce_scatter) },
  { "ncclAllGather", offsetof (CudaNccl, all_gather) },
  { "ncclReduce", offsetof (CudaNccl, reduce) },
  { "ncclBroadcast", offsetof (CudaNccl, broadcast) },
  { "ncclSend", offsetof (CudaNccl, send) },
  { "ncclRecv", offsetof (CudaNccl, receive) },
};

static CudaNccl found;
static LoomMessage why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
open_library (void)
{
  static const char file[] = "libnccl.so.2";
  const char *missing = cuda_library_open (file, CUDA_FUNCTIONS (functions), &found);

  if (missing != NULL && strcmp (missing, file) == 0)
    cuda_fail (&why_not, LOOM_STATUS_DEVICE,
               "ranks on GPUs need NCCL, which is not installed (%s, NVIDIA's package libnccl2)", file);
  else if (missing != NULL)
    cuda_fail (&why_not, LOOM_STATUS_DEVICE, "the installed NCCL is too old: it has no %s", missing);
}

const CudaNccl *
cuda_nccl (LoomMessage *message)
{
  pthread_once (&once, open_library);
  if (why_not.text[0] == '\0')
    return &found;
  *message = why_not;
  return NULL;
}
