/* A convolution of NHWC images with its bias and activation as one operation graph of cuDNN. The result is written
 * once, while after cudnnConvolutionForward() another kernel reads and writes it again. Sums, bias and activation are
 * f32 inside, and a 16-bit result is rounded once.
 *
 * cuDNN 9.19 lists these engines for compute capability 9.0 (without a GPU, for a device described in JSON,
 * CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR): precompiled engines take a bias, with ReLU or no activation, of bf16, f16, and
 * of f32 with TF32 only; strides, dilations, groups and any number of channels, which they pad in their workspace to a
 * multiple of 8; and asymmetric padding. ReLU without a bias, other activations and a bias of another type than the
 * images' get none of these. So an f32 bias of 16-bit images, as in mixed precision, is rounded to their type before
 * the call, K numbers. Operands begin at multiples of 64 bytes; cuDNN is promised 16. The name of an algorithm includes
 * the engine, so that a plan can be made again.
 *
 * Only the slowest of these engines guarantees that ReLU passes NaN. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-dnn.h"
#include "kernels/options.h"

#define PREFIX  CUDA_CONV_GRAPH ":"
#define ENGINES 4 /* candidates for the cost table; equal costs leave the first */

/* Engines whose sums have no fixed order, or whose arithmetic is not that of their operands and f32. */
#define REFUSED                                                                                                        \
  (CUDA_DNN_NOTE (NONDETERMINISTIC) | CUDA_DNN_NOTE (REDUCED_PRECISION_REDUCTION) | CUDA_DNN_NOTE (FFT)                \
   | CUDA_DNN_NOTE (WINOGRAD))

/* The ids of a graph's tensors. */
enum
{
  X = 1,
  W,
  BIAS,
  Y
};

/* The key of an answer: x [N,C,H,W], w [K,C/groups,R,S], y [N,K,P,Q]. Compared as bytes, so it has no padding. */
typedef struct
{
  int64_t x[4], w[4], y[4], stride[2], before[2], after[2], dilation[2];
  int64_t type, act, has_bias; /* cudnnDataType_t, LoomScalarOp, a truth value */
} Shape;

/* cuDNN's reply for a shape, made once for all its calls: the planner queries the same call repeatedly (for each layout
 * and each pass), and a reply takes milliseconds. Lives as long as its device. */
typedef struct Answer Answer;
struct Answer
{
  Answer *next;
  Shape shape;
  int n;
  CudaAlgorithm engine[ENGINES];
};

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  CudaDnnGraph graph; /* keeps the plan */
  cudnnBackendDescriptor_t plan;
  LoomKernel *round_bias; /* rounds the bias; NULL if it has the images' type */
  size_t workspace;
  size_t bias; /* offset of the rounded bias in the scratch */
  bool has_bias;
  char *name;
} ConvGraph;

/* ---- shapes ------------------------------------------------------------------------------------ */

/* Below 0 if cuDNN has no such activation. */
static int
mode_of (int64_t act)
{
  switch (act)
    {
    case LOOM_SCALAR_RELU:
      return CUDNN_POINTWISE_RELU_FWD;
    case LOOM_SCALAR_SIGMOID:
      return CUDNN_POINTWISE_SIGMOID_FWD;
    case LOOM_SCALAR_TANH:
      return CUDNN_POINTWISE_TANH_FWD;
    case LOOM_SCALAR_GELU:
      return CUDNN_POINTWISE_GELU_FWD;
    case LOOM_SCALAR_GELU_TANH:
      return CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
    default:
      return -1;
    }
}

/* The shape of a call; false if it is not for cuDNN's graphs: another type, layout or algorithm, or a convolution
 * without bias and activation, which the classic calls compute as well. Without TF32 no f32 engine for NHWC is as fast
 * as those for plain images. */
static bool
shape_of (const LoomKernelSpec *spec, Shape *s)
{
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc *x = &spec->in[0], *w = &spec->in[1], *y = &spec->out[0];
  const bool is_16_bit = x->dtype == LOOM_BF16 || x->dtype == LOOM_F16;

  if (strcmp (spec->primitive, "conv2d") != 0 || (!a->has_bias && a->act == LOOM_SCALAR_ID)
      || (a->act != LOOM_SCALAR_ID && mode_of (a->act) < 0) || a->algorithm == LOOM_CONV_WINOGRAD
      || (!is_16_bit && (x->dtype != LOOM_F32 || !spec->tf32)) || w->dtype != x->dtype || y->dtype != x->dtype
      || (a->has_bias && spec->in[2].dtype != x->dtype && spec->in[2].dtype != LOOM_F32) || x->rank != 4 || w->rank != 4
      || y->rank != 4 || x->layout != LOOM_LAYOUT_NHWC || w->layout != LOOM_LAYOUT_NHWC || y->layout != LOOM_LAYOUT_NHWC
      || loom_desc_count (x) == 0 || loom_desc_count (w) == 0 || loom_desc_count (y) == 0)
    return false;
  *s = (Shape){ .stride = { a->stride[0], a->stride[1] },
                .before = { a->pad[0], a->pad[2] },
                .after = { a->pad[1], a->pad[3] },
                .dilation = { a->dilation[0], a->dilation[1] },
                .type = x->dtype == LOOM_F32    ? CUDNN_DATA_FLOAT
                        : x->dtype == LOOM_BF16 ? CUDNN_DATA_BFLOAT16
                                                : CUDNN_DATA_HALF,
                .act = a->act,
                .has_bias = a->has_bias };
  memcpy (s->x, x->dim, sizeof s->x);
  memcpy (s->w, w->dim, sizeof s->w);
  memcpy (s->y, y->dim, sizeof s->y);
  return true;
}

/* ---- the graph --------------------------------------------------------------------------------- */

/* Strides of a tensor in NHWC. */
static void
strides_of (const int64_t dim[4], int64_t stride[4])
{
  stride[1] = 1;
  stride[3] = dim[1];
  stride[2] = dim[3] * stride[3];
  stride[0] = dim[2] * stride[2];
}

static CudaDnnTensor
operand (CudaDnnGraph *g, int64_t id, const Shape *s, const int64_t dim[4])
{
  int64_t stride[4];

  strides_of (dim, stride);
  return cuda_dnn_tensor (g, id, (cudnnDataType_t)s->type, dim, stride);
}

/* The result of an operation: inner, or the call's result after the last. */
static CudaDnnTensor
result (CudaDnnGraph *g, const Shape *s, bool is_last)
{
  int64_t stride[4];

  if (is_last)
    return operand (g, Y, s, s->y);
  strides_of (s->y, stride);
  return cuda_dnn_inner (g, CUDNN_DATA_FLOAT, s->y, stride);
}

static void
describe (CudaDnnGraph *g, const Shape *s)
{
  const int64_t channels[4] = { 1, s->y[1], 1, 1 };
  const bool has_act = s->act != LOOM_SCALAR_ID;
  CudaDnnTensor x = result (g, s, false), y;

  cuda_dnn_convolve (g, s->stride, s->before, s->after, s->dilation, operand (g, X, s, s->x), operand (g, W, s, s->w),
                     x);
  if (s->has_bias)
    {
      y = result (g, s, !has_act);
      cuda_dnn_pointwise (g, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, x, operand (g, BIAS, s, channels), y);
      x = y;
    }
  if (has_act)
    cuda_dnn_pointwise (g, (cudnnPointwiseMode_t)mode_of (s->act), CUDNN_DATA_FLOAT, x, NULL, result (g, s, true));
}

/* ---- answers ----------------------------------------------------------------------------------- */

static Answer *
answer_find (LoomDevice *device, const Shape *shape)
{
  Answer *answer;

  for (answer = device->convolutions; answer != NULL && memcmp (&answer->shape, shape, sizeof *shape) != 0;)
    answer = answer->next;
  return answer;
}

/* Queries cuDNN; a failure of it or of the device is not stored. */
static LoomStatus
answer_new (LoomDevice *device, const Shape *shape, double room, Answer **to, LoomMessage *message)
{
  CudaDnnGraph graph = { .status = CUDNN_STATUS_SUCCESS };
  CudaDnnEngine found[ENGINES];
  LoomStatus status;
  int n = 0;

  /* The list of options is limited; in f32 most of them are other algorithms. */
  cuda_use (device);
  describe (&graph, shape);
  status = cuda_dnn_engines (device, &graph, (size_t)room, REFUSED, found,
                             shape->type == CUDNN_DATA_FLOAT ? ENGINES / 2 : ENGINES, &n, message);
  cuda_dnn_graph_clear (&graph);
  if (status == LOOM_STATUS_UNSUPPORTED || status == LOOM_STATUS_INVALID)
    n = 0;
  else if (status != LOOM_STATUS_OK)
    return status;
  *to = calloc (1, sizeof **to);
  if (*to == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  (*to)->shape = *shape;
  for (int i = 0; i < n; i++)
    {
      char name[sizeof PREFIX + CUDA_DNN_NAME];
      const char *kept;

      snprintf (name, sizeof name, PREFIX "%.*s", CUDA_DNN_NAME - 1, found[i].name);
      kept = cuda_name_keep (name);
      /* The library's order of engines includes their padding in the workspace, and the classic calls pad as well, so
       * no bytes are added for it. */
      if (kept != NULL)
        (*to)->engine[(*to)->n++] = (CudaAlgorithm){ kept, found[i].workspace };
    }
  return LOOM_STATUS_OK;
}

/* cuDNN's engines for a shape. `room`, the limit of their workspaces, is twice the bytes of operands and result, which
 * suffices for channels, from 4 on, padded to a multiple of 8. */
static LoomStatus
answer_get (LoomDevice *device, const Shape *shape, double room, const Answer **answer, LoomMessage *message)
{
  Answer *made = NULL;
  LoomStatus status;

  pthread_mutex_lock (&device->lock);
  *answer = answer_find (device, shape);
  pthread_mutex_unlock (&device->lock);
  if (*answer != NULL)
    return LOOM_STATUS_OK;
  status = answer_new (device, shape, room, &made, message);
  if (status != LOOM_STATUS_OK)
    return status;
  pthread_mutex_lock (&device->lock);
  *answer = answer_find (device, shape);
  if (*answer == NULL)
    {
      made->next = device->convolutions;
      device->convolutions = made;
      *answer = made;
      made = NULL;
    }
  pthread_mutex_unlock (&device->lock);
  free (made);
  return LOOM_STATUS_OK;
}

void
cuda_conv_graph_close (LoomDevice *device)
{
  while (device->convolutions != NULL)
    {
      Answer *answer = device->convolutions;

      device->convolutions = answer->next;
      free (answer);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

/* A workspace must begin at a multiple of 256 bytes, as memory of cudaMalloc() does; scratch begins at one of 64. */
static size_t
aligned_bytes (size_t workspace)
{
  return workspace != 0 ? (workspace + 192 + 63) & ~(size_t)63 : 0;
}

static bool
rounds_bias (const LoomKernelSpec *spec)
{
  return ((const LoomConv2dAttrs *)spec->attrs)->has_bias && spec->in[2].dtype != spec->in[0].dtype;
}

static size_t
scratch_of (const LoomKernelSpec *spec, size_t workspace)
{
  return aligned_bytes (workspace)
         + (rounds_bias (spec) ? (size_t)spec->out[0].dim[1] * loom_dtype_size (spec->in[0].dtype) : 0);
}

LoomStatus
cuda_conv_graph_algorithms (LoomDevice *device, const LoomKernelSpec *spec, CudaAlgorithm *found, int max, int *n,
                            LoomMessage *message)
{
  const Answer *answer = NULL;
  LoomStatus status;
  Shape shape;

  *n = 0;
  if (!shape_of (spec, &shape))
    return LOOM_STATUS_OK;
  status = answer_get (device, &shape, 2 * loom_spec_bytes (spec), &answer, message);
  for (int i = 0; status == LOOM_STATUS_OK && i < answer->n && *n < max; i++)
    {
      found[*n] = answer->engine[i];
      found[*n].scratch = scratch_of (spec, answer->engine[i].scratch);
      ++*n;
    }
  return status;
}

static void
conv_graph_free (LoomKernel *base)
{
  ConvGraph *self = (ConvGraph *)base;

  cuda_dnn_graph_clear (&self->graph);
  if (self->round_bias != NULL)
    self->round_bias->free (self->round_bias);
  free (self->name);
  free (self);
}

static LoomStatus
conv_graph_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  static const int64_t with_bias[] = { X, W, BIAS, Y }, alone[] = { X, W, Y };
  ConvGraph *self = (ConvGraph *)base;
  const int n = self->has_bias ? 4 : 3;
  char *const scratch = buffers[n];
  void *const workspace = self->workspace != 0 ? (void *)(((uintptr_t)scratch + 255) & ~(uintptr_t)255) : NULL;
  void *at[4];
  LoomStatus status = LOOM_STATUS_OK;

  memcpy (at, buffers, (size_t)n * sizeof *at);
  if (self->round_bias != NULL)
    at[2] = scratch + self->bias;
  if (self->round_bias != NULL)
    {
      void *const round_bias[] = { buffers[2], at[2] };

      status = self->round_bias->run (self->round_bias, stream, round_bias, message);
    }
  if (status == LOOM_STATUS_OK)
    status = cuda_dnn_run (self->device, stream, self->plan, n, self->has_bias ? with_bias : alone, at, workspace,
                           "a convolution", message);
  return status;
}

/* Makes the kernel that rounds a bias to the images' type. */
static LoomStatus
add_round_bias (ConvGraph *self, const LoomKernelSpec *spec, LoomMessage *message)
{
  LoomTensorDesc round_bias;
  const LoomKernelSpec copy = { .primitive = "copy", .n_in = 1, .n_out = 1, .in = &spec->in[2], .out = &round_bias };

  if (!rounds_bias (spec))
    return LOOM_STATUS_OK;
  round_bias = spec->in[2];
  round_bias.dtype = spec->in[0].dtype;
  return cuda_copy_new (self->device, &copy, &self->round_bias, message);
}

LoomStatus
cuda_conv_graph_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  LoomStatus status;
  ConvGraph *self;
  Shape shape;

  if (strncmp (spec->algorithm, PREFIX, strlen (PREFIX)) != 0 || !shape_of (spec, &shape))
    return LOOM_STATUS_UNSUPPORTED;
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base = (LoomKernel){ .run = conv_graph_run, .free = conv_graph_free };
  self->device = device;
  self->has_bias = shape.has_bias;
  self->graph.status = CUDNN_STATUS_SUCCESS;
  cuda_use (device);
  describe (&self->graph, &shape);
  status = cuda_dnn_plan (device, &self->graph, spec->algorithm + strlen (PREFIX), REFUSED, &self->workspace,
                          &self->plan, message);
  if (status == LOOM_STATUS_OK)
    status = add_round_bias (self, spec, message);
  if (status == LOOM_STATUS_OK && asprintf (&self->name, "%s forward", spec->algorithm) < 0)
    {
      self->name = NULL;
      status = cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel's name");
    }
  if (status != LOOM_STATUS_OK)
    {
      conv_graph_free (&self->base);
      return status;
    }
  self->base.name = self->name;
  self->bias = aligned_bytes (self->workspace);
  self->base.scratch_bytes = scratch_of (spec, self->workspace);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
