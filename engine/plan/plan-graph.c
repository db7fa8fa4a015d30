/* Implements the working form: values with their uses, and the list of instructions. The file also has dead code
 * elimination: pass_remove_dead() marks unused instructions dead and graph_sweep() frees them, both after each pass.
 *
 * Uses are nodes of doubly linked lists, so that a change costs the same however often a value is read: a learning rate
 * has as many readers as there are parameters. An instruction's position is a number with wide gaps, so two positions
 * compare at once; the list is renumbered when a gap is used up. */
#include "engine/plan/plan-private.h"

#include <string.h>

#define GAP (G_GUINT64_CONSTANT (1) << 32)

/* ---- uses ------------------------------------------------------------- */

static void
link_use (PlanGraph *g, PlanUse *use, guint v)
{
  PlanValue *value;

  g->n_edits++;
  use->value = v;
  use->prev = use->next = NULL;
  if (v == 0)
    return;
  value = graph_value (g, v);
  use->prev = value->last_use;
  if (value->last_use != NULL)
    value->last_use->next = use;
  else
    value->first_use = use;
  value->last_use = use;
}

static void
unlink_use (PlanGraph *g, PlanUse *use)
{
  PlanValue *value;

  g->n_edits++;
  if (use->value == 0)
    return;
  value = graph_value (g, use->value);
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
graph_new_value (PlanGraph *g, const LoomTensorDesc *desc, const PlanValue *like)
{
  PlanValue v = { .desc = *desc, .slot = -1, .input = -1, .commit = -1, .device = -1, .storage = -1 };

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
graph_set_alias (PlanGraph *g, guint v, guint base)
{
  PlanValue *value = graph_value (g, v);

  base = base != 0 ? graph_root (g, base) : 0;
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
    value->as_view = g_new0 (PlanUse, 1);
  value->as_view->at = v;
  link_use (g, value->as_view, base);
  value->producer = NULL;
  /* Views of v become views of base. */
  for (PlanUse *use = value->first_use, *next; use != NULL; use = next)
    {
      next = use->next;
      if (use->instr == NULL)
        graph_set_alias (g, use->at, base);
    }
}

void
graph_commit (PlanGraph *g, guint v, int slot)
{
  if (graph_value (g, v)->commit >= 0)
    {
      guint view = graph_new_value (g, &graph_value (g, v)->desc, graph_value (g, v));

      graph_value (g, view)->device = graph_value (g, v)->device;
      graph_set_alias (g, view, v);
      v = view;
    }
  graph_value (g, v)->commit = slot;
}

gboolean
graph_is_used (PlanGraph *g, guint v)
{
  const PlanValue *value = graph_value (g, v);

  if (value->is_output || value->commit >= 0)
    return TRUE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL || graph_is_used (g, use->at))
      return TRUE;
  return FALSE;
}

/* Counts the uses of v and its views up to two; stores the last one found. */
static guint
count_readers (PlanGraph *g, guint v, guint n, const PlanUse **one)
{
  const PlanValue *value = graph_value (g, v);

  if (value->is_output || value->commit >= 0)
    return 2;
  for (const PlanUse *use = value->first_use; use != NULL && n < 2; use = use->next)
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
graph_readers (PlanGraph *g, guint v, guint max, PlanNode **reader)
{
  const PlanValue *value = graph_value (g, v);
  guint n = value->is_output || value->commit >= 0 || value->alias != 0 ? max + 1 : 0;

  for (const PlanUse *use = value->first_use; use != NULL && n <= max; use = use->next)
    if (use->instr == NULL)
      n = graph_is_used (g, use->at) ? max + 1 : n;
    else if (n++ < max)
      reader[n - 1] = use->instr;
  return n;
}

PlanNode *
graph_only_reader (PlanGraph *g, guint v, gboolean views)
{
  const PlanUse *one = NULL;

  if (count_readers (g, v, 0, &one) != 1 || (!views && one->value != v))
    return NULL;
  return one->instr;
}

void
graph_replace (PlanGraph *g, guint a, guint b)
{
  g_assert (a != b);
  for (PlanUse *use = graph_value (g, a)->first_use, *next; use != NULL; use = next)
    {
      PlanNode *instr = use->instr;
      gboolean repeated = FALSE;

      next = use->next;
      if (instr == NULL)
        {
          graph_set_alias (g, use->at, b);
          continue;
        }
      /* An element-wise instruction lists each operand once; fusion relies on that. */
      for (guint k = 0; instr->steps != NULL && k < instr->in->len; k++)
        repeated |= node_in (instr, k) == b;
      graph_set_in (g, instr, use->at, b);
      if (repeated)
        graph_drop_in (g, instr, use->at);
    }
  if (graph_value (g, a)->is_output || graph_value (g, a)->commit >= 0)
    graph_set_alias (g, a, b);
}

GHashTable *
graph_find_updaters (PlanGraph *g)
{
  GHashTable *updaters = g_hash_table_new (NULL, NULL);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    for (guint o = 0; instr->prim != NULL && instr->prim->updates != NULL && o < instr->out->len; o++)
      {
        guint k = instr->prim->updates (instr->attrs, o);

        if (node_out (instr, o) != 0 && k != LOOM_UPDATES_NOTHING)
          g_hash_table_insert (updaters, GUINT_TO_POINTER (graph_root (g, node_in (instr, k))), instr);
      }
  return updaters;
}

/* ---- instructions ------------------------------------------------------ */

static void
number (PlanGraph *g)
{
  guint64 order = GAP;

  for (PlanNode *instr = g->first; instr != NULL; instr = instr->next, order += GAP)
    instr->order = order;
}

static void
link_instr (PlanGraph *g, PlanNode *instr, PlanNode *before)
{
  PlanNode *prev = before != NULL ? before->prev : g->last;
  guint64 low = prev != NULL ? prev->order : 0;

  g->n_edits++;
  instr->prev = prev;
  instr->next = before;
  *(prev != NULL ? &prev->next : &g->first) = instr;
  *(before != NULL ? &before->prev : &g->last) = instr;
  instr->order = before != NULL ? low + (before->order - low) / 2 : low + GAP;
  if (instr->order == low)
    number (g);
}

static void
unlink_instr (PlanGraph *g, PlanNode *instr)
{
  *(instr->prev != NULL ? &instr->prev->next : &g->first) = instr->next;
  *(instr->next != NULL ? &instr->next->prev : &g->last) = instr->prev;
}

PlanNode *
graph_insert (PlanGraph *g, PlanNode *before, const LoomPrim *prim, const void *attrs)
{
  PlanNode *instr = plan_slab_new (&g->nodes);

  instr->prim = prim;
  instr->attrs = attrs != NULL ? g_memdup2 (attrs, prim->attrs_size) : NULL;
  instr->in = g_ptr_array_new_with_free_func (g_free);
  instr->out = g_array_new (FALSE, FALSE, sizeof (guint));
  instr->device = -1;
  instr->label = g_string_new (NULL);
  link_instr (g, instr, before);
  return instr;
}

PlanNode *
graph_insert_like (PlanGraph *g, PlanNode *before, const PlanNode *like, const LoomPrim *prim, const void *attrs,
                   const char *label)
{
  PlanNode *instr = graph_insert (g, before, prim, attrs);

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
graph_move (PlanGraph *g, PlanNode *instr, PlanNode *before)
{
  g_assert (instr != before);
  unlink_instr (g, instr);
  link_instr (g, instr, before);
}

void
graph_erase (PlanGraph *g, PlanNode *instr)
{
  for (guint k = 0; k < instr->in->len; k++)
    unlink_use (g, g_ptr_array_index (instr->in, k));
  g_ptr_array_set_size (instr->in, 0);
  g->n_edits++;
  for (guint o = 0; o < instr->out->len; o++)
    if (node_out (instr, o) != 0 && graph_value (g, node_out (instr, o))->producer == instr)
      graph_value (g, node_out (instr, o))->producer = NULL;
  instr->dead = TRUE;
}

void
graph_add_in (PlanGraph *g, PlanNode *instr, guint v)
{
  PlanUse *use = g_new0 (PlanUse, 1);

  use->instr = instr;
  use->at = instr->in->len;
  g_ptr_array_add (instr->in, use);
  link_use (g, use, v);
}

void
graph_set_in (PlanGraph *g, PlanNode *instr, guint k, guint v)
{
  guint old = node_in (instr, k);

  unlink_use (g, g_ptr_array_index (instr->in, k));
  link_use (g, g_ptr_array_index (instr->in, k), v);
  for (guint s = 0; instr->steps != NULL && s < instr->steps->len; s++)
    for (int a = 0; a < loom_scalar_arity (node_step (instr, s)->op); a++)
      if (node_step (instr, s)->arg[a] == old)
        node_step (instr, s)->arg[a] = v;
}

void
graph_drop_in (PlanGraph *g, PlanNode *instr, guint k)
{
  unlink_use (g, g_ptr_array_index (instr->in, k));
  g_ptr_array_remove_index (instr->in, k);
  for (; k < instr->in->len; k++)
    ((PlanUse *)g_ptr_array_index (instr->in, k))->at = k;
}

void
graph_add_out (PlanGraph *g, PlanNode *instr, guint v)
{
  g_array_append_val (instr->out, v);
  if (v != 0)
    graph_value (g, v)->producer = instr;
}

void
graph_set_out (PlanGraph *g, PlanNode *instr, guint o, guint v)
{
  guint old = node_out (instr, o);

  g->n_edits++;
  if (old != 0 && graph_value (g, old)->producer == instr)
    graph_value (g, old)->producer = NULL;
  g_array_index (instr->out, guint, o) = v;
  if (v != 0)
    graph_value (g, v)->producer = instr;
}

static PlanNode *
living (PlanNode *instr)
{
  while (instr != NULL && instr->dead)
    instr = instr->next;
  return instr;
}

PlanNode *
graph_first (const PlanGraph *g)
{
  return living (g->first);
}

PlanNode *
node_next (const PlanNode *instr)
{
  return living (instr->next);
}

gboolean
node_is_before (const PlanNode *a, const PlanNode *b)
{
  return a->order < b->order;
}

static int
compare_order (const void *a, const void *b)
{
  const PlanNode *x = *(PlanNode *const *)a, *y = *(PlanNode *const *)b;

  return x->order < y->order ? -1 : x->order > y->order;
}

void
node_sort (GPtrArray *instrs)
{
  g_ptr_array_sort (instrs, compare_order);
}

gboolean
graph_is_ready (PlanGraph *g, guint v, const PlanNode *instr)
{
  const PlanNode *producer = graph_value (g, graph_root (g, v))->producer;

  return producer == NULL || node_is_before (producer, instr);
}

gboolean
node_is (const PlanNode *instr, const char *primitive)
{
  return !instr->dead && instr->steps == NULL && instr->prim != NULL && strcmp (instr->prim->name, primitive) == 0;
}

gboolean
node_is_step (const PlanNode *instr, LoomScalarOp op)
{
  return !instr->dead && instr->steps != NULL && instr->steps->len == 1 && node_step (instr, 0)->op == op;
}

gboolean
plan_steps_fit (const GArray *steps)
{
  guint n[PLAN_STEP_STORE_SLICE + 1] = { 0 };

  for (guint s = 0; s < steps->len; s++)
    n[g_array_index (steps, PlanStep, s).kind]++;
  return n[PLAN_STEP_SCALAR] <= LOOM_EW_MAX_STEPS && n[PLAN_STEP_LOAD_SLICE] <= LOOM_EW_MAX_PARTS
         && n[PLAN_STEP_STORE_SLICE] <= LOOM_EW_MAX_PARTS;
}

const char *
node_kernel (const PlanNode *instr)
{
  return instr->steps != NULL ? "elementwise" : instr->prim != NULL ? instr->prim->name : "transfer";
}

void
plan_join_labels (GString *label, const char *other)
{
  if (g_str_has_prefix (label->str, "fused("))
    g_string_truncate (label, label->len - 1);
  else
    g_string_prepend (label, "fused(");
  if (g_str_has_prefix (other, "fused("))
    g_string_append_printf (label, ",%s", other + strlen ("fused("));
  else
    g_string_append_printf (label, ",%s)", other);
}

char *
graph_purpose (PlanGraph *g, const PlanNode *instr)
{
  if (instr->origin != NULL)
    return NULL;
  return loom_program_purpose (g->program, instr->prim, instr->region, instr->out->len,
                               (const guint *)(gconstpointer)instr->out->data);
}

static void
add_node (GPtrArray *nodes, const char *origin)
{
  if (origin != NULL && !g_ptr_array_find_with_equal_func (nodes, origin, g_str_equal, NULL))
    g_ptr_array_add (nodes, (gpointer)origin);
}

static void
add_step_nodes (PlanGraph *g, const PlanNode *instr, gboolean constants, GPtrArray *nodes)
{
  for (guint s = 0; instr->steps != NULL && s < instr->steps->len; s++)
    {
      const PlanStep *step = node_step (instr, s);

      if ((step->kind == PLAN_STEP_SCALAR && step->op == LOOM_SCALAR_CONST) == constants)
        add_node (nodes, graph_value (g, step->result)->origin);
    }
}

/* Equal constants are one value, which has the origin of its first reader, so a chain of the optimizer that reads one
 * belongs to no node. Nor does an optimizer's step, which keeps values of nodes for its undoing. */
GPtrArray *
plan_nodes_of (PlanGraph *g, const PlanNode *instr)
{
  GPtrArray *nodes = g_ptr_array_new ();

  add_node (nodes, instr->origin);
  for (guint o = 0; instr->origin != NULL && o < instr->out->len; o++)
    if (node_out (instr, o) != 0)
      add_node (nodes, graph_value (g, node_out (instr, o))->origin);
  add_step_nodes (g, instr, FALSE, nodes);
  if (nodes->len > 0)
    add_step_nodes (g, instr, TRUE, nodes);
  return nodes;
}

gboolean
plan_same_dims (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  for (int i = 0; i < a->rank && i < b->rank; i++)
    if (a->dim[i] != b->dim[i])
      return FALSE;
  return a->rank == b->rank;
}

void
pass_remove_dead (PlanGraph *g)
{
  for (PlanNode *instr = g->last; instr != NULL; instr = instr->prev)
    {
      gboolean needed = instr->dead || (instr->prim != NULL && (instr->prim->flags & LOOM_PRIM_SIDE_EFFECT) != 0);

      for (guint k = 0; k < instr->out->len && !needed; k++)
        needed = node_out (instr, k) != 0 && graph_is_used (g, node_out (instr, k));
      if (!needed)
        graph_erase (g, instr);
    }
}

static void
instr_clear (PlanNode *instr)
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
}

void
graph_sweep (PlanGraph *g)
{
  for (PlanNode *instr = g->first, *next; instr != NULL; instr = next)
    {
      next = instr->next;
      if (!instr->dead)
        continue;
      unlink_instr (g, instr);
      instr_clear (instr);
      plan_slab_give_back (&g->nodes, instr);
    }
}

void
graph_free (PlanGraph *g)
{
  if (g == NULL)
    return;
  for (PlanNode *instr = g->first; instr != NULL; instr = instr->next)
    instr_clear (instr);
  plan_slab_clear (&g->nodes);
  for (guint v = 0; v < g->values->len; v++)
    g_free (graph_value (g, v)->as_view);
  loom_faults_free (g->faults);
  g_array_unref (g->values);
  if (g->order != NULL)
    plan_order_free (g->order, g);
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
