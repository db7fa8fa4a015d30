#include "ui/run/studio-memory-forecast.h"

#include <json-glib/json-glib.h>

#include "ui/charts/studio-type.h"
#include "ui/worker/studio-devices.h"
#include "ui/worker/studio-planner.h"

#define CALM_MS      600  /* without a change, before the planner starts */
#define HOST_CALM_MS 1500 /* before a host is asked, whose name may still be typed */

struct _StudioMemoryForecast
{
  GObject parent_instance;

  StudioDocument *document;
  StudioRun *run;
  StudioMemoryVerdict verdict; /* text NULL: the run fits, or it is not known */
  double needed, available;    /* bytes; 0: unknown. Those of the graph before, while it is planned again */
  int ranks, worst;            /* that need them, and the one that needs most, */
  double most;                 /* and what it needs */
  char *key;                   /* net and ranks that were estimated last; NULL: the run is live */
  char *host;                  /* that was asked last for its devices; NULL: this machine */
  GCancellable *cancellable;   /* of the planner that runs; NULL: none */
  guint timer;
};

STUDIO_DEFINE_TYPE (StudioMemoryForecast, studio_memory_forecast, G_TYPE_OBJECT)

static guint changed_signal;

/* event: "fits" of `gradloom plan`; NULL: unknown. */
static void
set_figures (StudioMemoryForecast *self, JsonObject *event)
{
  const char *strategy = event != NULL ? json_object_get_string_member_with_default (event, "strategy", NULL) : NULL;

  studio_memory_verdict_clear (&self->verdict);
  self->needed = event != NULL ? json_object_get_double_member (event, "needed") : 0;
  self->available = event != NULL ? json_object_get_double_member (event, "available") : 0;
  self->ranks = event != NULL ? (int)json_object_get_int_member_with_default (event, "ranks", 1) : 1;
  self->worst = event != NULL ? (int)json_object_get_int_member_with_default (event, "rank", 0) : 0;
  self->most = event != NULL ? json_object_get_double_member_with_default (event, "rank_needed", 0) : 0;
  if (self->needed > self->available)
    studio_memory_verdict_set (&self->verdict, self->ranks, self->needed, self->available,
                               json_object_get_int_member_with_default (event, "largest_batch", 0), strategy);
  g_signal_emit (self, changed_signal, 0);
}

/* The figures stay until there are others, so that they do not flicker; the verdict is of a graph that is no more. */
static void
forget_verdict (StudioMemoryForecast *self)
{
  if (self->verdict.text == NULL)
    return;
  studio_memory_verdict_clear (&self->verdict);
  g_signal_emit (self, changed_signal, 0);
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
  if (events == NULL)
    set_figures (self, NULL);
  for (guint i = 0; events != NULL && i < events->len; i++)
    {
      JsonObject *event = events->pdata[i];

      if (json_object_has_member (event, "available") && json_object_has_member (event, "needed"))
        set_figures (self, event);
    }
}

/* TRUE if there is a run to be forecast. */
static gboolean
can_train (StudioMemoryForecast *self)
{
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_TRAIN);

  return train != NULL && loom_faults_count (studio_document_get_faults (self->document)) == 0;
}

static gboolean timer_cb (gpointer data);

static void
plan (StudioMemoryForecast *self, const char *xml, const char *device, gint64 there)
{
  const char *folder = loom_graph_get_folder (studio_document_get_graph (self->document));
  g_autofree char *ranks = g_strdup_printf ("%d", studio_run_get_ranks (self->run));
  g_autofree char *bytes = g_strdup_printf ("%" G_GINT64_FORMAT, there);
  const char *const words[]
      = { "plan", "-",           "--fits", "--json", "--ranks", ranks, there > 0 ? "--device" : NULL,
          device, "--available", bytes,    NULL };
  GWeakRef *ref = g_new0 (GWeakRef, 1);

  self->cancellable = g_cancellable_new ();
  g_weak_ref_init (ref, self);
  studio_planner_command_async (xml, folder, words, self->cancellable, planned_cb, ref);
}

static void
devices_cb (StudioMemoryForecast *self)
{
  if (self->timer == 0 && self->cancellable == NULL && self->key != NULL)
    self->timer = g_idle_add (timer_cb, self);
}

/* The host's devices, which are requested when the host is another one. */
static StudioDevices *
take_host (StudioMemoryForecast *self, const char *host)
{
  StudioDevices *devices = studio_devices_get_of (host);

  if (g_strcmp0 (host, self->host) == 0)
    return devices;
  if (self->host != NULL)
    g_signal_handlers_disconnect_by_func (studio_devices_get_of (self->host), devices_cb, self);
  g_free (self->host);
  self->host = g_strdup (host);
  if (host == NULL)
    return devices;
  g_signal_connect_object (devices, "changed", G_CALLBACK (devices_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (devices, "details", G_CALLBACK (devices_cb), self, G_CONNECT_SWAPPED);
  studio_devices_ask_host (devices);
  return devices;
}

static gboolean
timer_cb (gpointer data)
{
  StudioMemoryForecast *self = data;
  const char *host = studio_run_get_host (self->run);
  StudioDevices *devices = take_host (self, host);
  const LoomElement *train
      = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_TRAIN);
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;
  gint64 there = 0;
  g_autofree char *xml = NULL;

  self->timer = 0;
  device = device != NULL ? device : "cpu";
  if (host != NULL)
    there = studio_devices_get_free (devices, device);
  if (can_train (self) && (host == NULL || there > 0))
    xml = studio_document_dup_text_for_process (self->document, NULL);
  if (xml != NULL)
    plan (self, xml, studio_devices_stand_in (device), there);
  else
    set_figures (self, NULL);
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

/* There is another net for every change but of positions. */
static void
changed_cb (StudioMemoryForecast *self)
{
  const gboolean live = studio_run_is_live (self->run);
  const char *host = studio_run_get_host (self->run);
  g_autofree char *key = live ? NULL
                              : g_strdup_printf ("%" G_GUINT64_FORMAT " %d %s",
                                                 loom_net_number (studio_document_get_net (self->document)),
                                                 studio_run_get_ranks (self->run), host != NULL ? host : "");

  if (g_strcmp0 (key, self->key) == 0)
    return;
  g_free (self->key);
  self->key = g_steal_pointer (&key);
  stop (self);
  forget_verdict (self);
  if (!live)
    self->timer = g_timeout_add (g_strcmp0 (host, self->host) == 0 ? CALM_MS : HOST_CALM_MS, timer_cb, self);
}

double
studio_memory_forecast_get_needed (StudioMemoryForecast *self)
{
  return self->needed;
}

double
studio_memory_forecast_get_available (StudioMemoryForecast *self)
{
  return self->available;
}

int
studio_memory_forecast_get_ranks (StudioMemoryForecast *self, int *worst, double *most)
{
  *worst = self->worst;
  *most = self->most;
  return MAX (self->ranks, 1);
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
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  g_clear_pointer (&self->key, g_free);
  g_clear_pointer (&self->host, g_free);
  studio_memory_verdict_clear (&self->verdict);
  G_OBJECT_CLASS (studio_memory_forecast_parent_class)->dispose (object);
}

static void
studio_memory_forecast_class_init (StudioMemoryForecastClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = memory_forecast_dispose;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_MEMORY_FORECAST, 0);
}

StudioMemoryForecast *
studio_memory_forecast_new (StudioDocument *document, StudioRun *run)
{
  StudioMemoryForecast *self = g_object_new (STUDIO_TYPE_MEMORY_FORECAST, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "ranks-changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  return self;
}
