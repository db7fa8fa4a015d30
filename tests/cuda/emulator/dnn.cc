/* cuDNN as kernels/cuda calls it: convolutions of images by im2col.
 *
 * What the documentation's tables of supported configurations refuse is refused: mixed types and layouts, algorithms
 * without the given dilation, a workspace smaller than was asked for. Sums run in f32, or f64 for f64. */
#include <cudnn.h>
#include <string.h>

#include "tests/cuda/emulator/element.h"
#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/product.h"
#include "tests/cuda/question.h"

struct cudnnContext
{
  cudaStream_t stream;
};

struct cudnnTensorStruct
{
  int dim[4];
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
};

struct cudnnFilterStruct
{
  int dim[4];
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
};

struct cudnnConvolutionStruct
{
  int pad[2], stride[2], dilation[2], groups;
  cudnnConvolutionMode_t mode;
  cudnnDataType_t compute;
  cudnnMathType_t math;
};

namespace
{
/* One convolution: x (n,c,h,w), w (k,c/groups,r,s), y (n,k,p,q). */
struct Shape
{
  int64_t n, c, h, w, k, r, s, p, q, groups, channels, filters, taps, places;
  cudnnDataType_t type;
  bool nhwc;
  cudnnConvolutionStruct of;
};

/* CUDNN_STATUS_SUCCESS with the shape, or what cuDNN answers to these descriptors. */
cudnnStatus_t
shape_of (const cudnnTensorStruct *x, const cudnnFilterStruct *w, const cudnnConvolutionStruct *of,
          const cudnnTensorStruct *y, Shape *to)
{
  *to = { x->dim[0], x->dim[1], x->dim[2], x->dim[3], w->dim[0], w->dim[2], w->dim[3], y->dim[2], y->dim[3],
          of->groups, w->dim[1], w->dim[0] / of->groups, (int64_t)w->dim[1] * w->dim[2] * w->dim[3],
          (int64_t)y->dim[2] * y->dim[3], x->type, x->format == CUDNN_TENSOR_NHWC, *of };
  if (to->channels * to->groups != to->c || to->filters * to->groups != to->k || y->dim[0] != x->dim[0]
      || y->dim[1] != w->dim[0] || x->type != w->type || x->type != y->type
      || to->p != (to->h + 2 * of->pad[0] - of->dilation[0] * (to->r - 1) - 1) / of->stride[0] + 1
      || to->q != (to->w + 2 * of->pad[1] - of->dilation[1] * (to->s - 1) - 1) / of->stride[1] + 1)
    return CUDNN_STATUS_BAD_PARAM;
  /* f32 sums for f32, f16 and bf16, f64 sums for f64. Filters in NHWC want images in NHWC, and here the other way, too. */
  if ((of->compute == CUDNN_DATA_DOUBLE) != (x->type == CUDNN_DATA_DOUBLE) || x->format != w->format
      || x->format != y->format || of->mode != CUDNN_CROSS_CORRELATION)
    return CUDNN_STATUS_NOT_SUPPORTED;
  return CUDNN_STATUS_SUCCESS;
}

/* The places of one axis whose tap lies inside: first … last-1 of `places`. */
struct Span
{
  int64_t first, last;
};

Span
inside (int64_t places, int64_t size, int64_t stride, int64_t offset)
{
  int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t last = size > offset ? (size - offset + stride - 1) / stride : 0;

  last = last < places ? last : places;
  return { first, first < last ? last : first };
}

/* Visits the places that a tap (channel, i, j) of a window reads inside an image (c,h,w): visit (place, at, count, step),
 * `count` neighbours in a row of places, which lie `step` apart in the image. */
template <typename F>
void
each_row (const Shape &c, int64_t tap, F visit)
{
  int64_t channel = tap / (c.r * c.s), row = tap / c.s % c.r * c.of.dilation[0] - c.of.pad[0];
  int64_t column = tap % c.s * c.of.dilation[1] - c.of.pad[1];
  Span down = inside (c.p, c.h, c.of.stride[0], row), across = inside (c.q, c.w, c.of.stride[1], column);

  for (int64_t p = down.first; p < down.last; p++)
    visit (p * c.q + across.first,
           (channel * c.h + p * c.of.stride[0] + row) * c.w + across.first * c.of.stride[1] + column,
           across.last - across.first, (int64_t)c.of.stride[1]);
}

/* Runs of `places` values, one for every tap; in the padding they are 0. */
template <typename A>
void
columns_of (const Shape &c, const A *image, std::vector<A> &to)
{
  to.assign ((size_t)(c.taps * c.places), 0);
  for (int64_t tap = 0; tap < c.taps; tap++)
    each_row (c, tap, [&] (int64_t place, int64_t at, int64_t count, int64_t step) {
      A *run = &to[(size_t)(tap * c.places)];

      for (int64_t i = 0; i < count; i++)
        run[place + i] = image[at + i * step];
    });
}

/* The n×m values of which `from` has m×n. */
template <typename A>
void
turn (int64_t m, int64_t n, const A *from, std::vector<A> &to)
{
  const int64_t tile = 16;

  to.resize ((size_t)(m * n));
  for (int64_t i = 0; i < m; i += tile)
    for (int64_t j = 0; j < n; j += tile)
      for (int64_t ii = i; ii < m && ii < i + tile; ii++)
        for (int64_t jj = j; jj < n && jj < j + tile; jj++)
          to[(size_t)(jj * m + ii)] = from[ii * n + jj];
}

template <typename A>
void
forward (const Shape &c, A *y, const A *x, const A *w)
{
  std::vector<A> filters, image, sums;

  for (int64_t g = 0; g < c.groups; g++)
    {
      turn (c.filters, c.taps, w + g * c.filters * c.taps, filters);
      for (int64_t n = 0; n < c.n; n++)
        {
          columns_of (c, x + (n * c.c + g * c.channels) * c.h * c.w, image);
          emulated::product<A> (c.places, c.filters, c.taps, image, filters, sums);
          memcpy (y + (n * c.k + g * c.filters) * c.places, sums.data (), sums.size () * sizeof (A));
        }
    }
}

template <typename A>
void
input_gradient (const Shape &c, A *dx, const A *g_y, const A *w)
{
  std::vector<A> sums;

  memset (dx, 0, (size_t)(c.n * c.c * c.h * c.w) * sizeof (A));
  for (int64_t g = 0; g < c.groups; g++)
    {
      const A *of = w + g * c.filters * c.taps;
      const std::vector<A> filters (of, of + c.filters * c.taps);

      for (int64_t n = 0; n < c.n; n++)
        {
          const A *from = g_y + (n * c.k + g * c.filters) * c.places;
          A *to = dx + (n * c.c + g * c.channels) * c.h * c.w;

          emulated::product<A> (c.places, c.taps, c.filters,
                                    std::vector<A> (from, from + c.filters * c.places), filters, sums);
          for (int64_t tap = 0; tap < c.taps; tap++)
            each_row (c, tap, [&] (int64_t place, int64_t at, int64_t count, int64_t step) {
              for (int64_t i = 0; i < count; i++)
                to[at + i * step] += sums[(size_t)(tap * c.places + place + i)];
            });
        }
    }
}

template <typename A>
void
weight_gradient (const Shape &c, A *dw, const A *g_y, const A *x)
{
  std::vector<A> sums, image, turned, across;

  memset (dw, 0, (size_t)(c.k * c.taps) * sizeof (A));
  for (int64_t n = 0; n < c.n; n++)
    for (int64_t g = 0; g < c.groups; g++)
      {
        columns_of (c, x + (n * c.c + g * c.channels) * c.h * c.w, image);
        turn (c.taps, c.places, image.data (), turned);
        turn (c.filters, c.places, g_y + (n * c.k + g * c.filters) * c.places, across);
        emulated::product<A> (c.taps, c.filters, c.places, turned, across, sums);
        for (size_t i = 0; i < sums.size (); i++)
          dw[(size_t)(g * c.filters * c.taps) + i] += sums[i];
      }
}

/* ---- elements ---------------------------------------------------------------------------------- */

template <typename F>
void
with_type (cudnnDataType_t type, F f)
{
  switch (type)
    {
    case CUDNN_DATA_DOUBLE:
      return f (double ());
    case CUDNN_DATA_FLOAT:
      return f (float ());
    case CUDNN_DATA_HALF:
      return f (emulated::Half ());
    default:
      return f (emulated::Brain ());
    }
}

/* Calls visit (place in (n,c,h,w), place in memory) for each element of a packed tensor. */
template <typename F>
void
each_element (const int64_t (&dim)[4], bool nhwc, F visit)
{
  const int64_t c = dim[1], area = dim[2] * dim[3];

  for (int64_t n = 0; n < dim[0]; n++)
    for (int64_t k = 0; k < c; k++)
      for (int64_t at = 0; at < area; at++)
        visit ((n * c + k) * area + at, nhwc ? (n * area + at) * c + k : (n * c + k) * area + at);
}

/* The elements in the order (n,c,h,w), widened. */
template <typename A>
std::vector<A>
widened (const Shape &c, const int64_t (&dim)[4], const void *from)
{
  std::vector<A> to ((size_t)(dim[0] * dim[1] * dim[2] * dim[3]));

  with_type (c.type, [&] (auto element) {
    each_element (dim, c.nhwc, [&] (int64_t at, int64_t in_memory) {
      to[(size_t)at] = (A)((const decltype (element) *)from)[in_memory];
    });
  });
  return to;
}

template <typename A>
void
narrowed (const Shape &c, const int64_t (&dim)[4], const std::vector<A> &from, void *to)
{
  with_type (c.type, [&] (auto element) {
    each_element (dim, c.nhwc,
                  [&] (int64_t at, int64_t in_memory) { ((decltype (element) *)to)[in_memory] = from[(size_t)at]; });
  });
}

/* Runs (result, first operand, second operand) over f32 or f64 in (n,c,h,w). */
template <typename F>
void
in_order (const Shape &c, const int64_t (&of_to)[4], void *to, const int64_t (&of_a)[4], const void *a,
          const int64_t (&of_b)[4], const void *b, F f)
{
  auto run = [&] (auto zero) {
    typedef decltype (zero) A;
    std::vector<A> result ((size_t)(of_to[0] * of_to[1] * of_to[2] * of_to[3]));

    f (result.data (), widened<A> (c, of_a, a).data (), widened<A> (c, of_b, b).data ());
    narrowed<A> (c, of_to, result, to);
  };

  if (c.type == CUDNN_DATA_FLOAT && !c.nhwc)
    f ((float *)to, (const float *)a, (const float *)b);
  else if (c.type == CUDNN_DATA_DOUBLE)
    run (0.0);
  else
    run (0.0f);
}

/* ---- calls --------------------------------------------------------------------------------------- */

size_t
element_bytes (cudnnDataType_t type)
{
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

/* The tables of indices that an implicit product would keep. Depends on the shape, so that one for another shape is seen. */
size_t
workspace_of (const Shape &c)
{
  return 512 + (size_t)(c.taps * 8 + c.k * 4);
}

/* An address with all its elements, aligned to one, or the end of the program. */
void
check_tensor (const char *call, const char *name, const Shape &c, const void *at, int64_t elements)
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
  Shape shape;
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
check_call (const char *name, bool known, int algorithm, const Shape &c, const void *alpha, const void *beta,
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
  Shape shape;
  cudnnStatus_t status = shape_of (x_of, w_of, of, y_of, &shape);

  if (status == CUDNN_STATUS_SUCCESS)
    status = check_call ("cudnnConvolutionForward", FORWARD (algorithm), algorithm, shape, alpha, beta, { x, w, y }, 2,
                         workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  return enqueue (handle, "cudnnConvolutionForward", { x, w, y }, workspace, bytes, [=] {
    DIMS (shape);

    in_order (shape, of_y, y, of_x, x, of_w, w, [&] (auto *to, auto *a, auto *b) { forward (shape, to, a, b); });
  });
}

cudnnStatus_t
cudnnConvolutionBackwardData (cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w_of,
                              const void *w, const cudnnTensorDescriptor_t y_of, const void *dy,
                              const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdDataAlgo_t algorithm,
                              void *workspace, size_t bytes, const void *beta, const cudnnTensorDescriptor_t x_of,
                              void *dx)
{
  Shape shape;
  cudnnStatus_t status = shape_of (x_of, w_of, of, y_of, &shape);

  if (status == CUDNN_STATUS_SUCCESS)
    status = check_call ("cudnnConvolutionBackwardData", DATA (algorithm), algorithm, shape, alpha, beta, { dx, w, dy }, 0,
                         workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  return enqueue (handle, "cudnnConvolutionBackwardData", { w, dy, dx }, workspace, bytes, [=] {
    DIMS (shape);

    in_order (shape, of_x, dx, of_y, dy, of_w, w, [&] (auto *to, auto *a, auto *b) { input_gradient (shape, to, a, b); });
  });
}

cudnnStatus_t
cudnnConvolutionBackwardFilter (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of,
                                const void *x, const cudnnTensorDescriptor_t y_of, const void *dy,
                                const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdFilterAlgo_t algorithm,
                                void *workspace, size_t bytes, const void *beta, const cudnnFilterDescriptor_t w_of,
                                void *dw)
{
  Shape shape;
  cudnnStatus_t status = shape_of (x_of, w_of, of, y_of, &shape);

  if (status == CUDNN_STATUS_SUCCESS)
    status = check_call ("cudnnConvolutionBackwardFilter", FILTER (algorithm), algorithm, shape, alpha, beta, { x, dw, dy },
                         1, workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS)
    return status;
  return enqueue (handle, "cudnnConvolutionBackwardFilter", { x, dy, dw }, workspace, bytes, [=] {
    DIMS (shape);

    in_order (shape, of_w, dw, of_y, dy, of_x, x, [&] (auto *to, auto *a, auto *b) { weight_gradient (shape, to, a, b); });
  });
}
}
