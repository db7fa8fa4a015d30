/* Makes attention read queries, keys and values at strides in the tensors they were sliced from, and write its results
 * where the next copy would put them.
 *
 * The rows of a product are sliced into three parts, and the head axis of each is moved in front of the sequence axis;
 * after attention the heads move back, and the backward pass repeats all of it. Attention reads whole rows of a head,
 * so it can address them by strides in the product itself, and none of these copies is needed.
 *
 * The tensor that is read in place is kept for the backward pass instead of the copies, so it may be no larger than all
 * operands that attention reads from it, and nothing else may read the copies. On host devices and old GPUs, which
 * convert 16-bit floats to f32 first, the copies stay: a product that is read three times would be converted three
 * times. */
#include "engine/plan/plan-private.h"
#include "kernels/attention.h"
#include "kernels/shape.h"

#define MAX_IN  11
#define MAX_OUT 3

/* The call under consideration. */
typedef struct
{
  PlanNode *instr;
  int first; /* index of the queries among the operands */
  LoomAttentionAttrs attrs;
  guint in[MAX_IN], out[MAX_OUT], n_out;
  PlanNode *replaced[MAX_OUT]; /* by result: a copy that is dropped if the call writes its result; NULL: none */
} Call;

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
is_available (PlanGraph *g, GHashTable *updaters, guint v, const PlanNode *instr)
{
  const PlanNode *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (graph_root (g, v)));

  return (updater == NULL || !node_is_before (updater, instr)) && graph_is_ready (g, v, instr)
         && graph_value (g, v)->device_name == instr->device_name;
}

static gboolean
is_same_part_of_step (const PlanNode *move, const PlanNode *instr)
{
  return move->device_name == instr->device_name && move->pass == instr->pass && move->chunk == instr->chunk;
}

/* Returns the tensor that operand k was copied from, and the positions of its rows there; 0 if the operand has to
 * stay. */
static guint
source_of (PlanGraph *g, GHashTable *updaters, const PlanNode *instr, guint k, LoomAttentionRows *rows)
{
  const guint v = node_in (instr, k), root = graph_root (g, v);
  const LoomTensorDesc *desc = &graph_value (g, v)->desc;
  const PlanNode *front = graph_value (g, root)->producer;
  gint64 stride[LOOM_MAX_RANK] = { 0 };
  PlanStridedRead reading;

  if (front == NULL || !is_same_part_of_step (front, instr) || !is_read_by_attention_only (g, root)
      || !node_strided_read (g, front, &reading)
      || !plan_restride (reading.rank, reading.dim, reading.stride, desc->rank, desc->dim, stride)
      || !rows_of (desc, reading.start, stride, rows) || !is_available (g, updaters, reading.from, instr))
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
use_source_operands (PlanGraph *g, GHashTable *updaters, Call *call)
{
  const PlanNode *instr = call->instr;
  LoomAttentionRows rows[MAX_IN];
  guint source[MAX_IN] = { 0 };

  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) != 0 && loom_attention_operand (call->first, (int)k) != LOOM_ATTENTION_N_OPERANDS)
      source[k] = source_of (g, updaters, instr, k, &rows[k]);
  for (guint k = 0; k < instr->in->len; k++)
    {
      gint64 n = 0;

      for (guint i = 0; i < instr->in->len && source[k] != 0; i++)
        if (source[i] != 0 && graph_root (g, source[i]) == graph_root (g, source[k]))
          n += loom_desc_count (&graph_value (g, node_in (instr, i))->desc);
      if (source[k] == 0 || n < loom_desc_count (&graph_value (g, graph_root (g, source[k]))->desc))
        continue;
      call->in[k] = source[k];
      call->attrs.rows[loom_attention_operand (call->first, (int)k)] = rows[k];
    }
}

/* Makes the gradient read attention's result where a copy has put it, so that only the copy is kept. */
static void
use_copied_result (PlanGraph *g, GHashTable *updaters, Call *call)
{
  const PlanNode *instr = call->instr;
  const guint y = instr->in->len > 7 ? node_in (instr, 7) : 0;
  PlanNode *mover;

  if (y == 0 || graph_value (g, y)->producer == NULL || !node_is (graph_value (g, y)->producer, "attention"))
    return;
  mover = find_copy (g, y);
  if (mover != NULL && is_same_part_of_step (mover, instr) && is_available (g, updaters, node_out (mover, 0), instr)
      && copied_rows (g, mover, y, &call->attrs.rows[LOOM_ATTENTION_Y]))
    call->in[7] = node_out (mover, 0);
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
store_copied_result (PlanGraph *g, Call *call, guint o, LoomAttentionOperand part)
{
  PlanNode *mover = graph_only_reader (g, call->out[o], TRUE);

  if (!follows_in_step (mover, call->instr) || !copied_rows (g, mover, call->out[o], &call->attrs.rows[part]))
    return;
  call->out[o] = node_out (mover, 0);
  call->replaced[o] = mover;
}

/* Makes the call write the three gradients as parts of their concatenation, if that has no other parts. */
static gboolean
store_concatenated_gradients (PlanGraph *g, Call *call)
{
  PlanNode *join = graph_only_reader (g, call->out[0], TRUE);
  LoomAttentionRows rows[MAX_OUT];
  const LoomMoveAttrs *attrs;

  if (!follows_in_step (join, call->instr) || !node_is (join, "move") || join->in->len != MAX_OUT)
    return FALSE;
  attrs = join->attrs;
  for (guint o = 0; o < MAX_OUT; o++)
    {
      const LoomTensorDesc *desc = &graph_value (g, call->out[o])->desc;
      gint64 stride[LOOM_MAX_RANK] = { 0 };
      guint k = 0;

      while (k < MAX_OUT && graph_root (g, node_in (join, k)) != call->out[o])
        k++;
      if (k == MAX_OUT || graph_only_reader (g, call->out[o], TRUE) != join
          || !store_strides_of (&attrs->part[k], desc, stride)
          || !rows_of (desc, attrs->part[k].to_start, stride, &rows[o]))
        return FALSE;
    }
  for (guint o = 0; o < MAX_OUT; o++)
    call->attrs.rows[LOOM_ATTENTION_DQ + o] = rows[o];
  call->out[0] = node_out (join, 0);
  call->n_out = 1;
  call->replaced[0] = join;
  return TRUE;
}

/* ---- the call ------------------------------------------------------------ */

/* The bytes of f32 copies of those values that are 16-bit floats. */
static gsize
upcast_bytes (PlanGraph *g, guint n, const guint *v)
{
  gsize bytes = 0;

  for (guint k = 0; k < n; k++)
    if (v[k] != 0 && loom_dtype_is_float (graph_value (g, v[k])->desc.dtype)
        && loom_dtype_size (graph_value (g, v[k])->desc.dtype) < 4)
      bytes += (gsize)loom_desc_count (&graph_value (g, v[k])->desc) * sizeof (float);
  return bytes;
}

static gboolean
has_kernel (PlanGraph *g, const Call *call)
{
  PlanNode *instr = call->instr;
  LoomAttentionAttrs *attrs = instr->attrs, before = *attrs;
  const gsize widened = upcast_bytes (g, instr->in->len, call->in) + upcast_bytes (g, call->n_out, call->out);
  gboolean has;

  *attrs = call->attrs;
  has = widened == 0 ? graph_has_kernel (g, instr, instr->in->len, call->in, call->n_out, call->out)
                     : graph_has_small_kernel (g, instr, instr->in->len, call->in, call->n_out, call->out, widened);
  *attrs = before;
  return has;
}

static void
apply (PlanGraph *g, const Call *call)
{
  PlanNode *instr = call->instr;

  *(LoomAttentionAttrs *)instr->attrs = call->attrs;
  for (guint k = 0; k < instr->in->len; k++)
    if (call->in[k] != node_in (instr, k))
      graph_set_in (g, instr, k, call->in[k]);
  for (guint o = 0; o < MAX_OUT; o++)
    if (call->replaced[o] != NULL)
      graph_erase (g, call->replaced[o]);
  for (guint o = 0; o < call->n_out; o++)
    if (call->out[o] != node_out (instr, o))
      graph_set_out (g, instr, o, call->out[o]);
  for (guint o = call->n_out; o < instr->out->len; o++)
    graph_set_out (g, instr, o, 0);
  g_array_set_size (instr->out, call->n_out);
  g_string_append (instr->label, " in place");
}

static void
attend_in_place (PlanGraph *g, GHashTable *updaters, PlanNode *instr)
{
  const gboolean gradient = is_gradient (instr);
  Call call = { .instr = instr, .first = gradient ? 1 : 0, .n_out = instr->out->len };
  const LoomTensorDesc in[4] = { graph_value (g, node_in (instr, 0))->desc, graph_value (g, node_in (instr, 1))->desc,
                                 graph_value (g, node_in (instr, 2))->desc,
                                 gradient ? graph_value (g, node_in (instr, 3))->desc : (LoomTensorDesc){ 0 } };
  LoomAttentionRows plain[LOOM_ATTENTION_N_OPERANDS];
  gboolean changes;

  call.attrs = *(const LoomAttentionAttrs *)instr->attrs;
  call.attrs.sizes = loom_attention_strides (&call.attrs, in, call.first, plain);
  memcpy (call.attrs.rows, plain, sizeof plain);
  call.attrs.in_place = true;
  for (guint k = 0; k < instr->in->len; k++)
    call.in[k] = node_in (instr, k);
  for (guint o = 0; o < instr->out->len; o++)
    call.out[o] = node_out (instr, o);
  use_source_operands (g, updaters, &call);
  if (gradient)
    use_copied_result (g, updaters, &call);
  if (gradient && !store_concatenated_gradients (g, &call))
    for (guint o = 0; o < MAX_OUT; o++)
      store_copied_result (g, &call, o, LOOM_ATTENTION_DQ + o);
  if (!gradient)
    store_copied_result (g, &call, 0, LOOM_ATTENTION_Y);
  changes = call.replaced[0] != NULL || call.replaced[1] != NULL || call.replaced[2] != NULL;
  for (guint k = 0; k < instr->in->len; k++)
    changes = changes || call.in[k] != node_in (instr, k);
  if (changes && has_kernel (g, &call))
    apply (g, &call);
}

/* The gradient is rewritten first: after that the copy is the only reader of attention's result. */
void
pass_attention_in_place (PlanGraph *g)
{
  g_autoptr (GHashTable) updaters = graph_find_updaters (g);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (is_gradient (instr))
      attend_in_place (g, updaters, instr);
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "attention"))
      attend_in_place (g, updaters, instr);
}
