/* Makes attention read queries, keys and values at strides in the tensors they were sliced from, and write its results
 * where the next copy would put them.
 *
 * The rows of a product are sliced into three parts, and the axis of attention heads of each is moved in front of the
 * sequence axis. After attention it moves back, and the backward pass repeats all of it. Attention reads whole rows of
 * a head, so it can address them by strides in the product itself, and none of these copies is needed.
 *
 * The tensor that is read in place is kept for the backward pass instead of the copies. So it may be no larger than all
 * operands that attention reads from it, and nothing else may read the copies. On host devices and old GPUs, which
 * convert 16-bit floats to f32 first, the copies stay: a product that is read three times would be converted three
 * times. */
#include "engine/plan/plan-pattern.h"
#include "kernels/attention.h"

#define MAX_IN  11
#define MAX_OUT 3

/* The index of the queries among the operands. */
static int
first_of (const PlanNode *instr)
{
  return node_is (instr, "attention_grad");
}

static gboolean
is_attention (const PlanNode *instr)
{
  return node_is (instr, "attention") || node_is (instr, "attention_grad");
}

static gboolean
is_gradient (const PlanNode *instr)
{
  return node_is (instr, "attention_grad");
}

/* Finds the positions of the rows of a value [N,heads,rows,features] with these strides; FALSE if features are not
 * contiguous. */
static gboolean
rows_of (const LoomTensorDesc *desc, gint64 start, const gint64 *stride, LoomAttentionRows *rows)
{
  if (desc->rank != 4 || (stride[3] != 1 && desc->dim[3] > 1))
    return FALSE;
  *rows = (LoomAttentionRows){ start, stride[0], stride[1], stride[2] };
  return TRUE;
}

/* Finds the strides that the axes of a copy's operand have in the copy's result. The copy must read the whole operand,
 * which must have plain layout. */
static gboolean
store_strides_of (const LoomMovePart *part, const LoomTensorDesc *operand, gint64 *stride)
{
  gint64 dim[LOOM_MAX_RANK], to[LOOM_MAX_RANK], n = 1;
  gboolean used[LOOM_MAX_RANK] = { FALSE };

  /* The part's axes in the operand's order, from the last one on. */
  for (int i = part->rank - 1; i >= 0; i--)
    {
      int next = -1;

      for (int k = 0; k < part->rank && next < 0; k++)
        if (!used[k] && (part->dim[k] == 1 || part->from[k] == n))
          next = k;
      if (next < 0)
        return FALSE;
      used[next] = TRUE;
      dim[i] = part->dim[next];
      to[i] = part->to[next];
      n *= dim[i];
    }
  return part->from_start == 0 && n == loom_desc_count (operand)
         && plan_restride (part->rank, dim, to, operand->rank, operand->dim, stride);
}

/* Finds where the rows of v are in the result of a copy; FALSE if the copy does not read all of v. */
static gboolean
copied_rows (PlanGraph *g, const PlanNode *move, guint v, LoomAttentionRows *rows)
{
  const LoomTensorDesc *desc = &graph_value (g, v)->desc;
  gint64 stride[LOOM_MAX_RANK] = { 0 };
  LoomMovePart part;

  return node_copy_part (g, move, &part) && store_strides_of (&part, desc, stride) && rows_of (desc, 0, stride, rows);
}

/* ---- operands ------------------------------------------------------------ */

/* TRUE if v and all its views are read by attention alone. */
static gboolean
is_read_by_attention_only (PlanGraph *g, guint v)
{
  const PlanValue *value = graph_value (g, v);

  if (value->is_output || value->commit >= 0)
    return FALSE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL ? !is_read_by_attention_only (g, use->at) : !is_attention (use->instr))
      return FALSE;
  return TRUE;
}

/* TRUE if v is on the instruction's device and is not overwritten before the instruction runs. */
static gboolean
is_available (const PlanRewrite *r, guint v)
{
  return plan_rewrite_can_read (r, v) && graph_is_ready (r->g, v, r->root)
         && graph_value (r->g, v)->device_name == r->root->device_name;
}

static gboolean
is_same_part_of_step (const PlanNode *move, const PlanNode *instr)
{
  return move->device_name == instr->device_name && move->pass == instr->pass && move->chunk == instr->chunk;
}

/* Returns the tensor that operand k was copied from, and the positions of its rows there; 0 if the operand has to
 * stay. */
static guint
source_of (const PlanRewrite *r, guint k, LoomAttentionRows *rows)
{
  PlanGraph *g = r->g;
  const PlanNode *instr = r->root;
  const guint v = node_in (instr, k), root = graph_root (g, v);
  const LoomTensorDesc *desc = &graph_value (g, v)->desc;
  const PlanNode *front = graph_value (g, root)->producer;
  gint64 stride[LOOM_MAX_RANK] = { 0 };
  PlanStridedRead reading;

  if (front == NULL || !is_same_part_of_step (front, instr) || !is_read_by_attention_only (g, root)
      || !node_strided_read (g, front, &reading)
      || !plan_restride (reading.rank, reading.dim, reading.stride, desc->rank, desc->dim, stride)
      || !rows_of (desc, reading.start, stride, rows) || !is_available (r, reading.from))
    return 0;
  return reading.from;
}

/* Finds the copy that is the only reader of y except attention's gradient. A recomputed copy, or a copy that is
 * recomputed later, does not count, because recomputation exists to avoid keeping it. */
static PlanNode *
find_copy (PlanGraph *g, guint y)
{
  const PlanValue *value = graph_value (g, y);
  PlanNode *mover = NULL;

  if (value->is_output || value->commit >= 0)
    return NULL;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL || (!is_gradient (use->instr) && mover != NULL))
      return NULL;
    else if (!is_gradient (use->instr))
      mover = use->instr;
  return mover != NULL && mover->recomputation == value->producer->recomputation ? mover : NULL;
}

/* Makes the call read the tensors from which operands were copied. Such a tensor is kept instead of the copies, so it
 * may be no larger than all operands that were copied from it. */
static void
use_source_operands (PlanRewrite *r)
{
  PlanGraph *g = r->g;
  const PlanNode *instr = r->root;
  LoomAttentionAttrs *attrs = r->attrs;
  LoomAttentionRows rows[MAX_IN];
  guint source[MAX_IN] = { 0 };

  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) != 0 && loom_attention_operand (first_of (instr), (int)k) != LOOM_ATTENTION_N_OPERANDS)
      source[k] = source_of (r, k, &rows[k]);
  for (guint k = 0; k < instr->in->len; k++)
    {
      gint64 n = 0;

      for (guint i = 0; i < instr->in->len && source[k] != 0; i++)
        if (source[i] != 0 && graph_root (g, source[i]) == graph_root (g, source[k]))
          n += loom_desc_count (&graph_value (g, node_in (instr, i))->desc);
      if (source[k] == 0 || n < loom_desc_count (&graph_value (g, graph_root (g, source[k]))->desc))
        continue;
      rewrite_set_in (r, k, source[k]);
      attrs->rows[loom_attention_operand (first_of (instr), (int)k)] = rows[k];
    }
}

/* Makes the gradient read attention's result where a copy has put it, so that only the copy is kept. */
static void
use_copied_result (PlanRewrite *r)
{
  PlanGraph *g = r->g;
  const PlanNode *instr = r->root;
  LoomAttentionAttrs *attrs = r->attrs;
  const guint y = instr->in->len > 7 ? node_in (instr, 7) : 0;
  PlanNode *mover;

  if (y == 0 || graph_value (g, y)->producer == NULL || !node_is (graph_value (g, y)->producer, "attention"))
    return;
  mover = find_copy (g, y);
  if (mover != NULL && is_same_part_of_step (mover, instr) && is_available (r, node_out (mover, 0))
      && copied_rows (g, mover, y, &attrs->rows[LOOM_ATTENTION_Y]))
    rewrite_set_in (r, 7, node_out (mover, 0));
}

/* ---- results ------------------------------------------------------------- */

/* TRUE if a copy belongs to the same part of the step as the instruction (micro-batch, chunk, recomputation), so that
 * both can be one call. */
static gboolean
follows_in_step (const PlanNode *move, const PlanNode *instr)
{
  return move != NULL && is_same_part_of_step (move, instr) && move->region == instr->region
         && move->recomputation == instr->recomputation;
}

/* Makes the call write result o to where the result's only reader would copy it. part: the result's role in
 * attention. */
static void
store_copied_result (PlanRewrite *r, guint o, LoomAttentionOperand part)
{
  LoomAttentionAttrs *attrs = r->attrs;
  PlanNode *mover = graph_only_reader (r->g, rewrite_out (r, o), TRUE);

  if (!follows_in_step (mover, r->root) || !copied_rows (r->g, mover, rewrite_out (r, o), &attrs->rows[part]))
    return;
  rewrite_set_out (r, o, node_out (mover, 0));
  g_ptr_array_add (r->gone, mover);
}

/* Makes the call write the three gradients as parts of their concatenation, if that has no other parts. */
static gboolean
store_concatenated_gradients (PlanRewrite *r)
{
  PlanGraph *g = r->g;
  PlanNode *join = graph_only_reader (g, rewrite_out (r, 0), TRUE);
  LoomAttentionRows rows[MAX_OUT];
  const LoomMoveAttrs *attrs;

  if (!follows_in_step (join, r->root) || !node_is (join, "move") || join->in->len != MAX_OUT)
    return FALSE;
  attrs = join->attrs;
  for (guint o = 0; o < MAX_OUT; o++)
    {
      const guint v = rewrite_out (r, o);
      const LoomTensorDesc *desc = &graph_value (g, v)->desc;
      gint64 stride[LOOM_MAX_RANK] = { 0 };
      guint k = 0;

      while (k < MAX_OUT && graph_root (g, node_in (join, k)) != v)
        k++;
      if (k == MAX_OUT || graph_only_reader (g, v, TRUE) != join || !store_strides_of (&attrs->part[k], desc, stride)
          || !rows_of (desc, attrs->part[k].to_start, stride, &rows[o]))
        return FALSE;
    }
  for (guint o = 0; o < MAX_OUT; o++)
    ((LoomAttentionAttrs *)r->attrs)->rows[LOOM_ATTENTION_DQ + o] = rows[o];
  g_array_set_size (r->out, 1);
  rewrite_set_out (r, 0, node_out (join, 0));
  g_ptr_array_add (r->gone, join);
  return TRUE;
}

/* ---- the call ------------------------------------------------------------ */

/* The bytes of f32 copies of those values that are 16-bit floats. */
static gsize
upcast_bytes (PlanGraph *g, const GArray *values)
{
  gsize bytes = 0;

  for (guint k = 0; k < values->len; k++)
    {
      const LoomTensorDesc *d = &graph_value (g, g_array_index (values, guint, k))->desc;

      if (g_array_index (values, guint, k) != 0 && loom_dtype_is_float (d->dtype) && loom_dtype_size (d->dtype) < 4)
        bytes += (gsize)loom_desc_count (d) * sizeof (float);
    }
  return bytes;
}

/* Makes the call one in place, in plain layout as yet. FALSE if it is one already. */
static gboolean
begin_in_place (PlanRewrite *r)
{
  LoomAttentionAttrs *attrs = r->attrs;
  LoomAttentionRows plain[LOOM_ATTENTION_N_OPERANDS];
  LoomTensorDesc in[4] = { 0 };

  if (attrs->in_place)
    return FALSE;
  for (guint k = 0; k < 3 + (guint)first_of (r->root); k++)
    in[k] = graph_value (r->g, rewrite_in (r, k))->desc;
  attrs->sizes = loom_attention_strides (attrs, in, first_of (r->root), plain);
  memcpy (attrs->rows, plain, sizeof plain);
  attrs->in_place = true;
  return TRUE;
}

static gboolean
end_in_place (PlanRewrite *r)
{
  gboolean changes = r->gone->len > 0;

  for (guint k = 0; k < r->in->len; k++)
    changes = changes || rewrite_in (r, k) != node_in (r->root, k);
  r->max_scratch = upcast_bytes (r->g, r->in) + upcast_bytes (r->g, r->out);
  g_string_append (r->label, " in place");
  return changes;
}

static gboolean
differentiate_in_place (PlanRewrite *r)
{
  if (!begin_in_place (r))
    return FALSE;
  use_source_operands (r);
  use_copied_result (r);
  if (!store_concatenated_gradients (r))
    for (guint o = 0; o < MAX_OUT; o++)
      store_copied_result (r, o, LOOM_ATTENTION_DQ + o);
  return end_in_place (r);
}

static gboolean
attend_in_place (PlanRewrite *r)
{
  if (!begin_in_place (r))
    return FALSE;
  use_source_operands (r);
  store_copied_result (r, 0, LOOM_ATTENTION_Y);
  return end_in_place (r);
}

/* The gradient is rewritten first: after that the copy is the only reader of attention's result. */
const PlanPattern patterns_of_attention[] = {
  { .root = PATTERN_CALL ("attention_grad"), .rewrite = differentiate_in_place },
  { .root = PATTERN_CALL ("attention"), .rewrite = attend_in_place },
  { .rewrite = NULL },
};
