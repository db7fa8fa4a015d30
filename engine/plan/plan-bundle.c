/* Joins small, neighbouring element-wise instructions into one kernel with several results.
 *
 * On a device with launched work a kernel takes microseconds however small it is, and one iteration of a recurrent cell
 * is a product and a dozen element-wise calls on a few thousand numbers. Chains (plan-chain.c) fuse only a value with a
 * single reader. This pass joins neighbours of one shape that need not read each other and whose results may have other
 * readers: a cell's gates, its states, and the values kept for the gradient. Slices that cut a product's result into
 * gates are read in place, and gradients of gates are written into their concatenation. Work on the whole tensor before
 * the slices is done on the parts.
 *
 * A sliced or concatenated value is a step of such a kernel: WORK_STEP_TAKE reads a part of an operand, WORK_STEP_PUT
 * writes a part of a result. Every number is computed by the same operations as before. Large tensors are left alone:
 * their time is memory traffic, and they would be alive longer. */
#include "engine/plan/plan-private.h"

#include <string.h>

/* The number of elements from which on a pass over memory takes longer than a launch. */
#define LARGEST (1 << 18)

/* The maximum distance of a neighbour, in instructions. */
#define REACH 64

/* An instruction under construction. */
typedef struct
{
  GArray *steps;    /* WorkStep */
  GArray *in, *out; /* guint */
} Draft;

static void
draft_init (Draft *d)
{
  d->steps = g_array_new (FALSE, FALSE, sizeof (WorkStep));
  d->in = g_array_new (FALSE, FALSE, sizeof (guint));
  d->out = g_array_new (FALSE, FALSE, sizeof (guint));
}

static void
draft_clear (Draft *d)
{
  g_clear_pointer (&d->steps, g_array_unref);
  g_clear_pointer (&d->in, g_array_unref);
  g_clear_pointer (&d->out, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Draft, draft_clear)

static gboolean
has_value (const GArray *values, guint v)
{
  for (guint i = 0; i < values->len; i++)
    if (g_array_index (values, guint, i) == v)
      return TRUE;
  return FALSE;
}

static void
add_once (GArray *values, guint v)
{
  if (!has_value (values, v))
    g_array_append_val (values, v);
}

static gboolean
has_step_for (const GArray *steps, guint v)
{
  for (guint s = 0; s < steps->len; s++)
    if (g_array_index (steps, WorkStep, s).result == v && g_array_index (steps, WorkStep, s).kind != WORK_STEP_PUT)
      return TRUE;
  return FALSE;
}

/* TRUE if it is within a kernel's limits and the device has it. */
static gboolean
is_possible (Work *g, const WorkInstr *instr, const Draft *d)
{
  WorkInstr joined = *instr;

  joined.steps = d->steps;
  return work_steps_fit (d->steps) && d->in->len <= LOOM_EW_MAX_IN && d->out->len <= LOOM_EW_MAX_OUT
         && work_has_kernel (g, &joined, d->in->len, (const guint *)(const void *)d->in->data, d->out->len,
                             (const guint *)(const void *)d->out->data);
}

/* Turns the instruction into the draft. The former producers of its results have been erased. */
static void
become (Work *g, WorkInstr *instr, Draft *d)
{
  guint n = instr->in->len;

  g_array_unref (instr->steps);
  instr->steps = g_steal_pointer (&d->steps);
  for (guint i = 0; i < d->in->len; i++)
    work_add_in (g, instr, g_array_index (d->in, guint, i));
  for (; n > 0; n--)
    work_drop_in (g, instr, n - 1);
  for (guint o = 0; o < instr->out->len; o++)
    if (work_value (g, work_out (instr, o))->producer == instr)
      work_value (g, work_out (instr, o))->producer = NULL;
  g_array_set_size (instr->out, 0);
  for (guint o = 0; o < d->out->len; o++)
    work_add_out (g, instr, g_array_index (d->out, guint, o));
}

/* ---- neighbours --------------------------------------------------------------- */

static const LoomTensorDesc *
desc_of (Work *g, guint v)
{
  return &work_value (g, v)->desc;
}

/* TRUE if v has not been overwritten when `at` runs. */
static gboolean
is_intact (Work *g, GHashTable *updaters, guint v, const WorkInstr *at)
{
  const WorkInstr *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (work_root (g, v)));

  return updater == NULL || !work_is_before (updater, at);
}

static gboolean
is_same_part_of_step (const WorkInstr *a, const WorkInstr *b)
{
  return a->device_name == b->device_name && a->region == b->region && a->pass == b->pass && a->chunk == b->chunk
         && a->recomputation == b->recomputation;
}

/* TRUE if v is a slice of a larger value along one axis that can be read at `at`; take: the step that reads it. */
static gboolean
is_cut (Work *g, GHashTable *updaters, guint v, const WorkInstr *at, WorkStep *take)
{
  const WorkInstr *slice = work_value (g, v)->producer;
  const LoomTensorDesc *whole, *part = desc_of (g, v);
  const LoomSliceAttrs *a;
  int axis = -1;

  /* Only within one part of the step, so that the whole is not kept for the part. */
  if (slice == NULL || !work_is (slice, "slice") || !is_same_part_of_step (slice, at))
    return FALSE;
  a = &((const LoomSliceTo *)slice->attrs)->kernel;
  whole = desc_of (g, work_in (slice, 0));
  if (whole->rank != part->rank || !work_is_ready (g, work_in (slice, 0), at)
      || !is_intact (g, updaters, work_in (slice, 0), at))
    return FALSE;
  for (int i = 0; i < part->rank; i++)
    {
      if (part->dim[i] != 1 && a->step[i] != 1)
        return FALSE;
      if (part->dim[i] == whole->dim[i])
        continue;
      if (axis >= 0)
        return FALSE;
      axis = i;
    }
  if (axis < 0)
    return FALSE;
  *take = (WorkStep){ .op = LOOM_SCALAR_ID,
                      .kind = WORK_STEP_TAKE,
                      .arg = { work_in (slice, 0) },
                      .result = v,
                      .axis = axis,
                      .start = a->start[axis],
                      .length = part->dim[axis] };
  return TRUE;
}

/* The shape that an element-wise instruction computes. */
static const LoomTensorDesc *
shape_of (Work *g, const WorkInstr *instr)
{
  const WorkStep *step = work_step (instr, instr->steps->len - 1);

  return desc_of (g, step->kind == WORK_STEP_PUT ? step->arg[0] : step->result);
}

/* TRUE if instr concatenates values of this shape, some of which `made` produces. */
static gboolean
is_concat_of (Work *g, const WorkInstr *instr, const WorkInstr *made)
{
  const LoomTensorDesc *shape = shape_of (g, made);
  gboolean of_it = FALSE;

  if (!work_is (instr, "concat"))
    return FALSE;
  for (guint k = 0; k < instr->in->len; k++)
    {
      const LoomTensorDesc *part = desc_of (g, work_in (instr, k));

      if (!work_same_dims (part, shape) || part->dtype != desc_of (g, work_out (instr, 0))->dtype
          || !loom_dtype_is_float (part->dtype) || loom_dtype_size (part->dtype) > loom_dtype_size (made->compute))
        return FALSE;
      of_it |= work_value (g, work_in (instr, k))->producer == made;
    }
  return of_it;
}

static gboolean
is_neighbour (Work *g, const WorkInstr *instr, const WorkInstr *other)
{
  if (!is_same_part_of_step (instr, other))
    return FALSE;
  if (other->steps != NULL)
    return other->compute == instr->compute && work_same_dims (shape_of (g, other), shape_of (g, instr));
  return loom_dtype_is_float (instr->compute) && is_concat_of (g, other, instr);
}

/* ---- places ------------------------------------------------------------------- */

/* TRUE if all operands of `other`, except results of instr, are available at instr. */
static gboolean
may_come_up (Work *g, GHashTable *updaters, const WorkInstr *instr, const WorkInstr *other)
{
  WorkStep take;

  for (guint k = 0; k < other->in->len; k++)
    {
      guint v = work_in (other, k);

      if (work_value (g, v)->producer != instr && !work_is_ready (g, v, instr)
          && !is_cut (g, updaters, v, instr, &take))
        return FALSE;
    }
  return TRUE;
}

/* TRUE if no instruction before `other` reads v. */
static gboolean
is_unread_before (Work *g, guint v, const WorkInstr *other)
{
  for (const WorkUse *use = work_value (g, v)->first_use; use != NULL; use = use->next)
    if (use->instr != NULL ? work_is_before (use->instr, other) : !is_unread_before (g, use->at, other))
      return FALSE;
  return TRUE;
}

/* TRUE if instr can be moved to other's position. */
static gboolean
may_go_down (Work *g, GHashTable *updaters, const WorkInstr *instr, const WorkInstr *other)
{
  for (guint k = 0; k < instr->in->len; k++)
    if (!is_intact (g, updaters, work_in (instr, k), other))
      return FALSE;
  for (guint o = 0; o < instr->out->len; o++)
    if (!is_unread_before (g, work_out (instr, o), other))
      return FALSE;
  return TRUE;
}

/* TRUE if an operand would be a view, or a part, of a result of one of the two: no register holds that. */
static gboolean
reads_own_result (Work *g, const Draft *d, const WorkInstr *instr, const WorkInstr *other)
{
  for (guint i = 0; i < d->in->len; i++)
    {
      const WorkInstr *producer = work_value (g, work_root (g, g_array_index (d->in, guint, i)))->producer;

      if (producer != NULL && (producer == instr || producer == other))
        return TRUE;
    }
  return FALSE;
}

/* ---- joining ------------------------------------------------------------------ */

static gboolean
is_taken (const WorkInstr *instr, guint v)
{
  for (guint s = 0; s < instr->steps->len; s++)
    if (work_step (instr, s)->kind == WORK_STEP_TAKE && work_step (instr, s)->arg[0] == v)
      return TRUE;
  return FALSE;
}

/* Adds the operands of `from`, which is to be computed at `at`, and its steps. */
static void
draft_add (Work *g, GHashTable *updaters, Draft *d, const WorkInstr *from, const WorkInstr *at)
{
  gint64 start = 0;

  for (guint k = 0; k < from->in->len; k++)
    {
      guint v = work_in (from, k);
      WorkStep take;

      if (has_step_for (d->steps, v))
        continue;
      /* A slice of a slice becomes an operand that is read in parts. */
      if ((from->steps == NULL || !is_taken (from, v)) && is_cut (g, updaters, v, at, &take))
        {
          g_array_append_val (d->steps, take);
          v = take.arg[0];
        }
      add_once (d->in, v);
    }
  if (from->steps != NULL)
    g_array_append_vals (d->steps, from->steps->data, from->steps->len);
  for (guint k = 0; from->steps == NULL && k < from->in->len; k++)
    {
      int axis = ((const LoomConcatAttrs *)from->attrs)->axis;
      WorkStep put = { .op = LOOM_SCALAR_ID,
                       .kind = WORK_STEP_PUT,
                       .arg = { work_in (from, k) },
                       .result = work_out (from, 0),
                       .axis = axis,
                       .start = start,
                       .length = desc_of (g, work_in (from, k))->dim[axis] };

      g_array_append_val (d->steps, put);
      start += put.length;
    }
}

/* TRUE if v has a reader other than `other`. */
static gboolean
is_used_besides (Work *g, guint v, const WorkInstr *other)
{
  const WorkValue *value = work_value (g, v);

  if (value->is_output || value->commit >= 0)
    return TRUE;
  for (const WorkUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL ? use->instr != other : work_is_used (g, use->at))
      return TRUE;
  return FALSE;
}

static void
erase_unread_slice (Work *g, guint v)
{
  WorkInstr *slice = work_value (g, v)->producer;

  if (slice != NULL && work_is (slice, "slice") && !work_is_used (g, v))
    work_erase (g, slice);
}

/* Appends a label; several are put in brackets. */
static void
join_labels (GString *label, const char *other)
{
  if (g_str_has_prefix (label->str, "fused("))
    {
      g_string_erase (label, 0, (gssize)strlen ("fused("));
      g_string_truncate (label, label->len - 1);
    }
  g_string_prepend (label, "fused(");
  g_string_append_c (label, ',');
  if (g_str_has_prefix (other, "fused("))
    g_string_append (label, other + strlen ("fused("));
  else
    g_string_append_printf (label, "%s)", other);
}

/* Reads the instruction's slices in place and joins `other` (may be NULL) to it. Returns FALSE and changes nothing if
 * that is not possible. */
static gboolean
join (Work *g, GHashTable *updaters, WorkInstr *instr, WorkInstr *other)
{
  gboolean up = other == NULL || may_come_up (g, updaters, instr, other);
  const WorkInstr *at = up ? instr : other;
  g_auto (Draft) d = { 0 };
  g_autofree guint *read = NULL;
  guint n = 0;

  if (!up && !may_go_down (g, updaters, instr, other))
    return FALSE;
  draft_init (&d);
  draft_add (g, updaters, &d, instr, at);
  for (guint o = 0; o < instr->out->len; o++)
    if (other == NULL || is_used_besides (g, work_out (instr, o), other))
      add_once (d.out, work_out (instr, o));
  if (other != NULL)
    {
      draft_add (g, updaters, &d, other, at);
      for (guint o = 0; o < other->out->len; o++)
        add_once (d.out, work_out (other, o));
    }
  if (reads_own_result (g, &d, instr, other) || !is_possible (g, instr, &d))
    return FALSE;

  read = g_new (guint, instr->in->len + (other != NULL ? other->in->len : 0) + 1);
  for (guint k = 0; k < instr->in->len; k++)
    read[n++] = work_in (instr, k);
  for (guint k = 0; other != NULL && k < other->in->len; k++)
    read[n++] = work_in (other, k);
  if (!up)
    work_move (g, instr, other);
  if (other != NULL)
    {
      join_labels (instr->label, other->label->str);
      work_erase (g, other);
    }
  become (g, instr, &d);
  while (n > 0)
    erase_unread_slice (g, read[--n]);
  return TRUE;
}

static gboolean
holds (LoomDType compute, LoomDType dtype)
{
  return loom_dtype_is_float (compute)
             ? loom_dtype_is_float (dtype) && loom_dtype_size (dtype) <= loom_dtype_size (compute)
             : dtype == compute;
}

/* If others read the slice v as well, makes the instruction write v for them, so that the slice is not needed. */
static void
write_taken (Work *g, WorkInstr *instr, guint v)
{
  WorkInstr *slice = work_value (g, v)->producer;
  g_auto (Draft) d = { 0 };

  /* It passes through a register, which holds no more than the compute type. */
  if (slice == NULL || !work_is (slice, "slice") || !is_same_part_of_step (slice, instr)
      || !is_unread_before (g, v, instr) || !holds (instr->compute, desc_of (g, v)->dtype))
    return;
  draft_init (&d);
  g_array_append_vals (d.steps, instr->steps->data, instr->steps->len);
  for (guint k = 0; k < instr->in->len; k++)
    add_once (d.in, work_in (instr, k));
  g_array_append_vals (d.out, instr->out->data, instr->out->len);
  g_array_append_val (d.out, v);
  if (has_value (d.in, v) || !is_possible (g, instr, &d))
    return;
  work_erase (g, slice);
  become (g, instr, &d);
}

static void
write_all_taken (Work *g, WorkInstr *instr)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint s = 0; s < instr->steps->len; s++)
    if (work_step (instr, s)->kind == WORK_STEP_TAKE)
      add_once (taken, work_step (instr, s)->result);
  for (guint i = 0; i < taken->len; i++)
    write_taken (g, instr, g_array_index (taken, guint, i));
}

/* ---- what was done to the whole ------------------------------------------------- */

/* The slice of an operand of a value's producer that corresponds to a slice of the result; the operand itself if it has
 * one element along that axis. */
static guint
part_of_operand (Work *g, Draft *d, guint v, const LoomTensorDesc *whole, const WorkStep *take)
{
  LoomTensorDesc desc = *desc_of (g, v);
  int axis = take->axis - (whole->rank - desc.rank);
  WorkStep step = *take;

  add_once (d->in, v);
  if (axis < 0 || desc.dim[axis] == 1)
    return v;
  desc.dim[axis] = take->length;
  step.arg[0] = v;
  step.axis = axis;
  step.result = work_new_value (g, &desc, work_value (g, v));
  g_array_append_val (d->steps, step);
  return step.result;
}

/* Adds maker's computation for only the part of its result that `take` reads. */
static void
draft_part (Work *g, Draft *d, const WorkInstr *maker, const WorkStep *take)
{
  g_autoptr (GHashTable) now = g_hash_table_new (NULL, NULL);
  guint whole = work_out (maker, 0);

  for (guint k = 0; k < maker->in->len; k++)
    {
      guint v = work_in (maker, k);

      g_hash_table_insert (now, GUINT_TO_POINTER (v),
                           GUINT_TO_POINTER (part_of_operand (g, d, v, desc_of (g, whole), take)));
    }
  for (guint s = 0; s < maker->steps->len; s++)
    {
      WorkStep step = *work_step (maker, s);
      LoomTensorDesc desc = *desc_of (g, step.result);

      for (int a = 0; a < loom_scalar_arity (step.op); a++)
        step.arg[a] = GPOINTER_TO_UINT (g_hash_table_lookup (now, GUINT_TO_POINTER (step.arg[a])));
      /* A constant step may have its own shape. */
      if (desc.rank == desc_of (g, whole)->rank && desc.dim[take->axis] == desc_of (g, whole)->dim[take->axis])
        desc.dim[take->axis] = take->length;
      step.result = step.result == whole ? take->result : work_new_value (g, &desc, work_value (g, step.result));
      g_hash_table_insert (now, GUINT_TO_POINTER (work_step (maker, s)->result), GUINT_TO_POINTER (step.result));
      g_array_append_val (d->steps, step);
    }
}

/* Computes operand v, of which only this instruction reads parts, within the instruction. */
static gboolean
take_up_maker (Work *g, GHashTable *updaters, WorkInstr *instr, guint v)
{
  WorkInstr *maker = work_value (g, v)->producer;
  g_auto (Draft) d = { 0 };

  if (maker == NULL || maker->steps == NULL || maker->out->len != 1 || maker->compute != instr->compute
      || !is_same_part_of_step (maker, instr) || work_only_reader (g, v, FALSE) != instr || !is_taken (instr, v))
    return FALSE;
  for (guint s = 0; s < maker->steps->len; s++)
    if (work_step (maker, s)->kind != WORK_STEP_SCALAR)
      return FALSE;
  for (guint k = 0; k < maker->in->len; k++)
    if (!is_intact (g, updaters, work_in (maker, k), instr))
      return FALSE;
  draft_init (&d);
  for (guint k = 0; k < instr->in->len; k++)
    if (work_in (instr, k) != v)
      add_once (d.in, work_in (instr, k));
  for (guint s = 0; s < instr->steps->len; s++)
    {
      const WorkStep *step = work_step (instr, s);

      if (step->kind == WORK_STEP_TAKE && step->arg[0] == v)
        draft_part (g, &d, maker, step);
      else
        g_array_append_val (d.steps, *step);
    }
  g_array_append_vals (d.out, instr->out->data, instr->out->len);
  if (!is_possible (g, instr, &d))
    return FALSE;
  {
    g_autofree char *own = g_strdup (instr->label->str);

    g_string_assign (instr->label, maker->label->str);
    join_labels (instr->label, own);
  }
  become (g, instr, &d);
  work_erase (g, maker);
  return TRUE;
}

/* ---- the pass ----------------------------------------------------------------- */

static void
take_up_makers (Work *g, GHashTable *updaters, WorkInstr *instr)
{
  for (guint k = 0; k < instr->in->len;)
    k = take_up_maker (g, updaters, instr, work_in (instr, k)) ? 0 : k + 1;
}

static gboolean
reads_slice (Work *g, GHashTable *updaters, const WorkInstr *instr)
{
  WorkStep take;

  for (guint k = 0; k < instr->in->len; k++)
    if (is_cut (g, updaters, work_in (instr, k), instr, &take))
      return TRUE;
  return FALSE;
}

/* Images and filters, which have rank 4, are left to plan-layout.c: all results of one call would have one layout. */
static gboolean
is_bundled (Work *g, const WorkInstr *instr)
{
  const LoomTensorDesc *shape = shape_of (g, instr);

  return shape->rank != 4 && loom_desc_count (shape) <= LARGEST && work_is_on_gpu (g, instr->device_name);
}

void
work_bundle (Work *g)
{
  g_autoptr (GHashTable) updaters = work_find_updaters (g);

  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    {
      WorkInstr *next;
      guint reach = 0;

      if (instr->steps == NULL || !is_bundled (g, instr))
        continue;
      if (reads_slice (g, updaters, instr))
        join (g, updaters, instr, NULL);
      for (WorkInstr *other = work_next (instr); other != NULL && reach < REACH; other = next, reach++)
        {
          next = work_next (other);
          if (is_neighbour (g, instr, other) && join (g, updaters, instr, other))
            reach = 0;
        }
      write_all_taken (g, instr);
      take_up_makers (g, updaters, instr);
    }
}
