/* cuDNN as kernels/cuda calls it: convolutions of images by im2col.
 *
 * Configurations that the documentation's tables do not support are refused: mixed types and layouts, algorithms
 * without the given dilation, a workspace smaller than required. Sums run in f32, or f64 for f64. */
#include <string.h>

#include "tests/cuda/emulator/convolve.h"
#include "tests/cuda/emulator/dnn.h"
#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/question.h"

using emulated::Convolution;
using emulated::shape_of;

namespace
{
/* ---- calls --------------------------------------------------------------------------------------- */

size_t
element_bytes (cudnnDataType_t type)
{
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

/* An algorithm of one pass, with the limits of the documentation's tables. */
struct Algorithm
{
  int number;
  bool winograd;   /* 3×3 and up to `largest`, stride and dilation 1, filters in NCHW */
  int64_t largest;
  bool workspace;
};

/* The three passes: the names of their workspace queries, their functions, and the algorithms whose sums have one
 * order; others are not computed here. */
struct Pass
{
  const char *question, *function;
  Algorithm algorithms[4];
  int n;
};

const Pass forward_pass = { "forward",
                            "cudnnConvolutionForward",
                            { { CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, false, 0, false },
                              { CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, false, 0, true },
                              { CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, true, 3, true },
                              { CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, true, 5, true } },
                            4 };
const Pass data_pass = { "input_gradient",
                         "cudnnConvolutionBackwardData",
                         { { CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, false, 0, true },
                           { CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, true, 3, true },
                           { CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, true, 5, true } },
                         3 };
const Pass filter_pass = { "weight_gradient",
                           "cudnnConvolutionBackwardFilter",
                           { { CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, false, 0, true },
                             { CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, true, 5, true } },
                           2 };

/* The algorithm of that number for this shape; NULL with cuDNN's status. */
const Algorithm *
algorithm_of (const Pass &pass, int number, const Convolution &c)
{
  for (int i = 0; i < pass.n; i++)
    {
      const Algorithm &a = pass.algorithms[i];

      if (a.number != number)
        continue;
      if (a.winograd
          && (c.nhwc || c.type == CUDNN_DATA_DOUBLE || c.r != c.s || (c.r != 3 && c.r != a.largest) || c.of.stride[0] != 1
              || c.of.stride[1] != 1 || c.of.dilation[0] != 1 || c.of.dilation[1] != 1))
        return NULL;
      return &a;
    }
  emulated::lacks ("%s's algorithm %d", pass.function, number);
  return NULL;
}

/* Tables of indices, or transformed filters. It depends on the shape, so that the size for another shape is noticed. */
size_t
workspace_of (const Algorithm &a, const Convolution &c)
{
  if (!a.workspace)
    return 0;
  return 512 + (size_t)(c.taps * 8 + c.k * 4) + (a.winograd ? (size_t)(c.k * c.taps * 16) : 0);
}

/* Checks that an address has all its elements and is aligned to one; else ends the program. */
void
check_tensor (const char *call, const char *name, const Convolution &c, const void *at, int64_t elements)
{
  const size_t bytes = (size_t)elements * element_bytes (c.type);

  if (!emulated::device_sees (at))
    emulated::found ("%s was given the host's pointer %p as its %s", call, at, name);
  if (!emulated::device_sees (at, bytes))
    emulated::found ("%s's %s has %zu bytes, which are not in one piece of memory", call, name, bytes);
  if ((uintptr_t)at % element_bytes (c.type) != 0)
    emulated::found ("%s was given %p as its %s, which is no multiple of its element", call, at, name);
}

/* The workspace that an algorithm needs, if it takes this shape. */
cudnnStatus_t
ask_workspace (const Pass &pass, int number, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
               cudnnConvolutionDescriptor_t of, cudnnTensorDescriptor_t y, size_t *bytes)
{
  char question[QUESTION_BYTES];
  Convolution shape;
  cudnnStatus_t status = shape_of (x, w, of, y, &shape);
  const Algorithm *algorithm;
  int refused;

  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  algorithm = algorithm_of (pass, number, shape);
  if (algorithm == NULL)
    return CUDNN_STATUS_NOT_SUPPORTED;
  question_convolution (question, pass.question, number, x, w, of, y);
  refused = emulated::refusal (question);
  if (refused != 0)
    return (cudnnStatus_t)refused;
  *bytes = workspace_of (*algorithm, shape);
  return CUDNN_STATUS_SUCCESS;
}

/* A call of one pass: the addresses of image, filter and the result's image, one of which is the result. */
struct Call
{
  const Pass &pass;
  int algorithm, result;
  const void *alpha, *beta;
  const void *at[3];
  void *workspace;
  size_t bytes;
};

cudnnStatus_t
check_call (const Call &call, const Convolution &c)
{
  static const char *const names[3] = { "image", "filter", "result's image" };
  const char *name = call.pass.function;
  const int64_t elements[3] = { c.n * c.c * c.h * c.w, c.k * c.taps, c.n * c.k * c.places };
  const int64_t size = (int64_t)element_bytes (c.type);
  const bool wide = c.type == CUDNN_DATA_DOUBLE;
  const Algorithm *algorithm;

  if (emulated::standing () != cudaSuccess)
    return CUDNN_STATUS_EXECUTION_FAILED;
  algorithm = algorithm_of (call.pass, call.algorithm, c);
  if (algorithm == NULL)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if ((wide ? *(const double *)call.alpha : *(const float *)call.alpha) != 1
      || (wide ? *(const double *)call.beta : *(const float *)call.beta) != 0)
    {
      emulated::lacks ("%s with an alpha other than 1 or a beta other than 0", name);
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  for (int i = 0; i < 3; i++)
    check_tensor (name, names[i], c, call.at[i], elements[i]);
  for (int i = 0; i < 3; i++)
    {
      const char *from = (const char *)call.at[i], *to = (const char *)call.at[call.result];

      if (i != call.result && from < to + elements[call.result] * size && to < from + elements[i] * size)
        emulated::found ("%s writes its result over its %s", name, names[i]);
    }
  if (call.bytes < workspace_of (*algorithm, c))
    return CUDNN_STATUS_BAD_PARAM;
  if (call.bytes != 0 && !emulated::device_sees (call.workspace, call.bytes))
    emulated::found ("%s's workspace at %p has not %zu bytes in one piece of memory", name, call.workspace, call.bytes);
  return CUDNN_STATUS_SUCCESS;
}

/* Checks the call and enqueues its work, sums (shape), on the stream. */
template <typename F>
cudnnStatus_t
enqueue (cudnnHandle_t handle, const Call &call, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
         cudnnConvolutionDescriptor_t of, cudnnTensorDescriptor_t y, F sums)
{
  Convolution shape;
  cudnnStatus_t status = shape_of (x, w, of, y, &shape);
  void *const workspace = call.workspace;
  const size_t bytes = call.bytes;

  if (status == CUDNN_STATUS_SUCCESS)
    status = check_call (call, shape);
  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  return emulated::enqueue (handle->stream, { call.pass.function,
                                              [=] {
                                                if (bytes != 0)
                                                  memset (workspace, 0xff, bytes);
                                                sums (shape);
                                              },
                                              { call.at[0], call.at[1], call.at[2], bytes != 0 ? workspace : NULL } })
                 == cudaSuccess
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_EXECUTION_FAILED;
}
}

#define REFUSE_UNLESS(x)                                                                                               \
  if (!(x))                                                                                                            \
  return CUDNN_STATUS_BAD_PARAM

extern "C"
{
  /* For any headers: its engines and refusals are those of cuDNN 9.28. */
  size_t
  cudnnGetVersion (void)
  {
    return 92801;
}

cudnnStatus_t
cudnnCreate (cudnnHandle_t *handle)
{
  if (emulated::standing () != cudaSuccess)
    return CUDNN_STATUS_NOT_INITIALIZED;
  *handle = new cudnnContext ();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnDestroy (cudnnHandle_t handle)
{
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

const char *
cudnnGetErrorString (cudnnStatus_t status)
{
  switch (status)
    {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    }
}

cudnnStatus_t
cudnnSetStream (cudnnHandle_t handle, cudaStream_t stream)
{
  const std::thread::id self = std::this_thread::get_id ();

  /* Two threads must not use one handle at the same time. Whether they do depends on timing; whether one switches the
   * handle to another stream than the other's does not. */
  if (handle->stream != NULL && handle->stream != stream && handle->thread != self)
    emulated::found ("cudnnSetStream: two threads take one handle to two streams");
  handle->thread = self;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors ------------------------------------------------------------------------------- */

/* Whether the fake computes this type and format of cuDNN's. */
static bool
knows (const char *function, cudnnTensorFormat_t format, cudnnDataType_t type)
{
  if ((format == CUDNN_TENSOR_NCHW || format == CUDNN_TENSOR_NHWC)
      && (type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16))
    return true;
  emulated::lacks ("%s with format %d and type %d", function, (int)format, (int)type);
  return false;
}

cudnnStatus_t
cudnnCreateTensorDescriptor (cudnnTensorDescriptor_t *to)
{
  *to = new cudnnTensorStruct ();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnDestroyTensorDescriptor (cudnnTensorDescriptor_t descriptor)
{
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetTensor4dDescriptor (cudnnTensorDescriptor_t to, cudnnTensorFormat_t format, cudnnDataType_t type, int n, int c,
                            int h, int w)
{
  REFUSE_UNLESS (n > 0 && c > 0 && h > 0 && w > 0);
  if (!knows ("cudnnSetTensor4dDescriptor", format, type) || (int64_t)n * c * h * w > INT32_MAX)
    return CUDNN_STATUS_NOT_SUPPORTED;
  *to = { { n, c, h, w }, type, format };
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetTensor4dDescriptor (const cudnnTensorDescriptor_t of, cudnnDataType_t *type, int *n, int *c, int *h, int *w,
                            int *n_stride, int *c_stride, int *h_stride, int *w_stride)
{
  const bool nhwc = of->format == CUDNN_TENSOR_NHWC;

  *type = of->type;
  *n = of->dim[0];
  *c = of->dim[1];
  *h = of->dim[2];
  *w = of->dim[3];
  *n_stride = *c * *h * *w;
  *c_stride = nhwc ? 1 : *h * *w;
  *h_stride = nhwc ? *w * *c : *w;
  *w_stride = nhwc ? *c : 1;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnCreateFilterDescriptor (cudnnFilterDescriptor_t *to)
{
  *to = new cudnnFilterStruct ();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnDestroyFilterDescriptor (cudnnFilterDescriptor_t descriptor)
{
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetFilter4dDescriptor (cudnnFilterDescriptor_t to, cudnnDataType_t type, cudnnTensorFormat_t format, int k, int c,
                            int h, int w)
{
  REFUSE_UNLESS (k > 0 && c > 0 && h > 0 && w > 0);
  if (!knows ("cudnnSetFilter4dDescriptor", format, type))
    return CUDNN_STATUS_NOT_SUPPORTED;
  *to = { { k, c, h, w }, type, format };
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetFilter4dDescriptor (const cudnnFilterDescriptor_t of, cudnnDataType_t *type, cudnnTensorFormat_t *format, int *k,
                            int *c, int *h, int *w)
{
  *type = of->type;
  *format = of->format;
  *k = of->dim[0];
  *c = of->dim[1];
  *h = of->dim[2];
  *w = of->dim[3];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnCreateConvolutionDescriptor (cudnnConvolutionDescriptor_t *to)
{
  *to = new cudnnConvolutionStruct{ { 0, 0 }, { 1, 1 }, { 1, 1 }, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT,
                                    CUDNN_DEFAULT_MATH };
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnDestroyConvolutionDescriptor (cudnnConvolutionDescriptor_t descriptor)
{
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetConvolution2dDescriptor (cudnnConvolutionDescriptor_t to, int pad_h, int pad_w, int u, int v, int dilation_h,
                                 int dilation_w, cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
  REFUSE_UNLESS (pad_h >= 0 && pad_w >= 0 && u > 0 && v > 0 && dilation_h > 0 && dilation_w > 0);
  if (mode != CUDNN_CROSS_CORRELATION || (compute != CUDNN_DATA_FLOAT && compute != CUDNN_DATA_DOUBLE))
    {
      emulated::lacks ("cudnnSetConvolution2dDescriptor with mode %d and type %d", (int)mode, (int)compute);
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  *to = { { pad_h, pad_w }, { u, v }, { dilation_h, dilation_w }, to->groups, mode, compute, to->math };
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetConvolution2dDescriptor (const cudnnConvolutionDescriptor_t of, int *pad_h, int *pad_w, int *u, int *v,
                                 int *dilation_h, int *dilation_w, cudnnConvolutionMode_t *mode,
                                 cudnnDataType_t *compute)
{
  *pad_h = of->pad[0];
  *pad_w = of->pad[1];
  *u = of->stride[0];
  *v = of->stride[1];
  *dilation_h = of->dilation[0];
  *dilation_w = of->dilation[1];
  *mode = of->mode;
  *compute = of->compute;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetConvolutionGroupCount (cudnnConvolutionDescriptor_t to, int groups)
{
  REFUSE_UNLESS (groups > 0);
  to->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetConvolutionGroupCount (cudnnConvolutionDescriptor_t of, int *groups)
{
  *groups = of->groups;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetConvolutionMathType (cudnnConvolutionDescriptor_t to, cudnnMathType_t math)
{
  to->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetConvolutionMathType (cudnnConvolutionDescriptor_t of, cudnnMathType_t *math)
{
  *math = of->math;
  return CUDNN_STATUS_SUCCESS;
}

/* ---- convolutions -------------------------------------------------------------------------------- */

cudnnStatus_t
cudnnGetConvolutionForwardWorkspaceSize (cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                         const cudnnFilterDescriptor_t w, const cudnnConvolutionDescriptor_t of,
                                         const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                                         size_t *bytes)
{
  return ask_workspace (forward_pass, algorithm, x, w, of, y, bytes);
}

cudnnStatus_t
cudnnGetConvolutionBackwardDataWorkspaceSize (cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                              const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t of,
                                              const cudnnTensorDescriptor_t x, cudnnConvolutionBwdDataAlgo_t algorithm,
                                              size_t *bytes)
{
  return ask_workspace (data_pass, algorithm, x, w, of, y, bytes);
}

cudnnStatus_t
cudnnGetConvolutionBackwardFilterWorkspaceSize (cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t of,
                                                const cudnnFilterDescriptor_t w,
                                                cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes)
{
  return ask_workspace (filter_pass, algorithm, x, w, of, y, bytes);
}

#define DIMS(shape)                                                                                                    \
  const int64_t of_x[4] = { shape.n, shape.c, shape.h, shape.w }, of_y[4] = { shape.n, shape.k, shape.p, shape.q };    \
  const int64_t of_w[4] = { shape.k, shape.channels, shape.r, shape.s }

cudnnStatus_t
cudnnConvolutionForward (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of, const void *x,
                         const cudnnFilterDescriptor_t w_of, const void *w, const cudnnConvolutionDescriptor_t of,
                         cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t bytes, const void *beta,
                         const cudnnTensorDescriptor_t y_of, void *y)
{
  const Call call = { forward_pass, algorithm, 2, alpha, beta, { x, w, y }, workspace, bytes };

  return enqueue (handle, call, x_of, w_of, of, y_of, [=] (const Convolution &c) {
    DIMS (c);

    emulated::in_order (c, of_y, y, of_x, x, of_w, w, [&] (auto *to, auto *a, auto *b) { emulated::forward (c, to, a, b); });
  });
}

cudnnStatus_t
cudnnConvolutionBackwardData (cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w_of,
                              const void *w, const cudnnTensorDescriptor_t y_of, const void *dy,
                              const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdDataAlgo_t algorithm,
                              void *workspace, size_t bytes, const void *beta, const cudnnTensorDescriptor_t x_of,
                              void *dx)
{
  const Call call = { data_pass, algorithm, 0, alpha, beta, { dx, w, dy }, workspace, bytes };

  return enqueue (handle, call, x_of, w_of, of, y_of, [=] (const Convolution &c) {
    DIMS (c);

    emulated::in_order (c, of_x, dx, of_y, dy, of_w, w,
                        [&] (auto *to, auto *a, auto *b) { emulated::input_gradient (c, to, a, b); });
  });
}

cudnnStatus_t
cudnnConvolutionBackwardFilter (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of,
                                const void *x, const cudnnTensorDescriptor_t y_of, const void *dy,
                                const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdFilterAlgo_t algorithm,
                                void *workspace, size_t bytes, const void *beta, const cudnnFilterDescriptor_t w_of,
                                void *dw)
{
  const Call call = { filter_pass, algorithm, 1, alpha, beta, { x, dw, dy }, workspace, bytes };

  return enqueue (handle, call, x_of, w_of, of, y_of, [=] (const Convolution &c) {
    DIMS (c);

    emulated::in_order (c, of_w, dw, of_y, dy, of_x, x,
                        [&] (auto *to, auto *a, auto *b) { emulated::weight_gradient (c, to, a, b); });
  });
}
}
