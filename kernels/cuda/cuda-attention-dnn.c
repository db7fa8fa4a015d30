/* Attention and its gradient of 16-bit floats as cuDNN's operation graphs, an alternative to the own kernels.
 *
 * The graphs are those that cuDNN's flash attention engines recognise (cuDNN developer guide, "Fused Flash Attention
 * fprop" and "bprop"): each operation, its order, types and strides are part of the pattern, and any other graph gets
 * no engine. Scores, weights and their gradients are inner tensors of it. Planning asks cuDNN whether an engine takes a
 * call: cuDNN requires heads of a multiple of 8 features and has no masks here, and above 128 features it has the
 * gradient on compute capability 9.0 only. An engine whose workspace is larger than the call's operands and results is
 * not chosen: cuDNN 9.14 to 9.28 write dQ of the gradient in a fixed order only through all scores in 16 bits, so
 * sequences longer than about 8 times a head's features use the own kernel, and no memory grows with their square. The
 * gradient's other form, whose sums into dQ are atomic, is not requested: cuDNN does not mark it as nondeterministic.
 * Engines of the gradient compute Σ g·y themselves and so need y instead of delta. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attention.h"
#include "kernels/cuda/cuda-dnn.h"
#include "kernels/options.h"

#define FEATURES 256 /* the most in a head, the limit of the own kernels as well */

/* The ids of a graph's tensors. */
enum
{
  Q = 1,
  K,
  V,
  Y,
  LSE,
  G,
  DQ,
  DK,
  DV,
  SUMS, /* Σ g·y of each query */
  SCALE,
  MINUS_INFINITY, /* -∞ */
  ONE,
  IDS
};

/* The key of a plan. Rows begin at 0: the start of the rows in a tensor is added to its address. */
typedef struct
{
  LoomAttentionSizes of;
  LoomAttentionRows rows[LOOM_ATTENTION_N_OPERANDS];
  cudnnDataType_t type;
  bool gradient, causal;
} Shape;

/* cuDNN's reply for a shape and, if requested, the plan: each is made once for all calls of one shape, and lives as
 * long as its device. The planner queries the same call repeatedly (for each layout and each pass), and a reply takes
 * cuDNN 3 ms. */
typedef struct Plan Plan;
struct Plan
{
  Plan *next;
  Shape shape;
  bool takes;
  size_t workspace;
  CudaDnnGraph graph; /* kept for the plan */
  cudnnBackendDescriptor_t plan;
};

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  const Plan *plan;
  LoomKernel *own; /* for operands that do not begin at multiples of 16 bytes */
  int n_in, n_out;
  int64_t start[LOOM_ATTENTION_N_OPERANDS]; /* of rows, in elements of two bytes */
  float scale;
  size_t sums; /* offset of Σ g·y in the scratch */
} Attention;

static float minus_infinity = -INFINITY, one = 1;

/* ---- graphs ------------------------------------------------------------------------------------ */

/* Shape and strides of a matrix [n,heads,rows,columns] in memory, and of its transpose. */
typedef struct
{
  int64_t dim[4], stride[4];
} Matrix;

static Matrix
matrix (int64_t n, int64_t heads, int64_t rows, int64_t columns)
{
  return (Matrix){ { n, heads, rows, columns }, { heads * rows * columns, rows * columns, columns, 1 } };
}

/* The matrix with the strides of an operand or a result. */
static Matrix
strided (const Shape *s, LoomAttentionOperand part, int64_t heads, int64_t rows, int64_t columns)
{
  const LoomAttentionRows *at = &s->rows[part];

  return (Matrix){ { s->of.n, heads, rows, columns }, { at->sample, at->head, at->row, 1 } };
}

static Matrix
transposed (Matrix m)
{
  return (Matrix){ { m.dim[0], m.dim[1], m.dim[3], m.dim[2] }, { m.stride[0], m.stride[1], m.stride[3], m.stride[2] } };
}

static CudaDnnTensor
operand (CudaDnnGraph *g, int64_t id, cudnnDataType_t type, Matrix m)
{
  return cuda_dnn_tensor (g, id, type, m.dim, m.stride);
}

static CudaDnnTensor
inner (CudaDnnGraph *g, cudnnDataType_t type, Matrix m)
{
  return cuda_dnn_inner (g, type, m.dim, m.stride);
}

/* mode (x, b) in f32. */
static CudaDnnTensor
apply (CudaDnnGraph *g, cudnnPointwiseMode_t mode, Matrix m, CudaDnnTensor x, CudaDnnTensor b)
{
  CudaDnnTensor y = inner (g, CUDNN_DATA_FLOAT, m);

  cuda_dnn_pointwise (g, mode, CUDNN_DATA_FLOAT, x, b, y);
  return y;
}

/* The logits, -∞ if the key comes after the query. */
static CudaDnnTensor
keep_causal (CudaDnnGraph *g, Matrix scores, CudaDnnTensor x)
{
  CudaDnnTensor row = inner (g, CUDNN_DATA_INT32, scores), column = inner (g, CUDNN_DATA_INT32, scores);
  CudaDnnTensor keep = inner (g, CUDNN_DATA_BOOLEAN, scores), y = inner (g, CUDNN_DATA_FLOAT, scores);

  cuda_dnn_index (g, 2, x, row);
  cuda_dnn_index (g, 3, x, column);
  cuda_dnn_pointwise (g, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, column, keep);
  cuda_dnn_select (g, x, cuda_dnn_scalar (g, MINUS_INFINITY), keep, y);
  return y;
}

static CudaDnnTensor
reduced (CudaDnnGraph *g, cudnnReduceTensorOp_t op, Matrix rows, CudaDnnTensor x)
{
  CudaDnnTensor y = inner (g, CUDNN_DATA_FLOAT, rows);

  cuda_dnn_reduce (g, op, x, y);
  return y;
}

static void
describe_forward (CudaDnnGraph *g, const Shape *s)
{
  const LoomAttentionSizes *of = &s->of;
  const Matrix scores = matrix (of->n, of->heads, of->queries, of->keys);
  const Matrix rows = matrix (of->n, of->heads, of->queries, 1);
  const Matrix q = strided (s, LOOM_ATTENTION_Q, of->heads, of->queries, of->width);
  const Matrix k = strided (s, LOOM_ATTENTION_K, of->groups, of->keys, of->width);
  const Matrix v = strided (s, LOOM_ATTENTION_V, of->groups, of->keys, of->depth);
  const Matrix y = strided (s, LOOM_ATTENTION_Y, of->heads, of->queries, of->depth);
  CudaDnnTensor x = inner (g, CUDNN_DATA_FLOAT, scores), top, sum, shares;

  cuda_dnn_matmul (g, operand (g, Q, s->type, q), operand (g, K, s->type, transposed (k)), x);
  x = apply (g, CUDNN_POINTWISE_MUL, scores, x, cuda_dnn_scalar (g, SCALE));
  if (s->causal)
    x = keep_causal (g, scores, x);
  top = reduced (g, CUDNN_REDUCE_TENSOR_MAX, rows, x);
  x = apply (g, CUDNN_POINTWISE_SUB, scores, x, top);
  x = apply (g, CUDNN_POINTWISE_EXP, scores, x, NULL);
  sum = reduced (g, CUDNN_REDUCE_TENSOR_ADD, rows, x);
  cuda_dnn_pointwise (g, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, top, apply (g, CUDNN_POINTWISE_LOG, rows, sum, NULL),
                      operand (g, LSE, CUDNN_DATA_FLOAT, rows));
  shares = inner (g, s->type, scores);
  cuda_dnn_pointwise (g, CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, x, sum, shares);
  cuda_dnn_matmul (g, shares, operand (g, V, s->type, v), operand (g, Y, s->type, y));
}

/* to [n,groups,keys,columns] = xᵀ·b, summed over the heads that share keys; x are scores [n,heads,queries,keys]. */
static void
to_keys (CudaDnnGraph *g, const Shape *s, Matrix scores, CudaDnnTensor x, CudaDnnTensor b, CudaDnnTensor to,
         int64_t columns)
{
  CudaDnnTensor sides = inner (g, s->type, transposed (scores)), all = to;

  cuda_dnn_reshape (g, x, sides);
  if (s->of.heads != s->of.groups)
    all = inner (g, s->type, matrix (s->of.n, s->of.heads, s->of.keys, columns));
  cuda_dnn_matmul (g, sides, b, all);
  if (s->of.heads != s->of.groups)
    cuda_dnn_reduce (g, CUDNN_REDUCE_TENSOR_ADD, all, to);
}

static void
describe_gradient (CudaDnnGraph *g, const Shape *s)
{
  const LoomAttentionSizes *of = &s->of;
  const Matrix scores = matrix (of->n, of->heads, of->queries, of->keys);
  const Matrix rows = matrix (of->n, of->heads, of->queries, 1);
  const Matrix plain_y = matrix (of->n, of->heads, of->queries, of->depth);
  const Matrix q = strided (s, LOOM_ATTENTION_Q, of->heads, of->queries, of->width);
  const Matrix k = strided (s, LOOM_ATTENTION_K, of->groups, of->keys, of->width);
  const Matrix v = strided (s, LOOM_ATTENTION_V, of->groups, of->keys, of->depth);
  const Matrix y = strided (s, LOOM_ATTENTION_Y, of->heads, of->queries, of->depth);
  const Matrix of_y = strided (s, LOOM_ATTENTION_G, of->heads, of->queries, of->depth);
  const Matrix dq = strided (s, LOOM_ATTENTION_DQ, of->heads, of->queries, of->width);
  const Matrix dk = strided (s, LOOM_ATTENTION_DK, of->groups, of->keys, of->width);
  const Matrix dv = strided (s, LOOM_ATTENTION_DV, of->groups, of->keys, of->depth);
  CudaDnnTensor of_q = operand (g, Q, s->type, q), of_k = operand (g, K, s->type, transposed (k));
  CudaDnnTensor of_g = operand (g, G, s->type, of_y), sums = operand (g, SUMS, CUDNN_DATA_FLOAT, rows);
  CudaDnnTensor scale = cuda_dnn_scalar (g, SCALE), shares, x, keys;

  x = apply (g, CUDNN_POINTWISE_MUL, plain_y, of_g, operand (g, Y, s->type, y));
  x = reduced (g, CUDNN_REDUCE_TENSOR_ADD, rows, x);
  cuda_dnn_pointwise (g, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, x, cuda_dnn_scalar (g, ONE), sums);

  x = inner (g, CUDNN_DATA_FLOAT, scores);
  cuda_dnn_matmul (g, of_q, of_k, x);
  x = apply (g, CUDNN_POINTWISE_MUL, scores, x, scale);
  x = apply (g, CUDNN_POINTWISE_SUB, scores, x, operand (g, LSE, CUDNN_DATA_FLOAT, rows));
  if (s->causal)
    x = keep_causal (g, scores, x);
  shares = apply (g, CUDNN_POINTWISE_EXP, scores, x, NULL);
  to_keys (g, s, scores, shares, of_g, operand (g, DV, s->type, dv), of->depth);

  x = inner (g, CUDNN_DATA_FLOAT, scores);
  cuda_dnn_matmul (g, of_g, operand (g, V, s->type, transposed (v)), x);
  x = apply (g, CUDNN_POINTWISE_SUB, scores, x, sums);
  x = apply (g, CUDNN_POINTWISE_MUL, scores, x, shares);
  x = apply (g, CUDNN_POINTWISE_MUL, scores, x, scale);
  to_keys (g, s, scores, x, of_q, operand (g, DK, s->type, dk), of->width);

  keys = inner (g, s->type, k); /* the same bytes */
  cuda_dnn_reshape (g, of_k, keys);
  cuda_dnn_matmul (g, x, keys, operand (g, DQ, s->type, dq));
}

/* ---- calls ------------------------------------------------------------------------------------- */

static bool
are (const LoomTensorDesc *desc, int n, LoomDType type)
{
  for (int i = 0; i < n; i++)
    if (desc[i].dtype != type)
      return false;
  return true;
}

/* The shape of a call, and the start of the rows of its operands and results; false if cuDNN certainly does not take
 * it. A gradient must have y among its operands. */
static bool
shape_of (const LoomKernelSpec *spec, Shape *s, int64_t start[LOOM_ATTENTION_N_OPERANDS])
{
  const LoomAttentionAttrs *a = spec->attrs;
  const bool gradient = loom_attention_is_gradient (spec);
  const int first = gradient ? 1 : 0;
  const LoomDType type = spec->in[first].dtype;
  const LoomAttentionSizes *of = &s->of;

  if (a->has_mask || spec->n_in != (gradient ? 8 : 3) || (type != LOOM_BF16 && type != LOOM_F16))
    return false;
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    if (loom_spec_operand (spec, i)->layout != LOOM_LAYOUT_PLAIN)
      return false;
  if (!are (spec->in, gradient ? 4 : 3, type) || !are (spec->out, gradient ? spec->n_out : 1, type)
      || (gradient
              ? loom_attention_has_delta (spec->in) || !are (spec->in + 4, 1, LOOM_F32) || !are (spec->in + 7, 1, type)
              : !are (spec->out + 1, 1, LOOM_F32)))
    return false;
  memset (s, 0, sizeof *s);
  s->of = loom_attention_strides (a, spec->in, first, s->rows);
  s->type = type == LOOM_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  s->gradient = gradient;
  s->causal = a->causal;
  for (int i = 0; i < LOOM_ATTENTION_N_OPERANDS; i++)
    {
      start[i] = s->rows[i].start;
      s->rows[i].start = 0;
      /* Each row begins at a multiple of 16 bytes, after the one before. */
      if (s->rows[i].sample < 0 || s->rows[i].head < 0 || s->rows[i].row < 0
          || ((start[i] | s->rows[i].sample | s->rows[i].head | s->rows[i].row) & 7) != 0)
        return false;
    }
  /* Before 9.15.1, the gradient with a number of keys that is no multiple of 128 may read past them in a replayed CUDA
   * graph (release notes of cuDNN's front end 1.16). */
  if (gradient && of->keys % 128 != 0 && cudnnGetVersion () < 91501)
    return false;
  return of->width <= FEATURES && of->depth <= FEATURES && of->n * of->heads * of->queries * of->width > 0
         && of->groups * of->keys * of->depth > 0;
}

/* Unused fields are all zeros. */
static bool
same_shape (const Shape *a, const Shape *b)
{
  return memcmp (&a->of, &b->of, sizeof a->of) == 0 && memcmp (a->rows, b->rows, sizeof a->rows) == 0
         && a->type == b->type && a->gradient == b->gradient && a->causal == b->causal;
}

/* The bytes of all operands and results, of which several may be in one tensor. */
static double
workspace_limit (const Shape *s)
{
  return loom_attention_row_bytes (&s->of, s->gradient, 2)
         + 4 * (double)s->of.n * (double)s->of.heads * (double)s->of.queries;
}

/* A workspace must begin at a multiple of 256 bytes, as memory of cudaMalloc() does; scratch begins at one of 64. The
 * sums of the gradient follow the workspace. */
static size_t
scratch_of (const Shape *s, size_t workspace, size_t *sums)
{
  const size_t room = workspace != 0 ? workspace + 192 : 0;

  *sums = (room + 63) & ~(size_t)63;
  return s->gradient ? *sums + (size_t)(s->of.n * s->of.heads * s->of.queries) * sizeof (float) : room;
}

static void *
workspace_in (const Plan *plan, void *scratch)
{
  return plan->workspace != 0 ? (void *)(((uintptr_t)scratch + 255) & ~(uintptr_t)255) : NULL;
}

/* Queries cuDNN for an engine and, with `plan`, builds its plan. */
static LoomStatus
choose (LoomDevice *device, const Shape *shape, CudaDnnGraph *graph, size_t *workspace, cudnnBackendDescriptor_t *plan,
        LoomMessage *message)
{
  *graph = (CudaDnnGraph){ .status = CUDNN_STATUS_SUCCESS };
  cuda_use (device);
  if (shape->gradient)
    describe_gradient (graph, shape);
  else
    describe_forward (graph, shape);
  return cuda_dnn_choose (device, graph, (size_t)workspace_limit (shape), workspace, plan, message);
}

static Plan *
plan_find (LoomDevice *device, const Shape *shape)
{
  Plan *plan;

  for (plan = device->attention; plan != NULL && !same_shape (&plan->shape, shape);)
    plan = plan->next;
  return plan;
}

/* The record of a shape, copied under the device's lock; a record with a plan does not change any more. */
typedef struct
{
  const Plan *of;
  bool takes;
  size_t workspace;
} Answer;

/* Keeps cuDNN's answer, unless another thread has done so meanwhile. */
static Answer
plan_keep (LoomDevice *device, Plan *made)
{
  Answer answer;
  Plan *known;

  pthread_mutex_lock (&device->lock);
  known = plan_find (device, &made->shape);
  if (known == NULL)
    {
      made->next = device->attention;
      device->attention = known = made;
    }
  else if (known->plan == NULL && made->plan != NULL)
    {
      known->takes = true;
      known->graph = made->graph;
      known->plan = made->plan;
      known->workspace = made->workspace;
      made->graph = (CudaDnnGraph){ .status = CUDNN_STATUS_SUCCESS };
    }
  answer = (Answer){ known, known->takes, known->workspace };
  pthread_mutex_unlock (&device->lock);
  if (known != made)
    {
      cuda_dnn_graph_clear (&made->graph);
      free (made);
    }
  return answer;
}

/* Finds out whether cuDNN takes a call, and with which workspace; `ready`: its plan as well. Only answers of the
 * library are kept, not failures of it or of the device, nor an engine whose plan failed, perhaps for lack of memory.
 */
static LoomStatus
plan_get (LoomDevice *device, const Shape *shape, bool ready, Answer *answer, LoomMessage *message)
{
  LoomStatus status;
  bool is_known;
  Plan *plan;

  pthread_mutex_lock (&device->lock);
  plan = plan_find (device, shape);
  is_known = plan != NULL && (!ready || plan->plan != NULL || !plan->takes);
  if (is_known)
    *answer = (Answer){ plan, plan->takes, plan->workspace };
  pthread_mutex_unlock (&device->lock);
  if (is_known)
    return LOOM_STATUS_OK;
  plan = calloc (1, sizeof *plan);
  if (plan == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  plan->shape = *shape;
  status = choose (device, shape, &plan->graph, &plan->workspace, ready ? &plan->plan : NULL, message);
  if (plan->plan == NULL)
    cuda_dnn_graph_clear (&plan->graph);
  if (status != LOOM_STATUS_OK && (ready || (status != LOOM_STATUS_UNSUPPORTED && status != LOOM_STATUS_INVALID)))
    {
      free (plan);
      return status == LOOM_STATUS_INVALID ? LOOM_STATUS_UNSUPPORTED : status;
    }
  plan->takes = status == LOOM_STATUS_OK;
  *answer = plan_keep (device, plan);
  return LOOM_STATUS_OK;
}

void
cuda_attention_close (LoomDevice *device)
{
  while (device->attention != NULL)
    {
      Plan *plan = device->attention;

      device->attention = plan->next;
      cuda_dnn_graph_clear (&plan->graph);
      free (plan);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static CudaConstructor
own_constructor (const LoomKernelSpec *spec)
{
  return loom_attention_is_gradient (spec) ? cuda_attention_grad_new : cuda_attention_new;
}

LoomStatus
cuda_attention_algorithms (LoomDevice *device, const LoomKernelSpec *spec, CudaAlgorithm *found, int max, int *n,
                           LoomMessage *message)
{
  LoomKernel *own = NULL;
  Answer answer;
  Shape shape;
  int64_t start[LOOM_ATTENTION_N_OPERANDS];

  *n = 0;
  if (max > 0 && shape_of (spec, &shape, start))
    {
      const LoomStatus status = plan_get (device, &shape, false, &answer, message);
      size_t sums;

      if (status != LOOM_STATUS_OK)
        return status;
      if (answer.takes)
        found[(*n)++] = (CudaAlgorithm){ "cudnn", scratch_of (&shape, answer.workspace, &sums) };
    }
  if (*n < max && own_constructor (spec) (device, spec, &own, message) == LOOM_STATUS_OK)
    {
      found[(*n)++] = (CudaAlgorithm){ "own", own->scratch_bytes };
      own->free (own);
    }
  return LOOM_STATUS_OK;
}

static void
attention_free (LoomKernel *base)
{
  Attention *self = (Attention *)base;

  if (self->own != NULL)
    self->own->free (self->own);
  free (self);
}

static void *
part_at (const Attention *self, LoomAttentionOperand part, void *tensor)
{
  return (char *)tensor + 2 * self->start[part];
}

/* cuDNN requires tensors that begin at multiples of 16 bytes. */
static bool
all_aligned (const Attention *self, void *const *b)
{
  for (int i = 0; i < self->n_in + self->n_out; i++)
    if ((uintptr_t)b[i] % 16 != 0)
      return false;
  return true;
}

static LoomStatus
forward_run (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  static const int64_t id[] = { Q, K, V, Y, LSE, SCALE, MINUS_INFINITY };
  Attention *self = (Attention *)base;
  void *const at[] = { part_at (self, LOOM_ATTENTION_Q, b[0]),
                       part_at (self, LOOM_ATTENTION_K, b[1]),
                       part_at (self, LOOM_ATTENTION_V, b[2]),
                       part_at (self, LOOM_ATTENTION_Y, b[3]),
                       b[4],
                       &self->scale,
                       &minus_infinity };
  const int n = self->plan->shape.causal ? 7 : 6;

  if (!all_aligned (self, b))
    return self->own->run (self->own, stream, b, message);
  return cuda_dnn_run (self->device, stream, self->plan->plan, n, id, at, workspace_in (self->plan, b[5]), base->name,
                       message);
}

static LoomStatus
gradient_run (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  static const int64_t id[] = { G, Q, K, V, LSE, Y, DQ, DK, DV, SUMS, SCALE, ONE, MINUS_INFINITY };
  Attention *self = (Attention *)base;
  void *const *out = b + self->n_in, *scratch = out[self->n_out];
  void *const at[] = { part_at (self, LOOM_ATTENTION_G, b[0]),
                       part_at (self, LOOM_ATTENTION_Q, b[1]),
                       part_at (self, LOOM_ATTENTION_K, b[2]),
                       part_at (self, LOOM_ATTENTION_V, b[3]),
                       b[4],
                       part_at (self, LOOM_ATTENTION_Y, b[7]),
                       part_at (self, LOOM_ATTENTION_DQ, out[0]),
                       part_at (self, LOOM_ATTENTION_DK, out[loom_attention_result (self->n_out, 1)]),
                       part_at (self, LOOM_ATTENTION_DV, out[loom_attention_result (self->n_out, 2)]),
                       (char *)scratch + self->sums,
                       &self->scale,
                       &one,
                       &minus_infinity };
  const int n = self->plan->shape.causal ? 13 : 12;

  if (!all_aligned (self, b))
    return self->own->run (self->own, stream, b, message);
  return cuda_dnn_run (self->device, stream, self->plan->plan, n, id, at, workspace_in (self->plan, scratch),
                       base->name, message);
}

LoomStatus
cuda_attention_dnn_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomAttentionAttrs *a = spec->attrs;
  Answer answer = { 0 };
  LoomKernel *own = NULL;
  LoomStatus status;
  Attention *self;
  Shape shape;
  int64_t start[LOOM_ATTENTION_N_OPERANDS];

  if (strcmp (spec->algorithm, "cudnn") != 0)
    return own_constructor (spec) (device, spec, kernel, message);
  if (!shape_of (spec, &shape, start))
    return LOOM_STATUS_UNSUPPORTED;
  status = own_constructor (spec) (device, spec, &own, message);
  if (status == LOOM_STATUS_OK)
    status = plan_get (device, &shape, true, &answer, message);
  if (status == LOOM_STATUS_OK && !answer.takes)
    status = LOOM_STATUS_UNSUPPORTED;
  self = status == LOOM_STATUS_OK ? calloc (1, sizeof *self) : NULL;
  if (self == NULL)
    {
      if (own != NULL)
        own->free (own);
      return status != LOOM_STATUS_OK ? status
                                      : cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
    }
  *self = (Attention){ .base = { .run = shape.gradient ? gradient_run : forward_run,
                                 .free = attention_free,
                                 .name = shape.gradient ? "cudnn attention_grad" : "cudnn attention" },
                       .device = device,
                       .plan = answer.of,
                       .own = own,
                       .n_in = spec->n_in,
                       .n_out = spec->n_out,
                       .scale = (float)a->scale };
  memcpy (self->start, start, sizeof start);
  self->base.scratch_bytes = scratch_of (&shape, answer.workspace, &self->sums);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
