/* cuDNN: its handles, and the operation graphs that it is asked to compute as one (cuda-dnn.c). */
#ifndef LOOM_CUDA_DNN_H
#define LOOM_CUDA_DNN_H

#include <cudnn.h>

#include "kernels/cuda/cuda-internal.h"

LoomStatus cuda_dnn_check (cudnnStatus_t result, const char *what, LoomMessage *message);

/* The handle of the stream, which is made by its first call, which is never one that is recorded: a handle belongs to
 * one thread at a time, as a stream does, and holds what cuDNN keeps between calls. */
LoomStatus cuda_dnn_on (LoomDevice *device, LoomStream *stream, cudnnHandle_t *handle, LoomMessage *message);

/* The device's own handle, which answers questions. To be called with the device's lock held, and used so. */
LoomStatus cuda_dnn_ask (LoomDevice *device, cudnnHandle_t *handle, LoomMessage *message);

/* ---- operation graphs --------------------------------------------------------------------------
 *
 * Tensors and operations are added one after another; the first call that cuDNN refuses leaves its status in the graph,
 * and those behind it do nothing. All tensors have four axes. */

#define CUDA_DNN_MADE 128
#define CUDA_DNN_OPS  32

typedef cudnnBackendDescriptor_t CudaDnnTensor;

typedef struct
{
  cudnnStatus_t status;
  int n_made, n_ops;
  cudnnBackendDescriptor_t made[CUDA_DNN_MADE]; /* all that is to be destroyed */
  cudnnBackendDescriptor_t ops[CUDA_DNN_OPS];
  int64_t n_inner; /* tensors inside the graph, whose ids are -2, -3, … */
} CudaDnnGraph;

/* A tensor in memory, whose address is given to each run under the number `id`, from 1 on. */
CudaDnnTensor
cuda_dnn_tensor (CudaDnnGraph *g, int64_t id, cudnnDataType_t type, const int64_t dim[4], const int64_t stride[4]);
/* A number that each run reads on the host. */
CudaDnnTensor cuda_dnn_scalar (CudaDnnGraph *g, int64_t id);
/* What one operation leaves to others, and which is nowhere in memory. */
CudaDnnTensor cuda_dnn_inner (CudaDnnGraph *g, cudnnDataType_t type, const int64_t dim[4], const int64_t stride[4]);

/* y [N,K,P,Q] = x [N,C,H,W] convolved with w [K,C/groups,R,S], summed in f32; all of it along H and W in turn, padded
 * by zeros before and after. */
void cuda_dnn_convolve (CudaDnnGraph *g, const int64_t stride[2], const int64_t before[2], const int64_t after[2],
                        const int64_t dilation[2], CudaDnnTensor x, CudaDnnTensor w, CudaDnnTensor y);
/* c = a·b of the last two axes; a batch or head of which there is fewer serves several. */
void cuda_dnn_matmul (CudaDnnGraph *g, CudaDnnTensor a, CudaDnnTensor b, CudaDnnTensor c);
/* y = mode (x, b), computed in this type; b is NULL where the mode has one operand. */
void cuda_dnn_pointwise (CudaDnnGraph *g, cudnnPointwiseMode_t mode, cudnnDataType_t type, CudaDnnTensor x,
                         CudaDnnTensor b, CudaDnnTensor y);
/* y = each element's place along this axis of x. */
void cuda_dnn_index (CudaDnnGraph *g, int64_t axis, CudaDnnTensor x, CudaDnnTensor y);
/* y = x where `keep` is true, else b. */
void cuda_dnn_select (CudaDnnGraph *g, CudaDnnTensor x, CudaDnnTensor b, CudaDnnTensor keep, CudaDnnTensor y);
/* y, which has 1 (or a part, of heads that share) where x has more. */
void cuda_dnn_reduce (CudaDnnGraph *g, cudnnReduceTensorOp_t op, CudaDnnTensor x, CudaDnnTensor y);
/* y, the same elements by other axes. */
void cuda_dnn_reshape (CudaDnnGraph *g, CudaDnnTensor x, CudaDnnTensor y);

/* What engines may have as notes is a set of bits, 1 << CUDNN_NUMERICAL_NOTE_…; one that does not tell its notes is
 * none that is wanted. */
#define CUDA_DNN_NOTE(name) (1u << CUDNN_NUMERICAL_NOTE_##name)

/* Asks cuDNN's heuristics for the best engine that computes the whole graph, whose sums have one order as far as cuDNN
 * says, and that works in at most `room` bytes. Returns LOOM_STATUS_UNSUPPORTED where there is none. With `plan` it is
 * made ready to run, which compiles (half a second) and is done once: the plan lives as long as the graph. */
LoomStatus cuda_dnn_choose (LoomDevice *device, CudaDnnGraph *g, size_t room, size_t *workspace,
                            cudnnBackendDescriptor_t *plan, LoomMessage *message);

/* An engine with its configuration, by a name that holds for all graphs and versions that have it: its number, and
 * behind each k the number of a knob and where it stands, "eng41k2-4k13-0". */
#define CUDA_DNN_NAME 192

typedef struct
{
  char name[CUDA_DNN_NAME];
  size_t workspace; /* bytes */
} CudaDnnEngine;

/* The engines that cuDNN's heuristics propose for the whole graph, the best first: at most `max` of those that work in
 * `room` bytes and have none of the notes in `refused`. None is no failure. */
LoomStatus cuda_dnn_engines (LoomDevice *device, CudaDnnGraph *g, size_t room, unsigned refused, CudaDnnEngine *found,
                             int max, int *n, LoomMessage *message);

/* Makes the plan of the engine of that name, also where heuristics do not propose it; it lives as long as the graph.
 * LOOM_STATUS_UNSUPPORTED where cuDNN has no such engine for the graph, or one with a refused note. */
LoomStatus cuda_dnn_plan (LoomDevice *device, CudaDnnGraph *g, const char *name, unsigned refused, size_t *workspace,
                          cudnnBackendDescriptor_t *plan, LoomMessage *message);

/* Enqueues a plan; tensor `id[i]` lies at `at[i]`. */
LoomStatus cuda_dnn_run (LoomDevice *device, LoomStream *stream, cudnnBackendDescriptor_t plan, int n,
                         const int64_t *id, void *const *at, void *workspace, const char *what, LoomMessage *message);

void cuda_dnn_graph_clear (CudaDnnGraph *g);

#endif
