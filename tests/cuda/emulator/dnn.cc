/* cuDNN as kernels/cuda calls it: convolutions of images by im2col.
 *
 * What the documentation's tables of supported configurations refuse is refused: mixed types and layouts, algorithms
 * without the given dilation, a workspace smaller than was asked for. Sums run in f32, or f64 for f64. */
#include <cudnn.h>
#include <string.h>

#include "tests/cuda/emulator/convolve.h"
#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/question.h"

struct cudnnContext
{
  cudaStream_t stream;
};

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

/* The tables of indices that an implicit product would keep. Depends on the shape, so that one for another shape is seen. */
size_t
workspace_of (const Convolution &c)
{
  return 512 + (size_t)(c.taps * 8 + c.k * 4);
}

/* An address with all its elements, aligned to one, or the end of the program. */
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

/* The workspace that one of the three asks for; an algorithm that takes this shape. */
cudnnStatus_t
ask_workspace (const char *call, int algorithm, bool known, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
               cudnnConvolutionDescriptor_t of, cudnnTensorDescriptor_t y, size_t *bytes)
{
  char question[QUESTION_BYTES];
  Convolution shape;
  cudnnStatus_t status = shape_of (x, w, of, y, &shape);
  int refused;

  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  if (!known)
    {
      emulated::lacks ("algorithm %d of a convolution's %s", algorithm, call);
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  question_convolution (question, call, algorithm, x, w, of, y);
  refused = emulated::refusal (question);
  if (refused != 0)
    return (cudnnStatus_t)refused;
  *bytes = workspace_of (shape);
  return CUDNN_STATUS_SUCCESS;
}

/* What all three check of image, filter and the result's image, one of which is the result. */
cudnnStatus_t
check_call (const char *name, bool known, int algorithm, const Convolution &c, const void *alpha, const void *beta,
            const void *const (&at)[3], int result, const void *workspace, size_t bytes)
{
  static const char *const names[3] = { "image", "filter", "result's image" };
  const int64_t elements[3] = { c.n * c.c * c.h * c.w, c.k * c.taps, c.n * c.k * c.places };
  const int64_t size = (int64_t)element_bytes (c.type);
  const bool wide = c.type == CUDNN_DATA_DOUBLE;

  if (emulated::standing () != cudaSuccess)
    return CUDNN_STATUS_EXECUTION_FAILED;
  if (!known)
    {
      emulated::lacks ("%s's algorithm %d", name, algorithm);
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  if ((wide ? *(const double *)alpha : *(const float *)alpha) != 1 || (wide ? *(const double *)beta : *(const float *)beta) != 0)
    {
      emulated::lacks ("%s with an alpha other than 1 or a beta other than 0", name);
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  for (int i = 0; i < 3; i++)
    check_tensor (name, names[i], c, at[i], elements[i]);
  for (int i = 0; i < 3; i++)
    {
      const char *from = (const char *)at[i], *to = (const char *)at[result];

      if (i != result && from < to + elements[result] * size && to < from + elements[i] * size)
        emulated::found ("%s writes its result over its %s", name, names[i]);
    }
  if (bytes < workspace_of (c))
    return CUDNN_STATUS_BAD_PARAM;
  if (!emulated::device_sees (workspace, bytes))
    emulated::found ("%s's workspace at %p has not %zu bytes in one piece of memory", name, workspace, bytes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
enqueue (cudnnHandle_t handle, const char *name, std::vector<const void *> uses, void *workspace, size_t bytes,
         std::function<void ()> work)
{
  uses.push_back (workspace);
  return emulated::enqueue (handle->stream, { name,
                                              [=] {
                                                memset (workspace, 0xff, bytes);
                                                work ();
                                              },
                                              uses })
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
size_t
cudnnGetVersion (void)
{
  return CUDNN_VERSION;
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
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors ------------------------------------------------------------------------------- */

/* Of the types and formats that cuDNN has, those that the stand-in computes. */
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

/* The algorithms that take any shape, group and dilation, and give the same bits each time; others are not computed here. */
#define FORWARD(a) ((a) == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM || (a) == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
#define DATA(a)    ((a) == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1)
#define FILTER(a)  ((a) == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1)

cudnnStatus_t
cudnnGetConvolutionForwardWorkspaceSize (cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                         const cudnnFilterDescriptor_t w, const cudnnConvolutionDescriptor_t of,
                                         const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                                         size_t *bytes)
{
  return ask_workspace ("forward", algorithm, FORWARD (algorithm), x, w, of, y, bytes);
}

cudnnStatus_t
cudnnGetConvolutionBackwardDataWorkspaceSize (cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                              const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t of,
                                              const cudnnTensorDescriptor_t x, cudnnConvolutionBwdDataAlgo_t algorithm,
                                              size_t *bytes)
{
  return ask_workspace ("input_gradient", algorithm, DATA (algorithm), x, w, of, y, bytes);
}

cudnnStatus_t
cudnnGetConvolutionBackwardFilterWorkspaceSize (cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t of,
                                                const cudnnFilterDescriptor_t w,
                                                cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes)
{
  return ask_workspace ("weight_gradient", algorithm, FILTER (algorithm), x, w, of, y, bytes);
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
  Convolution shape;
  cudnnStatus_t status = shape_of (x_of, w_of, of, y_of, &shape);

  if (status == CUDNN_STATUS_SUCCESS)
    status = check_call ("cudnnConvolutionForward", FORWARD (algorithm), algorithm, shape, alpha, beta, { x, w, y }, 2,
                         workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  return enqueue (handle, "cudnnConvolutionForward", { x, w, y }, workspace, bytes, [=] {
    DIMS (shape);

    emulated::in_order (shape, of_y, y, of_x, x, of_w, w, [&] (auto *to, auto *a, auto *b) { emulated::forward (shape, to, a, b); });
  });
}

cudnnStatus_t
cudnnConvolutionBackwardData (cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w_of,
                              const void *w, const cudnnTensorDescriptor_t y_of, const void *dy,
                              const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdDataAlgo_t algorithm,
                              void *workspace, size_t bytes, const void *beta, const cudnnTensorDescriptor_t x_of,
                              void *dx)
{
  Convolution shape;
  cudnnStatus_t status = shape_of (x_of, w_of, of, y_of, &shape);

  if (status == CUDNN_STATUS_SUCCESS)
    status = check_call ("cudnnConvolutionBackwardData", DATA (algorithm), algorithm, shape, alpha, beta, { dx, w, dy }, 0,
                         workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  return enqueue (handle, "cudnnConvolutionBackwardData", { w, dy, dx }, workspace, bytes, [=] {
    DIMS (shape);

    emulated::in_order (shape, of_x, dx, of_y, dy, of_w, w, [&] (auto *to, auto *a, auto *b) { emulated::input_gradient (shape, to, a, b); });
  });
}

cudnnStatus_t
cudnnConvolutionBackwardFilter (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of,
                                const void *x, const cudnnTensorDescriptor_t y_of, const void *dy,
                                const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdFilterAlgo_t algorithm,
                                void *workspace, size_t bytes, const void *beta, const cudnnFilterDescriptor_t w_of,
                                void *dw)
{
  Convolution shape;
  cudnnStatus_t status = shape_of (x_of, w_of, of, y_of, &shape);

  if (status == CUDNN_STATUS_SUCCESS)
    status = check_call ("cudnnConvolutionBackwardFilter", FILTER (algorithm), algorithm, shape, alpha, beta, { x, dw, dy },
                         1, workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  return enqueue (handle, "cudnnConvolutionBackwardFilter", { x, dy, dw }, workspace, bytes, [=] {
    DIMS (shape);

    emulated::in_order (shape, of_w, dw, of_y, dy, of_x, x, [&] (auto *to, auto *a, auto *b) { emulated::weight_gradient (shape, to, a, b); });
  });
}
}
