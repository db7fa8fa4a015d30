/* Starts and resumes the worker of a run, sends it commands and handles its signals.
 *
 * Every call is asynchronous. Commands that are issued while the worker is being spawned are stored and sent when it is
 * connected. If a call is refused, its error becomes the message of the run. */
#include "ui/run/studio-run-private.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/charts/studio-plot.h"
#include "ui/run/run-folder.h"
#include "ui/run/studio-run-messages.h"
#include "ui/settings/studio-settings.h"

/* ---- replies to commands --------------------------------------------------------- */

typedef struct
{
  StudioRun *run;
  char *name; /* of the hyper-parameter that it changes; NULL: none */
  double value;
} Command;

static Command *
command_new (StudioRun *self)
{
  Command *command = g_new0 (Command, 1);
  command->run = g_object_ref (self);
  return command;
}

static void
command_free (Command *command)
{
  g_object_unref (command->run);
  g_free (command->name);
  g_free (command);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Command, command_free)

/* TRUE if the worker accepted the command. A reply from a worker that the run no longer uses is ignored, and a broken
 * connection is reported elsewhere. */
static gboolean
was_accepted (Command *command, GObject *source, GAsyncResult *result)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) answer = g_dbus_proxy_call_finish (G_DBUS_PROXY (source), result, &error);
  StudioRun *self = command->run;
  if (self->worker == NULL || G_OBJECT (studio_worker_get_proxy (self->worker)) != source)
    return FALSE;
  if (answer == NULL)
    {
      if (g_dbus_error_is_remote_error (error) && !g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY))
        {
          g_dbus_error_strip_remote_error (error);
          studio_run_take_problem (self, "REFUSED", "", "", error->message);
        }
      return FALSE;
    }
  if (g_strcmp0 (command->name, "lr") == 0)
    {
      self->options.lr = command->value;
      studio_run_take_hyper (self, "lr", command->value);
    }
  if (command->name != NULL)
    studio_run_come_back (self);
  if (command->name != NULL)
    studio_run_add_change (self, (double)self->progress.step, command->name, command->value);
  return TRUE;
}

static void
accepted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Command) command = data;
  was_accepted (command, source, result);
}

/* ---- signals of the worker --------------------------------------------------------- */

static void
state_changed_cb (LoomBusWorker1 *proxy, const char *state, const char *message, StudioRun *self)
{
  studio_run_take_state (self, state, message);
  if (self->state == STUDIO_RUN_PAUSED && self->stall.pause_requested != 0)
    {
      self->pause_ms = (double)(g_get_monotonic_time () - self->stall.pause_requested) / 1000;
      self->stall.pause_requested = 0;
    }
  /* A run started for a single step pauses first, planned, before it takes that step. */
  if (self->step_wanted && self->state == STUDIO_RUN_PAUSED)
    {
      self->step_wanted = FALSE;
      loom_bus_worker1_call_step_batch (proxy, NULL, accepted_cb, command_new (self));
    }
  if (self->state != STUDIO_RUN_STARTING)
    self->pause_wanted = FALSE;
}

static void
ended_cb (StudioWorker *worker, const char *sentence, StudioRun *self)
{
  studio_run_drop_worker (self);
  if (!studio_run_take_host_end (self, sentence))
    studio_run_take_end (self, sentence);
}

void
studio_run_connect_worker (StudioRun *self, StudioWorker *worker)
{
  self->worker = g_object_ref (worker);
  g_signal_connect (worker, "ended", G_CALLBACK (ended_cb), self);
  LoomBusWorker1 *proxy = studio_worker_get_proxy (worker);
  g_signal_connect (proxy, "state-changed", G_CALLBACK (state_changed_cb), self);
  g_signal_connect_swapped (proxy, "metrics", G_CALLBACK (studio_run_take_metrics), self);
  g_signal_connect_swapped (proxy, "evaluated", G_CALLBACK (studio_run_take_evaluation), self);
  g_signal_connect_swapped (proxy, "progress", G_CALLBACK (studio_run_take_progress), self);
  g_signal_connect_swapped (proxy, "waits", G_CALLBACK (studio_run_take_waits), self);
  g_signal_connect_swapped (proxy, "memory", G_CALLBACK (studio_run_take_memory), self);
  g_signal_connect_swapped (proxy, "hyper", G_CALLBACK (studio_run_take_hyper), self);
  g_signal_connect_swapped (proxy, "problem", G_CALLBACK (studio_run_take_problem), self);
  g_signal_connect_swapped (proxy, "checkpoint-written", G_CALLBACK (studio_run_take_checkpoint), self);
}

/* ---- starting ------------------------------------------------------------------------ */

typedef struct
{
  StudioRun *run;
  GCancellable *cancellable; /* of this start: a second start cancels the first */
  gboolean resume;
  int ranks; /* the number of ranks started */
} Start;

static void
start_free (Start *start)
{
  g_object_unref (start->run);
  g_object_unref (start->cancellable);
  g_free (start);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Start, start_free)

static void
fail (StudioRun *self, GError *error)
{
  g_dbus_error_strip_remote_error (error);
  g_autofree char *said = studio_run_rewrite_message (error->message);
  studio_run_set_state (self, STUDIO_RUN_FAILED, said);
}

/* Called first for every reply. TRUE if the start was not cancelled and there is no error. */
static gboolean
is_current (Start *start, GError *error)
{
  if (g_cancellable_is_cancelled (start->cancellable))
    return FALSE;
  if (error == NULL)
    return TRUE;
  /* If the worker died, its "ended" signal has the better message. */
  if (start->run->worker != NULL && studio_worker_has_ended (start->run->worker))
    return FALSE;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CLOSED)
      || g_error_matches (error, G_DBUS_ERROR, G_DBUS_ERROR_NO_REPLY))
    return FALSE;
  fail (start->run, error);
  return FALSE;
}

static void
started_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Start) start = data;
  g_autoptr (GError) error = NULL;
  loom_bus_worker1_call_start_finish (LOOM_BUS_WORKER1 (source), result, &error);
  is_current (start, error);
}

static GVariant *
start_options (StudioRun *self, gboolean resume, int ranks)
{
  GVariantBuilder b;
  g_variant_builder_init (&b, G_VARIANT_TYPE_VARDICT);
  const gint64 history = studio_settings_get_history ();
  studio_run_add_options (self, &b);
  if (ranks > 1)
    g_variant_builder_add (&b, "{sv}", "ranks", g_variant_new_int32 (ranks));
  g_variant_builder_add (&b, "{sv}", "history", g_variant_new_int64 (history > 0 ? history * 1000000 : -1));
  if (self->pace > 0)
    g_variant_builder_add (&b, "{sv}", "at_least", g_variant_new_double (self->pace));
  g_variant_builder_add (&b, "{sv}", "out", g_variant_new_string (self->folder));
  if (resume)
    g_variant_builder_add (&b, "{sv}", "resume", g_variant_new_string (self->folder));
  if (resume && self->resume_step > 0)
    g_variant_builder_add (&b, "{sv}", "resume_step", g_variant_new_int64 (self->resume_step));
  if (self->branch != NULL && !resume)
    {
      g_variant_builder_add (&b, "{sv}", "branch", g_variant_new_string (self->branch));
      g_variant_builder_add (&b, "{sv}", "branch_step", g_variant_new_int64 (self->branch_step));
    }
  return g_variant_builder_end (&b);
}

static void
loaded_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Start) start = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) faults = NULL;
  loom_bus_worker1_call_load_finish (LOOM_BUS_WORKER1 (source), &faults, result, &error);
  if (!is_current (start, error))
    return;
  if (g_variant_n_children (faults) > 0)
    {
      const char *code, *node, *port, *sentence;
      for (gsize i = 0; i < g_variant_n_children (faults); i++)
        {
          g_variant_get_child (faults, i, "(&s&s&s&s)", &code, &node, &port, &sentence);
          studio_run_take_problem (start->run, code, node, port, sentence);
        }
      g_variant_get_child (faults, 0, "(&s&s&s&s)", NULL, &node, NULL, &sentence);
      g_autofree char *text = *node != '\0' ? g_strdup_printf ("%s: %s", node, sentence) : g_strdup (sentence);
      g_autofree char *said = studio_run_rewrite_message (text);
      studio_run_set_state (start->run, STUDIO_RUN_FAILED, said);
      return;
    }
  GVariant *options = start_options (start->run, start->resume, start->ranks);
  g_clear_pointer (&start->run->branch, g_free);
  start->run->start_sent = TRUE;
  GCancellable *cancellable = start->cancellable;
  loom_bus_worker1_call_start (LOOM_BUS_WORKER1 (source), options, cancellable, started_cb, g_steal_pointer (&start));
}

static void
spawned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Start) start = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (StudioWorker) worker = studio_worker_spawn_finish (result, &error);
  StudioRun *self = start->run;
  if (g_cancellable_is_cancelled (start->cancellable))
    {
      if (worker != NULL)
        studio_worker_finish (worker);
      return;
    }
  if (worker == NULL)
    {
      studio_run_set_state (self, STUDIO_RUN_LOST, error->message);
      return;
    }
  studio_run_connect_worker (self, worker);
  /* What observers send now arrives before the run begins. */
  g_signal_emit_by_name (self, "state-changed");
  LoomBusWorker1 *proxy = studio_worker_get_proxy (worker);
  GCancellable *cancellable = start->cancellable;
  loom_bus_worker1_call_load (proxy, self->graph_xml, self->graph_folder != NULL ? self->graph_folder : "", cancellable,
                              loaded_cb, g_steal_pointer (&start));
}

void
studio_run_renew_start (StudioRun *self)
{
  if (self->cancellable != NULL)
    g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  studio_run_drop_worker (self);
  studio_run_cancel_host (self);
  self->host.stop_wanted = FALSE;
  self->cancellable = g_cancellable_new ();
  self->start_sent = self->pause_wanted = self->goes_on = FALSE;
  studio_run_forget_restored (self);
  g_clear_pointer (&self->problem_code, g_free);
  g_clear_pointer (&self->attachable, g_free);
}

static void
begin (StudioRun *self, gboolean resume)
{
  studio_run_renew_start (self);
  /* A run continues where it is, and its branches are there. */
  if (!resume && self->branch == NULL)
    {
      char *host = g_strdup (self->host.next);
      g_free (self->host.live);
      self->host.live = host;
    }
  if (self->host.live != NULL)
    {
      studio_run_begin_on_host (self, resume);
      return;
    }
  Start *start = g_new0 (Start, 1);
  start->run = g_object_ref (self);
  start->cancellable = g_object_ref (self->cancellable);
  start->resume = resume;
  /* The processes are new, also if the run is resumed. */
  run_ranks_forget (&self->ranks);
  self->stall.usual_gap = self->stall.longest_gap = 0;
  start->ranks = self->ranks.live = self->ranks.next;
  g_signal_emit_by_name (self, "memory-changed");
  run_folder_note_end (self->folder, FALSE);
  studio_run_set_state (self, STUDIO_RUN_STARTING, NULL);
  studio_worker_spawn_async (studio_worker_cpu_devices (self->graph_xml), start->ranks, self->cancellable, spawned_cb,
                             start);
}

/* The trainer accepts only a new folder, so that no run overwrites another. The note moves too, so that the next Studio
 * finds this run as it would have found the previous one. */
static void
start_from_the_beginning (StudioRun *self)
{
  g_autofree char *old = g_steal_pointer (&self->folder);
  /* A run that was attached, or that another Studio began, has its name in its folder alone. */
  self->folder = self->name == NULL && old != NULL ? run_folder_new_like (old)
                                                   : run_folder_new (self->name != NULL ? self->name : "run");
  self->step_wanted = FALSE;
  if (g_mkdir_with_parents (self->folder, 0755) != 0)
    {
      g_autofree char *text = g_strdup_printf (_ ("The folder %s for the run could not be created: %s."), self->folder,
                                               g_strerror (errno));
      studio_run_set_state (self, STUDIO_RUN_FAILED, text);
      return;
    }
  if (old != NULL)
    run_folder_move_note (old, self->folder);
  studio_run_take_begin (self);
  begin (self, FALSE);
}

void
studio_run_start (StudioRun *self, const char *graph_xml, const char *graph_folder, const char *name,
                  const StudioRunOptions *options)
{
  g_return_if_fail (STUDIO_IS_RUN (self) && graph_xml != NULL && options != NULL);
  char *device = g_strdup (options->device);
  g_free (self->device);
  self->device = device;
  self->options = *options;
  self->options.device = NULL;
  g_free (self->graph_xml);
  self->graph_xml = g_strdup (graph_xml);
  g_free (self->graph_folder);
  self->graph_folder = g_strdup (graph_folder);
  char *copy = g_strdup (name);
  g_free (self->name);
  self->name = copy;
  /* A lost run keeps its note, so that it is found again; a stopped run that was not resumed is dismissed. */
  if (self->state == STUDIO_RUN_STOPPED)
    run_folder_forget_note (self->folder);
  g_clear_pointer (&self->folder, g_free);
  g_clear_pointer (&self->branch, g_free);
  start_from_the_beginning (self);
}

/* ---- resuming ------------------------------------------------------------------------------- */

/* last: see StudioRun.resume_step. */
static void
resume (StudioRun *self, gint64 last)
{
  g_autofree char *step = studio_format_count ((double)self->checkpoint_step);
  g_autofree char *label = g_strdup_printf (_ ("continued at %s"), step);
  studio_run_add_mark (self, (double)self->checkpoint_step, label);
  self->resume_step = last;
  begin (self, TRUE);
}

void
studio_run_continue (StudioRun *self, const StudioRunOptions *changes)
{
  if (self->graph_xml == NULL || studio_run_is_live (self))
    return;
  self->options.paused = changes->paused;
  if (changes->epochs > 0)
    self->options.epochs = changes->epochs;
  if (!isnan (changes->lr))
    self->options.lr = changes->lr;
  if (changes->device != NULL)
    {
      g_free (self->device);
      self->device = g_strdup (changes->device);
    }
  if (self->checkpoint_step < 0)
    start_from_the_beginning (self);
  else
    resume (self, 0);
}

void
studio_run_go_back (StudioRun *self, gint64 step)
{
  const gint64 found = studio_run_find_checkpoint (self, step);
  if (self->graph_xml == NULL || studio_run_is_live (self) || found <= 0)
    return;
  self->options.paused = FALSE;
  self->options.lr = NAN; /* that of the checkpoint */
  self->checkpoint_step = found;
  /* What came after the checkpoint is computed again. */
  run_curves_forget_marks_after (&self->curves, (double)found);
  resume (self, found);
}

void
studio_run_branch (StudioRun *self)
{
  const gint64 step = self->travel.shown;
  g_autofree char *count = studio_format_count ((double)step);
  g_autofree char *label = g_strdup_printf (_ ("branch at %s"), count);

  if (self->graph_xml == NULL || self->folder == NULL || step < 0)
    return;
  g_free (self->branch);
  self->branch = g_strdup (self->folder);
  self->branch_step = step;
  /* The graph and the settings are the parent's. */
  self->options = (StudioRunOptions)STUDIO_RUN_OPTIONS_INIT;
  start_from_the_beginning (self);
  studio_run_add_mark (self, (double)step, label);
}

/* ---- commands -------------------------------------------------------------------------- */

static void
paused_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Command) command = data;
  /* A pause also saves a checkpoint, so that a crash during the pause loses nothing. */
  if (was_accepted (command, source, result))
    loom_bus_worker1_call_checkpoint (LOOM_BUS_WORKER1 (source), NULL, accepted_cb, command_new (command->run));
}

static void
want_pause (StudioRun *self, gboolean pause)
{
  self->pause_wanted = pause;
  if (self->start_sent && self->worker != NULL)
    {
      LoomBusWorker1 *proxy = studio_worker_get_proxy (self->worker);
      if (pause)
        loom_bus_worker1_call_pause (proxy, NULL, accepted_cb, command_new (self));
      else
        loom_bus_worker1_call_resume (proxy, NULL, accepted_cb, command_new (self));
    }
  g_signal_emit_by_name (self, "state-changed");
}

void
studio_run_pause (StudioRun *self)
{
  if (self->state == STUDIO_RUN_STARTING)
    want_pause (self, TRUE);
  else if (self->worker != NULL && self->state == STUDIO_RUN_RUNNING)
    {
      self->stall.pause_requested = g_get_monotonic_time ();
      loom_bus_worker1_call_pause (studio_worker_get_proxy (self->worker), NULL, paused_cb, command_new (self));
    }
}

double
studio_run_get_pause_ms (StudioRun *self)
{
  return self->pause_ms;
}

gboolean
studio_run_is_pause_wanted (StudioRun *self)
{
  return self->pause_wanted;
}

void
studio_run_resume (StudioRun *self)
{
  if (self->state == STUDIO_RUN_STARTING && self->pause_wanted)
    want_pause (self, FALSE);
  else if (self->worker != NULL && self->state == STUDIO_RUN_PAUSED)
    loom_bus_worker1_call_resume (studio_worker_get_proxy (self->worker), NULL, accepted_cb, command_new (self));
}

void
studio_run_step (StudioRun *self)
{
  if (self->worker == NULL || self->state == STUDIO_RUN_STARTING)
    self->step_wanted = TRUE;
  else
    loom_bus_worker1_call_step_batch (studio_worker_get_proxy (self->worker), NULL, accepted_cb, command_new (self));
}

/* Nothing is saved: the worker has not finished its step, and with a hanging rank it never does. */
static void
end_by_force (StudioRun *self)
{
  if (self->host.live != NULL)
    {
      studio_worker_force_exit (self->worker);
      return; /* its run goes on without the connection */
    }
  g_autofree char *step = studio_format_count ((double)self->checkpoint_step);
  g_autofree char *sentence
      = self->checkpoint_step >= 0
            ? g_strdup_printf (_ ("Stopped by force. Training can continue from the checkpoint of step %s."), step)
            : g_strdup (_ ("Stopped by force before its first checkpoint."));
  studio_worker_force_exit (self->worker);
  studio_run_drop_worker (self);
  run_folder_note_end (self->folder, TRUE);
  studio_run_set_state (self, STUDIO_RUN_STOPPED, sentence);
}

void
studio_run_stop (StudioRun *self)
{
  if (self->state == STUDIO_RUN_STARTING && self->host.live != NULL && self->worker == NULL)
    {
      /* It may have begun there already. */
      studio_run_cancel_host (self);
      self->host.stop_wanted = TRUE;
    }
  else if (self->state == STUDIO_RUN_STARTING && self->cancellable != NULL)
    {
      g_cancellable_cancel (self->cancellable);
      studio_run_drop_worker (self);
      studio_run_set_state (self, STUDIO_RUN_STOPPED, NULL);
    }
  else if (self->worker != NULL && studio_run_is_live (self))
    {
      if (self->stall.stop_requested == 0)
        {
          self->stall.stop_requested = g_get_monotonic_time ();
          loom_bus_worker1_call_stop (studio_worker_get_proxy (self->worker), NULL, accepted_cb, command_new (self));
        }
      else if (studio_run_may_force (self))
        end_by_force (self);
    }
}

void
studio_run_set_hyper (StudioRun *self, const char *name, double value)
{
  if (studio_run_can_resume (self) && g_str_equal (name, "lr"))
    {
      self->options.lr = value;
      studio_run_take_hyper (self, name, value);
    }
  if (self->worker == NULL || !studio_run_is_live (self))
    return;
  Command *command = command_new (self);
  command->name = g_strdup (name);
  command->value = value;
  loom_bus_worker1_call_set_hyper (studio_worker_get_proxy (self->worker), name, value, NULL, accepted_cb, command);
}

void
studio_run_set_pace (StudioRun *self, double seconds)
{
  self->pace = seconds;
  if (self->worker != NULL && self->start_sent && studio_run_is_live (self))
    loom_bus_worker1_call_set_pace (studio_worker_get_proxy (self->worker), seconds, NULL, accepted_cb,
                                    command_new (self));
}

double
studio_run_get_pace (StudioRun *self)
{
  return self->pace;
}

void
studio_run_reset (StudioRun *self)
{
  studio_run_close (self);
  self->ranks.live = 0;
  g_clear_pointer (&self->graph_xml, g_free);
  g_clear_pointer (&self->graph_folder, g_free);
  g_clear_pointer (&self->folder, g_free);
  g_clear_pointer (&self->device, g_free);
  g_clear_pointer (&self->problem_code, g_free);
  g_clear_pointer (&self->attachable, g_free);
  g_clear_pointer (&self->host.live, g_free);
  studio_run_take_begin (self);
  studio_run_forget_previous (self);
  studio_run_set_state (self, STUDIO_RUN_IDLE, NULL);
}
