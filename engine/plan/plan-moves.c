/* Fuses successive copies (slice, permute, concatenate): a slice or permute of another one reads the original tensor at
 * strides, and a concatenation reads the tensors from which its operands were copied.
 *
 * So queries, keys and values of one product take three copies instead of six, and their gradients are put together
 * with one copy of each. There may be views between two copies, which change only the axes. Nothing is fused if
 * something else reads the intermediate value, which would have to be made anyway. */
#include "engine/plan/plan-private.h"
#include "kernels/move.h"
#include "kernels/shape.h"

gboolean
work_restride (int rank, const gint64 *dim, const gint64 *stride, int to_rank, const gint64 *to_dim, gint64 *to_stride)
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

/* How a single copy reads its operand, whose elements have these strides from `start` on. */
static void
read_through (Work *g, const WorkInstr *instr, const gint64 *stride, gint64 start, WorkReading *reading)
{
  const LoomTensorDesc *y = &work_value (g, work_out (instr, 0))->desc;

  reading->rank = y->rank;
  reading->start = start;
  for (int i = 0; i < y->rank; i++)
    {
      reading->dim[i] = y->dim[i];
      if (work_is (instr, "permute"))
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
work_reading_of (Work *g, const WorkInstr *instr, WorkReading *reading)
{
  gint64 stride[LOOM_MAX_RANK] = { 0 };

  if (work_is (instr, "move") && instr->in->len == 1)
    {
      const LoomMovePart *part = &((const LoomMoveAttrs *)instr->attrs)->part[0];

      *reading = (WorkReading){ .rank = part->rank, .start = part->from_start };
      for (int i = 0; i < part->rank; i++)
        {
          reading->dim[i] = part->dim[i];
          reading->stride[i] = part->from[i];
        }
    }
  else if (work_is (instr, "permute") || work_is (instr, "slice"))
    {
      loom_desc_strides (&work_value (g, work_in (instr, 0))->desc, stride);
      read_through (g, instr, stride, 0, reading);
    }
  else
    return FALSE;
  reading->from = work_in (instr, 0);
  return TRUE;
}

/* The copy that made operand k, if nothing else reads its result or a view of it and both are computed together:
 * neither is recomputed without the other, and both belong to one micro-batch and one chunk of a head. */
static WorkInstr *
find_front (Work *g, const WorkInstr *instr, guint k, WorkReading *reading)
{
  guint v = work_root (g, work_in (instr, k));
  WorkInstr *front = work_value (g, v)->producer;

  if (front == NULL || front->device_name != instr->device_name || work_value (g, v)->device_name != instr->device_name
      || front->region != instr->region || front->recomputation != instr->recomputation || front->pass != instr->pass
      || front->chunk != instr->chunk || work_only_reader (g, v, TRUE) != instr || !work_reading_of (g, front, reading)
      || work_value (g, reading->from)->device_name != instr->device_name
      || loom_desc_count (&work_value (g, v)->desc) == 0)
    return NULL;
  return front;
}

/* The copy from what `reading` reads to these strides. */
static LoomMovePart
part_of (const WorkReading *reading, gint64 to_start, const gint64 *to)
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
work_move_of (Work *g, const WorkInstr *instr, LoomMovePart *part)
{
  gint64 to[LOOM_MAX_RANK] = { 0 };
  WorkReading reading;

  if (!work_reading_of (g, instr, &reading))
    return FALSE;
  loom_desc_strides (&work_value (g, work_out (instr, 0))->desc, to);
  *part = part_of (&reading, 0, to);
  return TRUE;
}

/* The source of a part of a concatenation. */
typedef struct
{
  WorkInstr *front; /* the copy to fuse; NULL: the operand is read as it is */
  guint from;
  LoomMovePart part;
} Source;

/* Inserts one copy before `before` that replaces an instruction and the copies fused with it. Changes nothing if the
 * device has no such kernel. */
static void
join (Work *g, WorkInstr *instr, WorkInstr *before, const Source *source, guint n)
{
  const guint result = work_out (instr, 0);
  const LoomTensorDesc *y = &work_value (g, result)->desc;
  LoomMoveAttrs attrs = { .n = (int)n, .rank = y->rank };
  guint in[LOOM_MOVE_MAX_PARTS];
  WorkInstr *move;

  for (int i = 0; i < y->rank; i++)
    attrs.dim[i] = y->dim[i];
  for (guint k = 0; k < n; k++)
    {
      attrs.part[k] = source[k].part;
      in[k] = source[k].from;
    }
  move = work_insert_like (g, before, instr, loom_prim ("move"), &attrs, "");
  if (!work_has_kernel (g, move, n, in, 1, &result))
    {
      work_erase (g, move);
      return;
    }
  for (guint k = 0; k < n; k++)
    {
      work_add_in (g, move, in[k]);
      if (source[k].front != NULL)
        g_string_append_printf (move->label, "%s+", source[k].front->label->str);
    }
  g_string_append (move->label, instr->label->str);
  work_erase (g, instr);
  work_add_out (g, move, result);
  for (guint k = 0; k < n; k++)
    if (source[k].front != NULL)
      work_erase (g, source[k].front);
}

/* A permute or slice of another copy takes that copy's position, so that nothing is kept longer than before. */
static void
join_one (Work *g, WorkInstr *instr)
{
  const LoomTensorDesc *x = &work_value (g, work_in (instr, 0))->desc;
  gint64 stride[LOOM_MAX_RANK] = { 0 }, to[LOOM_MAX_RANK] = { 0 };
  WorkReading front, joined;
  Source source = { .front = find_front (g, instr, 0, &front) };

  if (source.front == NULL || !work_restride (front.rank, front.dim, front.stride, x->rank, x->dim, stride))
    return;
  read_through (g, instr, stride, front.start, &joined);
  loom_desc_strides (&work_value (g, work_out (instr, 0))->desc, to);
  source.from = front.from;
  source.part = part_of (&joined, 0, to);
  join (g, instr, source.front, &source, 1);
}

/* TRUE if the original of the operand is no larger than the operand and unchanged at the concatenation: it is kept
 * until then in the operand's place. */
static gboolean
may_wait (Work *g, GHashTable *updaters, const WorkInstr *concat, guint k, guint from)
{
  const WorkInstr *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (work_root (g, from)));

  return (updater == NULL || !work_is_before (updater, concat))
         && loom_desc_count (&work_value (g, from)->desc)
                == loom_desc_count (&work_value (g, work_in (concat, k))->desc);
}

/* Part k of a concatenation, which is written at these strides from to_start on. */
static Source
source_of (Work *g, GHashTable *updaters, const WorkInstr *concat, guint k, gint64 to_start, const gint64 *to)
{
  const LoomTensorDesc *x = &work_value (g, work_in (concat, k))->desc;
  WorkReading plain = { .from = work_in (concat, k), .rank = x->rank }, front;
  gint64 stride[LOOM_MAX_RANK] = { 0 };
  Source source = { .front = find_front (g, concat, k, &front) };

  for (int i = 0; i < x->rank; i++)
    plain.dim[i] = x->dim[i];
  if (source.front != NULL && may_wait (g, updaters, concat, k, front.from))
    {
      source.from = front.from;
      if (work_restride (x->rank, x->dim, to, front.rank, front.dim, stride))
        {
          source.part = part_of (&front, to_start, stride);
          return source;
        }
      plain.start = front.start;
      if (work_restride (front.rank, front.dim, front.stride, x->rank, x->dim, plain.stride))
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
join_parts (Work *g, GHashTable *updaters, WorkInstr *concat)
{
  const int axis = ((const LoomConcatAttrs *)concat->attrs)->axis;
  const guint n = concat->in->len;
  Source source[LOOM_MOVE_MAX_PARTS];
  gint64 to[LOOM_MAX_RANK] = { 0 }, place = 0;
  guint n_fronts = 0;

  if (n > LOOM_MOVE_MAX_PARTS)
    return;
  loom_desc_strides (&work_value (g, work_out (concat, 0))->desc, to);
  for (guint k = 0; k < n; k++)
    {
      source[k] = source_of (g, updaters, concat, k, place * to[axis], to);
      n_fronts += source[k].front != NULL;
      place += work_value (g, work_in (concat, k))->desc.dim[axis];
    }
  if (n_fronts > 0)
    join (g, concat, concat, source, n);
}

void
work_join_moves (Work *g)
{
  g_autoptr (GHashTable) updaters = work_find_updaters (g);

  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (work_is (instr, "permute") || work_is (instr, "slice"))
      join_one (g, instr);
    else if (work_is (instr, "concat"))
      join_parts (g, updaters, instr);
}
