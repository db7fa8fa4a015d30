/* Runs without a window: lets a run go on without one, and attaches to one, here or on a host.
 *
 * The worker is asked what it trains before anything is shown, the curve is read from the run's folder, and then the
 * worker sends what is newer. The folder of a run on a host is its mirror, which the process that carries the worker's
 * messages has brought up to date before. */
#include <glib/gi18n.h>
#include <string.h>

#include "engine/loom.h"
#include "engine/runs/loom-run-host.h"
#include "engine/infer/loom-run-socket.h"
#include "ui/run/run-folder.h"
#include "ui/run/studio-run-private.h"

/* ---- leaving ----------------------------------------------------------------- */

static void
kept_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GTask) task = data;
  GError *error = NULL;

  if (loom_bus_worker1_call_keep_finish (LOOM_BUS_WORKER1 (source), result, &error))
    {
      StudioRun *self = g_task_get_source_object (task);
      if (self->worker != NULL && G_OBJECT (studio_worker_get_proxy (self->worker)) == source)
        studio_worker_note_kept (self->worker);
      g_task_return_boolean (task, TRUE);
    }
  else
    {
      g_dbus_error_strip_remote_error (error);
      g_task_return_error (task, error);
    }
}

void
studio_run_keep_async (StudioRun *self, GAsyncReadyCallback callback, gpointer data)
{
  GTask *task = g_task_new (self, NULL, callback, data);

  if (studio_run_can_go_on (self))
    {
      loom_bus_worker1_call_keep (studio_run_get_proxy (self), TRUE, NULL, kept_cb, task);
      return;
    }
  /* It has ended meanwhile. */
  g_task_return_boolean (task, TRUE);
  g_object_unref (task);
}

gboolean
studio_run_keep_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

/* ---- attaching ---------------------------------------------------------------- */

typedef struct
{
  StudioRun *run;
  GCancellable *cancellable; /* of this attachment: another start cancels it */
  StudioWorker *worker;
  char *folder, *graph_folder;
  gboolean is_new;  /* the run has just begun on its host */
  gboolean is_lost; /* the connection to a run that is shown was lost */
} Attach;

static void
attach_free (Attach *attach)
{
  g_object_unref (attach->run);
  g_object_unref (attach->cancellable);
  g_clear_object (&attach->worker);
  g_free (attach->folder);
  g_free (attach->graph_folder);
  g_free (attach);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Attach, attach_free)

/* TRUE: the run is one of a host. If it has ended there meanwhile, its whole curve is shown. */
static gboolean
show_host_end (Attach *attach, const char *sentence)
{
  StudioRun *self = attach->run;
  g_auto (LoomRunHost) host = { NULL };

  if (!loom_run_host_read (attach->folder, &host))
    return FALSE;
  if (host.state == LOOM_RUN_HOST_ENDED)
    {
      studio_run_take_begin (self);
      studio_run_forget_previous (self);
      if (studio_run_restore (self, attach->folder, attach->graph_folder, G_MAXINT64))
        g_signal_emit_by_name (self, "attached");
      return studio_run_take_host_end (self, sentence);
    }
  return attach->is_lost && studio_run_take_host_end (self, sentence);
}

/* The run goes on as before, and can be tried again. */
static void
refuse (Attach *attach, const char *sentence)
{
  StudioRun *self = attach->run;

  if (attach->worker != NULL)
    studio_worker_release (attach->worker);
  if (g_cancellable_is_cancelled (attach->cancellable))
    return;
  g_free (self->attachable);
  self->attachable = g_strdup (attach->folder);
  if (!show_host_end (attach, sentence))
    studio_run_set_state (self, STUDIO_RUN_IDLE, sentence);
}

static void
followed_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioRun) self = data;
  g_autoptr (GError) error = NULL;

  /* The end of a connection is reported by the worker's signal. */
  loom_bus_worker1_call_follow_finish (LOOM_BUS_WORKER1 (source), result, &error);
  if (error != NULL)
    g_debug ("follow: %s", error->message);
}

static void
show (Attach *attach, GVariant *description)
{
  StudioRun *self = attach->run;
  LoomBusWorker1 *proxy = studio_worker_get_proxy (attach->worker);
  int ranks = 1;

  studio_run_take_begin (self);
  if (!attach->is_new)
    studio_run_forget_previous (self);
  if (!studio_run_restore (self, attach->folder, attach->graph_folder, G_MAXINT64))
    {
      refuse (attach, _ ("The run cannot be shown, because its folder has no graph."));
      return;
    }
  studio_run_note_restored (self);
  g_variant_lookup (description, "ranks", "i", &ranks);
  self->ranks.live = self->ranks.next = ranks;
  self->start_sent = TRUE;
  studio_run_connect_worker (self, attach->worker);
  run_folder_note_end (self->folder, FALSE);
  /* What observers send now, such as breakpoints, applies to the run. */
  g_signal_emit_by_name (self, "state-changed");
  if (!attach->is_new)
    g_signal_emit_by_name (self, "attached");
  if (self->pace > 0)
    loom_bus_worker1_call_set_pace (proxy, self->pace, NULL, NULL, NULL);
  loom_bus_worker1_call_follow (proxy, attach->cancellable, followed_cb, g_object_ref (self));
  if (self->host.stop_wanted)
    loom_bus_worker1_call_stop (proxy, NULL, NULL, NULL);
  else if (self->pause_wanted)
    loom_bus_worker1_call_pause (proxy, NULL, NULL, NULL);
}

static void
described_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Attach) attach = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) description = NULL;
  const char *version = NULL;

  loom_bus_worker1_call_describe_finish (LOOM_BUS_WORKER1 (source), &description, result, &error);
  if (description == NULL)
    {
      g_dbus_error_strip_remote_error (error);
      refuse (attach, g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_FAILED) ? error->message
                                                                                 : _ ("The run has just ended."));
      return;
    }
  g_variant_lookup (description, "version", "&s", &version);
  if (g_strcmp0 (version, LOOM_VERSION) != 0)
    refuse (attach, _ ("The run is trained by another version of Gradloom. Attach it with that version."));
  /* A mirror is another folder; its host and id are those of the connection. */
  else if (attach->run->host.live == NULL && !loom_run_is_described (attach->folder, description))
    refuse (attach, _ ("The program at the run’s socket trains something else. Remove the folder “live” in Gradloom’s "
                       "state folder."));
  else if (!g_cancellable_is_cancelled (attach->cancellable))
    show (attach, description);
  else
    refuse (attach, NULL);
}

static void
connected_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Attach) attach = data;
  g_autoptr (GError) error = NULL;

  attach->worker = studio_worker_attach_finish (result, &error);
  if (attach->worker == NULL)
    refuse (attach, error->message);
  else
    {
      LoomBusWorker1 *proxy = studio_worker_get_proxy (attach->worker);
      loom_bus_worker1_call_describe (proxy, NULL, described_cb, g_steal_pointer (&attach));
    }
}

static void
attach_to (StudioRun *self, const char *folder, gboolean is_new, gboolean is_lost)
{
  Attach *attach = g_new0 (Attach, 1);
  g_auto (LoomRunHost) host = { NULL };

  attach->run = g_object_ref (self);
  attach->folder = g_strdup (folder);
  attach->graph_folder = g_strdup (self->graph_folder);
  attach->is_new = is_new;
  attach->is_lost = is_lost;
  attach->cancellable = g_object_ref (self->cancellable);
  loom_run_host_read (folder, &host);
  g_free (self->host.live);
  self->host.live = g_steal_pointer (&host.name);
  studio_run_set_state (self, STUDIO_RUN_STARTING, NULL);
  studio_worker_attach_async (attach->folder, self->cancellable, connected_cb, attach);
}

void
studio_run_attach (StudioRun *self, const char *folder, const char *graph_folder)
{
  const gboolean is_lost = self->state == STUDIO_RUN_LOST && g_strcmp0 (self->folder, folder) == 0;
  char *copy = g_strdup (graph_folder);

  g_return_if_fail (!studio_run_is_live (self));
  g_free (self->graph_folder);
  self->graph_folder = copy;
  studio_run_renew_start (self);
  self->host.resumes = FALSE;
  attach_to (self, folder, FALSE, is_lost);
}

void
studio_run_attach_begun (StudioRun *self)
{
  attach_to (self, self->folder, !self->host.resumes, TRUE);
}

const char *
studio_run_get_attachable (StudioRun *self)
{
  /* A run of this machine that was lost is over. */
  return self->state == STUDIO_RUN_IDLE || (self->state == STUDIO_RUN_LOST && self->host.live != NULL)
             ? self->attachable
             : NULL;
}
