/* Convolution by cuDNN's classic calls, all images plain or all NHWC, f32 or 16-bit floats whose sums are f32.
 *
 * Its algorithms are options of the planner (cuda_conv2d_algorithms), never searched for by running them. Those whose
 * sums have no fixed order are left out, so two runs agree to the bit. cuDNN pads both sides alike and adds no
 * activation here: asymmetric padding is added before (cuda-conv-padded.c), and calls that cuDNN does not take use our
 * own loops (cuda-conv-direct.cu). Bias and activation follow as one element-wise kernel, so a 16-bit result with a
 * bias is rounded twice: after the convolution, and after its bias, which is added in f32. If cuDNN has an engine that
 * does all of it at once, that is an option, too (cuda-conv-graph.c), as is an own product for the weight gradient
 * (cuda-conv-weight.cu). Images in NHWC need the filter in NHWC as well: the planner may pass it so, once for all
 * calls; otherwise it is packed into scratch before the call, and the weights' gradient is unpacked after it. cuDNN
 * computes that gradient in the images' type; it is converted if f32 is wanted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-dnn.h"

typedef enum
{
  FORWARD,
  INPUT_GRADIENT,
  WEIGHT_GRADIENT
} Pass;

/* The limits are those of the documentation's tables of supported configurations. */
typedef struct
{
  const char *name;
  int number;      /* in the enumeration of its pass */
  int64_t largest; /* filter of Winograd's algorithms, which take 3×3 and up to this; 0: the algorithm is a product,
                      which takes every shape, stride, dilation and layout */
  bool rounds;     /* like TF32, in any math mode: on an H100 the results deviate by 2e-4 to 6e-4 of their norm */
} Algorithm;

/* If costs are equal the first one is chosen. */
static const Algorithm forward[] = {
  { "cudnn-implicit-precomp", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 0, false },
  { "cudnn-implicit", CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0, false },
  { "cudnn-winograd", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, 3, false },
  { "cudnn-winograd-nonfused", CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 5, true },
  { NULL },
};

static const Algorithm input_gradient[] = {
  { "cudnn-implicit", CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, 0, false },
  { "cudnn-winograd", CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, 3, false },
  { "cudnn-winograd-nonfused", CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, 5, true },
  { NULL },
};

static const Algorithm weight_gradient[] = {
  { "cudnn-implicit", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, 0, false },
  { "cudnn-winograd-nonfused", CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, 5, true },
  { NULL },
};

static const Algorithm *const algorithms[]
    = { [FORWARD] = forward, [INPUT_GRADIENT] = input_gradient, [WEIGHT_GRADIENT] = weight_gradient };

static const CudaConstructor direct[] = { [FORWARD] = cuda_direct_conv2d_new,
                                          [INPUT_GRADIENT] = cuda_direct_input_grad_new,
                                          [WEIGHT_GRADIENT] = cuda_direct_weight_grad_new };

/* A call: x [N,C,H,W], w [K,C/groups,R,S], y [N,K,P,Q], or the gradients instead of them. */
typedef struct
{
  Pass pass;
  const LoomConv2dAttrs *attrs;
  const LoomTensorDesc *x, *w, *y;
  const LoomTensorDesc *bias; /* or its gradient; NULL without one */
  bool tf32;                  /* LoomKernelSpec.tf32 */
} Call;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  const Algorithm *algorithm;
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t shape;
  size_t workspace;
  bool has_bias;
  LoomKernel *pack; /* packs the filter before the call, or unpacks its gradient after it; only in NHWC calls */
  size_t packed;    /* offset of that filter in the scratch */
  LoomKernel *tail; /* forward: bias and activation; weight gradient: the sum for dbias */
  char *name;
} Conv;

static Call
call_of (const LoomKernelSpec *spec)
{
  const LoomTensorDesc *in = spec->in, *out = spec->out;

  if (strcmp (spec->primitive, "conv2d_input_grad") == 0)
    return (Call){ INPUT_GRADIENT, spec->attrs, &out[0], &in[1], &in[0], NULL, spec->tf32 };
  if (strcmp (spec->primitive, "conv2d_weight_grad") == 0)
    return (Call){ WEIGHT_GRADIENT, spec->attrs, &in[1], &out[0], &in[0], &out[1], spec->tf32 };
  return (Call){ FORWARD, spec->attrs, &in[0], &in[1], &out[0], &in[2], spec->tf32 };
}

static void
conv_free (LoomKernel *base)
{
  Conv *self = (Conv *)base;

  if (self->tail != NULL)
    self->tail->free (self->tail);
  if (self->pack != NULL)
    self->pack->free (self->pack);
  if (self->x != NULL)
    cudnnDestroyTensorDescriptor (self->x);
  if (self->y != NULL)
    cudnnDestroyTensorDescriptor (self->y);
  if (self->w != NULL)
    cudnnDestroyFilterDescriptor (self->w);
  if (self->shape != NULL)
    cudnnDestroyConvolutionDescriptor (self->shape);
  free (self->name);
  free (self);
}

/* The workspace of an algorithm, or UNSUPPORTED if cuDNN does not have it for this call. Uses the device's own handle,
 * by one thread at a time. */
static LoomStatus
query_workspace (Conv *self, Pass pass, const Algorithm *algorithm, LoomMessage *message)
{
  LoomDevice *device = self->device;
  const int number = algorithm->number;
  cudnnHandle_t handle = NULL;
  cudnnStatus_t result;
  LoomStatus status;

  pthread_mutex_lock (&device->lock);
  status = cuda_dnn_query_handle (device, &handle, message);
  if (status == LOOM_STATUS_OK)
    {
      if (pass == FORWARD)
        result = cudnnGetConvolutionForwardWorkspaceSize (handle, self->x, self->w, self->shape, self->y,
                                                          (cudnnConvolutionFwdAlgo_t)number, &self->workspace);
      else if (pass == INPUT_GRADIENT)
        result = cudnnGetConvolutionBackwardDataWorkspaceSize (handle, self->w, self->y, self->shape, self->x,
                                                               (cudnnConvolutionBwdDataAlgo_t)number, &self->workspace);
      else
        result = cudnnGetConvolutionBackwardFilterWorkspaceSize (
            handle, self->x, self->y, self->shape, self->w, (cudnnConvolutionBwdFilterAlgo_t)number, &self->workspace);
      status = cuda_dnn_check (result, "asking cuDNN for a convolution's workspace", message);
    }
  pthread_mutex_unlock (&device->lock);
  self->algorithm = algorithm;
  return status;
}

/* ---- running ------------------------------------------------------------------------------- */

static const float one = 1, zero = 0;

/* A call's workspace; NULL if it needs none. */
static void *
workspace_in (const Conv *self, void *scratch)
{
  return self->workspace != 0 ? scratch : NULL;
}

/* The filter w [K,C/groups,R,S] in cuDNN's layout: packed into the scratch in NHWC calls. */
static LoomStatus
packed_filter (Conv *self, LoomStream *stream, void **w, void *scratch, LoomMessage *message)
{
  void *const buffers[] = { *w, (char *)scratch + self->packed };

  if (self->pack == NULL)
    return LOOM_STATUS_OK;
  *w = buffers[1];
  return self->pack->run (self->pack, stream, buffers, message);
}

static LoomStatus
forward_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Conv *self = (Conv *)base;
  const int out = self->has_bias ? 3 : 2;
  void *const with_bias[] = { buffers[out], buffers[2], buffers[out] };
  void *const alone[] = { buffers[out], buffers[out] };
  void *w = buffers[1];
  cudnnHandle_t handle = NULL;
  LoomStatus status = cuda_dnn_stream_handle (self->device, stream, &handle, message);

  if (status == LOOM_STATUS_OK)
    status = packed_filter (self, stream, &w, buffers[out + 1], message);
  if (status == LOOM_STATUS_OK)
    status = cuda_dnn_check (cudnnConvolutionForward (handle, &one, self->x, buffers[0], self->w, w, self->shape,
                                                      (cudnnConvolutionFwdAlgo_t)self->algorithm->number,
                                                      workspace_in (self, buffers[out + 1]), self->workspace, &zero,
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
  void *w = buffers[1];
  cudnnHandle_t handle = NULL;
  LoomStatus status = cuda_dnn_stream_handle (self->device, stream, &handle, message);

  if (status == LOOM_STATUS_OK)
    status = packed_filter (self, stream, &w, buffers[3], message);
  if (status != LOOM_STATUS_OK)
    return status;
  return cuda_dnn_check (cudnnConvolutionBackwardData (handle, &one, self->w, w, self->y, buffers[0], self->shape,
                                                       (cudnnConvolutionBwdDataAlgo_t)self->algorithm->number,
                                                       workspace_in (self, buffers[3]), self->workspace, &zero, self->x,
                                                       buffers[2]),
                         "a convolution's input gradient", message);
}

static LoomStatus
weight_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Conv *self = (Conv *)base;
  const int scratch = self->has_bias ? 4 : 3;
  void *const sum[] = { buffers[0], buffers[3], self->has_bias ? buffers[scratch] : NULL };
  void *const unpack[] = { self->pack != NULL ? (char *)buffers[scratch] + self->packed : NULL, buffers[2] };
  cudnnHandle_t handle = NULL;
  LoomStatus status = cuda_dnn_stream_handle (self->device, stream, &handle, message);

  if (status == LOOM_STATUS_OK)
    status = cuda_dnn_check (
        cudnnConvolutionBackwardFilter (handle, &one, self->x, buffers[1], self->y, buffers[0], self->shape,
                                        (cudnnConvolutionBwdFilterAlgo_t)self->algorithm->number,
                                        workspace_in (self, buffers[scratch]), self->workspace, &zero, self->w,
                                        self->pack != NULL ? unpack[0] : buffers[2]),
        "a convolution's weight gradient", message);
  if (status == LOOM_STATUS_OK && self->pack != NULL)
    status = self->pack->run (self->pack, stream, unpack, message);
  /* Later kernels on the same stream, so all may use the same scratch. */
  if (status == LOOM_STATUS_OK && self->tail != NULL)
    status = self->tail->run (self->tail, stream, sum, message);
  return status;
}

/* ---- descriptors ------------------------------------------------------------------------------- */

static cudnnTensorFormat_t
format_of (const LoomTensorDesc *d)
{
  return d->layout == LOOM_LAYOUT_NHWC ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

static cudnnDataType_t
type_of (const LoomTensorDesc *d)
{
  return d->dtype == LOOM_F32 ? CUDNN_DATA_FLOAT : d->dtype == LOOM_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

static cudnnMathType_t
math_of (const Call *call)
{
  if (call->x->dtype != LOOM_F32)
    return CUDNN_TENSOR_OP_MATH;
  /* FMA only: otherwise f32 may be rounded to TF32. */
  return call->tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

static cudnnStatus_t
describe_tensor (cudnnTensorDescriptor_t *to, const LoomTensorDesc *d)
{
  cudnnStatus_t result = cudnnCreateTensorDescriptor (to);

  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetTensor4dDescriptor (*to, format_of (d), type_of (d), (int)d->dim[0], (int)d->dim[1],
                                         (int)d->dim[2], (int)d->dim[3]);
  return result;
}

static cudnnStatus_t
describe (Conv *self, const Call *call)
{
  const LoomConv2dAttrs *attrs = call->attrs;
  const LoomTensorDesc *w = call->w;
  cudnnStatus_t result = describe_tensor (&self->x, call->x);

  if (result == CUDNN_STATUS_SUCCESS)
    result = describe_tensor (&self->y, call->y);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnCreateFilterDescriptor (&self->w);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetFilter4dDescriptor (self->w, type_of (call->x), format_of (call->x), (int)w->dim[0],
                                         (int)w->dim[1], (int)w->dim[2], (int)w->dim[3]);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnCreateConvolutionDescriptor (&self->shape);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetConvolution2dDescriptor (self->shape, (int)attrs->pad[0], (int)attrs->pad[2],
                                              (int)attrs->stride[0], (int)attrs->stride[1], (int)attrs->dilation[0],
                                              (int)attrs->dilation[1], CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetConvolutionGroupCount (self->shape, (int)attrs->groups);
  if (result == CUDNN_STATUS_SUCCESS)
    result = cudnnSetConvolutionMathType (self->shape, math_of (call));
  return result;
}

/* The call without its algorithm; UNSUPPORTED for types, layouts and paddings that cuDNN does not take here. */
static LoomStatus
conv_new (LoomDevice *device, const Call *call, Conv **out, LoomMessage *message)
{
  const LoomConv2dAttrs *attrs = call->attrs;
  LoomStatus status;
  Conv *self;

  if (call->x->layout != call->y->layout
      || (call->w->layout != LOOM_LAYOUT_PLAIN && (call->w->layout != call->x->layout || call->pass == WEIGHT_GRADIENT))
      || attrs->pad[0] != attrs->pad[1] || attrs->pad[2] != attrs->pad[3])
    return LOOM_STATUS_UNSUPPORTED;
  if ((call->x->dtype != LOOM_F32 && call->x->dtype != LOOM_BF16 && call->x->dtype != LOOM_F16)
      || call->y->dtype != call->x->dtype
      || (call->w->dtype != call->x->dtype && (call->pass != WEIGHT_GRADIENT || call->w->dtype != LOOM_F32)))
    return LOOM_STATUS_UNSUPPORTED;
  if (call->x->rank != 4 || call->w->rank != 4 || call->y->rank != 4)
    return cuda_fail (message, LOOM_STATUS_INVALID, "a convolution needs operands of rank 4");
  /* cuDNN has no empty tensors. */
  if (loom_desc_count (call->x) == 0 || loom_desc_count (call->w) == 0 || loom_desc_count (call->y) == 0)
    return LOOM_STATUS_UNSUPPORTED;
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base.free = conv_free;
  self->device = device;
  self->has_bias = attrs->has_bias;
  status = cuda_dnn_check (describe (self, call), "describing a convolution to cuDNN", message);
  if (status != LOOM_STATUS_OK)
    conv_free (&self->base);
  else
    *out = self;
  return status;
}

/* ---- algorithms -------------------------------------------------------------------------------- */

static bool
takes (const Algorithm *algorithm, const Call *call)
{
  const LoomConv2dAttrs *a = call->attrs;
  const int64_t *filter = call->w->dim + 2;

  if (algorithm->rounds && !call->tf32)
    return false;
  if (call->x->dtype != LOOM_F32)
    return algorithm == algorithms[call->pass];
  if (algorithm->largest == 0)
    return true;
  return a->algorithm != LOOM_CONV_DIRECT && call->x->layout == LOOM_LAYOUT_PLAIN && filter[0] == filter[1]
         && (filter[0] == 3 || filter[0] == algorithm->largest) && a->stride[0] == 1 && a->stride[1] == 1
         && a->dilation[0] == 1 && a->dilation[1] == 1;
}

/* The filter in cuDNN's layout and type. */
static LoomTensorDesc
packed_of (const Call *call)
{
  LoomTensorDesc packed = *call->w;

  packed.layout = call->x->layout;
  packed.dtype = call->x->dtype;
  return packed;
}

/* TRUE if the call has to pack the filter, or unpack its gradient. */
static bool
packs (const Call *call)
{
  return call->x->layout != call->w->layout || call->w->dtype != call->x->dtype;
}

/* The workspace, followed by the packed filter. */
static size_t
scratch_of (Conv *self, const Call *call)
{
  const LoomTensorDesc packed = packed_of (call);

  if (!packs (call))
    return self->workspace;
  self->packed = (self->workspace + 63) & ~(size_t)63;
  return self->packed + loom_desc_bytes (&packed);
}

/* Bytes of the tail: bias and activation after the convolution read its result and write it again. */
static double
tail_bytes (const Call *call)
{
  const bool has_tail = call->pass == FORWARD && (call->attrs->has_bias || call->attrs->act != LOOM_SCALAR_ID);

  return has_tail ? 2 * (double)loom_desc_bytes (call->y) : 0;
}

/* The statuses by which a library declines a call; any other is a failure. */
static bool
declines (LoomStatus status)
{
  return status == LOOM_STATUS_UNSUPPORTED || status == LOOM_STATUS_INVALID;
}

/* Algorithms without a cuDNN algorithm of that pass and padding. */
static const struct
{
  const char *name;
  bool (*takes) (const LoomKernelSpec *);
  CudaConstructor make;
} others[] = {
  { "product", cuda_conv_product_takes, cuda_conv_product_new },
  { "cudnn-turned", cuda_conv_flipped_takes, cuda_conv_flipped_new },
  { "cudnn-padded", cuda_conv_padded_takes, cuda_conv_padded_new },
};

LoomStatus
cuda_conv2d_algorithms (LoomDevice *device, const LoomKernelSpec *spec, CudaAlgorithm *found, int max, int *n,
                        LoomMessage *message)
{
  const Call call = call_of (spec);
  Conv *self = NULL;
  LoomKernel *other = NULL;
  const bool is_fused = call.attrs->pooled || spec->n_in > LOOM_CONV_RESIDUAL;
  LoomStatus status = is_fused ? LOOM_STATUS_UNSUPPORTED : conv_new (device, &call, &self, message);
  size_t scratch = 0;
  int products = 0;

  *n = 0;
  if (status == LOOM_STATUS_OK || (declines (status) && !is_fused))
    status = cuda_conv_graph_algorithms (device, spec, found, max, n, message);
  if (status != LOOM_STATUS_OK)
    {
      if (self != NULL)
        conv_free (&self->base);
      return status;
    }
  products = *n;
  if (call.pass == WEIGHT_GRADIENT && max > 0 && cuda_gemm_weight_grad_takes (device, spec, &scratch))
    {
      found[0] = (CudaAlgorithm){ "own-gemm", scratch };
      *n = products = 1;
    }
  for (size_t i = 0; i < sizeof others / sizeof others[0] && *n < max; i++)
    {
      status = others[i].takes (spec) ? others[i].make (device, spec, &other, message) : LOOM_STATUS_UNSUPPORTED;
      if (status == LOOM_STATUS_OK)
        {
          found[(*n)++] = (CudaAlgorithm){ others[i].name, other->scratch_bytes };
          products++;
          other->free (other);
        }
      else if (!declines (status))
        {
          if (self != NULL)
            conv_free (&self->base);
          return status;
        }
    }
  for (const Algorithm *a = algorithms[call.pass]; self != NULL && a->name != NULL && *n < max; a++)
    {
      status = takes (a, &call) ? query_workspace (self, call.pass, a, message) : LOOM_STATUS_UNSUPPORTED;
      if (status == LOOM_STATUS_OK)
        {
          products += a->largest == 0;
          found[(*n)++] = (CudaAlgorithm){ a->name, scratch_of (self, &call), tail_bytes (&call) };
        }
      else if (!declines (status))
        break;
    }
  if (self != NULL)
    conv_free (&self->base);
  if (status != LOOM_STATUS_OK && !declines (status))
    return status;
  if (call.attrs->algorithm == LOOM_CONV_WINOGRAD && *n > products)
    {
      memmove (found, found + products, (size_t)(*n - products) * sizeof *found);
      *n -= products;
    }
  else if (*n < max && cuda_direct_takes (spec))
    found[(*n)++] = (CudaAlgorithm){ "own", 0 };
  return LOOM_STATUS_OK;
}

/* ---- construction ------------------------------------------------------------------------------ */

static LoomStatus
add_pack (Conv *self, const Call *call, LoomMessage *message)
{
  const LoomTensorDesc packed = packed_of (call);
  const bool unpack = call->pass == WEIGHT_GRADIENT;
  const LoomKernelSpec spec = {
    .primitive = "copy", .n_in = 1, .n_out = 1, .in = unpack ? &packed : call->w, .out = unpack ? call->w : &packed
  };

  if (!packs (call))
    return LOOM_STATUS_OK;
  return cuda_copy_new (self->device, &spec, &self->pack, message);
}

/* Adds what follows the convolution: bias and activation, the bias as [K,1,1]; or the sum of g for the bias's gradient.
 */
static LoomStatus
add_tail (Conv *self, const Call *call, LoomMessage *message)
{
  const LoomTensorDesc bias
      = { .dtype = self->has_bias ? call->bias->dtype : LOOM_F32, .rank = 3, .dim = { call->y->dim[1], 1, 1 } };

  if (call->pass == FORWARD)
    return cuda_tail_new (self->device, call->y, self->has_bias ? &bias : NULL, call->attrs->act, &self->tail, message);
  if (call->pass == WEIGHT_GRADIENT && self->has_bias)
    return cuda_bias_grad_new (self->device, call->y, call->bias, &self->tail, message);
  return LOOM_STATUS_OK;
}

static LoomStatus
set_algorithm (Conv *self, const Call *call, const char *name, LoomMessage *message)
{
  static const char *const passes[] = { "forward", "input gradient", "weight gradient" };
  const Algorithm *a = algorithms[call->pass];

  while (a->name != NULL && strcmp (a->name, name) != 0)
    a++;
  if (a->name == NULL || !takes (a, call))
    return LOOM_STATUS_UNSUPPORTED;
  if (asprintf (&self->name, "%s %s", name, passes[call->pass]) < 0)
    {
      self->name = NULL;
      return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel's name");
    }
  return query_workspace (self, call->pass, a, message);
}

LoomStatus
cuda_conv2d_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  static LoomStatus (*const runs[]) (LoomKernel *, LoomStream *, void *const *, LoomMessage *)
      = { [FORWARD] = forward_run, [INPUT_GRADIENT] = input_grad_run, [WEIGHT_GRADIENT] = weight_grad_run };
  const Call call = call_of (spec);
  Conv *self = NULL;
  LoomStatus status;

  if (strcmp (spec->algorithm, "own") == 0)
    return direct[call.pass](device, spec, kernel, message);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp (spec->algorithm, others[i].name) == 0)
      return others[i].make (device, spec, kernel, message);
  if (strcmp (spec->algorithm, "own-gemm") == 0)
    return call.pass == WEIGHT_GRADIENT ? cuda_gemm_weight_grad_new (device, spec, kernel, message)
                                        : LOOM_STATUS_UNSUPPORTED;
  if (strncmp (spec->algorithm, CUDA_CONV_GRAPH ":", strlen (CUDA_CONV_GRAPH ":")) == 0)
    return cuda_conv_graph_new (device, spec, kernel, message);
  status = conv_new (device, &call, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = set_algorithm (self, &call, spec->algorithm, message);
  if (status == LOOM_STATUS_OK)
    status = add_pack (self, &call, message);
  if (status == LOOM_STATUS_OK)
    status = add_tail (self, &call, message);
  if (status != LOOM_STATUS_OK)
    {
      conv_free (&self->base);
      return status;
    }
  self->base.run = runs[call.pass];
  self->base.name = self->name;
  self->base.scratch_bytes = scratch_of (self, &call);
  if (self->tail != NULL && self->tail->scratch_bytes > self->base.scratch_bytes)
    self->base.scratch_bytes = self->tail->scratch_bytes;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
