/* Exports the primitives that compute numbers. */
#include "engine/onnx/onnx-export-prim.h"

#define IN(i)         onnx_prim_in (q, i)
#define CALL(op, ...) onnx_call (q->all, op, ONNX_VARS (__VA_ARGS__))

/* ---- element by element ---------------------------------------------------- */

static LoomDType
operand_type (OnnxPrim *q, guint from)
{
  gboolean is_bool = TRUE;
  LoomDType type = LOOM_I64;

  for (guint i = from; i < q->instr[0]->n_in; i++)
    {
      LoomDType own = onnx_prim_compute_type (onnx_prim_in_desc (q, i)->dtype);
      is_bool = is_bool && onnx_prim_in_desc (q, i)->dtype == LOOM_BOOL;
      type = own < type ? own : type;
    }
  switch (q->instr[0]->prim->scalar)
    {
    case LOOM_SCALAR_NOT:
    case LOOM_SCALAR_AND:
    case LOOM_SCALAR_OR:
    case LOOM_SCALAR_XOR:
    case LOOM_SCALAR_EQ:
    case LOOM_SCALAR_NE:
      return is_bool ? LOOM_BOOL : type;
    default:
      return type;
    }
}

static gboolean
write_elementwise (OnnxPrim *q)
{
  LoomScalarOp op = q->instr[0]->prim->scalar;
  LoomDType result, wanted = onnx_prim_out_desc (q, 0)->dtype, type = operand_type (q, op == LOOM_SCALAR_SELECT);
  OnnxVar *in[3] = { NULL }, *y;

  if (op == LOOM_SCALAR_ID)
    result = onnx_prim_in_desc (q, 0)->dtype;
  for (guint i = 0; i < q->instr[0]->n_in; i++)
    in[i] = onnx_to_type (q->all, IN (i), onnx_prim_in_desc (q, i)->dtype,
                          op == LOOM_SCALAR_SELECT && i == 0 ? LOOM_BOOL : type);
  if (op == LOOM_SCALAR_SELECT)
    {
      y = onnx_call (q->all, "Where", 3, in);
      result = type;
    }
  else
    y = onnx_formula (q->all, op, type, in, &result);
  if (y != NULL)
    onnx_prim_out (q, 0, onnx_to_type (q->all, y, result, wanted));
  return y != NULL;
}

ONNX_PRIM (elementwise, write_elementwise)

/* ---- along axes ------------------------------------------------------------- */

static gboolean
write_reduce (OnnxPrim *q)
{
  static const char *const ops[] = { "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd" };
  const LoomReduceAttrs *a = q->instr[0]->attrs;
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype, type = onnx_prim_compute_type (dtype);
  gint64 axes[LOOM_MAX_RANK];
  guint n = 0;
  OnnxOutNode *node;

  for (int i = 0; i < onnx_prim_in_desc (q, 0)->rank; i++)
    if (a->axes >> i & 1)
      axes[n++] = i;
  if (n == 0)
    {
      onnx_prim_out (q, 0, IN (0));
      return TRUE;
    }
  OnnxVar *x = onnx_to_type (q->all, IN (0), dtype, type);
  /* Axes are an input of ReduceSum since opset 13, of the others since 18. */
  if (a->op == LOOM_REDUCE_SUM)
    node = onnx_add_node (q->all, ops[a->op], ONNX_VARS (x, onnx_ints_var (q->all, n, axes)));
  else
    {
      node = onnx_add_node (q->all, ops[a->op], ONNX_VARS (x));
      onnx_node_set_ints (q->all, node, "axes", n, axes);
    }
  onnx_node_set_int (q->all, node, "keepdims", 1);
  onnx_prim_out (q, 0, onnx_to_type (q->all, onnx_node_result (q->all, node, 0), type, dtype));
  return TRUE;
}

ONNX_PRIM (reduce, write_reduce)

static gboolean
write_argreduce (OnnxPrim *q)
{
  const LoomArgReduceAttrs *a = q->instr[0]->attrs;
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype;
  LoomDType type = onnx_prim_compute_type (dtype) == LOOM_I64 ? LOOM_F64 : onnx_prim_compute_type (dtype);
  OnnxOutNode *node = onnx_add_node (q->all, a->largest ? "ArgMax" : "ArgMin",
                                     ONNX_VARS (onnx_to_type (q->all, IN (0), dtype, type)));

  onnx_node_set_int (q->all, node, "axis", a->axis);
  onnx_node_set_int (q->all, node, "keepdims", 1);
  onnx_prim_out (q, 0, onnx_node_result (q->all, node, 0));
  return TRUE;
}

ONNX_PRIM (argreduce, write_argreduce)

static gboolean
write_softmax (OnnxPrim *q)
{
  const LoomSoftmaxAttrs *a = q->instr[0]->attrs;
  OnnxOutNode *node = onnx_add_node (q->all, a->log ? "LogSoftmax" : "Softmax", ONNX_VARS (IN (0)));

  onnx_node_set_int (q->all, node, "axis", a->axis);
  onnx_prim_out (q, 0, onnx_node_result (q->all, node, 0));
  return TRUE;
}

ONNX_PRIM (softmax, write_softmax)

static gboolean
write_cumsum (OnnxPrim *q)
{
  const LoomCumsumAttrs *a = q->instr[0]->attrs;
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype, type = onnx_prim_compute_type (dtype);
  OnnxOutNode *node = onnx_add_node (
      q->all, "CumSum",
      ONNX_VARS (onnx_to_type (q->all, IN (0), dtype, type), onnx_number_var (q->all, LOOM_I64, a->axis)));

  onnx_node_set_int (q->all, node, "exclusive", a->exclusive);
  onnx_node_set_int (q->all, node, "reverse", a->reverse);
  onnx_prim_out (q, 0, onnx_to_type (q->all, onnx_node_result (q->all, node, 0), type, dtype));
  return TRUE;
}

ONNX_PRIM (cumsum, write_cumsum)

/* TopK of all elements; it also keeps the order of equal ones. */
static gboolean
write_sort (OnnxPrim *q)
{
  const LoomSortAttrs *a = q->instr[0]->attrs;
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype, type = onnx_prim_compute_type (dtype);
  OnnxSize n = onnx_prim_dim (q, q->instr[0]->in[0], a->axis);
  OnnxVar *count = onnx_prim_sizes_var (q, 1, &n);

  if (count == NULL)
    return FALSE;
  OnnxOutNode *node = onnx_add_node (q->all, "TopK", ONNX_VARS (onnx_to_type (q->all, IN (0), dtype, type), count));
  onnx_node_set_int (q->all, node, "axis", a->axis);
  onnx_node_set_int (q->all, node, "largest", a->descending);
  onnx_node_set_int (q->all, node, "sorted", 1);
  onnx_prim_out (q, 0, onnx_to_type (q->all, onnx_node_result (q->all, node, 0), type, dtype));
  onnx_prim_out (q, 1, onnx_node_result (q->all, node, 1));
  return TRUE;
}

ONNX_PRIM (sort, write_sort)

/* ---- products ---------------------------------------------------------------- */

static OnnxVar *
flipped (OnnxPrim *q, OnnxVar *x, int rank, gboolean flip)
{
  gint64 order[LOOM_MAX_RANK];

  for (int i = 0; i < rank; i++)
    order[i] = i;
  if (flip)
    {
      order[rank - 2] = rank - 1;
      order[rank - 1] = rank - 2;
    }
  return onnx_transpose (q->all, x, (guint)rank, order);
}

static OnnxVar *
with_act (OnnxPrim *q, LoomScalarOp act, OnnxVar *y)
{
  LoomDType result;

  return act == LOOM_SCALAR_ID ? y : onnx_formula (q->all, act, LOOM_F32, &y, &result);
}

static gboolean
write_matmul (OnnxPrim *q)
{
  const LoomMatmulAttrs *a = q->instr[0]->attrs;
  const LoomTensorDesc *da = onnx_prim_in_desc (q, 0), *db = onnx_prim_in_desc (q, 1);
  LoomDType dtype = onnx_prim_out_desc (q, 0)->dtype, type = onnx_prim_compute_type (dtype);
  OnnxVar *x = onnx_to_type (q->all, IN (0), da->dtype, type), *w = onnx_to_type (q->all, IN (1), db->dtype, type);
  OnnxVar *bias = a->has_bias ? onnx_to_type (q->all, IN (2), dtype, type) : NULL, *y;

  if (da->rank == 2 && db->rank == 2 && type != LOOM_I64 && (a->trans_a || a->trans_b || bias != NULL))
    {
      OnnxOutNode *node = onnx_add_node (q->all, "Gemm", ONNX_VARS (x, w, bias));
      onnx_node_set_int (q->all, node, "transA", a->trans_a);
      onnx_node_set_int (q->all, node, "transB", a->trans_b);
      y = onnx_node_result (q->all, node, 0);
    }
  else
    {
      y = CALL ("MatMul", flipped (q, x, da->rank, a->trans_a), flipped (q, w, db->rank, a->trans_b));
      y = bias != NULL ? CALL ("Add", y, bias) : y;
    }
  onnx_prim_out (q, 0, onnx_to_type (q->all, with_act (q, a->act, y), type, dtype));
  return TRUE;
}

ONNX_PRIM (matmul, write_matmul)

static void
set_windows (OnnxPrim *q, OnnxOutNode *node, const LoomConv2dAttrs *a)
{
  onnx_node_set_ints (q->all, node, "strides", 2, (const gint64 *)a->stride);
  onnx_node_set_ints (q->all, node, "dilations", 2, (const gint64 *)a->dilation);
  onnx_node_set_ints (q->all, node, "pads", 4, (gint64[]){ a->pad[0], a->pad[2], a->pad[1], a->pad[3] });
  onnx_node_set_int (q->all, node, "group", a->groups);
}

static gboolean
write_conv2d (OnnxPrim *q)
{
  const LoomConv2dTo *a = q->instr[0]->attrs;
  OnnxOutNode *node = onnx_add_node (q->all, "Conv", ONNX_VARS (IN (0), IN (1), a->kernel.has_bias ? IN (2) : NULL));

  set_windows (q, node, &a->kernel);
  onnx_prim_out (q, 0, with_act (q, a->kernel.act, onnx_node_result (q->all, node, 0)));
  return TRUE;
}

ONNX_PRIM (conv2d, write_conv2d)

/* ---- pooling ------------------------------------------------------------------ */

/* TRUE if the output is longer than complete windows make it, which is ceil mode; −1 if the bindings disagree. */
static int
is_ceil (OnnxPrim *q)
{
  int ceil = 0;

  for (guint k = 0; k < q->n; k++)
    {
      const LoomPool2dTo *a = q->instr[k]->attrs;
      const LoomTensorDesc *x = &loom_value_info (q->p[k], q->instr[k]->in[0])->desc;
      for (int i = 0; i < 2; i++)
        {
          gint64 span = a->kernel.dilation[i] * (a->kernel.kernel[i] - 1) + 1;
          gint64 room = x->dim[i + 2] + 2 * a->kernel.pad[i] - span;
          gint64 down = room / a->kernel.stride[i] + 1;
          gint64 up = (room + a->kernel.stride[i] - 1) / a->kernel.stride[i] + 1;
          if (a->size[i] != down && a->size[i] != up)
            return -1;
          ceil = ceil || a->size[i] != down;
        }
    }
  return ceil;
}

static OnnxOutNode *
pool_node (OnnxPrim *q, const char *op, const LoomPool2dAttrs *a)
{
  OnnxOutNode *node = onnx_add_node (q->all, op, ONNX_VARS (IN (0)));

  onnx_node_set_ints (q->all, node, "kernel_shape", 2, (const gint64 *)a->kernel);
  onnx_node_set_ints (q->all, node, "strides", 2, (const gint64 *)a->stride);
  onnx_node_set_ints (q->all, node, "pads", 4, (gint64[]){ a->pad[0], a->pad[1], a->pad[0], a->pad[1] });
  return node;
}

static gboolean
write_max_pool (OnnxPrim *q)
{
  const LoomPool2dTo *a = q->instr[0]->attrs;
  int ceil = is_ceil (q);

  if (ceil < 0 || onnx_prim_is_wanted (q, 1))
    return FALSE;
  OnnxOutNode *node = pool_node (q, "MaxPool", &a->kernel);
  onnx_node_set_ints (q->all, node, "dilations", 2, (const gint64 *)a->kernel.dilation);
  onnx_node_set_int (q->all, node, "ceil_mode", ceil);
  onnx_prim_out (q, 0, onnx_node_result (q->all, node, 0));
  return TRUE;
}

ONNX_PRIM (max_pool2d, write_max_pool)

/* With a divisor of its own, the result is the mean including padding, times the window's size, divided by the
 * divisor. */
static gboolean
write_avg_pool (OnnxPrim *q)
{
  const LoomPool2dTo *a = q->instr[0]->attrs;
  double window = (double)(a->kernel.kernel[0] * a->kernel.kernel[1]);
  int ceil = is_ceil (q);

  if (ceil < 0 || (ceil && a->kernel.divisor != 0) || a->kernel.dilation[0] != 1 || a->kernel.dilation[1] != 1)
    return FALSE;
  OnnxOutNode *node = pool_node (q, "AveragePool", &a->kernel);
  onnx_node_set_int (q->all, node, "ceil_mode", ceil);
  onnx_node_set_int (q->all, node, "count_include_pad", a->kernel.count_include_pad || a->kernel.divisor != 0);
  OnnxVar *y = onnx_node_result (q->all, node, 0);
  if (a->kernel.divisor != 0)
    y = CALL ("Mul", y, onnx_number_var (q->all, onnx_prim_out_desc (q, 0)->dtype, window / (double)a->kernel.divisor));
  onnx_prim_out (q, 0, y);
  return TRUE;
}

ONNX_PRIM (avg_pool2d, write_avg_pool)

/* ---- norms ---------------------------------------------------------------------- */

static OnnxVar *
mean_over (OnnxPrim *q, OnnxVar *x, guint n, const gint64 *axes)
{
  OnnxOutNode *node = onnx_add_node (q->all, "ReduceMean", ONNX_VARS (x));

  onnx_node_set_ints (q->all, node, "axes", n, axes);
  onnx_node_set_int (q->all, node, "keepdims", 1);
  return onnx_node_result (q->all, node, 0);
}

/* (x - mean) / sqrt (var + eps) over some axes. */
static OnnxVar *
normalised (OnnxPrim *q, OnnxVar *x, guint n, const gint64 *axes, double eps, OnnxVar **mean, OnnxVar **var,
            OnnxVar **rstd)
{
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype;

  *mean = mean_over (q, x, n, axes);
  OnnxVar *centred = CALL ("Sub", x, *mean);
  *var = mean_over (q, CALL ("Mul", centred, centred), n, axes);
  *rstd = CALL ("Reciprocal", CALL ("Sqrt", CALL ("Add", *var, onnx_number_var (q->all, dtype, eps))));
  return CALL ("Mul", centred, *rstd);
}

/* [C] against [N,C,d…]. */
static OnnxVar *
by_channel (OnnxPrim *q, OnnxVar *v, int rank)
{
  gint64 axes[LOOM_MAX_RANK];

  for (int i = 0; i < rank - 2; i++)
    axes[i] = i + 1;
  return rank > 2 ? onnx_with_axes (q->all, "Unsqueeze", v, (guint)rank - 2, axes) : v;
}

static gboolean
write_batch_norm (OnnxPrim *q)
{
  const LoomNormAttrs *a = q->instr[0]->attrs;
  int rank = onnx_prim_in_desc (q, 0)->rank;
  gint64 axes[LOOM_MAX_RANK];
  guint n = 0;
  OnnxVar *mean, *var, *rstd, *y;

  for (int i = 0; i < rank; i++)
    if (i != 1)
      axes[n++] = i;
  y = normalised (q, IN (0), n, axes, a->eps, &mean, &var, &rstd);
  if (a->affine)
    y = CALL ("Add", CALL ("Mul", y, by_channel (q, IN (1), rank)), by_channel (q, IN (2), rank));
  onnx_prim_out (q, 0, with_act (q, a->act, y));
  onnx_prim_out (q, 1, onnx_with_axes (q->all, "Squeeze", mean, n, axes));
  onnx_prim_out (q, 2, onnx_with_axes (q->all, "Squeeze", var, n, axes));
  return TRUE;
}

ONNX_PRIM (batch_norm, write_batch_norm)

/* LayerNormalization requires a weight of the normalised shape; without a weight it is ones. */
static gboolean
write_layer_norm (OnnxPrim *q)
{
  const LoomNormAttrs *a = q->instr[0]->attrs;
  const LoomTensorDesc *d = onnx_prim_in_desc (q, 0);
  gint64 axes[LOOM_MAX_RANK];
  gboolean known = TRUE, whole = !onnx_prim_is_wanted (q, 1) && !onnx_prim_is_wanted (q, 2);
  OnnxVar *mean, *var, *rstd, *y;

  for (int i = 0; i < a->axes; i++)
    {
      OnnxSize size = onnx_prim_dim (q, q->instr[0]->in[0], d->rank - a->axes + i);
      axes[i] = d->rank - a->axes + i;
      known = known && onnx_size_is (&size, d->dim[axes[i]]);
    }
  if (whole && (a->affine || known))
    {
      OnnxVar *weight = a->affine ? IN (1) : NULL;
      if (weight == NULL)
        {
          g_autoptr (LoomTensor) ones = loom_tensor_new (d->dtype, a->axes, (const gint64 *)d->dim + axes[0], NULL);
          g_autofree char *name = g_strdup_printf ("%s/ones", q->all->path);
          for (gint64 i = 0; ones && i < ones->count; i++)
            loom_tensor_set (ones, i, 1);
          if (ones == NULL)
            return FALSE;
          weight = onnx_tensor_var (q->all, ones, name);
        }
      OnnxOutNode *node
          = onnx_add_node (q->all, "LayerNormalization", ONNX_VARS (IN (0), weight, a->affine ? IN (2) : NULL));
      onnx_node_set_int (q->all, node, "axis", -a->axes);
      onnx_node_set_float (q->all, node, "epsilon", a->eps);
      onnx_prim_out (q, 0, onnx_node_result (q->all, node, 0));
      return TRUE;
    }
  y = normalised (q, IN (0), (guint)a->axes, axes, a->eps, &mean, &var, &rstd);
  if (a->affine)
    y = CALL ("Add", CALL ("Mul", y, IN (1)), IN (2));
  onnx_prim_out (q, 0, y);
  onnx_prim_out (q, 1, onnx_with_axes (q->all, "Squeeze", mean, (guint)a->axes, axes));
  onnx_prim_out (q, 2, onnx_with_axes (q->all, "Squeeze", rstd, (guint)a->axes, axes));
  return TRUE;
}

ONNX_PRIM (layer_norm, write_layer_norm)

/* ---- by index --------------------------------------------------------------------- */

static OnnxVar *
index_in (OnnxPrim *q, guint i)
{
  return onnx_to_type (q->all, IN (i), onnx_prim_in_desc (q, i)->dtype, LOOM_I64);
}

static gboolean
write_gather_rows (OnnxPrim *q)
{
  OnnxOutNode *node;

  if (IN (1)->counts)
    {
      onnx_prim_out (q, 0, IN (0));
      return TRUE;
    }
  node = onnx_add_node (q->all, "Gather", ONNX_VARS (IN (0), index_in (q, 1)));
  onnx_node_set_int (q->all, node, "axis", 0);
  onnx_prim_out (q, 0, onnx_node_result (q->all, node, 0));
  return TRUE;
}

ONNX_PRIM (gather_rows, write_gather_rows)

static gboolean
write_gather (OnnxPrim *q)
{
  const LoomGatherAttrs *a = q->instr[0]->attrs;
  OnnxOutNode *node = onnx_add_node (q->all, "GatherElements", ONNX_VARS (IN (0), index_in (q, 1)));

  onnx_node_set_int (q->all, node, "axis", a->axis);
  onnx_prim_out (q, 0, onnx_node_result (q->all, node, 0));
  return TRUE;
}

ONNX_PRIM (gather, write_gather)

static gboolean
write_scatter (OnnxPrim *q)
{
  static const char *const modes[] = { "none", "add", "mul" };
  const LoomScatterAttrs *a = q->instr[0]->attrs;
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype;
  LoomDType type = a->mode == LOOM_SCATTER_REPLACE ? dtype : onnx_prim_compute_type (dtype);

  if (a->mode >= G_N_ELEMENTS (modes))
    {
      onnx_refuse (q->w, "scattering with the reduction %s needs operator set 18 of ONNX, but the model has 17.",
                   a->mode == LOOM_SCATTER_MAX ? "largest" : "smallest");
      return FALSE;
    }
  OnnxOutNode *node = onnx_add_node (q->all, "ScatterElements",
                                     ONNX_VARS (onnx_to_type (q->all, IN (0), dtype, type), index_in (q, 1),
                                                onnx_to_type (q->all, IN (2), dtype, type)));
  onnx_node_set_int (q->all, node, "axis", a->axis);
  onnx_node_set_string (q->all, node, "reduction", modes[a->mode]);
  onnx_prim_out (q, 0, onnx_to_type (q->all, onnx_node_result (q->all, node, 0), type, dtype));
  return TRUE;
}

ONNX_PRIM (scatter, write_scatter)

/* ---- losses ------------------------------------------------------------------------- ---- */

/* The logit or the log-probability of the target's class. */
static OnnxVar *
pick_class (OnnxPrim *q, OnnxVar *x, OnnxVar *target)
{
  gint64 one = 1;
  OnnxOutNode *pick
      = onnx_add_node (q->all, "GatherElements", ONNX_VARS (x, onnx_with_axes (q->all, "Unsqueeze", target, 1, &one)));

  onnx_node_set_int (q->all, pick, "axis", 1);
  return onnx_with_axes (q->all, "Squeeze", onnx_node_result (q->all, pick, 0), 1, &one);
}

/* Minus the log-probability of the class; 0 if the target is ignored. */
static gboolean
write_cross_entropy (OnnxPrim *q)
{
  const LoomCrossEntropyAttrs *a = q->instr[0]->attrs;
  OnnxVar *target = IN (1);
  OnnxVar *ignored = CALL ("Equal", target, onnx_number_var (q->all, LOOM_I64, (double)a->ignore_index));
  OnnxVar *safe = CALL ("Where", ignored, onnx_number_var (q->all, LOOM_I64, 0), target);
  OnnxOutNode *log_softmax = onnx_add_node (q->all, "LogSoftmax", ONNX_VARS (IN (0)));

  onnx_node_set_int (q->all, log_softmax, "axis", 1);
  OnnxVar *chosen = pick_class (q, onnx_node_result (q->all, log_softmax, 0), safe);
  onnx_prim_out (
      q, 0,
      CALL ("Where", ignored, onnx_number_var (q->all, onnx_prim_out_desc (q, 0)->dtype, 0), CALL ("Neg", chosen)));
  if (onnx_prim_is_wanted (q, 1)) /* log Σ exp */
    onnx_prim_out (q, 1, CALL ("Sub", pick_class (q, IN (0), safe), chosen));
  return TRUE;
}

ONNX_PRIM (cross_entropy, write_cross_entropy)
