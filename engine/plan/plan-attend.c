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
  WorkInstr *instr;
  int first; /* index of the queries among the operands */
  LoomAttentionAttrs attrs;
  guint in[MAX_IN], out[MAX_OUT], n_out;
  WorkInstr *gone[MAX_OUT]; /* the copies after it that its stores would replace; NULL: none */
} Call;

static gboolean
is_attention (const WorkInstr *instr)
{
  return work_is (instr, "attention") || work_is (instr, "attention_grad");
}

static gboolean
is_gradient (const WorkInstr *instr)
{
  return work_is (instr, "attention_grad");
}

/* The strides of [N,heads,rows,features] as positions of rows; FALSE if features are not contiguous. */
static gboolean
rows_of (const LoomTensorDesc *desc, gint64 start, const gint64 *stride, LoomAttentionRows *rows)
{
  if (desc->rank != 4 || (stride[3] != 1 && desc->dim[3] > 1))
    return FALSE;
  *rows = (LoomAttentionRows){ start, stride[0], stride[1], stride[2] };
  return TRUE;
}

/* The strides, in the result of a copy, of the axes of its operand, which is read whole and plain. */
static gboolean
writing_of (const LoomMovePart *part, const LoomTensorDesc *operand, gint64 *stride)
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
         && work_restride (part->rank, dim, to, operand->rank, operand->dim, stride);
}

/* The positions to which a copy of all of v moves v's rows. */
static gboolean
lands (Work *g, const WorkInstr *move, guint v, LoomAttentionRows *rows)
{
  const LoomTensorDesc *desc = &work_value (g, v)->desc;
  gint64 stride[LOOM_MAX_RANK] = { 0 };
  LoomMovePart part;

  return work_move_of (g, move, &part) && writing_of (&part, desc, stride) && rows_of (desc, 0, stride, rows);
}

/* ---- operands ------------------------------------------------------------ */

/* TRUE if v and all its views are read by attention alone. */
static gboolean
only_attends (Work *g, guint v)
{
  const WorkValue *value = work_value (g, v);

  if (value->is_output || value->commit >= 0)
    return FALSE;
  for (const WorkUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL ? !only_attends (g, use->at) : !is_attention (use->instr))
      return FALSE;
  return TRUE;
}

/* TRUE if v's bytes are unchanged when the instruction runs. */
static gboolean
is_there (Work *g, GHashTable *updaters, guint v, const WorkInstr *instr)
{
  const WorkInstr *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (work_root (g, v)));

  return (updater == NULL || !work_is_before (updater, instr)) && work_is_ready (g, v, instr)
         && work_value (g, v)->device_name == instr->device_name;
}

static gboolean
belong_together (const WorkInstr *move, const WorkInstr *instr)
{
  return move->device_name == instr->device_name && move->pass == instr->pass && move->chunk == instr->chunk;
}

/* The tensor that operand k was copied from, and its rows there; 0: the operand stays. */
static guint
source_of (Work *g, GHashTable *updaters, const WorkInstr *instr, guint k, LoomAttentionRows *rows)
{
  const guint v = work_in (instr, k), root = work_root (g, v);
  const LoomTensorDesc *desc = &work_value (g, v)->desc;
  const WorkInstr *front = work_value (g, root)->producer;
  gint64 stride[LOOM_MAX_RANK] = { 0 };
  WorkReading reading;

  if (front == NULL || !belong_together (front, instr) || !only_attends (g, root)
      || !work_reading_of (g, front, &reading)
      || !work_restride (reading.rank, reading.dim, reading.stride, desc->rank, desc->dim, stride)
      || !rows_of (desc, reading.start, stride, rows) || !is_there (g, updaters, reading.from, instr))
    return 0;
  return reading.from;
}

/* The only reader of y except attention's gradient, if that is a copy. A recomputed copy, or one that is recomputed,
 * does not count: recomputation is meant to avoid keeping it. */
static WorkInstr *
find_mover (Work *g, guint y)
{
  const WorkValue *value = work_value (g, y);
  WorkInstr *mover = NULL;

  if (value->is_output || value->commit >= 0)
    return NULL;
  for (const WorkUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL || (!is_gradient (use->instr) && mover != NULL))
      return NULL;
    else if (!is_gradient (use->instr))
      mover = use->instr;
  return mover != NULL && mover->recomputation == value->producer->recomputation ? mover : NULL;
}

/* Operands that are read from one tensor must be as large as it together, since it is kept in their place. */
static void
place_operands (Work *g, GHashTable *updaters, Call *call)
{
  const WorkInstr *instr = call->instr;
  LoomAttentionRows rows[MAX_IN];
  guint source[MAX_IN] = { 0 };

  for (guint k = 0; k < instr->in->len; k++)
    if (work_in (instr, k) != 0 && loom_attention_operand (call->first, (int)k) != LOOM_ATTENTION_N_PARTS)
      source[k] = source_of (g, updaters, instr, k, &rows[k]);
  for (guint k = 0; k < instr->in->len; k++)
    {
      gint64 n = 0;

      for (guint i = 0; i < instr->in->len && source[k] != 0; i++)
        if (source[i] != 0 && work_root (g, source[i]) == work_root (g, source[k]))
          n += loom_desc_count (&work_value (g, work_in (instr, i))->desc);
      if (source[k] == 0 || n < loom_desc_count (&work_value (g, work_root (g, source[k]))->desc))
        continue;
      call->in[k] = source[k];
      call->attrs.rows[loom_attention_operand (call->first, (int)k)] = rows[k];
    }
}

/* Makes the gradient read attention's result where a copy has put it, so that only the copy is kept. */
static void
place_result_read (Work *g, GHashTable *updaters, Call *call)
{
  const WorkInstr *instr = call->instr;
  const guint y = instr->in->len > 7 ? work_in (instr, 7) : 0;
  WorkInstr *mover;

  if (y == 0 || work_value (g, y)->producer == NULL || !work_is (work_value (g, y)->producer, "attention"))
    return;
  mover = find_mover (g, y);
  if (mover != NULL && belong_together (mover, instr) && is_there (g, updaters, work_out (mover, 0), instr)
      && lands (g, mover, y, &call->attrs.rows[LOOM_ATTENTION_Y]))
    call->in[7] = work_out (mover, 0);
}

/* ---- results ------------------------------------------------------------- */

/* TRUE if a copy follows the instruction in the same part of the step, so that both can be one call. */
static gboolean
stands_behind (const WorkInstr *move, const WorkInstr *instr)
{
  return move != NULL && belong_together (move, instr) && move->region == instr->region
         && move->recomputation == instr->recomputation;
}

/* Makes the call write result o, its part `part`, where the result's only reader would copy it. */
static void
place_result (Work *g, Call *call, guint o, LoomAttentionPart part)
{
  WorkInstr *mover = work_only_reader (g, call->out[o], TRUE);

  if (!stands_behind (mover, call->instr) || !lands (g, mover, call->out[o], &call->attrs.rows[part]))
    return;
  call->out[o] = work_out (mover, 0);
  call->gone[o] = mover;
}

/* Makes the call write the three gradients as parts of their concatenation, if that has no other parts. */
static gboolean
place_together (Work *g, Call *call)
{
  WorkInstr *join = work_only_reader (g, call->out[0], TRUE);
  LoomAttentionRows rows[MAX_OUT];
  const LoomMoveAttrs *attrs;

  if (!stands_behind (join, call->instr) || !work_is (join, "move") || join->in->len != MAX_OUT)
    return FALSE;
  attrs = join->attrs;
  for (guint o = 0; o < MAX_OUT; o++)
    {
      const LoomTensorDesc *desc = &work_value (g, call->out[o])->desc;
      gint64 stride[LOOM_MAX_RANK] = { 0 };
      guint k = 0;

      while (k < MAX_OUT && work_root (g, work_in (join, k)) != call->out[o])
        k++;
      if (k == MAX_OUT || work_only_reader (g, call->out[o], TRUE) != join
          || !writing_of (&attrs->part[k], desc, stride) || !rows_of (desc, attrs->part[k].to_start, stride, &rows[o]))
        return FALSE;
    }
  for (guint o = 0; o < MAX_OUT; o++)
    call->attrs.rows[LOOM_ATTENTION_DQ + o] = rows[o];
  call->out[0] = work_out (join, 0);
  call->n_out = 1;
  call->gone[0] = join;
  return TRUE;
}

/* ---- the call ------------------------------------------------------------ */

/* The bytes that the 16-bit floats among these take as f32. */
static gsize
widened_bytes (Work *g, guint n, const guint *v)
{
  gsize bytes = 0;

  for (guint k = 0; k < n; k++)
    if (v[k] != 0 && loom_dtype_is_float (work_value (g, v[k])->desc.dtype)
        && loom_dtype_size (work_value (g, v[k])->desc.dtype) < 4)
      bytes += (gsize)loom_desc_count (&work_value (g, v[k])->desc) * sizeof (float);
  return bytes;
}

static gboolean
has_kernel (Work *g, const Call *call)
{
  WorkInstr *instr = call->instr;
  LoomAttentionAttrs *attrs = instr->attrs, before = *attrs;
  const gsize widened = widened_bytes (g, instr->in->len, call->in) + widened_bytes (g, call->n_out, call->out);
  gboolean has;

  *attrs = call->attrs;
  has = widened == 0 ? work_has_kernel (g, instr, instr->in->len, call->in, call->n_out, call->out)
                     : work_has_small_kernel (g, instr, instr->in->len, call->in, call->n_out, call->out, widened);
  *attrs = before;
  return has;
}

static void
apply (Work *g, const Call *call)
{
  WorkInstr *instr = call->instr;

  *(LoomAttentionAttrs *)instr->attrs = call->attrs;
  for (guint k = 0; k < instr->in->len; k++)
    if (call->in[k] != work_in (instr, k))
      work_set_in (g, instr, k, call->in[k]);
  for (guint o = 0; o < MAX_OUT; o++)
    if (call->gone[o] != NULL)
      work_erase (g, call->gone[o]);
  for (guint o = 0; o < call->n_out; o++)
    if (call->out[o] != work_out (instr, o))
      work_set_out (g, instr, o, call->out[o]);
  for (guint o = call->n_out; o < instr->out->len; o++)
    work_set_out (g, instr, o, 0);
  g_array_set_size (instr->out, call->n_out);
  g_string_append (instr->label, " in place");
}

static void
attend_in_place (Work *g, GHashTable *updaters, WorkInstr *instr)
{
  const gboolean gradient = is_gradient (instr);
  Call call = { .instr = instr, .first = gradient ? 1 : 0, .n_out = instr->out->len };
  const LoomTensorDesc in[4] = { work_value (g, work_in (instr, 0))->desc, work_value (g, work_in (instr, 1))->desc,
                                 work_value (g, work_in (instr, 2))->desc,
                                 gradient ? work_value (g, work_in (instr, 3))->desc : (LoomTensorDesc){ 0 } };
  LoomAttentionRows plain[LOOM_ATTENTION_N_PARTS];
  gboolean changes;

  call.attrs = *(const LoomAttentionAttrs *)instr->attrs;
  call.attrs.sizes = loom_attention_places (&call.attrs, in, call.first, plain);
  memcpy (call.attrs.rows, plain, sizeof plain);
  call.attrs.in_place = true;
  for (guint k = 0; k < instr->in->len; k++)
    call.in[k] = work_in (instr, k);
  for (guint o = 0; o < instr->out->len; o++)
    call.out[o] = work_out (instr, o);
  place_operands (g, updaters, &call);
  if (gradient)
    place_result_read (g, updaters, &call);
  if (gradient && !place_together (g, &call))
    for (guint o = 0; o < MAX_OUT; o++)
      place_result (g, &call, o, LOOM_ATTENTION_DQ + o);
  if (!gradient)
    place_result (g, &call, 0, LOOM_ATTENTION_Y);
  changes = call.gone[0] != NULL || call.gone[1] != NULL || call.gone[2] != NULL;
  for (guint k = 0; k < instr->in->len; k++)
    changes = changes || call.in[k] != work_in (instr, k);
  if (changes && has_kernel (g, &call))
    apply (g, &call);
}

/* Gradients first: then attention's result has one reader, the copy after it. */
void
work_attend_in_place (Work *g)
{
  g_autoptr (GHashTable) updaters = work_find_updaters (g);

  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (is_gradient (instr))
      attend_in_place (g, updaters, instr);
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (work_is (instr, "attention"))
      attend_in_place (g, updaters, instr);
}
