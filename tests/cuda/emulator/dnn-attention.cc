/* The operation graphs of attention that fake cuDNN has, and the computation of graphs: attention forward and its
 * gradient, causal or not, as in cuDNN's flash attention engines. The engines, their workspaces and the shapes that
 * they refuse are those that cuDNN 9.19 lists for compute capability 9.0; a graph that differs in one operation, its
 * order, a type or a stride has no engine here either. */
#include <math.h>
#include <string.h>

#include "tests/cuda/emulator/dnn.h"
#include "tests/cuda/emulator/element.h"
#include "tests/cuda/emulator/fakes.h"

namespace emulated
{
namespace
{
/* ---- patterns ---------------------------------------------------------------------------------- */

/* An operation with names for its tensors; NULL for none. */
struct Step
{
  const char *kind, *in[3], *out;
};

const Step mask[] = {
  { "row", { "scores" }, "rows" },
  { "column", { "scores" }, "columns" },
  { "ge", { "rows", "columns" }, "keep" },
  { "select", { "scores", "nothing", "keep" }, "kept" },
};

/* Masked `scores` are "kept". */
const Step forward_begin[] = {
  { "matmul", { "q", "kt" }, "products" },
  { "mul", { "products", "scale" }, "scores" },
};
const Step forward_end[] = {
  { "max", { "kept" }, "top" },
  { "sub", { "kept", "top" }, "below" },
  { "exp", { "below" }, "powers" },
  { "sum", { "powers" }, "total" },
  { "log", { "total" }, "log" },
  { "add", { "top", "log" }, "lse" },
  { "div", { "powers", "total" }, "shares" },
  { "matmul", { "shares", "v" }, "y" },
};
const Step gradient_begin[] = {
  { "mul", { "g", "y" }, "gy" },
  { "sum", { "gy" }, "sum" },
  { "mul", { "sum", "one" }, "sums" },
  { "matmul", { "q", "kt" }, "products" },
  { "mul", { "products", "scale" }, "scaled" },
  { "sub", { "scaled", "lse" }, "scores" },
};
const Step gradient_values[] = {
  { "exp", { "kept" }, "shares" },
  { "reshape", { "shares" }, "shares-t" },
  { "matmul", { "shares-t", "g" }, "dv-all" },
};
const Step gradient_keys[] = {
  { "matmul", { "g", "vt" }, "dp" },
  { "sub", { "dp", "sums" }, "dp-less" },
  { "mul", { "dp-less", "shares" }, "dp-shares" },
  { "mul", { "dp-shares", "scale" }, "ds" },
  { "reshape", { "ds" }, "ds-t" },
  { "matmul", { "ds-t", "q" }, "dk-all" },
};
const Step gradient_queries[] = {
  { "reshape", { "kt" }, "keys" },
  { "matmul", { "ds", "keys" }, "dq" },
};
const Step values_sum[] = { { "sum", { "dv-all" }, "dv" } };
const Step keys_sum[] = { { "sum", { "dk-all" }, "dk" } };

template <size_t N>
void
append (std::vector<Step> *to, const Step (&steps)[N])
{
  to->insert (to->end (), steps, steps + N);
}

/* `shared`: several heads read the same keys. */
std::vector<Step>
pattern (bool gradient, bool causal, bool shared)
{
  std::vector<Step> steps;

  if (gradient)
    append (&steps, gradient_begin);
  else
    append (&steps, forward_begin);
  if (causal)
    append (&steps, mask);
  if (!gradient)
    append (&steps, forward_end);
  else
    {
      append (&steps, gradient_values);
      if (shared)
        append (&steps, values_sum);
      append (&steps, gradient_keys);
      if (shared)
        append (&steps, keys_sum);
      append (&steps, gradient_queries);
    }
  return steps;
}

/* The meaning of a name in a pattern without some of the steps. */
std::string
meant (const char *name, bool causal, bool shared)
{
  if (!causal && strcmp (name, "kept") == 0)
    return "scores";
  if (!shared && (strcmp (name, "dv-all") == 0 || strcmp (name, "dk-all") == 0))
    return std::string (name, 2);
  return name;
}

typedef std::map<std::string, int> Roles;

/* Each name is one tensor, and each tensor has one name. */
bool
name_tensor (Roles *roles, const std::string &name, int tensor)
{
  for (auto &one : *roles)
    if ((one.first == name) != (one.second == tensor))
      return false;
  (*roles)[name] = tensor;
  return true;
}

bool
matches (const Graph &graph, bool gradient, bool causal, bool shared, Roles *roles)
{
  const std::vector<Step> steps = pattern (gradient, causal, shared);

  roles->clear ();
  if (graph.operations.size () != steps.size ())
    return false;
  for (size_t i = 0; i < steps.size (); i++)
    {
      const Operation &of = graph.operations[i];

      if (of.kind != steps[i].kind)
        return false;
      for (int k = 0; k < 3; k++)
        if ((steps[i].in[k] != NULL) != (of.in[k] >= 0)
            || (of.in[k] >= 0 && !name_tensor (roles, meant (steps[i].in[k], causal, shared), of.in[k])))
          return false;
      if (!name_tensor (roles, meant (steps[i].out, causal, shared), of.out))
        return false;
    }
  return roles->size () == graph.tensors.size ();
}

/* ---- shapes ------------------------------------------------------------------------------------ */

struct Sizes
{
  int64_t n, heads, groups, queries, keys, width, depth;
  cudnnDataType_t type;
};

struct Form
{
  cudnnDataType_t type;
  int64_t heads, rows, columns;
  bool turned; /* the strides of rows and columns are swapped */
};

/* The required form of the tensor with this name. */
Form
form_of (const std::string &name, const Sizes &s)
{
  const cudnnDataType_t f = CUDNN_DATA_FLOAT;

  if (name == "q" || name == "dq")
    return { s.type, s.heads, s.queries, s.width, false };
  if (name == "g" || name == "y")
    return { s.type, s.heads, s.queries, s.depth, false };
  if (name == "gy")
    return { f, s.heads, s.queries, s.depth, false };
  if (name == "kt")
    return { s.type, s.groups, s.width, s.keys, true };
  if (name == "vt")
    return { s.type, s.groups, s.depth, s.keys, true };
  if (name == "keys" || name == "dk")
    return { s.type, s.groups, s.keys, s.width, false };
  if (name == "v" || name == "dv")
    return { s.type, s.groups, s.keys, s.depth, false };
  if (name == "dk-all")
    return { s.type, s.heads, s.keys, s.width, false };
  if (name == "dv-all")
    return { s.type, s.heads, s.keys, s.depth, false };
  if (name == "shares-t" || name == "ds-t")
    return { s.type, s.heads, s.keys, s.queries, true };
  if (name == "top" || name == "total" || name == "log" || name == "lse" || name == "sum" || name == "sums")
    return { f, s.heads, s.queries, 1, false };
  if (name == "rows" || name == "columns")
    return { CUDNN_DATA_INT32, s.heads, s.queries, s.keys, false };
  if (name == "keep")
    return { CUDNN_DATA_BOOLEAN, s.heads, s.queries, s.keys, false };
  return { f, s.heads, s.queries, s.keys, false };
}

bool
is_scalar (const std::string &name)
{
  return name == "scale" || name == "nothing" || name == "one";
}

bool
is_in_memory (const std::string &name)
{
  static const char *const names[] = { "q", "kt", "v", "vt", "y", "lse", "g", "sums", "dq", "dk", "dv" };

  for (const char *one : names)
    if (name == one)
      return true;
  return false;
}

/* Operands and results may have gaps between rows if rows begin at multiples of 16 bytes and their features are
 * adjacent, and keys then also as an inner tensor. f32 tensors in memory, and other inner tensors, are packed. */
bool
has_form (const Tensor &t, const Form &f, int64_t n, bool may_lie_apart)
{
  const int64_t dim[4] = { n, f.heads, f.rows, f.columns };
  const int64_t stride[4]
      = { f.heads * f.rows * f.columns, f.rows * f.columns, f.turned ? 1 : f.columns, f.turned ? f.rows : 1 };

  if (t.type != f.type || memcmp (t.dim, dim, sizeof dim) != 0)
    return false;
  if (may_lie_apart)
    return t.stride[f.turned ? 2 : 3] == 1 && t.stride[f.turned ? 3 : 2] % 8 == 0 && t.stride[0] % 8 == 0
           && t.stride[1] % 8 == 0;
  return memcmp (t.stride, stride, sizeof stride) == 0;
}

/* The weights of the forward graph have the operands' type, those of the gradient are f32. */
bool
forms_hold (const Graph &graph, const Roles &roles, const Sizes &s, bool gradient)
{
  for (auto &role : roles)
    {
      const Tensor &t = graph.tensors[role.second];
      Form form = form_of (role.first, s);

      if (t.is_value != is_scalar (role.first)
          || t.is_virtual != (!is_scalar (role.first) && !is_in_memory (role.first)))
        return false;
      if (role.first == "shares" && !gradient)
        form.type = s.type;
      if (t.is_value ? t.type != CUDNN_DATA_FLOAT || t.count () != 1 : !has_form (t, form, s.n, form.type == s.type && (!t.is_virtual || role.first == "keys")))
        return false;
      if (!t.is_value && !t.is_virtual && t.alignment < 16 && form.type == s.type)
        return false;
    }
  return true;
}

int64_t
up (int64_t n, int64_t to)
{
  return (n + to - 1) / to * to;
}
}

std::vector<Engine>
attention_engines (const Graph &graph)
{
  const std::vector<int> unordered = { CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC };
  Roles roles;

  for (int form = 0; form < 8; form++)
    {
      const bool gradient = form & 1, causal = form & 2, shared = form & 4;

      if (!matches (graph, gradient, causal, shared, &roles))
        continue;

      const Tensor &q = graph.tensors[roles["q"]], &kt = graph.tensors[roles["kt"]];
      const Tensor &v = graph.tensors[roles[gradient ? "vt" : "v"]];
      const Sizes s = { q.dim[0], q.dim[1], kt.dim[1], q.dim[2], kt.dim[3], q.dim[3], v.dim[gradient ? 2 : 3], q.type };

      if (!forms_hold (graph, roles, s, gradient) || (s.type != CUDNN_DATA_BFLOAT16 && s.type != CUDNN_DATA_HALF)
          || s.groups < 1 || s.heads % s.groups != 0 || (gradient && shared != (s.heads != s.groups)))
        continue;
      if (s.width % 8 != 0 || s.depth % 8 != 0 || s.width > 256 || s.depth > 256)
        return {};
      /* The first one must be skipped, and computes nothing. */
      if (!gradient)
        return { { 0, 0, unordered, {}, false }, { 2, 256, {}, {}, false }, { 1, 0, {}, {}, false } };
      return {
        { 0, 256, unordered, {}, false },
        { 6,
          s.n * s.heads * (up (s.queries, 64) * up (s.keys, 128) + (shared ? up (s.keys, 64) * (s.width + s.depth) : 0))
                  * 2
              + 256,
          {},
          {},
          false }
      };
    }
  return {};
}

/* ---- sums -------------------------------------------------------------------------------------- */

namespace
{
typedef std::vector<float> Values; /* plain, in the order of the axes */

float
rounded (float x, cudnnDataType_t type)
{
  Half half;
  Brain brain;

  if (type == CUDNN_DATA_HALF)
    return half = x;
  if (type == CUDNN_DATA_BFLOAT16)
    return brain = x;
  return x;
}

/* Calls f (index along the axes, index in memory) for each element, in order. */
template <typename F>
void
each (const Tensor &t, F f)
{
  int64_t i = 0, at[4];

  for (at[0] = 0; at[0] < t.dim[0]; at[0]++)
    for (at[1] = 0; at[1] < t.dim[1]; at[1]++)
      for (at[2] = 0; at[2] < t.dim[2]; at[2]++)
        for (at[3] = 0; at[3] < t.dim[3]; at[3]++)
          f (i++, at, at[0] * t.stride[0] + at[1] * t.stride[1] + at[2] * t.stride[2] + at[3] * t.stride[3]);
}

Values
fetch (const Tensor &t, const void *from)
{
  Values to (t.count ());

  each (t, [&] (int64_t i, const int64_t *, int64_t place) {
    to[i] = t.type == CUDNN_DATA_FLOAT  ? ((const float *)from)[place]
            : t.type == CUDNN_DATA_HALF ? (float)((const Half *)from)[place]
                                        : (float)((const Brain *)from)[place];
  });
  return to;
}

void
store (const Tensor &t, void *to, const Values &from)
{
  each (t, [&] (int64_t i, const int64_t *, int64_t place) {
    if (t.type == CUDNN_DATA_FLOAT)
      ((float *)to)[place] = from[i];
    else if (t.type == CUDNN_DATA_HALF)
      ((Half *)to)[place] = from[i];
    else
      ((Brain *)to)[place] = from[i];
  });
}

/* The element of t for this position of a larger tensor: axes of one element broadcast. */
int64_t
serving (const Tensor &t, const int64_t at[4])
{
  int64_t place = 0;

  for (int i = 0; i < 4; i++)
    place = place * t.dim[i] + (t.dim[i] > 1 ? at[i] : 0);
  return place;
}

void
multiply (const Tensor &a, const Values &x, const Tensor &b, const Values &y, const Tensor &c, Values *to)
{
  const int64_t m = c.dim[2], n = c.dim[3], k = a.dim[3];

  for (int64_t h = 0; h < c.dim[0] * c.dim[1]; h++)
    {
      const int64_t sample = h / c.dim[1], head = h % c.dim[1];
      const float *rows = x.data () + (sample * a.dim[1] + head / (c.dim[1] / a.dim[1])) * m * k;
      const float *columns = y.data () + (sample * b.dim[1] + head / (c.dim[1] / b.dim[1])) * k * n;
      float *sums = to->data () + h * m * n;

      for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
          for (int64_t j = 0; j < n; j++)
            sums[i * n + j] += rows[i * k + l] * columns[l * n + j];
    }
}

/* If y has fewer heads, neighbouring heads are summed. */
void
reduce (bool largest, const Tensor &x, const Values &from, const Tensor &y, Values *to)
{
  if (largest)
    to->assign (to->size (), -INFINITY);
  each (x, [&] (int64_t i, const int64_t *at, int64_t) {
    const int64_t place[4] = { at[0], at[1] / (x.dim[1] / y.dim[1]), at[2], at[3] };
    float *sum = &(*to)[serving (y, place)];

    *sum = largest ? fmaxf (*sum, from[i]) : *sum + from[i];
  });
}

/* The same elements of memory with the axes of y. */
void
reshape (const Tensor &x, const Values &from, const Tensor &y, Values *to)
{
  int64_t last = 0;

  each (x, [&] (int64_t, const int64_t *, int64_t place) { last = place; });
  Values memory (last + 1);
  each (x, [&] (int64_t i, const int64_t *, int64_t place) { memory[place] = from[i]; });
  each (y, [&] (int64_t i, const int64_t *, int64_t place) { (*to)[i] = memory[place]; });
}

float
scalar (const std::string &kind, const float in[3], const int64_t at[4])
{
  if (kind == "mul")
    return in[0] * in[1];
  if (kind == "add")
    return in[0] + in[1];
  if (kind == "sub")
    return in[0] - in[1];
  if (kind == "div")
    return in[0] / in[1];
  if (kind == "exp")
    return expf (in[0]);
  if (kind == "log")
    return logf (in[0]);
  if (kind == "relu")
    return in[0] > 0 || in[0] != in[0] ? in[0] : 0;
  if (kind == "row" || kind == "column")
    return (float)at[kind == "row" ? 2 : 3];
  if (kind == "ge")
    return in[0] >= in[1];
  return in[2] != 0 ? in[0] : in[1]; /* select */
}
}

void
compute (const Graph &graph, const std::vector<void *> &at)
{
  std::vector<Values> values (graph.tensors.size ());

  for (const Operation &of : graph.operations)
    {
      const Tensor &y = graph.tensors[of.out];
      const Tensor *in[3] = { NULL, NULL, NULL };
      Values *to = &values[of.out];

      for (int k = 0; k < 3; k++)
        if (of.in[k] >= 0)
          {
            in[k] = &graph.tensors[of.in[k]];
            if (values[of.in[k]].empty ())
              values[of.in[k]] = fetch (*in[k], at[of.in[k]]);
          }
      to->assign (y.count (), 0);
      if (of.kind == "matmul")
        multiply (*in[0], values[of.in[0]], *in[1], values[of.in[1]], y, to);
      else if (of.kind == "convolve")
        convolve (of, *in[0], values[of.in[0]], *in[1], values[of.in[1]], y, to);
      else if (of.kind == "max" || of.kind == "sum")
        reduce (of.kind == "max", *in[0], values[of.in[0]], y, to);
      else if (of.kind == "reshape")
        reshape (*in[0], values[of.in[0]], y, to);
      else
        each (y, [&] (int64_t i, const int64_t *place, int64_t) {
          float x[3] = { 0, 0, 0 };

          for (int k = 0; k < 3; k++)
            if (in[k] != NULL)
              x[k] = values[of.in[k]][serving (*in[k], place)];
          (*to)[i] = scalar (of.kind, x, place);
        });
      for (float &x : *to)
        x = rounded (x, y.type);
      if (at[of.out] != NULL)
        store (y, at[of.out], *to);
    }
}
}
