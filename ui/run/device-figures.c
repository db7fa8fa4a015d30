#include "ui/run/device-figures.h"

#include <json-glib/json-glib.h>

#include "ui/run/studio-run-messages.h"
#include "ui/worker/studio-planner.h"

struct _DeviceFigures
{
  gatomicrefcount refs;
  StudioDocument *document; /* NULL after device_figures_free() */
  void (*changed) (gpointer data);
  gpointer data;
  GArray *shards, *times;
  GCancellable *loading, *timing; /* of the requests in flight; NULL: none */
  char *why, *timed;              /* timed: the hash of the graph that times belong to */
};

static void
figures_unref (DeviceFigures *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_array_unref (self->shards);
  g_array_unref (self->times);
  g_free (self->why);
  g_free (self->timed);
  g_free (self);
}

static void
cancel (GCancellable **cancellable)
{
  if (*cancellable != NULL)
    g_cancellable_cancel (*cancellable);
  g_clear_object (cancellable);
}

/* FALSE: the answer is no longer wanted. */
static gboolean
take (DeviceFigures *self, GCancellable **cancellable, GAsyncResult *result, GPtrArray **events)
{
  g_autoptr (GError) error = NULL;

  *events = studio_planner_run_finish (result, &error);
  if (self->document == NULL || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)
      || *cancellable != g_task_get_cancellable (G_TASK (result)))
    return FALSE;
  g_clear_object (cancellable);
  g_clear_pointer (&self->why, g_free);
  if (*events == NULL)
    self->why = studio_run_rewrite_message (error->message);
  return TRUE;
}

/* The text of the graph; NULL if it may not be given to a process, which `why` then says. (transfer full) */
static char *
dup_text (DeviceFigures *self)
{
  g_autoptr (GError) error = NULL;
  char *xml = studio_document_dup_text_for_process (self->document, &error);

  if (xml == NULL)
    {
      g_free (self->why);
      self->why = g_strdup (error->message);
      self->changed (self->data);
    }
  return xml;
}

/* ---- shards ------------------------------------------------------------------------------ */

static void
add_shard (GArray *shards, JsonObject *event)
{
  const gint64 rank = json_object_get_int_member_with_default (event, "rank", 0);
  DeviceShard *shard;

  if (!json_object_has_member (event, "bytes") || rank < 0 || rank > G_MAXINT16)
    return;
  if (rank >= shards->len)
    g_array_set_size (shards, (guint)rank + 1);
  shard = &g_array_index (shards, DeviceShard, rank);
  shard->total += (guint64)json_object_get_int_member_with_default (event, "bytes", 0);
  for (guint o = 0; o < LOOM_N_OWNERS; o++)
    shard->owner[o] += (guint64)json_object_get_int_member_with_default (event, loom_owner_name ((LoomOwner)o), 0);
}

static void
shards_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  DeviceFigures *self = data;
  g_autoptr (GPtrArray) events = NULL;

  if (take (self, &self->loading, result, &events))
    {
      g_array_set_size (self->shards, 0);
      for (guint i = 0; events != NULL && i < events->len; i++)
        add_shard (self->shards, events->pdata[i]);
      self->changed (self->data);
    }
  figures_unref (self);
}

void
device_figures_request_shards (DeviceFigures *self, int ranks, const char *device)
{
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *xml = NULL, *number = g_strdup_printf ("%d", ranks);
  const char *const words[]
      = { "plan", "-", "--memory", "--json", "--ranks", number, device != NULL ? "--device" : NULL, device, NULL };

  cancel (&self->loading);
  if (g_strcmp0 (self->timed, studio_document_hash (self->document)) != 0)
    {
      cancel (&self->timing);
      g_array_set_size (self->times, 0);
    }
  xml = dup_text (self);
  if (xml == NULL)
    return;
  self->loading = g_cancellable_new ();
  g_atomic_ref_count_inc (&self->refs);
  studio_planner_command_async (xml, loom_graph_get_folder (graph), words, self->loading, shards_cb, self);
}

/* ---- times ------------------------------------------------------------------------------- */

static void
timed_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  DeviceFigures *self = data;
  g_autoptr (GPtrArray) events = NULL;

  if (take (self, &self->timing, result, &events))
    {
      double first = 0;

      g_array_set_size (self->times, 0);
      for (guint i = 0; events != NULL && i < events->len; i++)
        {
          JsonObject *event = events->pdata[i];
          const double rate = json_object_get_double_member_with_default (event, "samples_per_second", 0);
          DeviceTime time = { (int)json_object_get_int_member_with_default (event, "gpus", 0),
                              json_object_get_double_member_with_default (event, "step_seconds", 0), 1 };

          if (time.ranks <= 0 || rate <= 0)
            continue;
          first = first > 0 ? first : rate;
          time.speedup = rate / first;
          g_array_append_val (self->times, time);
        }
      self->changed (self->data);
    }
  figures_unref (self);
}

void
device_figures_request_times (DeviceFigures *self, int replica)
{
  g_autofree char *counts = g_strdup_printf ("%d,%d,%d", replica, 2 * replica, 4 * replica);
  const char *const words[] = { "simulate", "-", "--no-measure", "--json", "--gpus", counts, NULL };
  LoomGraph *graph = studio_document_get_graph (self->document);
  g_autofree char *xml = NULL;

  cancel (&self->timing);
  g_array_set_size (self->times, 0);
  xml = dup_text (self);
  if (xml == NULL)
    return;
  g_free (self->timed);
  self->timed = g_strdup (studio_document_hash (self->document));
  self->timing = g_cancellable_new ();
  g_atomic_ref_count_inc (&self->refs);
  studio_planner_command_async (xml, loom_graph_get_folder (graph), words, self->timing, timed_cb, self);
  self->changed (self->data);
}

/* ---- object ------------------------------------------------------------------------------ */

const GArray *
device_figures_shards (const DeviceFigures *self)
{
  return self->shards;
}

const GArray *
device_figures_times (const DeviceFigures *self)
{
  return self->times;
}

gboolean
device_figures_is_busy (const DeviceFigures *self)
{
  return self->timing != NULL;
}

const char *
device_figures_why (const DeviceFigures *self)
{
  return self->why;
}

DeviceFigures *
device_figures_new (StudioDocument *document, void (*changed) (gpointer data), gpointer data)
{
  DeviceFigures *self = g_new0 (DeviceFigures, 1);

  g_atomic_ref_count_init (&self->refs);
  self->document = document;
  self->changed = changed;
  self->data = data;
  self->shards = g_array_new (FALSE, TRUE, sizeof (DeviceShard));
  self->times = g_array_new (FALSE, FALSE, sizeof (DeviceTime));
  return self;
}

void
device_figures_free (DeviceFigures *self)
{
  cancel (&self->loading);
  cancel (&self->timing);
  self->document = NULL;
  figures_unref (self);
}
