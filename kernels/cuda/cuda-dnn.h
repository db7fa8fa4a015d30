/* cuDNN's handles and operation graphs (cuda-dnn.c). */
#ifndef LOOM_CUDA_DNN_H
#define LOOM_CUDA_DNN_H

#include <cudnn.h>

#include "kernels/cuda/cuda-internal.h"

LoomStatus cuda_dnn_check (cudnnStatus_t result, const char *what, LoomMessage *message);

/* The handle of the stream, made by its first call, which is never recorded: a handle belongs to one thread at a time,
 * as a stream does, and holds cuDNN's state between calls. */
LoomStatus cuda_dnn_stream_handle (LoomDevice *device, LoomStream *stream, cudnnHandle_t *handle, LoomMessage *message);

/* The device's own handle, for queries. Must be called, and the handle used, with the device's lock held. */
LoomStatus cuda_dnn_query_handle (LoomDevice *device, cudnnHandle_t *handle, LoomMessage *message);

/* ---- operation graphs --------------------------------------------------------------------------
 *
 * Tensors and operations are added one after another; the first call that cuDNN refuses leaves its status in the graph,
 * and later ones do nothing. All tensors have four axes. */

#define CUDA_DNN_MADE 128
#define CUDA_DNN_OPS  32

typedef cudnnBackendDescriptor_t CudaDnnTensor;

typedef struct
{
  cudnnStatus_t status;
  int n_made, n_ops;
  cudnnBackendDescriptor_t made[CUDA_DNN_MADE]; /* all descriptors to destroy */
  cudnnBackendDescriptor_t ops[CUDA_DNN_OPS];
  int64_t n_inner; /* tensors inside the graph, whose ids are -2, -3, … */
} CudaDnnGraph;

/* A tensor in memory, whose address is passed to each run under the number `id`, from 1 on. */
CudaDnnTensor
cuda_dnn_tensor (CudaDnnGraph *g, int64_t id, cudnnDataType_t type, const int64_t dim[4], const int64_t stride[4]);
/* A number that each run reads on the host. */
CudaDnnTensor cuda_dnn_scalar (CudaDnnGraph *g, int64_t id);
/* The result of one operation for others, which is not stored in memory. */
CudaDnnTensor cuda_dnn_inner (CudaDnnGraph *g, cudnnDataType_t type, const int64_t dim[4], const int64_t stride[4]);

/* y [N,K,P,Q] = x [N,C,H,W] convolved with w [K,C/groups,R,S], summed in f32; all attributes are for H and W, with
 * zeros as padding before and after. */
void cuda_dnn_convolve (CudaDnnGraph *g, const int64_t stride[2], const int64_t before[2], const int64_t after[2],
                        const int64_t dilation[2], CudaDnnTensor x, CudaDnnTensor w, CudaDnnTensor y);
/* c = a·b over the last two axes; smaller batches or heads broadcast. */
void cuda_dnn_matmul (CudaDnnGraph *g, CudaDnnTensor a, CudaDnnTensor b, CudaDnnTensor c);
/* y = mode (x, b), computed in this type; b is NULL if the mode has one operand. */
void cuda_dnn_pointwise (CudaDnnGraph *g, cudnnPointwiseMode_t mode, cudnnDataType_t type, CudaDnnTensor x,
                         CudaDnnTensor b, CudaDnnTensor y);
/* y = each element's index along this axis of x. */
void cuda_dnn_index (CudaDnnGraph *g, int64_t axis, CudaDnnTensor x, CudaDnnTensor y);
/* y = x where `keep` is true, else b. */
void cuda_dnn_select (CudaDnnGraph *g, CudaDnnTensor x, CudaDnnTensor b, CudaDnnTensor keep, CudaDnnTensor y);
/* y = x reduced along the axes where y is shorter: to 1, or to groups of heads. */
void cuda_dnn_reduce (CudaDnnGraph *g, cudnnReduceTensorOp_t op, CudaDnnTensor x, CudaDnnTensor y);
/* y = x with the same elements in another shape. */
void cuda_dnn_reshape (CudaDnnGraph *g, CudaDnnTensor x, CudaDnnTensor y);

/* The bit of a note in sets of notes, 1 << CUDNN_NUMERICAL_NOTE_…. An engine that does not report its notes is never
 * chosen. */
#define CUDA_DNN_NOTE(name) (1u << CUDNN_NUMERICAL_NOTE_##name)

/* Finds the best engine of cuDNN's heuristics that computes the whole graph in at most `room` bytes, and whose sums
 * have one order according to its notes. Returns LOOM_STATUS_UNSUPPORTED if there is none. With `plan` it is also
 * built, which compiles (half a second) and is done once: the plan lives as long as the graph. */
LoomStatus cuda_dnn_choose (LoomDevice *device, CudaDnnGraph *g, size_t room, size_t *workspace,
                            cudnnBackendDescriptor_t *plan, LoomMessage *message);

/* An engine with its configuration. The name is valid for all graphs and versions that have the engine: its number, and
 * after each k the number of a knob and its value, "eng41k2-4k13-0". */
#define CUDA_DNN_NAME 192

typedef struct
{
  char name[CUDA_DNN_NAME];
  size_t workspace; /* bytes */
} CudaDnnEngine;

/* The engines that cuDNN's heuristics propose for the whole graph, the best first: at most `max` of those that need at
 * most `room` bytes and have none of the notes in `refused`. OK with *n 0 if there is none. */
LoomStatus cuda_dnn_engines (LoomDevice *device, CudaDnnGraph *g, size_t room, unsigned refused, CudaDnnEngine *found,
                             int max, int *n, LoomMessage *message);

/* Builds the plan of the engine with that name, even if heuristics do not propose it; it lives as long as the graph.
 * LOOM_STATUS_UNSUPPORTED if cuDNN has no such engine for the graph, or only with a refused note. */
LoomStatus cuda_dnn_plan (LoomDevice *device, CudaDnnGraph *g, const char *name, unsigned refused, size_t *workspace,
                          cudnnBackendDescriptor_t *plan, LoomMessage *message);

/* Enqueues a plan; tensor `id[i]` has the address `at[i]`. */
LoomStatus cuda_dnn_run (LoomDevice *device, LoomStream *stream, cudnnBackendDescriptor_t plan, int n,
                         const int64_t *id, void *const *at, void *workspace, const char *what, LoomMessage *message);

void cuda_dnn_graph_clear (CudaDnnGraph *g);

#endif
