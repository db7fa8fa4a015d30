/* Convolutions of fake cuDNN: descriptors, their shape, sums by im2col, elements of each type. */
#ifndef EMULATOR_CONVOLVE_H
#define EMULATOR_CONVOLVE_H

#include <cudnn.h>
#include <string.h>
#include <vector>

#include "tests/cuda/emulator/element.h"
#include "tests/cuda/emulator/product.h"

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

namespace emulated
{
/* One convolution: x [n,c,h,w], w [k,c/groups,r,s], y [n,k,p,q]. */
struct Convolution
{
  int64_t n, c, h, w, k, r, s, p, q, groups, channels, filters, taps, places;
  cudnnDataType_t type;
  bool nhwc;
  cudnnConvolutionStruct of;
};

/* CUDNN_STATUS_SUCCESS with the shape, or cuDNN's status for these descriptors. */
inline cudnnStatus_t
shape_of (const cudnnTensorStruct *x, const cudnnFilterStruct *w, const cudnnConvolutionStruct *of,
          const cudnnTensorStruct *y, Convolution *to)
{
  *to = { x->dim[0], x->dim[1], x->dim[2], x->dim[3], w->dim[0], w->dim[2], w->dim[3], y->dim[2], y->dim[3],
          of->groups, w->dim[1], w->dim[0] / of->groups, (int64_t)w->dim[1] * w->dim[2] * w->dim[3],
          (int64_t)y->dim[2] * y->dim[3], x->type, x->format == CUDNN_TENSOR_NHWC, *of };
  if (to->channels * to->groups != to->c || to->filters * to->groups != to->k || y->dim[0] != x->dim[0]
      || y->dim[1] != w->dim[0] || x->type != w->type || x->type != y->type
      || to->p != (to->h + 2 * of->pad[0] - of->dilation[0] * (to->r - 1) - 1) / of->stride[0] + 1
      || to->q != (to->w + 2 * of->pad[1] - of->dilation[1] * (to->s - 1) - 1) / of->stride[1] + 1)
    return CUDNN_STATUS_BAD_PARAM;
  /* f32 sums for f32, f16 and bf16, f64 sums for f64. Filters in NHWC need images in NHWC, and here vice versa. */
  if ((of->compute == CUDNN_DATA_DOUBLE) != (x->type == CUDNN_DATA_DOUBLE) || x->format != w->format
      || x->format != y->format || of->mode != CUDNN_CROSS_CORRELATION)
    return CUDNN_STATUS_NOT_SUPPORTED;
  return CUDNN_STATUS_SUCCESS;
}

/* The positions along one axis whose tap is inside: first … last-1 of `places`. */
struct Span
{
  int64_t first, last;
};

inline Span
inside (int64_t places, int64_t size, int64_t stride, int64_t offset)
{
  int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t last = size > offset ? (size - offset + stride - 1) / stride : 0;

  last = last < places ? last : places;
  return { first, first < last ? last : first };
}

/* Visits the positions at which a tap (channel, i, j) of a window reads inside an image [c,h,w]: visit (place, at,
 * count, step), `count` neighbours in a row of positions, which are `step` apart in the image. */
template <typename F>
void
each_row (const Convolution &c, int64_t tap, F visit)
{
  int64_t channel = tap / (c.r * c.s), row = tap / c.s % c.r * c.of.dilation[0] - c.of.pad[0];
  int64_t column = tap % c.s * c.of.dilation[1] - c.of.pad[1];
  Span down = inside (c.p, c.h, c.of.stride[0], row), across = inside (c.q, c.w, c.of.stride[1], column);

  for (int64_t p = down.first; p < down.last; p++)
    visit (p * c.q + across.first,
           (channel * c.h + p * c.of.stride[0] + row) * c.w + across.first * c.of.stride[1] + column,
           across.last - across.first, (int64_t)c.of.stride[1]);
}

/* `places` values for every tap; in the padding they are 0. */
template <typename A>
void
columns_of (const Convolution &c, const A *image, std::vector<A> &to)
{
  to.assign ((size_t)(c.taps * c.places), 0);
  for (int64_t tap = 0; tap < c.taps; tap++)
    each_row (c, tap, [&] (int64_t place, int64_t at, int64_t count, int64_t step) {
      A *run = &to[(size_t)(tap * c.places)];

      for (int64_t i = 0; i < count; i++)
        run[place + i] = image[at + i * step];
    });
}

/* The transpose [n,m] of `from` [m,n]. */
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
forward (const Convolution &c, A *y, const A *x, const A *w)
{
  std::vector<A> filters, image, sums;

  for (int64_t g = 0; g < c.groups; g++)
    {
      turn (c.filters, c.taps, w + g * c.filters * c.taps, filters);
      for (int64_t n = 0; n < c.n; n++)
        {
          columns_of (c, x + (n * c.c + g * c.channels) * c.h * c.w, image);
          product<A> (c.places, c.filters, c.taps, image, filters, sums);
          memcpy (y + (n * c.k + g * c.filters) * c.places, sums.data (), sums.size () * sizeof (A));
        }
    }
}

template <typename A>
void
input_gradient (const Convolution &c, A *dx, const A *g_y, const A *w)
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

          product<A> (c.places, c.taps, c.filters,
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
weight_gradient (const Convolution &c, A *dw, const A *g_y, const A *x)
{
  std::vector<A> sums, image, turned, across;

  memset (dw, 0, (size_t)(c.k * c.taps) * sizeof (A));
  for (int64_t n = 0; n < c.n; n++)
    for (int64_t g = 0; g < c.groups; g++)
      {
        columns_of (c, x + (n * c.c + g * c.channels) * c.h * c.w, image);
        turn (c.taps, c.places, image.data (), turned);
        turn (c.filters, c.places, g_y + (n * c.k + g * c.filters) * c.places, across);
        product<A> (c.taps, c.filters, c.places, turned, across, sums);
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
      return f (Half ());
    default:
      return f (Brain ());
    }
}

/* Calls visit (index in [n,c,h,w], index in memory) for each element of a packed tensor. */
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

/* The elements in the order [n,c,h,w], converted to A. */
template <typename A>
std::vector<A>
widened (const Convolution &c, const int64_t (&dim)[4], const void *from)
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
narrowed (const Convolution &c, const int64_t (&dim)[4], const std::vector<A> &from, void *to)
{
  with_type (c.type, [&] (auto element) {
    each_element (dim, c.nhwc,
                  [&] (int64_t at, int64_t in_memory) { ((decltype (element) *)to)[in_memory] = from[(size_t)at]; });
  });
}

/* Runs f (result, first operand, second operand) over f32 or f64 in [n,c,h,w]; f32 is rounded to TF32 unless the
 * descriptor requests FMA only. */
template <typename F>
void
in_order (const Convolution &c, const int64_t (&of_to)[4], void *to, const int64_t (&of_a)[4], const void *a,
          const int64_t (&of_b)[4], const void *b, F f)
{
  const bool tf32 = c.type == CUDNN_DATA_FLOAT && c.of.math != CUDNN_FMA_MATH;
  auto run = [&] (auto zero) {
    typedef decltype (zero) A;
    std::vector<A> result ((size_t)(of_to[0] * of_to[1] * of_to[2] * of_to[3]));
    std::vector<A> from_a = widened<A> (c, of_a, a), from_b = widened<A> (c, of_b, b);

    if (tf32)
      for (std::vector<A> *operand : { &from_a, &from_b })
        for (A &value : *operand)
          value = to_tf32 (value);
    f (result.data (), from_a.data (), from_b.data ());
    narrowed<A> (c, of_to, result, to);
  };

  if (c.type == CUDNN_DATA_FLOAT && !c.nhwc && !tf32)
    f ((float *)to, (const float *)a, (const float *)b);
  else if (c.type == CUDNN_DATA_DOUBLE)
    run (0.0);
  else
    run (0.0f);
}
}

#endif
