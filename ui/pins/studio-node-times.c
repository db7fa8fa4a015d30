/* Requests the time of each node from the worker, once per run, and shows it on the canvas while the user measures
 * cards by time. Times are discarded when the graph differs from that of the run. */
#include "ui/pins/studio-node-times.h"

#include "ui/charts/studio-type.h"
#include "ui/run/run-report.h"

#define MAX_BYTES (4 * 1024 * 1024)

struct _StudioNodeTimes
{
  GObject parent_instance;

  StudioDocument *document;
  StudioCanvas *canvas; /* weak */
  StudioRun *run;
  LoomBusWorker1 *requested; /* the worker of the last request; only compared */
  gboolean in_flight;
};

STUDIO_DEFINE_TYPE (StudioNodeTimes, studio_node_times, G_TYPE_OBJECT)

/* data has one time per node in the order of the run's net, which is the document's while the graph is unchanged. */
static void
show (StudioNodeTimes *self, GVariant *data)
{
  LoomNet *net = studio_document_get_net (self->document);
  g_autoptr (GHashTable) seconds = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  gsize n;
  const float *value;

  if (studio_document_run_changes (self->document) > 0)
    return;
  value = g_variant_get_fixed_array (data, &n, 1);
  n /= sizeof (float);
  if (n != loom_net_n_nodes (net))
    return;
  for (guint i = 0; i < n; i++)
    {
      double one = value[i];

      g_hash_table_insert (seconds, g_strdup (loom_net_node (net, i)->path), g_memdup2 (&one, sizeof one));
    }
  studio_canvas_set_times (self->canvas, seconds);
}

static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioNodeTimes) self = data;
  g_autoptr (GVariant) values = run_report_finish (source, result, NULL, NULL);

  self->in_flight = FALSE;
  if (values == NULL)
    {
      /* The worker has measured nothing yet, or is busy; the next change of state requests again. */
      if (self->requested == (gpointer)source)
        self->requested = NULL;
    }
  else if (self->canvas != NULL)
    show (self, values);
}

static void
request_times (StudioNodeTimes *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  StudioRunState state = studio_run_get_state (self->run);
  g_autofree char *measure = NULL;

  if (self->canvas == NULL || self->in_flight || proxy == NULL || proxy == self->requested
      || (state != STUDIO_RUN_RUNNING && state != STUDIO_RUN_PAUSED && state != STUDIO_RUN_DONE))
    return;
  g_object_get (self->canvas, "cost-measure", &measure, NULL);
  if (g_strcmp0 (measure, "time") != 0)
    return;
  self->requested = proxy;
  self->in_flight = TRUE;
  run_report_async (proxy, LOOM_SNAPSHOT_TIMES, MAX_BYTES, NULL, answer_cb, g_object_ref (self));
}

/* Choosing an item again, even the same one, measures again. */
static void
measure_cb (StudioNodeTimes *self)
{
  self->requested = NULL;
  request_times (self);
}

/* The measured times do not belong to a changed graph. */
static void
changed_cb (StudioNodeTimes *self)
{
  if (self->canvas == NULL || studio_document_run_changes (self->document) == 0)
    return;
  self->requested = NULL;
  studio_canvas_set_times (self->canvas, NULL);
}

static void
studio_node_times_dispose (GObject *object)
{
  StudioNodeTimes *self = STUDIO_NODE_TIMES (object);

  g_clear_weak_pointer (&self->canvas);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_node_times_parent_class)->dispose (object);
}

static void
studio_node_times_class_init (StudioNodeTimesClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_node_times_dispose;
}

StudioNodeTimes *
studio_node_times_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run)
{
  StudioNodeTimes *self = g_object_new (STUDIO_TYPE_NODE_TIMES, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_set_weak_pointer (&self->canvas, canvas);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (request_times), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (canvas, "notify::cost-measure", G_CALLBACK (measure_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  return self;
}
