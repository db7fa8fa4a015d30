/* Interface of the communicators (cuda-comm.c) for the rest of the back end. */
#ifndef LOOM_CUDA_COMM_H
#define LOOM_CUDA_COMM_H

#include "kernels/comm.h"
#include "kernels/cuda/cuda-internal.h"

/* Called by all ranks together (LoomDeviceCommEntry). */
LoomStatus
cuda_comm_new (LoomDevice *device, LoomStream *stream, LoomComm *ranks, LoomComm **comm, LoomMessage *message);

/* TRUE if the device has communicators, or another one that it exchanges bytes with: its streams may then wait for
 * other ranks. */
bool cuda_comm_may_block (LoomDevice *device);

/* Waits until query (of) is no longer cudaErrorNotReady, and checks meanwhile that these communicators still work: a
 * lost rank would else be waited for without end. */
LoomStatus cuda_comm_wait (LoomDevice *device, cudaError_t (*query) (void *of), void *of, LoomMessage *message);

#endif
