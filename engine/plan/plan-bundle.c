/* Joins small, neighbouring element-wise instructions into one kernel with several results, on GPUs only.
 *
 * On a GPU a kernel takes microseconds however small it is, and one iteration of a recurrent cell is a product and a
 * dozen element-wise calls on a few thousand numbers. Chains (plan-elementwise.c) fuse only a value with a single
 * reader. This pass joins neighbours of one shape that need not read each other and whose results may have other
 * readers: a cell's gates, its states, and the values kept for the gradient. Slices that cut a product's result into
 * gates are read in place, and gradients of gates are written into their concatenation. An element-wise instruction on
 * the whole tensor, before the slices, is computed on the parts.
 *
 * A sliced or concatenated value is a step of such a kernel: PLAN_STEP_LOAD_SLICE reads a part of an operand,
 * PLAN_STEP_STORE_SLICE writes a part of a result. Every number is computed by the same operations as before. Large
 * tensors are left alone: their time is memory traffic, and they would be alive longer. */
#include "engine/plan/plan-private.h"

/* The number of elements from which on reading memory takes longer than launching a kernel. */
#define MAX_ELEMENTS (1 << 18)

/* The maximum distance of a neighbour, in instructions. */
#define MAX_DISTANCE 64

/* An instruction under construction. */
typedef struct
{
  GArray *steps;    /* PlanStep */
  GArray *in, *out; /* guint */
} Draft;

static void
draft_init (Draft *d)
{
  d->steps = g_array_new (FALSE, FALSE, sizeof (PlanStep));
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
    if (g_array_index (steps, PlanStep, s).result == v
        && g_array_index (steps, PlanStep, s).kind != PLAN_STEP_STORE_SLICE)
      return TRUE;
  return FALSE;
}

/* TRUE if it is within a kernel's limits and the device has it. */
static gboolean
is_possible (PlanGraph *g, const PlanNode *instr, const Draft *d)
{
  PlanNode joined = *instr;

  joined.steps = d->steps;
  return plan_steps_fit (d->steps) && d->in->len <= LOOM_EW_MAX_IN && d->out->len <= LOOM_EW_MAX_OUT
         && graph_has_kernel (g, &joined, d->in->len, (const guint *)(const void *)d->in->data, d->out->len,
                              (const guint *)(const void *)d->out->data);
}

/* Turns the instruction into the draft. The former producers of its results have been erased. */
static void
apply_draft (PlanGraph *g, PlanNode *instr, Draft *d)
{
  guint n = instr->in->len;

  g_array_unref (instr->steps);
  instr->steps = g_steal_pointer (&d->steps);
  for (guint i = 0; i < d->in->len; i++)
    graph_add_in (g, instr, g_array_index (d->in, guint, i));
  for (; n > 0; n--)
    graph_drop_in (g, instr, n - 1);
  for (guint o = 0; o < instr->out->len; o++)
    if (graph_value (g, node_out (instr, o))->producer == instr)
      graph_value (g, node_out (instr, o))->producer = NULL;
  g_array_set_size (instr->out, 0);
  for (guint o = 0; o < d->out->len; o++)
    graph_add_out (g, instr, g_array_index (d->out, guint, o));
}

/* ---- neighbours --------------------------------------------------------------- */

static const LoomTensorDesc *
desc_of (PlanGraph *g, guint v)
{
  return &graph_value (g, v)->desc;
}

/* TRUE if no instruction overwrites v before `at` runs. */
static gboolean
is_intact (PlanGraph *g, GHashTable *updaters, guint v, const PlanNode *at)
{
  const PlanNode *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (graph_root (g, v)));

  return updater == NULL || !node_is_before (updater, at);
}

static gboolean
is_same_part_of_step (const PlanNode *a, const PlanNode *b)
{
  return a->device_name == b->device_name && a->region == b->region && a->pass == b->pass && a->chunk == b->chunk
         && a->recomputation == b->recomputation;
}

/* TRUE if v is a slice of a larger value along one axis and that value can be read at `at`. take: the step that reads
 * the slice. */
static gboolean
is_slice (PlanGraph *g, GHashTable *updaters, guint v, const PlanNode *at, PlanStep *take)
{
  const PlanNode *slice = graph_value (g, v)->producer;
  const LoomTensorDesc *whole, *part = desc_of (g, v);
  const LoomSliceAttrs *a;
  int axis = -1;

  /* Both must be in the same part of the step; otherwise the whole value would be kept for the slice. */
  if (slice == NULL || !node_is (slice, "slice") || !is_same_part_of_step (slice, at))
    return FALSE;
  a = &((const LoomSliceTo *)slice->attrs)->kernel;
  whole = desc_of (g, node_in (slice, 0));
  if (whole->rank != part->rank || !graph_is_ready (g, node_in (slice, 0), at)
      || !is_intact (g, updaters, node_in (slice, 0), at))
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
  *take = (PlanStep){ .op = LOOM_SCALAR_ID,
                      .kind = PLAN_STEP_LOAD_SLICE,
                      .arg = { node_in (slice, 0) },
                      .result = v,
                      .axis = axis,
                      .start = a->start[axis],
                      .length = part->dim[axis] };
  return TRUE;
}

/* The shape that an element-wise instruction computes. */
static const LoomTensorDesc *
shape_of (PlanGraph *g, const PlanNode *instr)
{
  const PlanStep *step = node_step (instr, instr->steps->len - 1);

  return desc_of (g, step->kind == PLAN_STEP_STORE_SLICE ? step->arg[0] : step->result);
}

/* TRUE if instr concatenates values of this shape, some of which `made` produces. */
static gboolean
is_concat_of (PlanGraph *g, const PlanNode *instr, const PlanNode *made)
{
  const LoomTensorDesc *shape = shape_of (g, made);
  gboolean of_it = FALSE;

  if (!node_is (instr, "concat"))
    return FALSE;
  for (guint k = 0; k < instr->in->len; k++)
    {
      const LoomTensorDesc *part = desc_of (g, node_in (instr, k));

      if (!plan_same_dims (part, shape) || part->dtype != desc_of (g, node_out (instr, 0))->dtype
          || !loom_dtype_is_float (part->dtype) || loom_dtype_size (part->dtype) > loom_dtype_size (made->compute))
        return FALSE;
      of_it |= graph_value (g, node_in (instr, k))->producer == made;
    }
  return of_it;
}

static gboolean
is_neighbour (PlanGraph *g, const PlanNode *instr, const PlanNode *other)
{
  if (!is_same_part_of_step (instr, other))
    return FALSE;
  if (other->steps != NULL)
    return other->compute == instr->compute && plan_same_dims (shape_of (g, other), shape_of (g, instr));
  return loom_dtype_is_float (instr->compute) && is_concat_of (g, other, instr);
}

/* ---- positions ---------------------------------------------------------------- */

/* TRUE if all operands of `other`, except results of instr, are available at instr. */
static gboolean
can_hoist (PlanGraph *g, GHashTable *updaters, const PlanNode *instr, const PlanNode *other)
{
  PlanStep take;

  for (guint k = 0; k < other->in->len; k++)
    {
      guint v = node_in (other, k);

      if (graph_value (g, v)->producer != instr && !graph_is_ready (g, v, instr)
          && !is_slice (g, updaters, v, instr, &take))
        return FALSE;
    }
  return TRUE;
}

/* TRUE if no instruction before `other` reads v. */
static gboolean
is_unread_before (PlanGraph *g, guint v, const PlanNode *other)
{
  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL; use = use->next)
    if (use->instr != NULL ? node_is_before (use->instr, other) : !is_unread_before (g, use->at, other))
      return FALSE;
  return TRUE;
}

/* TRUE if instr can be moved to other's position. */
static gboolean
can_sink (PlanGraph *g, GHashTable *updaters, const PlanNode *instr, const PlanNode *other)
{
  for (guint k = 0; k < instr->in->len; k++)
    if (!is_intact (g, updaters, node_in (instr, k), other))
      return FALSE;
  for (guint o = 0; o < instr->out->len; o++)
    if (!is_unread_before (g, node_out (instr, o), other))
      return FALSE;
  return TRUE;
}

/* TRUE if one of the two would read a view or a slice of a result of the other, which no register holds. */
static gboolean
reads_own_result (PlanGraph *g, const Draft *d, const PlanNode *instr, const PlanNode *other)
{
  for (guint i = 0; i < d->in->len; i++)
    {
      const PlanNode *producer = graph_value (g, graph_root (g, g_array_index (d->in, guint, i)))->producer;

      if (producer != NULL && (producer == instr || producer == other))
        return TRUE;
    }
  return FALSE;
}

/* ---- joining ------------------------------------------------------------------ */

static gboolean
is_loaded_slice (const PlanNode *instr, guint v)
{
  for (guint s = 0; s < instr->steps->len; s++)
    if (node_step (instr, s)->kind == PLAN_STEP_LOAD_SLICE && node_step (instr, s)->arg[0] == v)
      return TRUE;
  return FALSE;
}

/* Adds the steps of `from`, which will be computed at `at`, and its operands. */
static void
draft_add (PlanGraph *g, GHashTable *updaters, Draft *d, const PlanNode *from, const PlanNode *at)
{
  gint64 start = 0;

  for (guint k = 0; k < from->in->len; k++)
    {
      guint v = node_in (from, k);
      PlanStep take;

      if (has_step_for (d->steps, v))
        continue;
      /* A slice of a slice becomes an operand that is read in parts. */
      if ((from->steps == NULL || !is_loaded_slice (from, v)) && is_slice (g, updaters, v, at, &take))
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
      PlanStep put = { .op = LOOM_SCALAR_ID,
                       .kind = PLAN_STEP_STORE_SLICE,
                       .arg = { node_in (from, k) },
                       .result = node_out (from, 0),
                       .axis = axis,
                       .start = start,
                       .length = desc_of (g, node_in (from, k))->dim[axis] };

      g_array_append_val (d->steps, put);
      start += put.length;
    }
}

/* TRUE if v has a reader other than `other`. */
static gboolean
has_other_reader (PlanGraph *g, guint v, const PlanNode *other)
{
  const PlanValue *value = graph_value (g, v);

  if (value->is_output || value->commit >= 0)
    return TRUE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL ? use->instr != other : graph_is_used (g, use->at))
      return TRUE;
  return FALSE;
}

static void
erase_unread_slice (PlanGraph *g, guint v)
{
  PlanNode *slice = graph_value (g, v)->producer;

  if (slice != NULL && node_is (slice, "slice") && !graph_is_used (g, v))
    graph_erase (g, slice);
}

/* Reads the instruction's slices in place and joins `other` (may be NULL) to it. Returns FALSE and changes nothing if
 * that is not possible. */
static gboolean
join (PlanGraph *g, GHashTable *updaters, PlanNode *instr, PlanNode *other)
{
  gboolean up = other == NULL || can_hoist (g, updaters, instr, other);
  const PlanNode *at = up ? instr : other;
  g_auto (Draft) d = { 0 };
  g_autofree guint *read = NULL;
  guint n = 0;

  if (!up && !can_sink (g, updaters, instr, other))
    return FALSE;
  draft_init (&d);
  draft_add (g, updaters, &d, instr, at);
  for (guint o = 0; o < instr->out->len; o++)
    if (other == NULL || has_other_reader (g, node_out (instr, o), other))
      add_once (d.out, node_out (instr, o));
  if (other != NULL)
    {
      draft_add (g, updaters, &d, other, at);
      for (guint o = 0; o < other->out->len; o++)
        add_once (d.out, node_out (other, o));
    }
  if (reads_own_result (g, &d, instr, other) || !is_possible (g, instr, &d))
    return FALSE;

  read = g_new (guint, instr->in->len + (other != NULL ? other->in->len : 0) + 1);
  for (guint k = 0; k < instr->in->len; k++)
    read[n++] = node_in (instr, k);
  for (guint k = 0; other != NULL && k < other->in->len; k++)
    read[n++] = node_in (other, k);
  if (!up)
    graph_move (g, instr, other);
  if (other != NULL)
    {
      plan_join_labels (instr->label, other->label->str);
      graph_erase (g, other);
    }
  apply_draft (g, instr, &d);
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

/* If v has further readers, makes the instruction write v as a result, which replaces the slice. */
static void
store_slice (PlanGraph *g, PlanNode *instr, guint v)
{
  PlanNode *slice = graph_value (g, v)->producer;
  g_auto (Draft) d = { 0 };

  /* The slice passes through a register, which has the precision of the compute type. */
  if (slice == NULL || !node_is (slice, "slice") || !is_same_part_of_step (slice, instr)
      || !is_unread_before (g, v, instr) || !holds (instr->compute, desc_of (g, v)->dtype))
    return;
  draft_init (&d);
  g_array_append_vals (d.steps, instr->steps->data, instr->steps->len);
  for (guint k = 0; k < instr->in->len; k++)
    add_once (d.in, node_in (instr, k));
  g_array_append_vals (d.out, instr->out->data, instr->out->len);
  g_array_append_val (d.out, v);
  if (has_value (d.in, v) || !is_possible (g, instr, &d))
    return;
  graph_erase (g, slice);
  apply_draft (g, instr, &d);
}

static void
store_slices (PlanGraph *g, PlanNode *instr)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint s = 0; s < instr->steps->len; s++)
    if (node_step (instr, s)->kind == PLAN_STEP_LOAD_SLICE)
      add_once (taken, node_step (instr, s)->result);
  for (guint i = 0; i < taken->len; i++)
    store_slice (g, instr, g_array_index (taken, guint, i));
}

/* ---- producers of whole tensors ----------------------------------------------- */

/* The operand of a producer for only the part of its result that `take` reads: the corresponding slice, or the operand
 * itself if it has one element along that axis. */
static guint
part_of_operand (PlanGraph *g, Draft *d, guint v, const LoomTensorDesc *whole, const PlanStep *take)
{
  LoomTensorDesc desc = *desc_of (g, v);
  int axis = take->axis - (whole->rank - desc.rank);
  PlanStep step = *take;

  add_once (d->in, v);
  if (axis < 0 || desc.dim[axis] == 1)
    return v;
  desc.dim[axis] = take->length;
  step.arg[0] = v;
  step.axis = axis;
  step.result = graph_new_value (g, &desc, graph_value (g, v));
  g_array_append_val (d->steps, step);
  return step.result;
}

/* Adds the producer's computation for only the part of its result that `take` reads. */
static void
draft_part (PlanGraph *g, Draft *d, const PlanNode *maker, const PlanStep *take)
{
  g_autoptr (GHashTable) now = g_hash_table_new (NULL, NULL);
  guint whole = node_out (maker, 0);

  for (guint k = 0; k < maker->in->len; k++)
    {
      guint v = node_in (maker, k);

      g_hash_table_insert (now, GUINT_TO_POINTER (v),
                           GUINT_TO_POINTER (part_of_operand (g, d, v, desc_of (g, whole), take)));
    }
  for (guint s = 0; s < maker->steps->len; s++)
    {
      PlanStep step = *node_step (maker, s);
      LoomTensorDesc desc = *desc_of (g, step.result);

      for (int a = 0; a < loom_scalar_arity (step.op); a++)
        step.arg[a] = GPOINTER_TO_UINT (g_hash_table_lookup (now, GUINT_TO_POINTER (step.arg[a])));
      /* A constant step may have its own shape. */
      if (desc.rank == desc_of (g, whole)->rank && desc.dim[take->axis] == desc_of (g, whole)->dim[take->axis])
        desc.dim[take->axis] = take->length;
      step.result = step.result == whole ? take->result : graph_new_value (g, &desc, graph_value (g, step.result));
      g_hash_table_insert (now, GUINT_TO_POINTER (node_step (maker, s)->result), GUINT_TO_POINTER (step.result));
      g_array_append_val (d->steps, step);
    }
}

/* Computes operand v within the instruction, if only this instruction reads parts of v. */
static gboolean
fuse_producer (PlanGraph *g, GHashTable *updaters, PlanNode *instr, guint v)
{
  PlanNode *maker = graph_value (g, v)->producer;
  g_auto (Draft) d = { 0 };

  if (maker == NULL || maker->steps == NULL || maker->out->len != 1 || maker->compute != instr->compute
      || !is_same_part_of_step (maker, instr) || graph_only_reader (g, v, FALSE) != instr
      || !is_loaded_slice (instr, v))
    return FALSE;
  for (guint s = 0; s < maker->steps->len; s++)
    if (node_step (maker, s)->kind != PLAN_STEP_SCALAR)
      return FALSE;
  for (guint k = 0; k < maker->in->len; k++)
    if (!is_intact (g, updaters, node_in (maker, k), instr))
      return FALSE;
  draft_init (&d);
  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) != v)
      add_once (d.in, node_in (instr, k));
  for (guint s = 0; s < instr->steps->len; s++)
    {
      const PlanStep *step = node_step (instr, s);

      if (step->kind == PLAN_STEP_LOAD_SLICE && step->arg[0] == v)
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
    plan_join_labels (instr->label, own);
  }
  apply_draft (g, instr, &d);
  graph_erase (g, maker);
  return TRUE;
}

/* ---- the pass ----------------------------------------------------------------- */

static void
fuse_producers (PlanGraph *g, GHashTable *updaters, PlanNode *instr)
{
  for (guint k = 0; k < instr->in->len;)
    k = fuse_producer (g, updaters, instr, node_in (instr, k)) ? 0 : k + 1;
}

static gboolean
reads_slice (PlanGraph *g, GHashTable *updaters, const PlanNode *instr)
{
  PlanStep take;

  for (guint k = 0; k < instr->in->len; k++)
    if (is_slice (g, updaters, node_in (instr, k), instr, &take))
      return TRUE;
  return FALSE;
}

/* Images and filters, which have rank 4, are left to plan-layout.c: all results of one call would have one layout. */
static gboolean
is_bundled (PlanGraph *g, const PlanNode *instr)
{
  const LoomTensorDesc *shape = shape_of (g, instr);

  return shape->rank != 4 && loom_desc_count (shape) <= MAX_ELEMENTS && graph_is_on_gpu (g, instr->device_name);
}

void
pass_bundle (PlanGraph *g)
{
  g_autoptr (GHashTable) updaters = graph_find_updaters (g);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      PlanNode *next;
      guint reach = 0;

      if (instr->steps == NULL || !is_bundled (g, instr))
        continue;
      if (reads_slice (g, updaters, instr))
        join (g, updaters, instr, NULL);
      for (PlanNode *other = node_next (instr); other != NULL && reach < MAX_DISTANCE; other = next, reach++)
        {
          next = node_next (other);
          if (is_neighbour (g, instr, other) && join (g, updaters, instr, other))
            reach = 0;
        }
      store_slices (g, instr);
      fuse_producers (g, updaters, instr);
    }
}
