/* Fuses successive copies (slice, permute, concatenate): a slice or permute of another one reads the original tensor at
 * strides, and a concatenation reads the tensors from which its operands were copied.
 *
 * Queries, keys and values of one product then take three copies instead of six, and their gradients are concatenated
 * with one copy of each. Views between two copies are allowed, since they change only the axes. A copy whose result has
 * another reader is not fused, because it would have to run anyway. */
#include "engine/plan/plan-private.h"
#include "kernels/move.h"
#include "kernels/shape.h"

gboolean
plan_restride (int rank, const gint64 *dim, const gint64 *stride, int to_rank, const gint64 *to_dim, gint64 *to_stride)
{
  gint64 n = 1, to_n = 1; /* of consecutive old and new axes that share a stride, from the last on */
  int to = to_rank - 1;

  for (int i = rank - 1, last = i; i >= 0; i--)
    {
      if (n == 1)
        last = i;
      n *= dim[i];
      if (i > 0 && (dim[i - 1] == 1 || stride[i - 1] == n * stride[last]))
        continue;
      for (; to >= 0 && (to_n < n || to_dim[to] == 1); to--)
        {
          to_stride[to] = to_n * stride[last];
          to_n *= to_dim[to];
        }
      if (to_n != n)
        return FALSE;
      n = to_n = 1;
    }
  return to < 0;
}

/* Describes how a copy reads its operand if the operand's elements have these strides from `start` on. */
static void
read_through (PlanGraph *g, const PlanNode *instr, const gint64 *stride, gint64 start, PlanStridedRead *reading)
{
  const LoomTensorDesc *y = &graph_value (g, node_out (instr, 0))->desc;

  reading->rank = y->rank;
  reading->start = start;
  for (int i = 0; i < y->rank; i++)
    {
      reading->dim[i] = y->dim[i];
      if (node_is (instr, "permute"))
        reading->stride[i] = stride[((const LoomPermuteAttrs *)instr->attrs)->perm[i]];
      else
        {
          const LoomSliceAttrs *a = &((const LoomSliceTo *)instr->attrs)->kernel;

          reading->start += a->start[i] * stride[i];
          reading->stride[i] = a->step[i] * stride[i];
        }
    }
}

gboolean
node_strided_read (PlanGraph *g, const PlanNode *instr, PlanStridedRead *reading)
{
  gint64 stride[LOOM_MAX_RANK] = { 0 };

  if (node_is (instr, "move") && instr->in->len == 1)
    {
      const LoomMovePart *part = &((const LoomMoveAttrs *)instr->attrs)->part[0];

      *reading = (PlanStridedRead){ .rank = part->rank, .start = part->from_start };
      for (int i = 0; i < part->rank; i++)
        {
          reading->dim[i] = part->dim[i];
          reading->stride[i] = part->from[i];
        }
    }
  else if (node_is (instr, "permute") || node_is (instr, "slice"))
    {
      loom_desc_strides (&graph_value (g, node_in (instr, 0))->desc, stride);
      read_through (g, instr, stride, 0, reading);
    }
  else
    return FALSE;
  reading->from = node_in (instr, 0);
  return TRUE;
}

/* Finds the copy that made operand k, if nothing else reads its result or a view of it and both belong together: they
 * are recomputed together, and are in the same micro-batch and the same chunk of a head. */
static PlanNode *
find_previous_copy (PlanGraph *g, const PlanNode *instr, guint k, PlanStridedRead *reading)
{
  guint v = graph_root (g, node_in (instr, k));
  PlanNode *previous = graph_value (g, v)->producer;

  if (previous == NULL || previous->device_name != instr->device_name
      || graph_value (g, v)->device_name != instr->device_name || previous->region != instr->region
      || previous->recomputation != instr->recomputation || previous->pass != instr->pass
      || previous->chunk != instr->chunk || graph_only_reader (g, v, TRUE) != instr
      || !node_strided_read (g, previous, reading) || graph_value (g, reading->from)->device_name != instr->device_name
      || loom_desc_count (&graph_value (g, v)->desc) == 0)
    return NULL;
  return previous;
}

/* The copy of the elements of `reading` to these strides from to_start on. */
static LoomMovePart
part_of (const PlanStridedRead *reading, gint64 to_start, const gint64 *to)
{
  LoomMovePart part = { .rank = reading->rank, .from_start = reading->start, .to_start = to_start };

  for (int i = 0; i < reading->rank; i++)
    {
      part.dim[i] = reading->dim[i];
      part.from[i] = reading->stride[i];
      part.to[i] = to[i];
    }
  return part;
}

gboolean
node_copy_part (PlanGraph *g, const PlanNode *instr, LoomMovePart *part)
{
  gint64 to[LOOM_MAX_RANK] = { 0 };
  PlanStridedRead reading;

  if (!node_strided_read (g, instr, &reading))
    return FALSE;
  loom_desc_strides (&graph_value (g, node_out (instr, 0))->desc, to);
  *part = part_of (&reading, 0, to);
  return TRUE;
}

/* The source of a part of a concatenation. */
typedef struct
{
  PlanNode *previous; /* the copy to fuse; NULL: the operand itself is read */
  guint from;
  LoomMovePart part;
} Source;

/* Inserts one copy before `before` that replaces an instruction and the copies fused with it. Changes nothing if the
 * device has no such kernel. */
static void
fuse_copy (PlanGraph *g, PlanNode *instr, PlanNode *before, const Source *source, guint n)
{
  const guint result = node_out (instr, 0);
  const LoomTensorDesc *y = &graph_value (g, result)->desc;
  LoomMoveAttrs attrs = { .n = (int)n, .rank = y->rank };
  guint in[LOOM_MOVE_MAX_PARTS];
  PlanNode *move;

  for (int i = 0; i < y->rank; i++)
    attrs.dim[i] = y->dim[i];
  for (guint k = 0; k < n; k++)
    {
      attrs.part[k] = source[k].part;
      in[k] = source[k].from;
    }
  move = graph_insert_like (g, before, instr, loom_prim ("move"), &attrs, "");
  if (!graph_has_kernel (g, move, n, in, 1, &result))
    {
      graph_erase (g, move);
      return;
    }
  for (guint k = 0; k < n; k++)
    {
      graph_add_in (g, move, in[k]);
      if (source[k].previous != NULL)
        g_string_append_printf (move->label, "%s+", source[k].previous->label->str);
    }
  g_string_append (move->label, instr->label->str);
  graph_erase (g, instr);
  graph_add_out (g, move, result);
  for (guint k = 0; k < n; k++)
    if (source[k].previous != NULL)
      graph_erase (g, source[k].previous);
}

/* A fused permute or slice takes the position of the earlier copy, so that no value lives longer than before. */
static void
fuse_one (PlanGraph *g, PlanNode *instr)
{
  const LoomTensorDesc *x = &graph_value (g, node_in (instr, 0))->desc;
  gint64 stride[LOOM_MAX_RANK] = { 0 }, to[LOOM_MAX_RANK] = { 0 };
  PlanStridedRead previous, joined;
  Source source = { .previous = find_previous_copy (g, instr, 0, &previous) };

  if (source.previous == NULL || !plan_restride (previous.rank, previous.dim, previous.stride, x->rank, x->dim, stride))
    return;
  read_through (g, instr, stride, previous.start, &joined);
  loom_desc_strides (&graph_value (g, node_out (instr, 0))->desc, to);
  source.from = previous.from;
  source.part = part_of (&joined, 0, to);
  fuse_copy (g, instr, source.previous, &source, 1);
}

/* TRUE if `from`, the original of operand k, can be kept until the concatenation instead of the operand: it is no
 * larger, and nothing overwrites it before. */
static gboolean
can_keep_original (PlanGraph *g, GHashTable *updaters, const PlanNode *concat, guint k, guint from)
{
  const PlanNode *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (graph_root (g, from)));

  return (updater == NULL || !node_is_before (updater, concat))
         && loom_desc_count (&graph_value (g, from)->desc)
                == loom_desc_count (&graph_value (g, node_in (concat, k))->desc);
}

/* The source of part k of a concatenation, which writes it at these strides from to_start on. */
static Source
concat_source (PlanGraph *g, GHashTable *updaters, const PlanNode *concat, guint k, gint64 to_start, const gint64 *to)
{
  const LoomTensorDesc *x = &graph_value (g, node_in (concat, k))->desc;
  PlanStridedRead plain = { .from = node_in (concat, k), .rank = x->rank }, previous;
  gint64 stride[LOOM_MAX_RANK] = { 0 };
  Source source = { .previous = find_previous_copy (g, concat, k, &previous) };

  for (int i = 0; i < x->rank; i++)
    plain.dim[i] = x->dim[i];
  if (source.previous != NULL && can_keep_original (g, updaters, concat, k, previous.from))
    {
      source.from = previous.from;
      if (plan_restride (x->rank, x->dim, to, previous.rank, previous.dim, stride))
        {
          source.part = part_of (&previous, to_start, stride);
          return source;
        }
      plain.start = previous.start;
      if (plan_restride (previous.rank, previous.dim, previous.stride, x->rank, x->dim, plain.stride))
        {
          source.part = part_of (&plain, to_start, to);
          return source;
        }
      plain.start = 0;
    }
  loom_desc_strides (x, plain.stride);
  return (Source){ .from = plain.from, .part = part_of (&plain, to_start, to) };
}

static void
fuse_concat (PlanGraph *g, GHashTable *updaters, PlanNode *concat)
{
  const int axis = ((const LoomConcatAttrs *)concat->attrs)->axis;
  const guint n = concat->in->len;
  Source source[LOOM_MOVE_MAX_PARTS];
  gint64 to[LOOM_MAX_RANK] = { 0 }, position = 0;
  guint n_fronts = 0;

  if (n > LOOM_MOVE_MAX_PARTS)
    return;
  loom_desc_strides (&graph_value (g, node_out (concat, 0))->desc, to);
  for (guint k = 0; k < n; k++)
    {
      source[k] = concat_source (g, updaters, concat, k, position * to[axis], to);
      n_fronts += source[k].previous != NULL;
      position += graph_value (g, node_in (concat, k))->desc.dim[axis];
    }
  if (n_fronts > 0)
    fuse_copy (g, concat, concat, source, n);
}

void
pass_fuse_copies (PlanGraph *g)
{
  g_autoptr (GHashTable) updaters = graph_find_updaters (g);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "permute") || node_is (instr, "slice"))
      fuse_one (g, instr);
    else if (node_is (instr, "concat"))
      fuse_concat (g, updaters, instr);
}
