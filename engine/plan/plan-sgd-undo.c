/* Runs SGD with an undo log, so that gradients are read once. Without a log the gradients' statistics read them first
 * and the step reads them again.
 *
 * No weight may have changed if a gradient turns out not to be finite, so grad_stats runs first, and sgd_step after the
 * gate. If nothing else reads the gradients, sgd_step_logged replaces grad_stats: it writes the weights at once and
 * stores each old weight in the gradient's memory. Before the gate, which raises the fault, undo_step restores them.
 * The log costs no memory, since the gradients are alive until then in either case. It pays if a cache holds a strip of
 * the gradient between the reading and the writing. */
#include "engine/plan/plan-private.h"

/* Operands of sgd_step after its lists. */
enum
{
  LR,
  MOMENTUM,
  DAMPENING,
  WEIGHT_DECAY,
  GRAD_SCALE,
  FINITE,
  STEP
};

/* The statistics and the step of one update, and the gate between them. */
typedef struct
{
  PlanNode *stats, *step, *gate;
  guint n;
} Update;

static guint
scalar_of (const Update *u, guint which)
{
  return node_in (u->step, 2 * u->n + which);
}

/* TRUE if an instruction does only arithmetic, so that it cannot fail or wait for another device. */
static gboolean
cannot_fail (const PlanNode *instr)
{
  static const char *const harmless[] = { "grad_stats", "sgd_step_logged", "undo_step", "fill", "copy", "reduce" };

  if (instr->steps != NULL || (instr->prim != NULL && instr->prim->view == LOOM_VIEW_ALWAYS))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (harmless); i++)
    if (node_is (instr, harmless[i]))
      return TRUE;
  return FALSE;
}

/* TRUE if everything from the first statistics of the gradients to the gate is on one device and cannot fail. */
static gboolean
can_undo_before_gate (PlanGraph *g, const PlanNode *gate)
{
  gboolean begun = FALSE;

  for (const PlanNode *instr = graph_first (g); instr != gate; instr = node_next (instr))
    {
      begun |= node_is (instr, "grad_stats") || node_is (instr, "sgd_step_logged");
      if (begun && (!cannot_fail (instr) || g_strcmp0 (instr->device_name, gate->device_name) != 0))
        return FALSE;
    }
  return TRUE;
}

/* TRUE if v and all its views are read only by the statistics and the step or earlier, and neither the caller nor a
 * slot uses them. */
static gboolean
is_read_before (PlanGraph *g, guint v, const Update *u)
{
  const PlanValue *value = graph_value (g, v);

  if (value->is_output || value->commit >= 0)
    return FALSE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL ? !is_read_before (g, use->at, u)
                           : use->instr != u->stats && use->instr != u->step && !node_is_before (use->instr, u->stats))
      return FALSE;
  return TRUE;
}

/* TRUE if the result depends on no input and no state, so that it is computed once, before the first step. */
static gboolean
is_computed_once (const PlanNode *instr, GHashTable *once)
{
  return instr != NULL && g_hash_table_contains (once, instr);
}

static GHashTable *
find_computed_once (PlanGraph *g)
{
  GHashTable *once = g_hash_table_new (NULL, NULL);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      gboolean all = TRUE;

      for (guint k = 0; k < instr->in->len && all; k++)
        all = node_in (instr, k) == 0
              || is_computed_once (graph_value (g, graph_root (g, node_in (instr, k)))->producer, once);
      if (all)
        g_hash_table_add (once, instr);
    }
  return once;
}

/* TRUE if this gradient may be overwritten with the old weights. */
static gboolean
may_overwrite (PlanGraph *g, const Update *u, guint dw, GHashTable *once, GHashTable *taken)
{
  guint root = graph_root (g, dw);
  const PlanValue *value = graph_value (g, root);

  return value->producer != NULL && !is_computed_once (value->producer, once) && !value->is_uniform
         && g_strcmp0 (value->device_name, u->step->device_name) == 0
         && loom_desc_bytes (&value->desc) == loom_desc_bytes (&graph_value (g, dw)->desc)
         && is_read_before (g, root, u) && g_hash_table_add (taken, GUINT_TO_POINTER (root));
}

/* TRUE if the step may write before the gate. The caller has excluded steps with state, because a gradient has memory
 * for only one old value. Steps whose scale depends on the norm of the gradients (clipping) are excluded here, and
 * those that an instruction before the gate might end early.
 *
 * GPUs use no log. They transfer 16 bytes for each weight either way: 4 for the statistics and 12 for the step, or 8
 * read and 8 written with a log. If the cache holds the gradients until the step, these are fewer without a log, and
 * undoing takes another launch. */
static gboolean
is_loggable (PlanGraph *g, const Update *u, GHashTable *once)
{
  g_autoptr (GHashTable) taken = g_hash_table_new (NULL, NULL);

  if (graph_is_on_gpu (g, u->step->device_name) || u->stats->in->len != u->n
      || g_strcmp0 (u->stats->device_name, u->step->device_name) != 0
      || !graph_is_ready (g, scalar_of (u, LR), u->stats) || !graph_is_ready (g, scalar_of (u, WEIGHT_DECAY), u->stats)
      || !graph_is_ready (g, scalar_of (u, GRAD_SCALE), u->stats))
    return FALSE;
  for (guint i = 0; i < u->n; i++)
    {
      guint p = node_in (u->step, i), dw = node_in (u->step, u->n + i);

      if (node_in (u->stats, i) != dw || graph_value (g, p)->slot < 0 || !is_read_before (g, p, u)
          || !may_overwrite (g, u, dw, once, taken))
        return FALSE;
    }
  return can_undo_before_gate (g, u->gate);
}

/* Sets the operands and results of the new instructions; FALSE if the device lacks a kernel for one of them. */
static gboolean
have_kernels (PlanGraph *g, const Update *u, const PlanNode *logged, const PlanNode *undo, const guint *in,
              const guint *undone, const guint *out)
{
  guint n = u->n;

  return graph_has_kernel (g, logged, 2 * n + 3, in, 2 * n + 2, undone)
         && graph_has_kernel (g, undo, 2 * n + 1, out, n, (const guint *)(gconstpointer)u->step->out->data);
}

static void
log_step (PlanGraph *g, const Update *u)
{
  guint n = u->n, finite = node_in (u->gate, 0);
  const LoomSgdAttrs *sgd = u->step->attrs;
  g_autofree guint *in = g_new (guint, 2 * n + 3), *made = g_new (guint, 2 * n + 2), *read = g_new (guint, 2 * n + 1);
  g_autofree guint *out = g_memdup2 (u->step->out->data, n * sizeof (guint));
  PlanNode *logged
      = graph_insert_like (g, u->stats, u->step, loom_prim ("sgd_step_logged"),
                           &(LoomSgdLoggedAttrs){ .n = (int)n, .maximize = sgd->maximize }, "sgd_step_logged");
  PlanNode *undo
      = graph_insert_like (g, u->gate, u->step, loom_prim ("undo_step"), &(LoomUndoAttrs){ (int)n }, "undo_step");

  for (guint i = 0; i < n; i++)
    {
      guint p = node_in (u->step, i), dw = node_in (u->step, n + i);

      in[i] = p;
      in[n + i] = dw;
      for (guint list = 0; list < 2; list++)
        {
          guint v = graph_new_value (g, &graph_value (g, p)->desc, graph_value (g, list == 0 ? p : dw));

          read[list * n + i] = made[list * n + i] = v;
          graph_value (g, v)->region = u->step->region;
        }
    }
  in[2 * n] = scalar_of (u, LR);
  in[2 * n + 1] = scalar_of (u, WEIGHT_DECAY);
  in[2 * n + 2] = scalar_of (u, GRAD_SCALE);
  made[2 * n] = node_out (u->stats, 0);
  made[2 * n + 1] = node_out (u->stats, 1);
  read[2 * n] = finite;
  if (!have_kernels (g, u, logged, undo, in, made, read))
    {
      graph_erase (g, logged);
      graph_erase (g, undo);
      return;
    }
  graph_erase (g, u->stats);
  graph_erase (g, u->step);
  for (guint k = 0; k < 2 * n + 3; k++)
    graph_add_in (g, logged, in[k]);
  for (guint o = 0; o < 2 * n + 2; o++)
    graph_add_out (g, logged, made[o]);
  for (guint k = 0; k < 2 * n + 1; k++)
    graph_add_in (g, undo, read[k]);
  for (guint o = 0; o < n; o++)
    graph_add_out (g, undo, out[o]);
}

/* The statistics of all gradients that the step reads, or NULL. */
static PlanNode *
find_stats (PlanGraph *g, const PlanNode *step, guint n)
{
  for (const PlanUse *use = graph_value (g, node_in (step, n))->first_use; use != NULL; use = use->next)
    if (use->instr != NULL && use->at == 0 && node_is (use->instr, "grad_stats"))
      return use->instr;
  return NULL;
}

void
pass_sgd_undo_log (PlanGraph *g)
{
  g_autoptr (GHashTable) once = NULL;

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      const LoomSgdAttrs *sgd = instr->attrs;
      Update u = { .step = instr };

      if (!node_is (instr, "sgd_step") || sgd->momentum)
        continue;
      u.n = (guint)sgd->n;
      u.stats = find_stats (g, instr, u.n);
      u.gate = graph_value (g, scalar_of (&u, FINITE))->producer;
      if (u.stats == NULL || u.gate == NULL || !node_is (u.gate, "update_gate") || !node_is_before (u.stats, u.gate))
        continue;
      if (once == NULL)
        once = find_computed_once (g);
      if (is_loggable (g, &u, once))
        log_step (g, &u);
    }
}
