/* Tests the breakpoints of a run; see the header. */
#include "engine/train/breakpoints.h"

#include "engine/core/loom-refuse.h"

#include <math.h>
#include <string.h>

/* ---- kinds ------------------------------------------------------------ */

static gboolean
is_not_finite (const LoomTensor *tensor, const LoomSummary *s, double limit, double *figure)
{
  *figure = (double)s->n_bad;
  return s->n_bad > 0;
}

static gboolean
is_norm_above (const LoomTensor *tensor, const LoomSummary *s, double limit, double *figure)
{
  *figure = s->n_bad > 0 ? INFINITY : s->norm;
  return *figure > limit;
}

static gboolean
is_dead_above (const LoomTensor *tensor, const LoomSummary *s, double limit, double *figure)
{
  *figure = s->dead;
  return s->dead > limit;
}

static gboolean
has_value (const LoomTensor *tensor, const LoomSummary *s, double limit, double *figure)
{
  *figure = limit;
  for (gint64 i = 0; i < tensor->count; i++)
    if (loom_tensor_get (tensor, i) == limit)
      return TRUE;
  return FALSE;
}

static const LoomBreakKind not_finite
    = { .name = "not_finite", .of_value = TRUE, .of_gradient = TRUE, .is_met = is_not_finite };
static const LoomBreakKind gradient_above
    = { .name = "gradient_above", .has_limit = TRUE, .of_gradient = TRUE, .is_met = is_norm_above };
static const LoomBreakKind dead_above
    = { .name = "dead_above", .has_limit = TRUE, .of_value = TRUE, .is_met = is_dead_above };
static const LoomBreakKind equals
    = { .name = "equals", .has_limit = TRUE, .of_value = TRUE, .of_integers = TRUE, .is_met = has_value };

const LoomBreakKind *
loom_break_kind (const char *name)
{
  static const LoomBreakKind *const all[] = { &not_finite, &gradient_above, &dead_above, &equals };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (g_str_equal (all[i]->name, name))
      return all[i];
  return NULL;
}

/* ---- the list --------------------------------------------------------- */

static void
breakpoint_clear (gpointer data)
{
  g_free (((LoomBreakpoint *)data)->node);
}

void
breakpoints_init (Breakpoints *self)
{
  self->walk = (StepWalk){
    .model = self->model, .group = self->group, .loop = self->loop, .watched = self->watched, .rank = -1
  };
  self->list = g_array_new (FALSE, FALSE, sizeof (LoomBreakpoint));
  g_array_set_clear_func (self->list, breakpoint_clear);
  self->passed = self->suspect = -1;
}

void
breakpoints_clear (Breakpoints *self)
{
  step_walk_clear (&self->walk);
  g_clear_pointer (&self->list, g_array_unref);
}

static void
empty (Breakpoints *self)
{
  g_array_set_size (self->list, 0);
  self->loop->at_once = FALSE;
}

static void
add (Breakpoints *self, const LoomBreakpoint *b)
{
  const LoomBreakpoint copy = { g_strdup (b->node), b->kind, b->limit };

  g_array_append_val (self->list, copy);
  self->loop->at_once = TRUE;
}

void
breakpoints_set (Breakpoints *self, const LoomBreakpoint *list, guint n)
{
  empty (self);
  for (guint i = 0; i < n && !self->group->has_server; i++)
    if (strlen (list[i].node) < LOOM_BREAK_NAME)
      add (self, &list[i]);
  if (n == 0)
    step_walk_clear (&self->walk);
  if (n > 0 && self->group->has_server)
    train_notes_report (self->loop->plans->notes,
                        "The ranks of a parameter server take no common step, so its breakpoints are not tested; a "
                        "step that is not finite still ends it before the weights change. Train with "
                        "strategy=\"data\", or on one rank.");
}

/* Values of this name between ranks, "breakpoint:KIND:NODE"; without kind and node: the list is empty from here on. */
#define SHARED "breakpoint:"

void
breakpoints_share (const Breakpoints *self, Agreement *agreement)
{
  agreement_note_value (agreement, SHARED, 0, FALSE);
  for (guint i = 0; i < self->list->len; i++)
    {
      const LoomBreakpoint *b = &g_array_index (self->list, LoomBreakpoint, i);
      g_autofree char *name = g_strconcat (SHARED, b->kind->name, ":", b->node, NULL);

      agreement_note_value (agreement, name, b->limit, FALSE);
    }
}

gboolean
breakpoints_take (Breakpoints *self, const char *name, double value)
{
  g_auto (GStrv) part = NULL;
  LoomBreakpoint b = { .limit = value };

  if (!g_str_has_prefix (name, SHARED))
    return FALSE;
  part = g_strsplit (name + strlen (SHARED), ":", 2);
  b.kind = g_strv_length (part) == 2 ? loom_break_kind (part[0]) : NULL;
  b.node = b.kind != NULL ? part[1] : NULL;
  if (b.kind != NULL)
    add (self, &b);
  else
    empty (self);
  return TRUE;
}

/* ---- testing ---------------------------------------------------------- */

static gint64
next_step (const Breakpoints *self)
{
  return self->loop->log->progress->step + 1;
}

static gboolean
is_due (const Breakpoints *self, const LoomBreakpoint *b)
{
  return b->kind != &not_finite || self->suspect == next_step (self);
}

gboolean
breakpoints_are_due (const Breakpoints *self)
{
  gboolean any = FALSE;

  for (guint i = 0; i < self->list->len; i++)
    any = any || is_due (self, &g_array_index (self->list, LoomBreakpoint, i));
  return any && self->passed != next_step (self);
}

int
breakpoints_rank (const Breakpoints *self)
{
  if (self->group->comm == NULL)
    return -1;
  return self->passed == next_step (self) ? MAX (self->rank, 0) : 0;
}

gboolean
breakpoints_suspect (Breakpoints *self)
{
  gboolean any = FALSE;

  for (guint i = 0; i < self->list->len; i++)
    any = any || g_array_index (self->list, LoomBreakpoint, i).kind == &not_finite;
  if (!any || self->loop->is_between || self->suspect == next_step (self))
    return FALSE;
  self->suspect = next_step (self);
  return TRUE;
}

/* Tests a port or weight at the place of the walk. */
static gboolean
test_port (StepWalk *walk, const LoomBreakpoint *b, const char *name, gboolean is_gradient, LoomBreakHit *hit,
           GError **error)
{
  g_autofree char *port = g_strconcat (is_gradient ? LOOM_PORT_GRADIENT : "", name, NULL);
  double scale;
  g_autoptr (LoomTensor) t = step_walk_port (walk, port, &scale, error);
  LoomSummary summary;

  if (t == NULL || (!b->kind->of_integers && !loom_dtype_is_float (t->dtype)))
    return FALSE;
  loom_summary_of (t, scale, &summary);
  if (!b->kind->is_met (t, &summary, b->limit, &hit->figure))
    return FALSE;
  hit->is_gradient = is_gradient;
  hit->port = g_intern_string (name);
  return TRUE;
}

/* The ports of a node, and with gradients its weights: "fc", "data.x", "fc.weight". */
static gboolean
test_node (StepWalk *walk, const LoomBreakpoint *b, guint node, gboolean is_gradient, LoomBreakHit *hit, GError **error)
{
  const LoomNet *net = walk->plan->net;

  for (guint o = 0; o < loom_net_node (net, node)->n_outputs; o++)
    {
      g_autofree char *name = loom_net_port_name (net, node, o);

      if (test_port (walk, b, name, is_gradient, hit, error))
        return TRUE;
    }
  for (guint w = 0; is_gradient && w < loom_net_n_weights (net); w++)
    if (loom_net_weight (net, w)->node == node && test_port (walk, b, loom_net_weight (net, w)->name, TRUE, hit, error))
      return TRUE;
  return FALSE;
}

/* A node of a loop is tested in each iteration. */
static gboolean
test_loop (StepWalk *walk, const LoomBreakpoint *b, guint node, LoomRegion region, LoomBreakHit *hit, GError **error)
{
  g_autoptr (GError) missing = NULL;

  if (!loom_stepper_go_to (walk->stepper, loom_net_node (walk->plan->net, node)->path, region, &missing))
    {
      /* The loss may not need the node, or its output have no gradient. */
      if (!g_error_matches (missing, LOOM_ERROR, LOOM_ERROR_PORT))
        g_propagate_error (error, g_steal_pointer (&missing));
      return FALSE;
    }
  while (!loom_stepper_is_outside (walk->stepper))
    if (test_node (walk, b, node, region == LOOM_REGION_BACKWARD, hit, error))
      return TRUE;
    else if (*error != NULL || !loom_stepper_move (walk->stepper, LOOM_STEPPER_NEXT, error))
      return FALSE;
  return FALSE;
}

/* The node of the breakpoint, or one inside its module. */
static gboolean
is_of (const LoomNet *net, const LoomBreakpoint *b, guint node)
{
  const char *path = loom_net_node (net, node)->path;

  return g_str_equal (path, b->node)
         || (loom_net_find (net, b->node) < 0 && g_str_has_prefix (path, b->node) && path[strlen (b->node)] == '.');
}

static gboolean
test_breakpoint (Breakpoints *self, const LoomBreakpoint *b, LoomRegion region, LoomBreakHit *hit, GError **error)
{
  const LoomNet *net = self->walk.plan->net;
  const gboolean is_gradient = region == LOOM_REGION_BACKWARD;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      if (!is_of (net, b, i))
        continue;
      hit->node = g_intern_string (loom_net_node (net, i)->path);
      if (loom_net_node (net, i)->loop != G_MAXUINT)
        {
          if (test_loop (&self->walk, b, i, region, hit, error))
            return TRUE;
        }
      /* A value or gradient is complete when the pass has ended. */
      else if (loom_stepper_finish (self->walk.stepper, region, error)
               && test_node (&self->walk, b, i, is_gradient, hit, error))
        return TRUE;
      if (*error != NULL)
        return FALSE;
    }
  return FALSE;
}

/* Tests all conditions on one pass. error: not NULL. */
static gboolean
test_pass (Breakpoints *self, LoomRegion region, LoomBreakHit *hit, GError **error)
{
  const gboolean is_gradient = region == LOOM_REGION_BACKWARD;

  for (guint i = 0; i < self->list->len; i++)
    {
      const LoomBreakpoint *b = &g_array_index (self->list, LoomBreakpoint, i);

      if (!is_due (self, b) || !(is_gradient ? b->kind->of_gradient : b->kind->of_value))
        continue;
      *hit = (LoomBreakHit){ .at = *b, .step = next_step (self), .rank = -1 };
      if (test_breakpoint (self, b, region, hit, error))
        return TRUE;
      if (*error != NULL)
        return FALSE;
    }
  return FALSE;
}

/* On the samples of this rank, which may be none. error: not NULL. */
static gboolean
test_own (Breakpoints *self, LoomBreakHit *hit, GError **error)
{
  const LoomBatch *batch = training_loop_peek (self->loop, error);

  return batch != NULL && batch->n_own > 0 && step_walk_begin (&self->walk, error)
         && (test_pass (self, LOOM_REGION_FORWARD, hit, error)
             || (*error == NULL && test_pass (self, LOOM_REGION_BACKWARD, hit, error)));
}

/* With weights of which each rank has a part: the first rank has the gathered ones, and tests the samples of all ranks,
 * of which each may have its own, or all the same. error: not NULL. */
static gboolean
test_all (Breakpoints *self, LoomBreakHit *hit, GError **error)
{
  gboolean is_hit = FALSE;
  int rank, n;

  rank_group_shard (self->group, &rank, &n);
  for (int k = 0; k < n && !is_hit && *error == NULL; k++)
    {
      self->walk.rank = k;
      is_hit = test_own (self, hit, error);
      hit->rank = n > 1 ? k : -1;
    }
  return is_hit;
}

/* ---- ranks ------------------------------------------------------------ */

/* What a rank has found; all send it to each other. */
typedef struct
{
  gint32 is_hit, has_failed, is_gradient, rank;
  guint32 at; /* the index of the breakpoint */
  double figure;
  char node[LOOM_BREAK_NAME], port[LOOM_BREAK_NAME];
} Found;

static guint
index_of (const Breakpoints *self, const LoomBreakpoint *b)
{
  guint i = 0;

  while (i + 1 < self->list->len && g_array_index (self->list, LoomBreakpoint, i).node != b->node)
    i++;
  return i;
}

/* The hit of the first rank that has one. */
static gboolean
agree (Breakpoints *self, gboolean *is_hit, LoomBreakHit *hit, GError **error)
{
  const int n = self->group->comm->size;
  g_autofree Found *all = g_new0 (Found, (gsize)n);
  Found own = { .is_hit = *is_hit, .has_failed = *error != NULL, .rank = hit->rank };
  const Found *first = NULL;

  if (*is_hit)
    {
      own.is_gradient = hit->is_gradient;
      own.at = index_of (self, &hit->at);
      own.figure = hit->figure;
      g_strlcpy (own.node, hit->node, sizeof own.node);
      g_strlcpy (own.port, hit->port, sizeof own.port);
    }
  *is_hit = FALSE;
  if (!rank_group_gather (self->group, &own, sizeof own, all, *error == NULL ? error : NULL) || *error != NULL)
    return FALSE;
  for (int k = n; k-- > 0;)
    {
      if (all[k].has_failed)
        return loom_refuse (error, LOOM_ERROR_DIST, "Rank %d could not test the breakpoints.", k);
      if (all[k].is_hit)
        first = &all[k];
    }
  if (first == NULL || first->at >= self->list->len)
    return TRUE;
  *is_hit = TRUE;
  *hit = (LoomBreakHit){ .at = g_array_index (self->list, LoomBreakpoint, first->at),
                         .node = g_intern_string (first->node),
                         .port = g_intern_string (first->port),
                         .is_gradient = first->is_gradient,
                         .figure = first->figure,
                         .step = next_step (self),
                         .rank = first->rank };
  return TRUE;
}

gboolean
breakpoints_test (Breakpoints *self, gboolean *is_hit, GError **error)
{
  LoomBreakHit hit = { 0 };
  GError *fault = NULL;

  if (step_walk_is_divided (&self->walk))
    {
      /* A failed exchange ends the run on all ranks. */
      if (watched_state_is_copy (self->watched) && !watched_state_gather (self->watched, error))
        return FALSE;
      *is_hit = rank_group_is_first (self->group) && test_all (self, &hit, &fault);
    }
  else
    {
      *is_hit = test_own (self, &hit, &fault);
      hit.rank = self->group->comm != NULL ? self->group->comm->rank : -1;
    }
  if (self->group->comm != NULL)
    agree (self, is_hit, &hit, &fault);
  if (*is_hit)
    {
      self->passed = next_step (self);
      self->rank = hit.rank;
      step_walk_clear (&self->walk); /* the user's own walk needs the memory */
      if (self->report != NULL && rank_group_is_first (self->group))
        self->report (&hit, self->data);
    }
  if (fault != NULL)
    g_propagate_error (error, fault);
  return fault == NULL;
}
