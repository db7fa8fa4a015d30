/* The engine of fusion patterns (plan-pattern.h): it matches, queries the device for a kernel, and changes the graph.
 */
#include "engine/plan/plan-pattern.h"

/* ---- the call -------------------------------------------------------------- */

void
plan_rewrite_begin (PlanRewrite *r, PlanGraph *g, PlanNode *root)
{
  r->g = g;
  r->root = root;
  r->prim = root->prim;
  r->attrs = root->attrs != NULL ? g_memdup2 (root->attrs, root->prim->attrs_size) : NULL;
  r->in = g_array_sized_new (FALSE, TRUE, sizeof (guint), root->in->len + 1);
  r->out = g_array_sized_new (FALSE, TRUE, sizeof (guint), root->out->len + 1);
  r->gone = g_ptr_array_new ();
  r->label = g_string_new (root->label->str);
  r->max_scratch = 0;
  for (guint k = 0; k < root->in->len; k++)
    rewrite_add_in (r, node_in (root, k));
  g_array_append_vals (r->out, root->out->data, root->out->len);
  if (root->steps == NULL)
    return;
  r->steps = g_array_sized_new (FALSE, FALSE, sizeof (PlanStep), root->steps->len);
  g_array_append_vals (r->steps, root->steps->data, root->steps->len);
}

void
plan_rewrite_clear (PlanRewrite *r)
{
  if (r->in == NULL)
    return;
  g_clear_pointer (&r->attrs, g_free);
  g_clear_pointer (&r->steps, g_array_unref);
  g_clear_pointer (&r->in, g_array_unref);
  g_clear_pointer (&r->out, g_array_unref);
  g_clear_pointer (&r->gone, g_ptr_array_unref);
  g_string_free (r->label, TRUE);
}

void
plan_rewrite_as (PlanRewrite *r, const PlanNode *like)
{
  g_free (r->attrs);
  r->prim = like->prim;
  r->attrs = g_memdup2 (like->attrs, like->prim->attrs_size);
  g_clear_pointer (&r->steps, g_array_unref);
  g_array_set_size (r->in, 0);
  for (guint k = 0; k < like->in->len; k++)
    rewrite_add_in (r, node_in (like, k));
}

gboolean
plan_rewrite_has_kernel (const PlanRewrite *r)
{
  const guint *in = (const guint *)(const void *)r->in->data, *out = (const guint *)(const void *)r->out->data;
  PlanNode call = *r->root;

  call.prim = r->prim;
  call.attrs = r->attrs;
  call.steps = r->steps;
  return r->max_scratch > 0 ? graph_has_small_kernel (r->g, &call, r->in->len, in, r->out->len, out, r->max_scratch)
                            : graph_has_kernel (r->g, &call, r->in->len, in, r->out->len, out);
}

static void
set_operands (PlanGraph *g, PlanNode *root, const GArray *in)
{
  while (root->in->len > in->len)
    graph_drop_in (g, root, root->in->len - 1);
  for (guint k = 0; k < in->len; k++)
    if (k == root->in->len)
      graph_add_in (g, root, g_array_index (in, guint, k));
    else if (node_in (root, k) != g_array_index (in, guint, k))
      graph_set_in (g, root, k, g_array_index (in, guint, k));
}

static void
set_results (PlanGraph *g, PlanNode *root, const GArray *out)
{
  for (guint o = out->len; o < root->out->len; o++)
    graph_set_out (g, root, o, 0);
  g_array_set_size (root->out, MIN (root->out->len, out->len));
  for (guint o = 0; o < out->len; o++)
    if (o == root->out->len)
      graph_add_out (g, root, g_array_index (out, guint, o));
    else if (node_out (root, o) != g_array_index (out, guint, o))
      graph_set_out (g, root, o, g_array_index (out, guint, o));
}

void
plan_rewrite_apply (PlanRewrite *r)
{
  PlanNode *root = r->root;

  for (guint i = 0; i < r->gone->len; i++)
    graph_erase (r->g, r->gone->pdata[i]);
  /* Without steps, because setting an operand would rename it in them. */
  g_clear_pointer (&root->steps, g_array_unref);
  set_operands (r->g, root, r->in);
  set_results (r->g, root, r->out);
  root->prim = r->prim;
  root->steps = g_steal_pointer (&r->steps);
  g_free (root->attrs);
  root->attrs = g_steal_pointer (&r->attrs);
  g_string_assign (root->label, r->label->str);
}

/* ---- matching ---------------------------------------------------------------- */

PlanNode *
pattern_producer (PlanGraph *g, const PlanNode *root, guint k)
{
  return k < root->in->len ? graph_value (g, node_in (root, k))->producer : NULL;
}

PlanNode *
pattern_producer_of_bytes (PlanGraph *g, const PlanNode *root, guint k)
{
  return k < root->in->len ? graph_value (g, graph_root (g, node_in (root, k)))->producer : NULL;
}

PlanNode *
pattern_reader (PlanGraph *g, const PlanNode *root, guint k)
{
  return k < root->out->len && node_out (root, k) != 0 ? graph_only_reader (g, node_out (root, k), FALSE) : NULL;
}

PlanNode *
pattern_reader_of_bytes (PlanGraph *g, const PlanNode *root, guint k)
{
  return k < root->out->len && node_out (root, k) != 0 ? graph_only_reader (g, node_out (root, k), TRUE) : NULL;
}

/* The primitives that a pattern names, looked up once for all instructions. */
typedef struct
{
  const PlanNodePattern *of;
  const LoomPrim *prim[G_N_ELEMENTS (((PlanNodePattern *)0)->name)];
} Matcher;

static Matcher
matcher_of (const PlanNodePattern *p)
{
  Matcher m = { .of = p };

  for (guint i = 0; i < G_N_ELEMENTS (p->name) && p->name[i] != NULL; i++)
    {
      m.prim[i] = loom_prim (p->name[i]);
      g_assert (m.prim[i] != NULL);
    }
  return m;
}

static gboolean
matches (const Matcher *m, const PlanNode *instr)
{
  const PlanNodePattern *p = m->of;

  if (instr->dead || (m->prim[0] == NULL) != (instr->steps != NULL))
    return FALSE;
  if (instr->steps != NULL)
    return p->steps == PATTERN_N_STEPS
           || (instr->steps->len == 1 && (p->steps == PATTERN_ONE_STEP || node_step (instr, 0)->op == p->op));
  for (guint i = 0; i < G_N_ELEMENTS (m->prim) && m->prim[i] != NULL; i++)
    if (instr->prim == m->prim[i])
      return TRUE;
  return FALSE;
}

gboolean
plan_rewrite_can_read (const PlanRewrite *r, guint v)
{
  const PlanNode *updater;

  if (*r->updaters == NULL)
    *r->updaters = graph_find_updaters (r->g);
  updater = g_hash_table_lookup (*r->updaters, GUINT_TO_POINTER (graph_root (r->g, v)));
  return updater == NULL || !node_is_before (updater, r->root);
}

/* TRUE if the root may read all operands of the other instruction. */
static gboolean
may_move_other (const PlanRewrite *r)
{
  for (guint k = 0; k < r->other->in->len; k++)
    if (!plan_rewrite_can_read (r, node_in (r->other, k)))
      return FALSE;
  return TRUE;
}

static gboolean
is_candidate (const PlanPattern *p, const Matcher *other, const PlanRewrite *r)
{
  return r->other != NULL && r->other != r->root && matches (other, r->other)
         && (r->other->device_name == r->root->device_name || (p->flags & PATTERN_ACROSS_DEVICES))
         && (!(p->flags & PATTERN_MOVES_OTHER) || may_move_other (r));
}

static gboolean
rewrite (const PlanPattern *p, PlanRewrite *r)
{
  gboolean done;

  plan_rewrite_begin (r, r->g, r->root);
  if (r->other != NULL && !(p->flags & PATTERN_KEEPS_OTHER))
    g_ptr_array_add (r->gone, r->other);
  done = p->rewrite (r) && plan_rewrite_has_kernel (r);
  if (done)
    plan_rewrite_apply (r);
  if (done && p->applied != NULL)
    p->applied (r);
  plan_rewrite_clear (r);
  return done;
}

static gboolean
apply_to (PlanGraph *g, const PlanPattern *p, const Matcher *other, GHashTable **updaters, PlanNode *root)
{
  PlanRewrite r = { .g = g, .updaters = updaters, .root = root };

  if (p->find == NULL)
    return rewrite (p, &r);
  for (; r.at < MAX (root->in->len, root->out->len) && r.at <= p->last; r.at++)
    {
      r.other = p->find (g, root, r.at);
      if (is_candidate (p, other, &r) && rewrite (p, &r))
        return TRUE;
    }
  return FALSE;
}

void
graph_apply_patterns (PlanGraph *g, const PlanPattern *patterns)
{
  g_autoptr (GHashTable) updaters = NULL;

  for (const PlanPattern *p = patterns; p->rewrite != NULL; p++)
    {
      const Matcher roots = matcher_of (&p->root), others = matcher_of (&p->other);

      /* The next instruction is found first, because a rewrite may move the root. */
      for (PlanNode *root = graph_first (g), *next; root != NULL; root = next)
        {
          next = node_next (root);
          while (matches (&roots, root) && apply_to (g, p, &others, &updaters, root))
            ;
        }
    }
}
