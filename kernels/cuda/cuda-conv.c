/* Convolution by cuDNN's classic calls, f32, plain layout.
 *
 * The algorithms are fixed rather than measured: forward by the implicit product that
 * precomputes its indices, both gradients by algorithm 1, which cuDNN documents as
 * deterministic. So a plan is made quickly and two runs agree to the bit. cuDNN pads both
 * sides alike and adds no activation here: what it does not take goes to own loops
 * (cuda-conv-direct.cu), and bias with activation follow as one element-wise kernel. */
#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-internal.h"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t shape;
  size_t workspace;
  bool has_bias;
  LoomKernel *tail; /* forward: bias and activation; weight gradient: the sum for dbias */
  char name[64];
} Conv;

static LoomStatus
dnn_check (cudnnStatus_t result, const char *what, LoomMessage *message)
{
  if (result == CUDNN_STATUS_SUCCESS)
    return LOOM_STATUS_OK;
  return cuda_library_check (cuda_status_of_dnn ((int)result), what, cudnnGetErrorString (result), message);
}

void
cuda_conv_close (void *handle)
{
  if (handle != NULL)
    cudnnDestroy (handle);
}

static void
conv_free (LoomKernel *base)
{
  Conv *self = (Conv *)base;

  if (self->tail != NULL)
    self->tail->free (self->tail);
  if (self->x != NULL)
    cudnnDestroyTensorDescriptor (self->x);
  if (self->y != NULL)
    cudnnDestroyTensorDescriptor (self->y);
  if (self->w != NULL)
    cudnnDestroyFilterDescriptor (self->w);
  if (self->shape != NULL)
    cudnnDestroyConvolutionDescriptor (self->shape);
  free (self);
}

/* The handle of the call's stream: a handle belongs to one thread at a time, as a stream does, and holds what cuDNN
 * keeps between calls. It is made by the first call, which is never one that is recorded. */
static LoomStatus
use_stream (Conv *self, LoomStream *stream, cudnnHandle_t *handle, LoomMessage *message)
{
  LoomStream *of = stream != NULL ? stream : self->device->stream;
  LoomStatus status = LOOM_STATUS_OK;

  cuda_use (self->device);
  if (of->cudnn == NULL)
    {
      status = dnn_check (cudnnCreate (handle), "opening cuDNN", message);
      if (status == LOOM_STATUS_OK)
        status = dnn_check (cudnnSetStream (*handle, of->handle), "giving cuDNN its stream", message);
      if (status == LOOM_STATUS_OK)
        of->cudnn = *handle;
      else
        cuda_conv_close (*handle);
    }
  *handle = of->cudnn;
  return status;
}

typedef enum
{
  FORWARD,
  INPUT_GRADIENT,
  WEIGHT_GRADIENT
} Pass;

/* How much room the pass needs to work in; the device's own handle answers, one thread at a time. */
static LoomStatus
ask_workspace (Conv *self, Pass pass, LoomMessage *message)
{
  LoomDevice *device = self->device;
  LoomStatus status = LOOM_STATUS_OK;
  cudnnStatus_t result;

  pthread_mutex_lock (&device->lock);
  if (device->cudnn == NULL)
    {
      cudnnHandle_t handle = NULL;

      status = dnn_check (cudnnCreate (&handle), "opening cuDNN", message);
      device->cudnn = handle;
    }
  if (status == LOOM_STATUS_OK)
    {
      if (pass == FORWARD)
        result = cudnnGetConvolutionForwardWorkspaceSize (device->cudnn, self->x, self->w, self->shape, self->y,
                                                          CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                          &self->workspace);
      else if (pass == INPUT_GRADIENT)
        result = cudnnGetConvolutionBackwardDataWorkspaceSize (device->cudnn, self->w, self->y, self->shape, self->x,
                                                               CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, &self->workspace);
      else
        result = cudnnGetConvolutionBackwardFilterWorkspaceSize (device->cudnn, self->x, self->y, self->shape, self->w,
                                                                 CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, &self->workspace);
      status = dnn_check (result, "asking cuDNN for a convolution's workspace", message);
    }
  pthread_mutex_unlock (&device->lock);
  return status;
}

/* ---- running ------------------------------------------------------------------------------- */

static const float one = 1, zero = 0;

static LoomStatus
forward_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Conv *self = (Conv *)base;
  const int out = self->has_bias ? 3 : 2;
  void *const with_bias[] = { buffers[out], buffers[2], buffers[out] };
  void *const alone[] = { buffers[out], buffers[out] };
  cudnnHandle_t handle = NULL;
  LoomStatus status;

  status = use_stream (self, stream, &handle, message);
  if (status == LOOM_STATUS_OK)
    status = dnn_check (cudnnConvolutionForward (handle, &one, self->x, buffers[0], self->w, buffers[1], self->shape,
                                                 CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                 self->workspace != 0 ? buffers[out + 1] : NULL, self->workspace, &zero,
                                                 self->y, buffers[out]),
                        "a convolution", message);
  if (status == LOOM_STATUS_OK && self->tail != NULL)
    status = self->tail->run (self->tail, stream, self->has_bias ? with_bias : alone, message);
  return status;
}

static LoomStatus
input_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Conv *self = (Conv *)base;
  cudnnHandle_t handle = NULL;
  LoomStatus status;

  status = use_stream (self, stream, &handle, message);
  if (status != LOOM_STATUS_OK)
    return status;
  return dnn_check (cudnnConvolutionBackwardData (handle, &one, self->w, buffers[1], self->y, buffers[0], self->shape,
                                                  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
                                                  self->workspace != 0 ? buffers[3] : NULL, self->workspace, &zero,
                                                  self->x, buffers[2]),
                    "a convolution's input gradient", message);
}

static LoomStatus
weight_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Conv *self = (Conv *)base;
  const int scratch = self->has_bias ? 4 : 3;
  void *const sum[] = { buffers[0], buffers[3], self->has_bias ? buffers[scratch] : NULL };
  cudnnHandle_t handle = NULL;
  LoomStatus status;

  status = use_stream (self, stream, &handle, message);
  if (status == LOOM_STATUS_OK)
    status = dnn_check (cudnnConvolutionBackwardFilter (handle, &one, self->x, buffers[1], self->y, buffers[0],
                                                        self->shape, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
                                                        self->workspace != 0 ? buffers[scratch] : NULL, self->workspace,
                                                        &zero, self->w, buffers[2]),
                        "a convolution's weight gradient", message);
  /* Behind it on the same stream, so the two may share their scratch. */
  if (status == LOOM_STATUS_OK && self->tail != NULL)
    status = self->tail->run (self->tail, stream, sum, message);
  return status;
}

/* ---- construction ------------------------------------------------------------------------------ */

static cudnnStatus_t
describe_tensor (cudnnTensorDescriptor_t *to, const LoomTensorDesc *d)
{
  cudnnStatus_t result = cudnnCreateTensorDescriptor (to);

  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetTensor4dDescriptor (*to, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, (int)d->dim[0], (int)d->dim[1],
                                         (int)d->dim[2], (int)d->dim[3]);
  return result;
}

static cudnnStatus_t
describe (Conv *self, const LoomConv2dAttrs *attrs, const LoomTensorDesc *x, const LoomTensorDesc *w,
          const LoomTensorDesc *y)
{
  cudnnStatus_t result = describe_tensor (&self->x, x);

  if (result == CUDNN_STATUS_SUCCESS)
    result = describe_tensor (&self->y, y);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnCreateFilterDescriptor (&self->w);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetFilter4dDescriptor (self->w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, (int)w->dim[0], (int)w->dim[1],
                                         (int)w->dim[2], (int)w->dim[3]);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnCreateConvolutionDescriptor (&self->shape);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetConvolution2dDescriptor (self->shape, (int)attrs->pad[0], (int)attrs->pad[2],
                                              (int)attrs->stride[0], (int)attrs->stride[1], (int)attrs->dilation[0],
                                              (int)attrs->dilation[1], CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetConvolutionGroupCount (self->shape, (int)attrs->groups);
  /* FMA alone: without it f32 may be rounded to TF32. */
  if (result == CUDNN_STATUS_SUCCESS)
    {
      const char *asked = getenv ("GRADLOOM_TF32");
      bool tf32 = asked != NULL && strcmp (asked, "1") == 0;

      result = cudnnSetConvolutionMathType (self->shape, tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH);
    }
  return result;
}

/* What all three share; UNSUPPORTED for types, layouts and paddings that cuDNN does not take here. */
static LoomStatus
conv_new (LoomDevice *device, const LoomKernelSpec *spec, const LoomTensorDesc *x, const LoomTensorDesc *w,
          const LoomTensorDesc *y, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Conv **out,
          LoomMessage *message)
{
  const LoomConv2dAttrs *attrs = spec->attrs;
  LoomStatus status;
  Conv *self;

  if (!cuda_all_plain (spec) || attrs->pad[0] != attrs->pad[1] || attrs->pad[2] != attrs->pad[3])
    return LOOM_STATUS_UNSUPPORTED;
  if (x->dtype != LOOM_F32 || w->dtype != LOOM_F32 || y->dtype != LOOM_F32)
    return LOOM_STATUS_UNSUPPORTED;
  /* cuDNN has no empty tensors. */
  if (loom_desc_count (x) == 0 || loom_desc_count (w) == 0 || loom_desc_count (y) == 0)
    return LOOM_STATUS_UNSUPPORTED;
  if (x->rank != 4 || w->rank != 4 || y->rank != 4)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s needs operands of rank 4", spec->primitive);
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base.run = run;
  self->base.free = conv_free;
  snprintf (self->name, sizeof self->name, "%s", name);
  self->base.name = self->name;
  self->device = device;
  self->has_bias = attrs->has_bias;
  status = dnn_check (describe (self, attrs, x, w, y), "describing a convolution to cuDNN", message);
  if (status != LOOM_STATUS_OK)
    {
      conv_free (&self->base);
      return status;
    }
  *out = self;
  return LOOM_STATUS_OK;
}

/* Bias and activation behind the convolution; the bias is seen as [K,1,1]. */
static LoomStatus
forward_tail (Conv *self, const LoomKernelSpec *spec, LoomMessage *message)
{
  const LoomConv2dAttrs *attrs = spec->attrs;
  const LoomTensorDesc bias = { .dtype = LOOM_F32, .rank = 3, .dim = { spec->out[0].dim[1], 1, 1 } };

  return cuda_tail_new (self->device, &spec->out[0], attrs->has_bias ? &bias : NULL, attrs->act, &self->tail, message);
}

static LoomStatus
finish (Conv *self, LoomStatus status, LoomKernel **kernel)
{
  if (status != LOOM_STATUS_OK)
    {
      conv_free (&self->base);
      return status;
    }
  self->base.scratch_bytes = self->workspace;
  if (self->tail != NULL && self->tail->scratch_bytes > self->workspace)
    self->base.scratch_bytes = self->tail->scratch_bytes;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_conv2d_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Conv *self = NULL;
  LoomStatus status = conv_new (device, spec, &spec->in[0], &spec->in[1], &spec->out[0], "cudnn forward precomp",
                                forward_run, &self, message);

  if (status == LOOM_STATUS_UNSUPPORTED)
    return cuda_direct_conv2d_new (device, spec, kernel, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = ask_workspace (self, FORWARD, message);
  if (status == LOOM_STATUS_OK)
    status = forward_tail (self, spec, message);
  if (status == LOOM_STATUS_UNSUPPORTED)
    {
      conv_free (&self->base);
      return cuda_direct_conv2d_new (device, spec, kernel, message);
    }
  return finish (self, status, kernel);
}

LoomStatus
cuda_conv2d_input_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Conv *self = NULL;
  LoomStatus status = conv_new (device, spec, &spec->out[0], &spec->in[1], &spec->in[0], "cudnn input gradient 1",
                                input_grad_run, &self, message);

  if (status == LOOM_STATUS_UNSUPPORTED)
    return cuda_direct_input_grad_new (device, spec, kernel, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = ask_workspace (self, INPUT_GRADIENT, message);
  if (status == LOOM_STATUS_UNSUPPORTED)
    {
      conv_free (&self->base);
      return cuda_direct_input_grad_new (device, spec, kernel, message);
    }
  return finish (self, status, kernel);
}

LoomStatus
cuda_conv2d_weight_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Conv *self = NULL;
  LoomStatus status = conv_new (device, spec, &spec->in[1], &spec->out[0], &spec->in[0], "cudnn weight gradient 1",
                                weight_grad_run, &self, message);

  if (status == LOOM_STATUS_UNSUPPORTED)
    return cuda_direct_weight_grad_new (device, spec, kernel, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = ask_workspace (self, WEIGHT_GRADIENT, message);
  if (status == LOOM_STATUS_OK)
    status = self->has_bias ? cuda_channel_sum_new (device, &spec->in[0], &self->tail, message) : LOOM_STATUS_OK;
  if (status == LOOM_STATUS_UNSUPPORTED)
    {
      conv_free (&self->base);
      return cuda_direct_weight_grad_new (device, spec, kernel, message);
    }
  return finish (self, status, kernel);
}
