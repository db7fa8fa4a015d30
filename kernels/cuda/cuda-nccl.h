/* NCCL's functions that the back end calls, found at run time: a machine with one GPU need not have the library, whose
 * header comes with the toolkit. */
#ifndef LOOM_CUDA_NCCL_H
#define LOOM_CUDA_NCCL_H

#include <nccl.h>

#include "kernels/cuda/cuda-internal.h"

#ifdef __cplusplus
extern "C"
{
#endif

  typedef struct
  {
    ncclResult_t (*get_version) (int *version);
    ncclResult_t (*get_unique_id) (ncclUniqueId *id);
    ncclResult_t (*init_rank) (ncclComm_t *comm, int size, ncclUniqueId id, int rank);
    ncclResult_t (*async_error) (ncclComm_t comm, ncclResult_t *error);
    ncclResult_t (*abort) (ncclComm_t comm);
    ncclResult_t (*destroy) (ncclComm_t comm);
    const char *(*error_string) (ncclResult_t result);
    ncclResult_t (*group_start) (void);
    ncclResult_t (*group_end) (void);
    ncclResult_t (*all_reduce) (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*reduce_scatter) (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                    ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*all_gather) (const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                                cudaStream_t stream);
    ncclResult_t (*reduce) (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                            ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*broadcast) (const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                               cudaStream_t stream);
    ncclResult_t (*send) (const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream);
    ncclResult_t (*receive) (void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                             cudaStream_t stream);
  } CudaNccl;

  /* NULL with a sentence if the library, or one of its functions, is missing. Looked up once in a process. */
  const CudaNccl *cuda_nccl (LoomMessage *message);

#ifdef __cplusplus
}
#endif

#endif
