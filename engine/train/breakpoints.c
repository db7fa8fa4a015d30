/* Tests the breakpoints of a run; see the header. */
#include "engine/train/breakpoints.h"

#include "engine/core/loom-error.h"

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
  self->walk = (StepWalk){ .model = self->model, .group = self->group, .loop = self->loop };
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

void
breakpoints_set (Breakpoints *self, const LoomBreakpoint *list, guint n)
{
  g_array_set_size (self->list, 0);
  for (guint i = 0; i < n; i++)
    {
      const LoomBreakpoint copy = { g_strdup (list[i].node), list[i].kind, list[i].limit };

      g_array_append_val (self->list, copy);
    }
  if (n == 0)
    step_walk_clear (&self->walk);
  self->loop->at_once = n > 0 && self->group->comm == NULL;
  if (n > 0 && self->group->comm != NULL)
    train_notes_report (self->loop->plans->notes,
                        "Several ranks share each step of this run, so its breakpoints are not tested. Train on one.");
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
  return any && self->group->comm == NULL && self->passed != next_step (self);
}

gboolean
breakpoints_suspect (Breakpoints *self)
{
  gboolean any = FALSE;

  for (guint i = 0; i < self->list->len; i++)
    any = any || g_array_index (self->list, LoomBreakpoint, i).kind == &not_finite;
  if (!any || self->group->comm != NULL || self->loop->is_between || self->suspect == next_step (self))
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
test_node (StepWalk *walk, const LoomBreakpoint *b, gboolean is_gradient, LoomBreakHit *hit, GError **error)
{
  const LoomNet *net = walk->plan->net;
  const int node = loom_net_find (net, b->node);

  if (node < 0)
    return FALSE;
  for (guint o = 0; o < loom_net_node (net, (guint)node)->n_outputs; o++)
    {
      g_autofree char *name = loom_net_port_name (net, (guint)node, o);

      if (test_port (walk, b, name, is_gradient, hit, error))
        return TRUE;
    }
  for (guint w = 0; is_gradient && w < loom_net_n_weights (net); w++)
    if (loom_net_weight (net, w)->node == (guint)node
        && test_port (walk, b, loom_net_weight (net, w)->name, TRUE, hit, error))
      return TRUE;
  return FALSE;
}

/* A node of a loop is tested in each iteration. */
static gboolean
test_loop (StepWalk *walk, const LoomBreakpoint *b, LoomRegion region, LoomBreakHit *hit, GError **error)
{
  g_autoptr (GError) missing = NULL;

  if (!loom_stepper_go_to (walk->stepper, b->node, region, &missing))
    {
      /* The loss may not need the node, or its output have no gradient. */
      if (!g_error_matches (missing, LOOM_ERROR, LOOM_ERROR_PORT))
        g_propagate_error (error, g_steal_pointer (&missing));
      return FALSE;
    }
  while (!loom_stepper_is_outside (walk->stepper))
    if (test_node (walk, b, region == LOOM_REGION_BACKWARD, hit, error))
      return TRUE;
    else if (*error != NULL || !loom_stepper_move (walk->stepper, LOOM_STEPPER_NEXT, error))
      return FALSE;
  return FALSE;
}

/* Tests all conditions on one pass. error: not NULL. */
static gboolean
test_pass (Breakpoints *self, LoomRegion region, LoomBreakHit *hit, GError **error)
{
  const LoomNet *net = self->walk.plan->net;
  const gboolean is_gradient = region == LOOM_REGION_BACKWARD;

  for (guint i = 0; i < self->list->len; i++)
    {
      const LoomBreakpoint *b = &g_array_index (self->list, LoomBreakpoint, i);
      const int node = loom_net_find (net, b->node);

      if (!is_due (self, b) || !(is_gradient ? b->kind->of_gradient : b->kind->of_value) || node < 0)
        continue;
      *hit = (LoomBreakHit){ .at = *b, .step = next_step (self) };
      if (loom_net_node (net, (guint)node)->loop != G_MAXUINT)
        {
          if (test_loop (&self->walk, b, region, hit, error))
            return TRUE;
        }
      /* A value or gradient is complete when the pass has ended. */
      else if (loom_stepper_finish (self->walk.stepper, region, error)
               && test_node (&self->walk, b, is_gradient, hit, error))
        return TRUE;
      if (*error != NULL)
        return FALSE;
    }
  return FALSE;
}

gboolean
breakpoints_test (Breakpoints *self, gboolean *is_hit, GError **error)
{
  LoomBreakHit hit;
  GError *fault = NULL;

  *is_hit = step_walk_begin (&self->walk, &fault)
            && (test_pass (self, LOOM_REGION_FORWARD, &hit, &fault)
                || (fault == NULL && test_pass (self, LOOM_REGION_BACKWARD, &hit, &fault)));
  if (*is_hit)
    {
      self->passed = next_step (self);
      step_walk_clear (&self->walk); /* the user's own walk needs the memory */
      if (self->report != NULL)
        self->report (&hit, self->data);
    }
  if (fault != NULL)
    g_propagate_error (error, fault);
  return fault == NULL;
}
