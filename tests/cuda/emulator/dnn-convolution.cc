/* Convolutions with a bias and ReLU, as an operation graph that fake cuDNN has engines for.
 *
 * Numbers, knobs, notes and workspaces are some of those that cuDNN 9.14 to 9.28 all list for compute capability 9.0.
 * cuDNN pads channels to a multiple of 8 in its workspace, or takes them unpadded by an engine without tensor cores.
 * The fake has NHWC only. A graph that differs in an operation, a type or a stride has no engine here. */
#include <string.h>

#include "tests/cuda/emulator/convolve.h"
#include "tests/cuda/emulator/dnn.h"

namespace emulated
{
namespace
{
bool
lies_as (const Tensor &t, cudnnDataType_t type, bool is_virtual, const int64_t (&dim)[4])
{
  const int64_t stride[4] = { dim[1] * dim[2] * dim[3], 1, dim[1] * dim[3], dim[1] };

  return t.type == type && !t.is_value && t.is_virtual == is_virtual && (is_virtual || t.alignment >= 16)
         && memcmp (t.dim, dim, sizeof dim) == 0 && memcmp (t.stride, stride, sizeof stride) == 0;
}

int64_t
places (int64_t size, int64_t before, int64_t after, int64_t taps, int64_t stride, int64_t dilation)
{
  return (size + before + after - dilation * (taps - 1) - 1) / stride + 1;
}

bool
is_convolution (const Graph &graph)
{
  const std::vector<Operation> &ops = graph.operations;

  if (ops.size () < 2 || ops.size () > 3 || ops[0].kind != "convolve" || ops[1].kind != "add" || ops[1].in[1] < 0
      || ops[1].in[0] != ops[0].out || (ops.size () == 3 && (ops[2].kind != "relu" || ops[2].in[0] != ops[1].out))
      || graph.tensors.size () != ops.size () + 3)
    return false;

  const Tensor &x = graph.tensors[ops[0].in[0]], &w = graph.tensors[ops[0].in[1]], &y = graph.tensors[ops.back ().out];
  const std::vector<int64_t> &n = ops[0].window; /* stride, before, after, dilation */
  const int64_t of_x[4] = { x.dim[0], x.dim[1], x.dim[2], x.dim[3] };
  const int64_t of_w[4] = { w.dim[0], w.dim[1], w.dim[2], w.dim[3] };
  const int64_t of_bias[4] = { 1, w.dim[0], 1, 1 };
  const int64_t of_y[4] = { x.dim[0], w.dim[0], places (x.dim[2], n[2], n[4], w.dim[2], n[0], n[6]),
                            places (x.dim[3], n[3], n[5], w.dim[3], n[1], n[7]) };

  if ((x.type != CUDNN_DATA_FLOAT && x.type != CUDNN_DATA_HALF && x.type != CUDNN_DATA_BFLOAT16)
      || x.dim[1] % w.dim[1] != 0 || w.dim[0] % (x.dim[1] / w.dim[1]) != 0 || !lies_as (x, x.type, false, of_x)
      || !lies_as (w, x.type, false, of_w) || !lies_as (graph.tensors[ops[1].in[1]], x.type, false, of_bias)
      || !lies_as (y, x.type, false, of_y))
    return false;
  for (size_t i = 0; i + 1 < ops.size (); i++)
    if (!lies_as (graph.tensors[ops[i].out], CUDNN_DATA_FLOAT, true, of_y))
      return false;
  return true;
}

/* Bytes of a copy with channels rounded up to a multiple of 8; 0 if they already are one. */
int64_t
padded (const Tensor &t, int64_t channels)
{
  return channels % 8 != 0 ? t.count () / t.dim[1] * ((channels + 7) / 8 * 8) * 2 : 0;
}
}

std::vector<Engine>
convolution_engines (const Graph &graph)
{
  if (!is_convolution (graph))
    return {};

  const Tensor &x = graph.tensors[graph.operations[0].in[0]], &w = graph.tensors[graph.operations[0].in[1]];
  const Tensor &y = graph.tensors[graph.operations.back ().out];
  const Engine unordered = { 5, 0, { CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC }, {}, false };
  const Engine strict = { 0, 0, { CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP }, {}, false };
  const Engine simple = { 11, 0, {}, { { CUDNN_KNOB_TYPE_TILE_SIZE, 4 }, { CUDNN_KNOB_TYPE_USE_TEX, 0 } }, false };
  const std::vector<int> cores = { CUDNN_NUMERICAL_NOTE_TENSOR_CORE };
  /* The last two knobs are blocks of a cluster. Heuristics do not propose a hidden configuration, but its name is
   * accepted. */
  auto hopper = [&] (int64_t number, int64_t tile, int64_t workspace, int64_t clusters, bool hidden) {
    return Engine{ number,
                   131,
                   cores,
                   { { CUDNN_KNOB_TYPE_TILE_SIZE, tile },
                     { CUDNN_KNOB_TYPE_TILEK, 0 },
                     { CUDNN_KNOB_TYPE_IDX_MODE, 0 },
                     { CUDNN_KNOB_TYPE_WORKSPACE, workspace },
                     { CUDNN_KNOB_TYPE_TILE_CGA_M, clusters },
                     { CUDNN_KNOB_TYPE_TILE_CGA_N, 1 } },
                   hidden };
  };
  const int64_t groups = x.dim[1] / w.dim[1];
  const int64_t copies
      = groups > 1 ? 0 : padded (x, x.dim[1]) + padded (w, x.dim[1]) + padded (y, y.dim[1]);
  const Engine ampere = { 10,
                          copies != 0 ? copies + 16 : 0,
                          cores,
                          { { CUDNN_KNOB_TYPE_TILE_SIZE, 2 },
                            { CUDNN_KNOB_TYPE_TILEK, 0 },
                            { CUDNN_KNOB_TYPE_STAGES, 3 },
                            { CUDNN_KNOB_TYPE_IDX_MODE, 0 },
                            { CUDNN_KNOB_TYPE_SPECFILT, 2 } },
                          false };

  /* The first one must be skipped. */
  if (x.type == CUDNN_DATA_FLOAT)
    {
      if (w.dim[1] % 4 != 0 || w.dim[0] % 4 != 0)
        return { unordered, simple, strict };
      return { unordered, hopper (51, 5, 0, 7, false), simple, hopper (51, 5, 0, 8, true) };
    }
  if (groups > 1)
    {
      if (w.dim[1] % 8 != 0 || w.dim[0] / groups % 8 != 0)
        return { unordered, strict, simple };
      return { unordered, ampere, simple };
    }
  if (x.dim[1] < 8)
    return { unordered, simple, ampere };
  if (copies != 0)
    return { unordered, ampere, simple };
  return { unordered, hopper (41, 4, 1, 7, false), ampere, hopper (41, 4, 1, 8, true) };
}

void
convolve (const Operation &of, const Tensor &x, const std::vector<float> &image, const Tensor &w,
          const std::vector<float> &filter, const Tensor &y, std::vector<float> *to)
{
  const int64_t groups = x.dim[1] / w.dim[1];
  Convolution c = {};
  std::vector<float> a = image, b = filter;

  c.n = x.dim[0];
  c.c = x.dim[1];
  c.h = x.dim[2];
  c.w = x.dim[3];
  c.k = w.dim[0];
  c.r = w.dim[2];
  c.s = w.dim[3];
  c.p = y.dim[2];
  c.q = y.dim[3];
  c.groups = groups;
  c.channels = w.dim[1];
  c.filters = c.k / groups;
  c.taps = c.channels * c.r * c.s;
  c.places = c.p * c.q;
  for (int i = 0; i < 2; i++)
    {
      c.of.stride[i] = (int)of.window[i];
      c.of.pad[i] = (int)of.window[2 + i];
      c.of.dilation[i] = (int)of.window[6 + i];
    }
  if (x.type == CUDNN_DATA_FLOAT)
    for (std::vector<float> *operand : { &a, &b })
      for (float &value : *operand)
        value = to_tf32 (value);
  forward<float> (c, to->data (), a.data (), b.data ());
}
}
