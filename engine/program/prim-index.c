/* Primitives that work along one axis by index: gather, scatter, sort and cumsum. The gradient of each is another of
 * them. */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

static gboolean
check_axis (int axis, const LoomTensorDesc *x, char **why)
{
  return (axis >= 0 && axis < x->rank) || loom_prim_refuse (why, "has no axis %d in rank %d", axis, x->rank);
}

/* Checks an index into x: integers of x's rank, no longer than x on any axis but one. */
static gboolean
check_index (const LoomTensorDesc *x, const LoomTensorDesc *index, int axis, char **why)
{
  gboolean fits = (index->dtype == LOOM_I64 || index->dtype == LOOM_I32) && index->rank == x->rank;
  g_autofree char *a = NULL, *b = NULL;

  if (!check_axis (axis, x, why))
    return FALSE;
  for (int i = 0; fits && i < x->rank; i++)
    fits = i == axis || index->dim[i] <= x->dim[i];
  if (fits)
    return TRUE;
  a = loom_desc_to_string (index);
  b = loom_desc_to_string (x);
  return loom_prim_refuse (why, "%s does not index %s along axis %d", a, b, axis);
}

static double
flops_none (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 0;
}

/* ---- gather: x, index → y of index's shape ----------------------------- */

static gboolean
infer_gather (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomGatherAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 2, why) || !check_index (&in[0], &in[1], a->axis, why))
    return FALSE;
  out[0] = in[1];
  out[0].dtype = in[0].dtype;
  *n_out = 1;
  return TRUE;
}

static LoomValue
zeros_like (LoomProgram *p, LoomValue v)
{
  LoomTensorDesc d = *value_desc (p, v);

  return loom_fill (p, d.dtype, d.rank, d.dim, 0);
}

static gboolean
gradient_gather (const LoomGradCall *call)
{
  const LoomGatherAttrs *a = call->instr->attrs;

  call->in_grad[0] = loom_scatter (call->p, zeros_like (call->p, call->instr->in[0]), call->instr->in[1], call->grad[0],
                                   a->axis, LOOM_SCATTER_ADD);
  return TRUE;
}

static const LoomAttr gather_attrs[] = { LOOM_ATTR ("axis", INT, LoomGatherAttrs, axis), LOOM_ATTR_LAST };

const LoomPrim loom_prim_gather = { LOOM_PRIM_ROW ("gather", CORE, 1),
                                    .separates_positions = loom_positions_gather,
                                    .doc = "Elements along an axis by their index.",
                                    LOOM_PRIM_ATTRS (LoomGatherAttrs, gather_attrs),
                                    .infer = infer_gather,
                                    .gradient = gradient_gather,
                                    .sharding = loom_shard_gather,
                                    .flops = flops_none };

LoomValue
loom_gather (LoomProgram *p, LoomValue x, LoomValue index, int axis)
{
  LoomGatherAttrs attrs = { axis };
  LoomValue in[2] = { x, index };

  return loom_emit (p, loom_prim ("gather"), &attrs, 2, in, NULL);
}

/* ---- scatter: base, index, src → y of base's shape ---------------------- */

static gboolean
infer_scatter (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomScatterAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 3, why) || !check_index (&in[0], &in[1], a->axis, why))
    return FALSE;
  if (in[2].dtype != in[0].dtype || !loom_desc_same_shape (&in[1], &in[2]))
    return loom_prim_refuse (why, "needs a source for every index, in the type of the base");
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

/* 1 for each element of src that was written last to its position, else 0. Each element writes its number, and an
 * element that reads its own number was last. */
static LoomValue
was_last_written (LoomProgram *p, LoomValue base, LoomValue index, int axis, LoomDType dtype)
{
  LoomTensorDesc d = *value_desc (p, index), whole = *value_desc (p, base);
  LoomIotaTo count = { .kernel = { .axis = axis, .step = 1 }, .dtype = LOOM_I64, .to.rank = d.rank };
  LoomValue number, seen;

  for (int i = 0; i < d.rank; i++)
    count.to.dim[i] = d.dim[i];
  number = loom_emit (p, loom_prim ("iota"), &count, 0, NULL, NULL);
  seen = loom_scatter (p, loom_fill (p, LOOM_I64, whole.rank, whole.dim, 0), index, number, axis, LOOM_SCATTER_REPLACE);
  return loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, loom_gather (p, seen, index, axis), number), dtype);
}

static void
gradient_replace (const LoomGradCall *call, int axis)
{
  LoomProgram *p = call->p;
  LoomValue base = call->instr->in[0], index = call->instr->in[1], src = call->instr->in[2], g = call->grad[0];

  if (call->needed[0])
    call->in_grad[0] = loom_scatter (p, g, index, zeros_like (p, src), axis, LOOM_SCATTER_REPLACE);
  if (call->needed[2])
    call->in_grad[2] = loom_binary (p, LOOM_SCALAR_MUL, loom_gather (p, g, index, axis),
                                    was_last_written (p, base, index, axis, value_desc (p, g)->dtype));
}

/* The gradient of an extreme is divided evenly among all elements equal to it, including those of base: PyTorch's rule
 * for amax and amin. */
static void
gradient_extreme (const LoomGradCall *call, int axis)
{
  LoomProgram *p = call->p;
  LoomValue base = call->instr->in[0], index = call->instr->in[1], src = call->instr->in[2], y = call->instr->out[0];
  LoomDType dtype = value_desc (p, y)->dtype;
  LoomValue of_base = loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, base, y), dtype);
  LoomValue of_src = loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, src, loom_gather (p, y, index, axis)), dtype);
  LoomValue divided = loom_binary (p, LOOM_SCALAR_DIV, call->grad[0],
                                   loom_scatter (p, of_base, index, of_src, axis, LOOM_SCATTER_ADD));

  call->in_grad[0] = loom_binary (p, LOOM_SCALAR_MUL, divided, of_base);
  call->in_grad[2] = loom_binary (p, LOOM_SCALAR_MUL, loom_gather (p, divided, index, axis), of_src);
}

static gboolean
gradient_scatter (const LoomGradCall *call)
{
  const LoomScatterAttrs *a = call->instr->attrs;

  if (a->mode == LOOM_SCATTER_MUL)
    return FALSE;
  if (a->mode == LOOM_SCATTER_REPLACE)
    gradient_replace (call, a->axis);
  else if (a->mode != LOOM_SCATTER_ADD)
    gradient_extreme (call, a->axis);
  else
    {
      call->in_grad[0] = call->grad[0];
      if (call->needed[2])
        call->in_grad[2] = loom_gather (call->p, call->grad[0], call->instr->in[1], a->axis);
    }
  return TRUE;
}

static double
flops_scatter (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return ((const LoomScatterAttrs *)attrs)->mode == LOOM_SCATTER_REPLACE ? 0 : (double)loom_desc_count (&in[2]);
}

static const char *const scatter_words[] = { "replace", "add", "mul", "max", "min" };
static const LoomAttr scatter_attrs[]
    = { LOOM_ATTR ("axis", INT, LoomScatterAttrs, axis),
        LOOM_ATTR ("", WORD, LoomScatterAttrs, mode, LOOM_ATTR_WORDS (scatter_words)), LOOM_ATTR_LAST };

const LoomPrim loom_prim_scatter = { LOOM_PRIM_ROW ("scatter", CORE, 1),
                                     .doc = "Puts elements into a base, or adds them there, along an axis by index.",
                                     LOOM_PRIM_ATTRS (LoomScatterAttrs, scatter_attrs),
                                     .infer = infer_scatter,
                                     .gradient = gradient_scatter,
                                     .sharding = loom_shard_scatter,
                                     .flops = flops_scatter };

LoomValue
loom_scatter (LoomProgram *p, LoomValue base, LoomValue index, LoomValue src, int axis, LoomScatterMode mode)
{
  LoomScatterAttrs attrs = { axis, mode };
  LoomValue in[3] = { base, index, src };

  return loom_emit (p, loom_prim ("scatter"), &attrs, 3, in, NULL);
}

/* ---- sort: x → values, indices ------------------------------------------- */

static gboolean
infer_sort (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomSortAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 1, why) || !check_axis (a->axis, &in[0], why))
    return FALSE;
  out[0] = out[1] = in[0];
  out[1].dtype = LOOM_I64;
  *n_out = 2;
  return TRUE;
}

static gboolean
gradient_sort (const LoomGradCall *call)
{
  const LoomSortAttrs *a = call->instr->attrs;

  if (call->grad[0] != 0)
    call->in_grad[0] = loom_scatter (call->p, zeros_like (call->p, call->instr->in[0]), call->instr->out[1],
                                     call->grad[0], a->axis, LOOM_SCATTER_ADD);
  return TRUE;
}

/* The comparisons of a merge sort. */
static double
flops_sort (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  gint64 n = in[0].dim[((const LoomSortAttrs *)attrs)->axis];

  return (double)loom_desc_count (&in[0]) * (double)g_bit_storage ((gulong)MAX (n, 1));
}

static const LoomAttr sort_attrs[] = { LOOM_ATTR ("axis", INT, LoomSortAttrs, axis),
                                       LOOM_ATTR ("descending", FLAG, LoomSortAttrs, descending), LOOM_ATTR_LAST };

const LoomPrim loom_prim_sort = { LOOM_PRIM_ROW ("sort", CORE, 2),
                                  .separates_positions = loom_positions_sort,
                                  .doc = "Sorted elements along an axis, and their previous positions.",
                                  LOOM_PRIM_ATTRS (LoomSortAttrs, sort_attrs),
                                  .infer = infer_sort,
                                  .gradient = gradient_sort,
                                  .flops = flops_sort };

LoomValue
loom_sort (LoomProgram *p, LoomValue x, int axis, gboolean descending, LoomValue *indices)
{
  LoomSortAttrs attrs = { axis, descending };
  LoomValue out[2];

  loom_emit (p, loom_prim ("sort"), &attrs, 1, &x, out);
  if (indices != NULL)
    *indices = out[1];
  return out[0];
}

/* ---- cumsum ------------------------------------------------------------ */

static gboolean
infer_cumsum (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomCumsumAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 1, why) || !check_axis (a->axis, &in[0], why))
    return FALSE;
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

/* An element contributes to the sums from its position on, so its gradient is the sum from the other end. */
static gboolean
gradient_cumsum (const LoomGradCall *call)
{
  const LoomCumsumAttrs *a = call->instr->attrs;

  call->in_grad[0] = loom_cumsum (call->p, call->grad[0], a->axis, a->exclusive, !a->reverse);
  return TRUE;
}

static const LoomAttr cumsum_attrs[]
    = { LOOM_ATTR ("axis", INT, LoomCumsumAttrs, axis), LOOM_ATTR ("exclusive", FLAG, LoomCumsumAttrs, exclusive),
        LOOM_ATTR ("reverse", FLAG, LoomCumsumAttrs, reverse), LOOM_ATTR_LAST };

const LoomPrim loom_prim_cumsum = { LOOM_PRIM_ROW ("cumsum", CORE, 1),
                                    .separates_positions = loom_positions_cumsum,
                                    .sharding = loom_shard_cumsum,
                                    .doc = "Running sums along an axis.",
                                    LOOM_PRIM_ATTRS (LoomCumsumAttrs, cumsum_attrs),
                                    .infer = infer_cumsum,
                                    .gradient = gradient_cumsum,
                                    .precision = LOOM_PRECISION_F32 };

LoomValue
loom_cumsum (LoomProgram *p, LoomValue x, int axis, gboolean exclusive, gboolean reverse)
{
  LoomCumsumAttrs attrs = { axis, exclusive, reverse };

  return loom_emit (p, loom_prim ("cumsum"), &attrs, 1, &x, NULL);
}
