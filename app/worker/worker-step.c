/* The methods that take a step apart, and breakpoints: converts between the bus and the trainer. */
#include "app/worker/worker.h"

#include <string.h>

/* ---- words ------------------------------------------------------------ */

static const char *const regions[LOOM_N_REGIONS] = { "forward", "backward", "update" };
static const char *const moves[] = { "next", "back", "into", "out" };

static int
find_word (const char *const *words, guint n, const char *word, const char *what, GError **error)
{
  for (guint i = 0; i < n; i++)
    if (g_str_equal (words[i], word))
      return (int)i;
  g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS, "“%s” is no %s.", word, what);
  return -1;
}

/* ---- the walk --------------------------------------------------------- */

static GVariant *
walk (LoomTrainer *trainer, const LoomWalkCommand *command, GError **error)
{
  g_auto (LoomStepperPlace) place = { 0 };
  gint64 step;

  if (!loom_trainer_walk (trainer, command, &place, &step, error))
    return NULL;
  return g_variant_new ("((xsssuuxxbbi))", step, regions[place.region], place.node != NULL ? place.node : "",
                        place.scope, place.index, place.count, place.iteration, place.iterations, place.has_inside,
                        place.is_end, loom_trainer_walk_rank (trainer));
}

static GVariant *
begin (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  return walk (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_BEGIN }, error);
}

static GVariant *
move (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  const char *word;
  int found;

  g_variant_get (parameters, "(&s)", &word);
  found = find_word (moves, G_N_ELEMENTS (moves), word, "direction", error);
  return found < 0
             ? NULL
             : walk (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_MOVE, .move = (LoomStepperMove)found }, error);
}

static GVariant *
finish (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  const char *word;
  int found;

  g_variant_get (parameters, "(&s)", &word);
  found = find_word (regions, LOOM_N_REGIONS, word, "phase", error);
  return found < 0 ? NULL
                   : walk (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = (LoomRegion)found }, error);
}

static GVariant *
go_to (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  const char *node, *word;
  int found;

  g_variant_get (parameters, "(&s&s)", &node, &word);
  found = find_word (regions, LOOM_N_REGIONS, word, "phase", error);
  return found < 0
             ? NULL
             : walk (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_GO_TO, .region = (LoomRegion)found, .node = node },
                     error);
}

static GVariant *
end (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  loom_trainer_end_walk (trainer);
  return g_variant_new ("()");
}

/* ---- values ----------------------------------------------------------- */

static void
add_value (GVariantBuilder *b, const LoomPortSummary *v)
{
  const LoomSummary *s = &v->summary;
  GVariantBuilder shape;

  g_variant_builder_init (&shape, G_VARIANT_TYPE ("ax"));
  for (int d = 0; d < v->rank; d++)
    g_variant_builder_add (&shape, "x", v->dim[d]);
  g_variant_builder_add (
      b, "(baxxxdddddd@au)", v->is_known, &shape, s->count, s->n_bad, s->first, s->mean, s->deviation, s->min, s->max,
      s->norm, g_variant_new_fixed_array (G_VARIANT_TYPE_UINT32, s->bin, LOOM_SUMMARY_BINS, sizeof s->bin[0]));
}

static GVariant *
reply_values (guint n, const LoomPortSummary *value)
{
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE ("a(baxxxddddddau)"));
  for (guint i = 0; i < n; i++)
    add_value (&b, &value[i]);
  return g_variant_new ("(@a(baxxxddddddau))", g_variant_builder_end (&b));
}

static GVariant *
values (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  g_autofree const char **port = NULL;
  g_autofree LoomPortSummary *value = NULL;
  guint n;

  g_variant_get (parameters, "(^a&s)", &port);
  n = g_strv_length ((char **)port);
  value = g_new0 (LoomPortSummary, n + 1);
  return loom_trainer_walk_values (trainer, n, port, value, error) ? reply_values (n, value) : NULL;
}

static LoomGraph *
read_graph (const char *xml, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  return loom_graph_read_data (xml, strlen (xml), "the graph", faults, error);
}

static GVariant *
compute (LoomTrainer *none, GVariant *parameters, GError **error)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autofree LoomPortSummary *value = NULL;
  g_autofree const char **port = NULL;
  const char *xml;
  guint n;

  g_variant_get (parameters, "(&s^a&s)", &xml, &port);
  n = g_strv_length ((char **)port);
  value = g_new0 (LoomPortSummary, n + 1);
  graph = read_graph (xml, error);
  return graph != NULL && loom_instant_compute (graph, n, port, value, error) ? reply_values (n, value) : NULL;
}

/* A graph without data needs no trainer. Its size is known only after it was read and typed, so other commands must not
 * wait for it. */
static gboolean
compute_graph_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *xml, const char *const *port,
                  gpointer data)
{
  worker_runner_compute (data, invocation, compute);
  return TRUE;
}

static GVariant *
reply_chain (const GArray *chain, double value, double gradient)
{
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE ("a(a(sxdd)xudd)"));
  for (guint i = 0; i < chain->len; i++)
    {
      const LoomDerivative *d = &g_array_index (chain, LoomDerivative, i);

      g_variant_builder_open (&b, G_VARIANT_TYPE ("(a(sxdd)xudd)"));
      g_variant_builder_open (&b, G_VARIANT_TYPE ("a(sxdd)"));
      for (guint k = 0; k < d->n_listed; k++)
        g_variant_builder_add (&b, "(sxdd)", d->term[k].port, d->term[k].element, d->term[k].local,
                               d->term[k].gradient);
      g_variant_builder_close (&b);
      g_variant_builder_add (&b, "x", d->n_terms);
      g_variant_builder_add (&b, "u", d->n_readers);
      g_variant_builder_add (&b, "d", d->sum);
      g_variant_builder_add (&b, "d", d->size);
      g_variant_builder_close (&b);
    }
  return g_variant_new ("(dd@a(a(sxdd)xudd))", value, gradient, g_variant_builder_end (&b));
}

static GVariant *
derivatives (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  g_autoptr (GArray) chain = NULL;
  const char *port;
  gint64 element;
  double value, gradient;

  g_variant_get (parameters, "(&sx)", &port, &element);
  chain = loom_trainer_derivatives (trainer, port, element, &value, &gradient, error);
  return chain != NULL ? reply_chain (chain, value, gradient) : NULL;
}

static GVariant *
graph_derivatives (LoomTrainer *none, GVariant *parameters, GError **error)
{
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (GArray) chain = NULL;
  const char *xml, *port;
  gint64 element;
  double value, gradient;

  g_variant_get (parameters, "(&s&sx)", &xml, &port, &element);
  graph = read_graph (xml, error);
  chain = graph != NULL ? loom_instant_derivatives (graph, port, element, &value, &gradient, error) : NULL;
  return chain != NULL ? reply_chain (chain, value, gradient) : NULL;
}

static gboolean
graph_derivatives_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *xml, const char *port,
                      gint64 element, gpointer data)
{
  worker_runner_compute (data, invocation, graph_derivatives);
  return TRUE;
}

/* ---- breakpoints ------------------------------------------------------ */

/* The list of a message, whose strings it borrows. NULL with an error for an unknown condition. */
GArray *
worker_read_breakpoints (GVariant *list, GError **error)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (LoomBreakpoint));
  GVariantIter iter;
  const char *node, *kind;
  double limit;

  g_variant_iter_init (&iter, list);
  while (g_variant_iter_next (&iter, "(&s&sd)", &node, &kind, &limit))
    {
      const LoomBreakpoint b = { (char *)node, loom_break_kind (kind), limit };

      if (b.kind == NULL)
        {
          g_set_error (error, G_DBUS_ERROR, G_DBUS_ERROR_INVALID_ARGS, "There is no condition “%s” for breakpoints.",
                       kind);
          return NULL;
        }
      g_array_append_val (all, b);
    }
  return g_steal_pointer (&all);
}

void
worker_report_breakpoint (WorkerOutbox *outbox, const LoomBreakHit *hit)
{
  static const struct
  {
    const char *kind, *format;
  } sentences[] = {
    { "not_finite", "%s has %g values that are NaN or infinite" },
    { "gradient_above", "the norm of %s is %g" },
    { "dead_above", "%s has a share of %g dead units" },
    { "equals", "%s has a value that is %g" },
  };
  g_autofree char *what = g_strconcat (hit->is_gradient ? "the gradient of " : "", hit->port, NULL);
  g_autofree char *port = g_strconcat (hit->is_gradient ? LOOM_PORT_GRADIENT : "", hit->port, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (sentences); i++)
    if (g_str_equal (sentences[i].kind, hit->at.kind->name))
      {
        G_GNUC_BEGIN_IGNORE_DEPRECATIONS
        g_autofree char *found = g_strdup_printf (sentences[i].format, what, hit->figure);
        G_GNUC_END_IGNORE_DEPRECATIONS
        g_autofree char *rank = hit->rank >= 0 ? g_strdup_printf (" on rank %d", hit->rank) : g_strdup ("");
        g_autofree char *said
            = g_strdup_printf ("Stopped before the update of step %" G_GINT64_FORMAT ": %s%s.", hit->step, found, rank);

        worker_outbox_problem (outbox, "BREAKPOINT", hit->node, port, said);
      }
}

static gboolean
set_breakpoints_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, GVariant *list, gpointer data)
{
  g_autoptr (GError) error = NULL;

  if (!worker_runner_set_breakpoints (data, invocation, list, &error))
    g_dbus_method_invocation_return_gerror (invocation, error);
  return TRUE;
}

/* ---- another step ------------------------------------------------------- */

static GVariant *
travel (LoomTrainer *trainer, GVariant *parameters, GError **error)
{
  LoomTrainerMoment moment;
  gint64 step;

  g_variant_get (parameters, "(x)", &step);
  return loom_trainer_travel (trainer, step, &moment, error) ? g_variant_new ("(xd)", moment.step, moment.seconds)
                                                             : NULL;
}

static gboolean
travel_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gint64 step, gpointer data)
{
  worker_runner_view (data, invocation, travel);
  return TRUE;
}

/* ---- methods ---------------------------------------------------------- */

static const struct
{
  const char *signal;
  WorkerView view;
} methods[] = {
  { "handle-begin-step", begin },
  { "handle-move-step", move },
  { "handle-finish-phase", finish },
  { "handle-go-to-node", go_to },
  { "handle-end-step", end },
  { "handle-get-step-values", values },
  { "handle-get-derivatives", derivatives },
};

typedef struct
{
  WorkerRunner *runner;
  WorkerView view;
} ViewClosure;

static gboolean
handle (ViewClosure *closure, GDBusMethodInvocation *invocation)
{
  worker_runner_view (closure->runner, invocation, closure->view);
  return TRUE;
}

/* The parameters of a method differ, and are read from the invocation. */
static gboolean
handle_none_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gpointer data)
{
  return handle (data, invocation);
}

static gboolean
handle_one_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gconstpointer first, gpointer data)
{
  return handle (data, invocation);
}

static gboolean
handle_two_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, gconstpointer first, gconstpointer second,
               gpointer data)
{
  return handle (data, invocation);
}

static gboolean
handle_element_cb (LoomBusWorker1 *bus, GDBusMethodInvocation *invocation, const char *port, gint64 element,
                   gpointer data)
{
  return handle (data, invocation);
}

void
worker_connect_step (LoomBusWorker1 *bus, WorkerRunner *runner)
{
  static const GCallback handlers[]
      = { G_CALLBACK (handle_none_cb), G_CALLBACK (handle_one_cb), G_CALLBACK (handle_two_cb) };

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    {
      const guint signal = g_signal_lookup (methods[i].signal, LOOM_BUS_TYPE_WORKER1);
      ViewClosure *closure = g_new (ViewClosure, 1);
      GSignalQuery query;

      g_signal_query (signal, &query);
      g_assert (query.n_params >= 1 && query.n_params <= G_N_ELEMENTS (handlers));
      *closure = (ViewClosure){ runner, methods[i].view };
      g_signal_connect_data (bus, methods[i].signal,
                             query.n_params == 3 && query.param_types[2] == G_TYPE_INT64
                                 ? G_CALLBACK (handle_element_cb)
                                 : handlers[query.n_params - 1],
                             closure, (GClosureNotify)(GCallback)g_free, 0);
    }
  g_signal_connect (bus, "handle-compute-graph", G_CALLBACK (compute_graph_cb), runner);
  g_signal_connect (bus, "handle-get-graph-derivatives", G_CALLBACK (graph_derivatives_cb), runner);
  g_signal_connect (bus, "handle-travel", G_CALLBACK (travel_cb), runner);
  g_signal_connect (bus, "handle-set-breakpoints", G_CALLBACK (set_breakpoints_cb), runner);
}
