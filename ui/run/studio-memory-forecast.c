#include "ui/run/studio-memory-forecast.h"

#include <json-glib/json-glib.h>
#include <unistd.h>

#include "ui/worker/studio-planner.h"

#define CALM_MS 600 /* without a change, before the planner starts */
/* Copies of a parameter (weight, gradient, two moments) and of an output (value, gradient, workspace), as an upper
 * estimate of what a plan needs. */
#define PER_PARAMETER 16.0
#define PER_OUTPUT    3.0
#define USUAL_BATCH   32.0
/* What a device that is no CPU has at least. */
#define SMALLEST_CARD 1e9

struct _StudioMemoryForecast
{
  GObject parent_instance;

  StudioDocument *document;
  StudioRun *run;
  StudioMemoryVerdict verdict; /* text NULL: the run fits, or it is not known */
  char *key;                   /* graph and ranks that were estimated last; NULL: the run is live */
  GCancellable *cancellable;   /* of the planner that runs; NULL: none */
  guint timer;
};

G_DEFINE_FINAL_TYPE (StudioMemoryForecast, studio_memory_forecast, G_TYPE_OBJECT)

enum
{
  CHANGED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static void
set_verdict (StudioMemoryForecast *self, double needed, double available, gint64 batch)
{
  const gboolean had_one = self->verdict.text != NULL;

  studio_memory_verdict_clear (&self->verdict);
  if (needed > available)
    studio_memory_verdict_set (&self->verdict, needed, available, batch);
  if (had_one || self->verdict.text != NULL)
    g_signal_emit (self, signals[CHANGED], 0);
}

static void
planned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree GWeakRef *ref = data;
  g_autoptr (StudioMemoryForecast) self = g_weak_ref_get (ref);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) events = studio_planner_run_finish (result, &error);

  g_weak_ref_clear (ref);
  if (self == NULL || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  g_clear_object (&self->cancellable);
  /* A graph that cannot be planned has its own messages. */
  for (guint i = 0; events != NULL && i < events->len; i++)
    {
      JsonObject *event = events->pdata[i];

      if (json_object_has_member (event, "available") && json_object_has_member (event, "needed"))
        set_verdict (self, json_object_get_double_member (event, "needed"),
                     json_object_get_double_member (event, "available"),
                     json_object_get_int_member_with_default (event, "largest_batch", 0));
    }
}

/* The memory that the machine, or a small card, has for the run. */
static double
least_memory (const LoomElement *train)
{
  const char *device = loom_element_get (train, "device");

  return device == NULL || g_str_has_prefix (device, "cpu") || g_str_has_prefix (device, "ref")
             ? (double)sysconf (_SC_PHYS_PAGES) * (double)sysconf (_SC_PAGESIZE) / 8
             : SMALLEST_CARD;
}

/* TRUE if the run might not fit. */
static gboolean
is_large (StudioMemoryForecast *self)
{
  LoomNet *net = studio_document_get_net (self->document);
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_TRAIN);
  const char *batch = train != NULL ? loom_element_get (train, "batch_size") : NULL;
  double parameters = 0, outputs = 0;

  if (train == NULL || loom_faults_count (studio_document_get_faults (self->document)) > 0)
    return FALSE;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      parameters += loom_net_node (net, i)->cost.parameters;
      outputs += loom_net_node (net, i)->cost.bytes;
    }
  return PER_PARAMETER * parameters
             + PER_OUTPUT * outputs * (batch != NULL ? g_ascii_strtod (batch, NULL) : USUAL_BATCH)
         > least_memory (train);
}

/* Data outside the graph's folder are read only after the user has agreed. */
static gboolean
may_read (StudioMemoryForecast *self)
{
  g_auto (GStrv) outside = studio_document_outside (self->document);

  return outside[0] == NULL;
}

static gboolean
timer_cb (gpointer data)
{
  StudioMemoryForecast *self = data;
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *xml = NULL;
  GWeakRef *ref;

  self->timer = 0;
  if (!is_large (self) || !may_read (self) || studio_run_get_ranks (self->run) > 1)
    return G_SOURCE_REMOVE;
  xml = loom_graph_write (graph, NULL);
  self->cancellable = g_cancellable_new ();
  ref = g_new0 (GWeakRef, 1);
  g_weak_ref_init (ref, self);
  studio_planner_run_async (xml, loom_graph_get_folder (graph), "--fits", 0, self->cancellable, planned_cb, ref);
  return G_SOURCE_REMOVE;
}

static void
stop (StudioMemoryForecast *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
}

/* Moving a card changes no plan. */
static void
changed_cb (StudioMemoryForecast *self)
{
  const gboolean live = studio_run_is_live (self->run);
  g_autofree char *key
      = live ? NULL
             : g_strdup_printf ("%s %d", studio_document_hash (self->document), (int)studio_run_get_ranks (self->run));

  if (g_strcmp0 (key, self->key) == 0)
    return;
  g_free (self->key);
  self->key = g_steal_pointer (&key);
  stop (self);
  set_verdict (self, 0, 0, 0);
  if (!live)
    self->timer = g_timeout_add (CALM_MS, timer_cb, self);
}

const StudioMemoryVerdict *
studio_memory_forecast_get (StudioMemoryForecast *self)
{
  return self->verdict.text != NULL ? &self->verdict : NULL;
}

/* ---- object ----------------------------------------------------------------- */

static void
memory_forecast_dispose (GObject *object)
{
  StudioMemoryForecast *self = STUDIO_MEMORY_FORECAST (object);

  stop (self);
  if (self->run != NULL)
    g_signal_handlers_disconnect_by_data (self->run, self);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  g_clear_pointer (&self->key, g_free);
  studio_memory_verdict_clear (&self->verdict);
  G_OBJECT_CLASS (studio_memory_forecast_parent_class)->dispose (object);
}

static void
studio_memory_forecast_class_init (StudioMemoryForecastClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = memory_forecast_dispose;
  signals[CHANGED]
      = g_signal_new ("changed", STUDIO_TYPE_MEMORY_FORECAST, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_memory_forecast_init (StudioMemoryForecast *self)
{
}

StudioMemoryForecast *
studio_memory_forecast_new (StudioDocument *document, StudioRun *run)
{
  StudioMemoryForecast *self = g_object_new (STUDIO_TYPE_MEMORY_FORECAST, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (run, "state-changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (run, "ranks-changed", G_CALLBACK (changed_cb), self);
  return self;
}
