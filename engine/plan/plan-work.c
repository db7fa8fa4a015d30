/* Implements the working form: values with their uses, and the list of instructions.
 *
 * Uses are nodes of doubly linked lists, so that a change costs the same however often a value is read: a learning rate
 * has as many readers as there are parameters. An instruction's position is a number with wide gaps, so two positions
 * compare at once; the list is renumbered when a gap is used up. */
#include "engine/plan/plan-private.h"

#include <string.h>

#define GAP (G_GUINT64_CONSTANT (1) << 32)

/* ---- uses ------------------------------------------------------------- */

static void
link_use (Work *g, WorkUse *use, guint v)
{
  WorkValue *value;

  use->value = v;
  use->prev = use->next = NULL;
  if (v == 0)
    return;
  value = work_value (g, v);
  use->prev = value->last_use;
  if (value->last_use != NULL)
    value->last_use->next = use;
  else
    value->first_use = use;
  value->last_use = use;
}

static void
unlink_use (Work *g, WorkUse *use)
{
  WorkValue *value;

  if (use->value == 0)
    return;
  value = work_value (g, use->value);
  if (use->prev != NULL)
    use->prev->next = use->next;
  else
    value->first_use = use->next;
  if (use->next != NULL)
    use->next->prev = use->prev;
  else
    value->last_use = use->prev;
  use->value = 0;
}

/* ---- values ----------------------------------------------------------- */

guint
work_new_value (Work *g, const LoomTensorDesc *desc, const WorkValue *like)
{
  WorkValue v = { .desc = *desc, .slot = -1, .input = -1, .commit = -1, .device = -1, .storage = -1 };

  if (like != NULL)
    {
      v.region = like->region;
      v.origin = like->origin;
      v.device_name = like->device_name;
      v.owner = like->owner;
    }
  g_array_append_val (g->values, v);
  return g->values->len - 1;
}

void
work_set_alias (Work *g, guint v, guint base)
{
  WorkValue *value = work_value (g, v);

  base = base != 0 ? work_root (g, base) : 0;
  g_assert (base != v);
  if (value->alias != 0)
    unlink_use (g, value->as_view);
  value->alias = base;
  if (base == 0)
    {
      g_clear_pointer (&value->as_view, g_free);
      return;
    }
  if (value->as_view == NULL)
    value->as_view = g_new0 (WorkUse, 1);
  value->as_view->at = v;
  link_use (g, value->as_view, base);
  value->producer = NULL;
  /* Views of v become views of base. */
  for (WorkUse *use = value->first_use, *next; use != NULL; use = next)
    {
      next = use->next;
      if (use->instr == NULL)
        work_set_alias (g, use->at, base);
    }
}

void
work_commit (Work *g, guint v, int slot)
{
  if (work_value (g, v)->commit >= 0)
    {
      guint view = work_new_value (g, &work_value (g, v)->desc, work_value (g, v));

      work_value (g, view)->device = work_value (g, v)->device;
      work_set_alias (g, view, v);
      v = view;
    }
  work_value (g, v)->commit = slot;
}

gboolean
work_is_used (Work *g, guint v)
{
  const WorkValue *value = work_value (g, v);

  if (value->is_output || value->commit >= 0)
    return TRUE;
  for (const WorkUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL || work_is_used (g, use->at))
      return TRUE;
  return FALSE;
}

/* Counts the uses of v and its views up to two; stores the last one found. */
static guint
count_readers (Work *g, guint v, guint n, const WorkUse **one)
{
  const WorkValue *value = work_value (g, v);

  if (value->is_output || value->commit >= 0)
    return 2;
  for (const WorkUse *use = value->first_use; use != NULL && n < 2; use = use->next)
    if (use->instr == NULL)
      n = count_readers (g, use->at, n, one);
    else
      {
        *one = use;
        n++;
      }
  return n;
}

guint
work_readers (Work *g, guint v, guint max, WorkInstr **reader)
{
  const WorkValue *value = work_value (g, v);
  guint n = value->is_output || value->commit >= 0 || value->alias != 0 ? max + 1 : 0;

  for (const WorkUse *use = value->first_use; use != NULL && n <= max; use = use->next)
    if (use->instr == NULL)
      n = work_is_used (g, use->at) ? max + 1 : n;
    else if (n++ < max)
      reader[n - 1] = use->instr;
  return n;
}

WorkInstr *
work_only_reader (Work *g, guint v, gboolean views)
{
  const WorkUse *one = NULL;

  if (count_readers (g, v, 0, &one) != 1 || (!views && one->value != v))
    return NULL;
  return one->instr;
}

void
work_replace (Work *g, guint a, guint b)
{
  g_assert (a != b);
  for (WorkUse *use = work_value (g, a)->first_use, *next; use != NULL; use = next)
    {
      WorkInstr *instr = use->instr;
      gboolean repeated = FALSE;

      next = use->next;
      if (instr == NULL)
        {
          work_set_alias (g, use->at, b);
          continue;
        }
      /* Element-wise work names each operand once: fusion relies on it. */
      for (guint k = 0; instr->steps != NULL && k < instr->in->len; k++)
        repeated |= work_in (instr, k) == b;
      work_set_in (g, instr, use->at, b);
      if (repeated)
        work_drop_in (g, instr, use->at);
    }
  if (work_value (g, a)->is_output || work_value (g, a)->commit >= 0)
    work_set_alias (g, a, b);
}

GHashTable *
work_find_updaters (Work *g)
{
  GHashTable *updaters = g_hash_table_new (NULL, NULL);

  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    for (guint o = 0; instr->prim != NULL && instr->prim->updates != NULL && o < instr->out->len; o++)
      {
        guint k = instr->prim->updates (instr->attrs, o);

        if (work_out (instr, o) != 0 && k != LOOM_UPDATES_NOTHING)
          g_hash_table_insert (updaters, GUINT_TO_POINTER (work_root (g, work_in (instr, k))), instr);
      }
  return updaters;
}

/* ---- instructions ------------------------------------------------------ */

static void
number (Work *g)
{
  guint64 order = GAP;

  for (WorkInstr *instr = g->first; instr != NULL; instr = instr->next, order += GAP)
    instr->order = order;
}

static void
link_instr (Work *g, WorkInstr *instr, WorkInstr *before)
{
  WorkInstr *prev = before != NULL ? before->prev : g->last;
  guint64 low = prev != NULL ? prev->order : 0;

  instr->prev = prev;
  instr->next = before;
  *(prev != NULL ? &prev->next : &g->first) = instr;
  *(before != NULL ? &before->prev : &g->last) = instr;
  instr->order = before != NULL ? low + (before->order - low) / 2 : low + GAP;
  if (instr->order == low)
    number (g);
}

static void
unlink_instr (Work *g, WorkInstr *instr)
{
  *(instr->prev != NULL ? &instr->prev->next : &g->first) = instr->next;
  *(instr->next != NULL ? &instr->next->prev : &g->last) = instr->prev;
}

WorkInstr *
work_insert (Work *g, WorkInstr *before, const LoomPrim *prim, const void *attrs)
{
  WorkInstr *instr = g_new0 (WorkInstr, 1);

  instr->prim = prim;
  instr->attrs = attrs != NULL ? g_memdup2 (attrs, prim->attrs_size) : NULL;
  instr->in = g_ptr_array_new_with_free_func (g_free);
  instr->out = g_array_new (FALSE, FALSE, sizeof (guint));
  instr->device = -1;
  instr->label = g_string_new (NULL);
  link_instr (g, instr, before);
  return instr;
}

WorkInstr *
work_insert_like (Work *g, WorkInstr *before, const WorkInstr *like, const LoomPrim *prim, const void *attrs,
                  const char *label)
{
  WorkInstr *instr = work_insert (g, before, prim, attrs);

  instr->region = like->region;
  instr->origin = like->origin;
  instr->device_name = like->device_name;
  instr->recomputation = like->recomputation;
  instr->pass = like->pass;
  instr->chunk = like->chunk;
  g_string_assign (instr->label, label);
  return instr;
}

void
work_move (Work *g, WorkInstr *instr, WorkInstr *before)
{
  g_assert (instr != before);
  unlink_instr (g, instr);
  link_instr (g, instr, before);
}

void
work_erase (Work *g, WorkInstr *instr)
{
  for (guint k = 0; k < instr->in->len; k++)
    unlink_use (g, g_ptr_array_index (instr->in, k));
  g_ptr_array_set_size (instr->in, 0);
  for (guint o = 0; o < instr->out->len; o++)
    if (work_out (instr, o) != 0 && work_value (g, work_out (instr, o))->producer == instr)
      work_value (g, work_out (instr, o))->producer = NULL;
  instr->dead = TRUE;
}

void
work_add_in (Work *g, WorkInstr *instr, guint v)
{
  WorkUse *use = g_new0 (WorkUse, 1);

  use->instr = instr;
  use->at = instr->in->len;
  g_ptr_array_add (instr->in, use);
  link_use (g, use, v);
}

void
work_set_in (Work *g, WorkInstr *instr, guint k, guint v)
{
  guint old = work_in (instr, k);

  unlink_use (g, g_ptr_array_index (instr->in, k));
  link_use (g, g_ptr_array_index (instr->in, k), v);
  for (guint s = 0; instr->steps != NULL && s < instr->steps->len; s++)
    for (int a = 0; a < loom_scalar_arity (work_step (instr, s)->op); a++)
      if (work_step (instr, s)->arg[a] == old)
        work_step (instr, s)->arg[a] = v;
}

void
work_drop_in (Work *g, WorkInstr *instr, guint k)
{
  unlink_use (g, g_ptr_array_index (instr->in, k));
  g_ptr_array_remove_index (instr->in, k);
  for (; k < instr->in->len; k++)
    ((WorkUse *)g_ptr_array_index (instr->in, k))->at = k;
}

void
work_add_out (Work *g, WorkInstr *instr, guint v)
{
  g_array_append_val (instr->out, v);
  if (v != 0)
    work_value (g, v)->producer = instr;
}

void
work_set_out (Work *g, WorkInstr *instr, guint o, guint v)
{
  guint old = work_out (instr, o);

  if (old != 0 && work_value (g, old)->producer == instr)
    work_value (g, old)->producer = NULL;
  g_array_index (instr->out, guint, o) = v;
  if (v != 0)
    work_value (g, v)->producer = instr;
}

static WorkInstr *
living (WorkInstr *instr)
{
  while (instr != NULL && instr->dead)
    instr = instr->next;
  return instr;
}

WorkInstr *
work_first (const Work *g)
{
  return living (g->first);
}

WorkInstr *
work_next (const WorkInstr *instr)
{
  return living (instr->next);
}

gboolean
work_is_before (const WorkInstr *a, const WorkInstr *b)
{
  return a->order < b->order;
}

static int
compare_order (const void *a, const void *b)
{
  const WorkInstr *x = *(WorkInstr *const *)a, *y = *(WorkInstr *const *)b;

  return x->order < y->order ? -1 : x->order > y->order;
}

void
work_sort (GPtrArray *instrs)
{
  g_ptr_array_sort (instrs, compare_order);
}

gboolean
work_is_ready (Work *g, guint v, const WorkInstr *instr)
{
  const WorkInstr *producer = work_value (g, work_root (g, v))->producer;

  return producer == NULL || work_is_before (producer, instr);
}

gboolean
work_is (const WorkInstr *instr, const char *primitive)
{
  return !instr->dead && instr->steps == NULL && instr->prim != NULL && strcmp (instr->prim->name, primitive) == 0;
}

gboolean
work_is_step (const WorkInstr *instr, LoomScalarOp op)
{
  return !instr->dead && instr->steps != NULL && instr->steps->len == 1 && work_step (instr, 0)->op == op;
}

gboolean
work_steps_fit (const GArray *steps)
{
  guint n[WORK_STEP_PUT + 1] = { 0 };

  for (guint s = 0; s < steps->len; s++)
    n[g_array_index (steps, WorkStep, s).kind]++;
  return n[WORK_STEP_SCALAR] <= LOOM_EW_MAX_STEPS && n[WORK_STEP_TAKE] <= LOOM_EW_MAX_PARTS
         && n[WORK_STEP_PUT] <= LOOM_EW_MAX_PARTS;
}

const char *
work_kernel (const WorkInstr *instr)
{
  return instr->steps != NULL ? "elementwise" : instr->prim != NULL ? instr->prim->name : "transfer";
}

char *
work_purpose (Work *g, const WorkInstr *instr)
{
  if (instr->origin != NULL)
    return NULL;
  return loom_program_purpose (g->program, instr->prim, instr->region, instr->out->len,
                               (const guint *)(gconstpointer)instr->out->data);
}

gboolean
work_same_dims (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  for (int i = 0; i < a->rank && i < b->rank; i++)
    if (a->dim[i] != b->dim[i])
      return FALSE;
  return a->rank == b->rank;
}

void
work_remove_dead (Work *g)
{
  for (WorkInstr *instr = g->last; instr != NULL; instr = instr->prev)
    {
      gboolean needed = instr->dead || (instr->prim != NULL && (instr->prim->flags & LOOM_PRIM_KEPT) != 0);

      for (guint k = 0; k < instr->out->len && !needed; k++)
        needed = work_out (instr, k) != 0 && work_is_used (g, work_out (instr, k));
      if (!needed)
        work_erase (g, instr);
    }
}

static void
instr_free (WorkInstr *instr)
{
  if (instr->kernel != NULL)
    instr->kernel->free (instr->kernel);
  g_free (instr->attrs);
  g_ptr_array_unref (instr->in);
  g_array_unref (instr->out);
  if (instr->steps != NULL)
    g_array_unref (instr->steps);
  g_clear_pointer (&instr->after, g_ptr_array_unref);
  g_string_free (instr->label, TRUE);
  g_free (instr);
}

void
work_sweep (Work *g)
{
  for (WorkInstr *instr = g->first, *next; instr != NULL; instr = next)
    {
      next = instr->next;
      if (!instr->dead)
        continue;
      unlink_instr (g, instr);
      instr_free (instr);
    }
}

void
work_free (Work *g)
{
  if (g == NULL)
    return;
  for (WorkInstr *instr = g->first, *next; instr != NULL; instr = next)
    {
      next = instr->next;
      instr_free (instr);
    }
  for (guint v = 0; v < g->values->len; v++)
    g_free (work_value (g, v)->as_view);
  loom_faults_free (g->faults);
  g_array_unref (g->values);
  if (g->order != NULL)
    work_order_free (g->order, g);
  g_ptr_array_unref (g->schedule);
  g_array_unref (g->storages);
  g_ptr_array_unref (g->plan_devices);
  g_array_unref (g->input_copied);
  g_array_unref (g->output_value);
  g_clear_pointer (&g->uploads, g_array_unref);
  g_clear_pointer (&g->staging, g_array_unref);
  g_clear_pointer (&g->results, g_array_unref);
  g_free (g);
}
