/* Primitives that compute nothing. The gradients of reshape, permute, slice, pad and concat are among these five; that
 * of expand is a sum. No gradient flows through detach, copy converts to another element type (loom_cast()), and the
 * planner fuses successive slices, permutes and concatenations into move (plan-copies.c). */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"
#include "kernels/move.h"

static const LoomAttr dims_attrs[]
    = { { .name = "", .member = "", .kind = LOOM_ATTR_DIMS, .count = 1, .size = sizeof (LoomDims) }, LOOM_ATTR_LAST };

static LoomTensorDesc
desc_to (const LoomTensorDesc *like, const LoomDims *to)
{
  return loom_desc_make (like->dtype, to->rank, to->dim);
}

/* ---- reshape ---------------------------------------------------------- */

static gboolean
infer_reshape (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  out[0] = desc_to (&in[0], attrs);
  if (loom_desc_count (&out[0]) != loom_desc_count (&in[0]))
    {
      g_autofree char *a = loom_desc_to_string (&in[0]), *b = loom_desc_to_string (&out[0]);

      return loom_prim_refuse (why, "%s cannot become %s", a, b);
    }
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_reshape (const LoomGradCall *call)
{
  const LoomTensorDesc *x = value_desc (call->p, call->instr->in[0]);

  call->in_grad[0] = loom_reshape (call->p, call->grad[0], x->rank, x->dim);
  return TRUE;
}

/* Never the operand itself, because the caller needs a new value. */
static gboolean
over_iterations_reshape (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                         const gboolean *is_stack, const LoomValue *value, LoomValue *all)
{
  const LoomDims *to = attrs;
  LoomDims stacked = { .rank = to->rank + 1 };

  if (to->rank == LOOM_MAX_RANK)
    return FALSE;
  if (p == NULL)
    return TRUE;
  stacked.dim[0] = value_desc (p, value[0])->dim[0];
  for (int i = 0; i < to->rank; i++)
    stacked.dim[i + 1] = to->dim[i];
  *all = loom_emit (p, loom_prim ("reshape"), &stacked, 1, value, NULL);
  return TRUE;
}

const LoomPrim loom_prim_reshape = { LOOM_PRIM_ROW ("reshape", CORE, 1),
                                     .separates_positions = loom_positions_reshape,
                                     .sharding = loom_shard_reshape,
                                     .dims_at = 1,
                                     .doc = "The same elements in the same order, in another shape.",
                                     .flags = LOOM_PRIM_REARRANGES,
                                     LOOM_PRIM_ATTRS (LoomDims, dims_attrs),
                                     .infer = infer_reshape,
                                     .gradient = gradient_reshape,
                                     .view = LOOM_VIEW_ALWAYS,
                                     .over_iterations = over_iterations_reshape };

/* ---- detach ----------------------------------------------------------- */

static gboolean
infer_detach (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

const LoomPrim loom_prim_detach = { LOOM_PRIM_ROW ("detach", CORE, 1),
                                    .separates_positions = loom_positions_always,
                                    .sharding = loom_shard_convert,
                                    .doc = "The same value without a gradient.",
                                    .infer = infer_detach,
                                    .gradient_is_zero = TRUE,
                                    .view = LOOM_VIEW_ALWAYS };

/* ---- expand ----------------------------------------------------------- */

static gboolean
infer_expand (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  LoomTensorDesc both = { 0 };

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  out[0] = desc_to (&in[0], attrs);
  if (!loom_desc_broadcast (&in[0], &out[0], &both) || !loom_desc_same_shape (&both, &out[0]))
    {
      g_autofree char *a = loom_desc_to_string (&in[0]), *b = loom_desc_to_string (&out[0]);

      return loom_prim_refuse (why, "%s does not broadcast to %s", a, b);
    }
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_expand (const LoomGradCall *call)
{
  const LoomTensorDesc *x = value_desc (call->p, call->instr->in[0]);

  call->in_grad[0] = loom_sum_to (call->p, call->grad[0], x->rank, x->dim);
  return TRUE;
}

const LoomPrim loom_prim_expand = { LOOM_PRIM_ROW ("expand", CORE, 1),
                                    .separates_positions = loom_positions_always,
                                    .sharding = loom_shard_expand,
                                    .dims_at = 1,
                                    .doc = "Repeats along axes of size 1, as broadcasting does.",
                                    LOOM_PRIM_ATTRS (LoomDims, dims_attrs),
                                    .infer = infer_expand,
                                    .gradient = gradient_expand,
                                    .flags = LOOM_PRIM_REARRANGES,
                                    .view = LOOM_VIEW_IF_SAME_SIZE };

/* ---- permute ---------------------------------------------------------- */

static gboolean
infer_permute (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomPermuteAttrs *a = attrs;
  guint seen = 0;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  out[0] = in[0];
  for (int i = 0; i < in[0].rank; i++)
    {
      if (a->perm[i] < 0 || a->perm[i] >= in[0].rank || (seen >> a->perm[i] & 1))
        return loom_prim_refuse (why, "is not a permutation of %d axes", in[0].rank);
      seen |= 1u << a->perm[i];
      out[0].dim[i] = in[0].dim[a->perm[i]];
    }
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_permute (const LoomGradCall *call)
{
  const LoomPermuteAttrs *a = call->instr->attrs;
  int rank = value_desc (call->p, call->instr->in[0])->rank, inverse[LOOM_MAX_RANK];

  for (int i = 0; i < rank; i++)
    inverse[a->perm[i]] = i;
  call->in_grad[0] = loom_permute (call->p, call->grad[0], inverse);
  return TRUE;
}

/* The attributes have no rank, so trailing zeros are not printed. */
/* The number of axes is the operand's, which a listing of attributes does not have. */
static void
describe_permute (GString *to, const void *attrs)
{
  const LoomPermuteAttrs *a = attrs;
  gint64 perm[LOOM_MAX_RANK];
  guint n = LOOM_MAX_RANK, seen = 0, rank = 0;
  g_autofree char *text = NULL;

  for (guint i = 0; i < n; i++)
    {
      if (seen >> a->perm[i] & 1)
        break;
      seen |= 1u << a->perm[i];
      perm[rank++] = a->perm[i];
    }
  text = loom_ints_to_string (rank, perm);
  g_string_append (to, text);
}

static const LoomAttr permute_attrs[] = { LOOM_ATTR_ARRAY (NULL, INT, LoomPermuteAttrs, perm), LOOM_ATTR_LAST };

static gboolean
over_iterations_permute (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                         const gboolean *is_stack, const LoomValue *value, LoomValue *all)
{
  const LoomPermuteAttrs *a = attrs;
  int perm[LOOM_MAX_RANK] = { 0 };

  if (in[0].rank == LOOM_MAX_RANK)
    return FALSE;
  for (int i = 0; i < in[0].rank; i++)
    perm[i + 1] = a->perm[i] + 1;
  if (p != NULL)
    *all = loom_permute (p, value[0], perm);
  return TRUE;
}

const LoomPrim loom_prim_permute = { LOOM_PRIM_ROW ("permute", CORE, 1),
                                     .separates_positions = loom_positions_always,
                                     .sharding = loom_shard_permute,
                                     .doc = "Axes in another order.",
                                     LOOM_PRIM_ATTRS (LoomPermuteAttrs, permute_attrs),
                                     .infer = infer_permute,
                                     .gradient = gradient_permute,
                                     .describe = describe_permute,
                                     .flags = LOOM_PRIM_REARRANGES | LOOM_PRIM_ONE_PASS,
                                     .over_iterations = over_iterations_permute };

/* ---- slice and pad: each the other's gradient --------------------------- */

/* TRUE if n elements from start on, with this step, which may be negative, are inside size. */
static gboolean
fits (gint64 n, gint64 start, gint64 step, gint64 size)
{
  gint64 last = start + (n - 1) * step;

  return n >= 0 && step != 0 && (n == 0 || (MIN (start, last) >= 0 && MAX (start, last) < size));
}

static gboolean
infer_slice (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomSliceTo *a = attrs;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (a->to.rank != in[0].rank)
    return loom_prim_refuse (why, "rank %d of an operand of rank %d", a->to.rank, in[0].rank);
  for (int i = 0; i < in[0].rank; i++)
    {
      if (!fits (a->to.dim[i], a->kernel.start[i], a->kernel.step[i], in[0].dim[i]))
        return loom_prim_refuse (why, "reaches outside axis %d", i);
    }
  out[0] = desc_to (&in[0], &a->to);
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_slice (const LoomGradCall *call)
{
  const LoomSliceTo *a = call->instr->attrs;
  const LoomTensorDesc *x = value_desc (call->p, call->instr->in[0]);

  call->in_grad[0] = loom_pad (call->p, call->grad[0], a->kernel.start, a->kernel.step, x->dim, 0);
  return TRUE;
}

static const LoomAttr slice_attrs[]
    = { LOOM_ATTR_ARRAY ("start", INT, LoomSliceTo, kernel.start, LOOM_ATTR_USED (LoomSliceTo, to.rank)),
        LOOM_ATTR_ARRAY ("step", INT, LoomSliceTo, kernel.step, LOOM_ATTR_USED (LoomSliceTo, to.rank)),
        LOOM_ATTR (NULL, DIMS, LoomSliceTo, to), LOOM_ATTR_LAST };

const LoomPrim loom_prim_slice = { LOOM_PRIM_ROW ("slice", CORE, 1),
                                   .separates_positions = loom_positions_slice,
                                   .sharding = loom_shard_slice,
                                   .dims_at = G_STRUCT_OFFSET (LoomSliceTo, to) + 1,
                                   .doc = "A regular part of a tensor.",
                                   LOOM_PRIM_ATTRS (LoomSliceTo, slice_attrs),
                                   .infer = infer_slice,
                                   .gradient = gradient_slice };

static gboolean
infer_pad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomPadTo *a = attrs;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (a->to.rank != in[0].rank)
    return loom_prim_refuse (why, "rank %d of an operand of rank %d", a->to.rank, in[0].rank);
  for (int i = 0; i < in[0].rank; i++)
    {
      if (!fits (in[0].dim[i], a->kernel.start[i], a->kernel.step[i], a->to.dim[i]))
        return loom_prim_refuse (why, "reaches outside axis %d", i);
    }
  out[0] = desc_to (&in[0], &a->to);
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_pad (const LoomGradCall *call)
{
  const LoomPadTo *a = call->instr->attrs;
  const LoomTensorDesc *x = value_desc (call->p, call->instr->in[0]);

  call->in_grad[0] = loom_slice (call->p, call->grad[0], a->kernel.start, a->kernel.step, x->dim);
  return TRUE;
}

static const LoomAttr pad_attrs[]
    = { LOOM_ATTR_ARRAY ("start", INT, LoomPadTo, kernel.start, LOOM_ATTR_USED (LoomPadTo, to.rank)),
        LOOM_ATTR_ARRAY ("step", INT, LoomPadTo, kernel.step, LOOM_ATTR_USED (LoomPadTo, to.rank)),
        LOOM_ATTR ("value", NUMBER, LoomPadTo, kernel.value), LOOM_ATTR (NULL, DIMS, LoomPadTo, to), LOOM_ATTR_LAST };

const LoomPrim loom_prim_pad = { LOOM_PRIM_ROW ("pad", CORE, 1),
                                 .separates_positions = loom_positions_pad,
                                 .sharding = loom_shard_pad,
                                 .dims_at = G_STRUCT_OFFSET (LoomPadTo, to) + 1,
                                 .doc = "A tensor inside a larger one that is filled with a value.",
                                 LOOM_PRIM_ATTRS (LoomPadTo, pad_attrs),
                                 .infer = infer_pad,
                                 .gradient = gradient_pad };

/* ---- concat ----------------------------------------------------------- */

static gboolean
infer_concat (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomConcatAttrs *a = attrs;

  if (n_in == 0)
    return loom_prim_refuse (why, "needs at least one operand");
  if (a->axis < 0 || a->axis >= in[0].rank)
    return loom_prim_refuse (why, "axis %d is outside rank %d", a->axis, in[0].rank);
  out[0] = in[0];
  for (guint i = 1; i < n_in; i++)
    {
      LoomTensorDesc d = in[i];

      if (d.rank == in[0].rank)
        d.dim[a->axis] = in[0].dim[a->axis];
      if (d.dtype != in[0].dtype || !loom_desc_same_shape (&d, &in[0]))
        {
          g_autofree char *x = loom_desc_to_string (&in[0]), *y = loom_desc_to_string (&in[i]);

          return loom_prim_refuse (why, "%s and %s along axis %d", x, y, a->axis);
        }
      out[0].dim[a->axis] += in[i].dim[a->axis];
    }
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_concat (const LoomGradCall *call)
{
  const LoomConcatAttrs *a = call->instr->attrs;
  gint64 start[LOOM_MAX_RANK] = { 0 };

  for (guint i = 0; i < call->instr->n_in; i++)
    {
      const LoomTensorDesc *x = value_desc (call->p, call->instr->in[i]);

      if (call->needed[i])
        call->in_grad[i] = loom_slice (call->p, call->grad[0], start, NULL, x->dim);
      start[a->axis] += x->dim[a->axis];
    }
  return TRUE;
}

static const LoomAttr concat_attrs[] = { LOOM_ATTR ("axis", INT, LoomConcatAttrs, axis), LOOM_ATTR_LAST };

const LoomPrim loom_prim_concat = { LOOM_PRIM_ROW ("concat", CORE, 1),
                                    .separates_positions = loom_positions_concat,
                                    .sharding = loom_shard_concat,
                                    .doc = "Concatenates tensors along an axis.",
                                    LOOM_PRIM_ATTRS (LoomConcatAttrs, concat_attrs),
                                    .infer = infer_concat,
                                    .gradient = gradient_concat };

/* ---- move ------------------------------------------------------------- */

static gboolean
infer_move (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomMoveAttrs *a = attrs;
  gint64 moved = 0;

  if (a->n < 1 || a->n > LOOM_MOVE_MAX_PARTS || !loom_prim_arity (n_in, (guint)a->n, why))
    return a->n >= 1 && a->n <= LOOM_MOVE_MAX_PARTS ? FALSE : loom_prim_refuse (why, "has %d parts", a->n);
  out[0] = loom_desc_make (in[0].dtype, a->rank, a->dim);
  for (guint i = 0; i < n_in; i++)
    {
      const LoomMovePart *part = &a->part[i];

      if (in[i].dtype != in[0].dtype)
        return loom_prim_refuse (why, "operands of two types");
      if (!loom_move_fits (part, part->from_start, part->from, loom_desc_count (&in[i]))
          || !loom_move_fits (part, part->to_start, part->to, loom_desc_count (&out[0])))
        return loom_prim_refuse (why, "part %u reaches outside", i);
      moved += loom_move_count (part);
    }
  if (moved != loom_desc_count (&out[0]))
    return loom_prim_refuse (why, "its parts do not fill the result");
  *n_out = 1;
  return TRUE;
}

/* Prints the shape of each part, and the starts and strides of reading and writing it. */
static void
describe_move (GString *s, const void *attrs)
{
  const LoomMoveAttrs *a = attrs;

  for (int i = 0; i < a->n; i++)
    {
      const LoomMovePart *part = &a->part[i];
      g_autofree char *dims = loom_ints_to_string (part->rank, part->dim);
      g_autofree char *from = loom_ints_to_string (part->rank, part->from);
      g_autofree char *to = loom_ints_to_string (part->rank, part->to);

      g_string_append_printf (s, "%s%s from=%" G_GINT64_FORMAT "+%s to=%" G_GINT64_FORMAT "+%s", i > 0 ? "; " : "",
                              dims, part->from_start, from, part->to_start, to);
    }
}

static const LoomAttr move_part_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomMovePart, rank),
        LOOM_ATTR_ARRAY (NULL, INT, LoomMovePart, dim, LOOM_ATTR_USED (LoomMovePart, rank)),
        LOOM_ATTR (NULL, INT, LoomMovePart, from_start),
        LOOM_ATTR_ARRAY (NULL, INT, LoomMovePart, from, LOOM_ATTR_USED (LoomMovePart, rank)),
        LOOM_ATTR (NULL, INT, LoomMovePart, to_start),
        LOOM_ATTR_ARRAY (NULL, INT, LoomMovePart, to, LOOM_ATTR_USED (LoomMovePart, rank)),
        LOOM_ATTR_LAST };
static const LoomAttr move_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomMoveAttrs, n),
        LOOM_ATTR_ARRAY (NULL, GROUP, LoomMoveAttrs, part, LOOM_ATTR_USED (LoomMoveAttrs, n),
                         .fields = move_part_attrs),
        LOOM_ATTR (NULL, INT, LoomMoveAttrs, rank),
        LOOM_ATTR_ARRAY (NULL, INT, LoomMoveAttrs, dim, LOOM_ATTR_USED (LoomMoveAttrs, rank)), LOOM_ATTR_LAST };

const LoomPrim loom_prim_move = { LOOM_PRIM_ROW ("move", CORE, 1),
                                  .doc = "Successive slices, permutes and concatenations in one pass.",
                                  LOOM_PRIM_ATTRS (LoomMoveAttrs, move_attrs),
                                  .infer = infer_move,
                                  .describe = describe_move,
                                  .flags = LOOM_PRIM_ONE_PASS };

/* ---- copy ------------------------------------------------------------- */

static gboolean
infer_copy (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  out[0] = in[0];
  out[0].dtype = ((const LoomCopyTo *)attrs)->dtype;
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_copy (const LoomGradCall *call)
{
  call->in_grad[0] = loom_cast (call->p, call->grad[0], value_desc (call->p, call->instr->in[0])->dtype);
  return TRUE;
}

static const LoomAttr copy_attrs[] = { LOOM_ATTR ("to", DTYPE, LoomCopyTo, dtype), LOOM_ATTR_LAST };

const LoomPrim loom_prim_copy = { LOOM_PRIM_ROW ("copy", CORE, 1),
                                  .separates_positions = loom_positions_always,
                                  .sharding = loom_shard_convert,
                                  .doc = "The same values in another element type.",
                                  LOOM_PRIM_ATTRS (LoomCopyTo, copy_attrs),
                                  .infer = infer_copy,
                                  .gradient = gradient_copy,
                                  .flags = LOOM_PRIM_CONVERTS,
                                  .view = LOOM_VIEW_IF_SAME_SIZE };
