/* cuDNN as kernels/cuda calls it: convolutions of f32 images in NCHW, by im2col. */
#include <cudnn.h>
#include <string.h>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/product.h"

#define WORKSPACE_BYTES 512

struct cudnnContext
{
  cudaStream_t stream;
};

struct cudnnTensorStruct
{
  int dim[4];
};

struct cudnnFilterStruct
{
  int dim[4];
};

struct cudnnConvolutionStruct
{
  int pad[2], stride[2], dilation[2], groups;
};

namespace
{
/* One convolution: x (n,c,h,w), w (k,c/groups,r,s), y (n,k,p,q). */
struct Shape
{
  int64_t n, c, h, w, k, r, s, p, q, groups, channels, filters, taps, places;
  cudnnConvolutionStruct of;
};

bool
shape_of (const cudnnTensorStruct *x, const cudnnFilterStruct *w, const cudnnConvolutionStruct *of,
          const cudnnTensorStruct *y, Shape *to)
{
  *to = { x->dim[0], x->dim[1], x->dim[2], x->dim[3], w->dim[0], w->dim[2], w->dim[3], y->dim[2], y->dim[3],
          of->groups, w->dim[1], w->dim[0] / of->groups, (int64_t)w->dim[1] * w->dim[2] * w->dim[3],
          (int64_t)y->dim[2] * y->dim[3], *of };
  return to->channels * to->groups == to->c && to->filters * to->groups == to->k && y->dim[0] == x->dim[0]
         && y->dim[1] == w->dim[0]
         && to->p == (to->h + 2 * of->pad[0] - of->dilation[0] * (to->r - 1) - 1) / of->stride[0] + 1
         && to->q == (to->w + 2 * of->pad[1] - of->dilation[1] * (to->s - 1) - 1) / of->stride[1] + 1;
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
void
columns_of (const Shape &c, const float *image, std::vector<float> &to)
{
  to.assign ((size_t)(c.taps * c.places), 0);
  for (int64_t tap = 0; tap < c.taps; tap++)
    each_row (c, tap, [&] (int64_t place, int64_t at, int64_t count, int64_t step) {
      float *run = &to[(size_t)(tap * c.places)];

      for (int64_t i = 0; i < count; i++)
        run[place + i] = image[at + i * step];
    });
}

/* The n×m values of which `from` has m×n. */
void
turn (int64_t m, int64_t n, const float *from, std::vector<float> &to)
{
  const int64_t tile = 16;

  to.resize ((size_t)(m * n));
  for (int64_t i = 0; i < m; i += tile)
    for (int64_t j = 0; j < n; j += tile)
      for (int64_t ii = i; ii < m && ii < i + tile; ii++)
        for (int64_t jj = j; jj < n && jj < j + tile; jj++)
          to[(size_t)(jj * m + ii)] = from[ii * n + jj];
}

void
forward (const Shape &c, float *y, const float *x, const float *w)
{
  std::vector<float> filters, image, sums;

  for (int64_t g = 0; g < c.groups; g++)
    {
      turn (c.filters, c.taps, w + g * c.filters * c.taps, filters);
      for (int64_t n = 0; n < c.n; n++)
        {
          columns_of (c, x + (n * c.c + g * c.channels) * c.h * c.w, image);
          emulated::product<float> (c.places, c.filters, c.taps, image, filters, sums);
          memcpy (y + (n * c.k + g * c.filters) * c.places, sums.data (), sums.size () * sizeof (float));
        }
    }
}

void
input_gradient (const Shape &c, float *dx, const float *g_y, const float *w)
{
  std::vector<float> sums;

  memset (dx, 0, (size_t)(c.n * c.c * c.h * c.w) * sizeof (float));
  for (int64_t g = 0; g < c.groups; g++)
    {
      const float *of = w + g * c.filters * c.taps;
      const std::vector<float> filters (of, of + c.filters * c.taps);

      for (int64_t n = 0; n < c.n; n++)
        {
          const float *from = g_y + (n * c.k + g * c.filters) * c.places;
          float *to = dx + (n * c.c + g * c.channels) * c.h * c.w;

          emulated::product<float> (c.places, c.taps, c.filters,
                                    std::vector<float> (from, from + c.filters * c.places), filters, sums);
          for (int64_t tap = 0; tap < c.taps; tap++)
            each_row (c, tap, [&] (int64_t place, int64_t at, int64_t count, int64_t step) {
              for (int64_t i = 0; i < count; i++)
                to[at + i * step] += sums[(size_t)(tap * c.places + place + i)];
            });
        }
    }
}

void
weight_gradient (const Shape &c, float *dw, const float *g_y, const float *x)
{
  std::vector<float> sums, image, turned, across;

  memset (dw, 0, (size_t)(c.k * c.taps) * sizeof (float));
  for (int64_t n = 0; n < c.n; n++)
    for (int64_t g = 0; g < c.groups; g++)
      {
        columns_of (c, x + (n * c.c + g * c.channels) * c.h * c.w, image);
        turn (c.taps, c.places, image.data (), turned);
        turn (c.filters, c.places, g_y + (n * c.k + g * c.filters) * c.places, across);
        emulated::product<float> (c.taps, c.filters, c.places, turned, across, sums);
        for (size_t i = 0; i < sums.size (); i++)
          dw[(size_t)(g * c.filters * c.taps) + i] += sums[i];
      }
}

bool
seen (const void *a, const void *b, const void *c, const void *workspace, size_t bytes)
{
  for (const void *pointer : { a, b, c })
    if (!emulated::device_sees (pointer))
      emulated::found ("cuDNN was given the host's pointer %p", pointer);
  return bytes >= WORKSPACE_BYTES && emulated::device_sees (workspace);
}
}

#define REFUSE_UNLESS(x)                                                                                               \
  if (!(x))                                                                                                            \
  return CUDNN_STATUS_BAD_PARAM

extern "C"
{
cudnnStatus_t
cudnnCreate (cudnnHandle_t *handle)
{
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
  return status == CUDNN_STATUS_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                                : "CUDNN_STATUS_BAD_PARAM";
}

cudnnStatus_t
cudnnSetStream (cudnnHandle_t handle, cudaStream_t stream)
{
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
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
  if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT)
    return CUDNN_STATUS_NOT_SUPPORTED;
  REFUSE_UNLESS (n > 0 && c > 0 && h > 0 && w > 0);
  *to = { { n, c, h, w } };
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
  if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT)
    return CUDNN_STATUS_NOT_SUPPORTED;
  REFUSE_UNLESS (k > 0 && c > 0 && h > 0 && w > 0);
  *to = { { k, c, h, w } };
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnCreateConvolutionDescriptor (cudnnConvolutionDescriptor_t *to)
{
  *to = new cudnnConvolutionStruct{ { 0, 0 }, { 1, 1 }, { 1, 1 }, 1 };
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
  if (mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT)
    return CUDNN_STATUS_NOT_SUPPORTED;
  REFUSE_UNLESS (pad_h >= 0 && pad_w >= 0 && u > 0 && v > 0 && dilation_h > 0 && dilation_w > 0);
  *to = { { pad_h, pad_w }, { u, v }, { dilation_h, dilation_w }, to->groups };
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
cudnnSetConvolutionMathType (cudnnConvolutionDescriptor_t, cudnnMathType_t)
{
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetConvolutionForwardWorkspaceSize (cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                         const cudnnFilterDescriptor_t w, const cudnnConvolutionDescriptor_t of,
                                         const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t, size_t *bytes)
{
  Shape shape;

  REFUSE_UNLESS (shape_of (x, w, of, y, &shape));
  *bytes = WORKSPACE_BYTES;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetConvolutionBackwardDataWorkspaceSize (cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                              const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t of,
                                              const cudnnTensorDescriptor_t x, cudnnConvolutionBwdDataAlgo_t,
                                              size_t *bytes)
{
  Shape shape;

  REFUSE_UNLESS (shape_of (x, w, of, y, &shape));
  *bytes = WORKSPACE_BYTES;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnGetConvolutionBackwardFilterWorkspaceSize (cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t of,
                                                const cudnnFilterDescriptor_t w, cudnnConvolutionBwdFilterAlgo_t,
                                                size_t *bytes)
{
  Shape shape;

  REFUSE_UNLESS (shape_of (x, w, of, y, &shape));
  *bytes = WORKSPACE_BYTES;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnConvolutionForward (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of, const void *x,
                         const cudnnFilterDescriptor_t w_of, const void *w, const cudnnConvolutionDescriptor_t of,
                         cudnnConvolutionFwdAlgo_t, void *workspace, size_t bytes, const void *beta,
                         const cudnnTensorDescriptor_t y_of, void *y)
{
  Shape shape;

  REFUSE_UNLESS (*(const float *)alpha == 1 && *(const float *)beta == 0 && shape_of (x_of, w_of, of, y_of, &shape));
  REFUSE_UNLESS (seen (x, w, y, workspace, bytes));
  emulated::enqueue (handle->stream, [=] {
    memset (workspace, 0xff, bytes);
    forward (shape, (float *)y, (const float *)x, (const float *)w);
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnConvolutionBackwardData (cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w_of,
                              const void *w, const cudnnTensorDescriptor_t y_of, const void *dy,
                              const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdDataAlgo_t, void *workspace,
                              size_t bytes, const void *beta, const cudnnTensorDescriptor_t x_of, void *dx)
{
  Shape shape;

  REFUSE_UNLESS (*(const float *)alpha == 1 && *(const float *)beta == 0 && shape_of (x_of, w_of, of, y_of, &shape));
  REFUSE_UNLESS (seen (w, dy, dx, workspace, bytes));
  emulated::enqueue (handle->stream, [=] {
    memset (workspace, 0xff, bytes);
    input_gradient (shape, (float *)dx, (const float *)dy, (const float *)w);
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnConvolutionBackwardFilter (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of,
                                const void *x, const cudnnTensorDescriptor_t y_of, const void *dy,
                                const cudnnConvolutionDescriptor_t of, cudnnConvolutionBwdFilterAlgo_t,
                                void *workspace, size_t bytes, const void *beta, const cudnnFilterDescriptor_t w_of,
                                void *dw)
{
  Shape shape;

  REFUSE_UNLESS (*(const float *)alpha == 1 && *(const float *)beta == 0 && shape_of (x_of, w_of, of, y_of, &shape));
  REFUSE_UNLESS (seen (x, dy, dw, workspace, bytes));
  emulated::enqueue (handle->stream, [=] {
    memset (workspace, 0xff, bytes);
    weight_gradient (shape, (float *)dw, (const float *)dy, (const float *)x);
  });
  return CUDNN_STATUS_SUCCESS;
}
}
