/* Implements train-detach.h: a worker as Studio starts it, with the same engine, which is told to go on. */
#include "app/train-detach.h"

#include "app/worker-link.h"

#include <math.h>
#include <stdio.h>

typedef struct
{
  char *message, *code;
  gboolean trains, stopped, failed, closed;
  gboolean is_over; /* done, or stopped, as at the limit of --steps */
} Start;

static void
state_cb (LoomBusWorker1 *proxy, const char *state, const char *message, Start *start)
{
  start->stopped = g_str_equal (state, "stopped");
  start->is_over = start->stopped || g_str_equal (state, "done");
  start->failed = g_str_equal (state, "failed");
  start->trains = start->trains || start->is_over || g_str_equal (state, "paused");
  g_free (start->message);
  start->message = g_strdup (message);
}

static void
metrics_cb (LoomBusWorker1 *proxy, const char *const *names, GVariant *points, gint64 recent, Start *start)
{
  start->trains = TRUE;
}

static void
problem_cb (LoomBusWorker1 *proxy, const char *code, const char *node, const char *port, const char *sentence,
            Start *start)
{
  if (g_str_equal (code, "NOTE"))
    return;
  g_free (start->code);
  start->code = g_strdup (code);
}

static void
closed_cb (GDBusConnection *connection, gboolean remote, GError *error, Start *start)
{
  start->closed = TRUE;
}

static void
add_text (GVariantBuilder *b, const char *name, const char *text)
{
  if (text != NULL)
    g_variant_builder_add (b, "{sv}", name, g_variant_new_string (text));
}

static void
add_number (GVariantBuilder *b, const char *name, gint64 value, gboolean is_set)
{
  if (is_set)
    g_variant_builder_add (b, "{sv}", name, g_variant_new_int64 (value));
}

GVariant *
train_detach_options (const LoomTrainerOptions *o, int ranks)
{
  GVariantBuilder b;

  g_variant_builder_init (&b, G_VARIANT_TYPE_VARDICT);
  add_text (&b, "device", o->device);
  add_text (&b, "precision", o->precision);
  add_text (&b, "weights", o->weights);
  add_text (&b, "match", o->match);
  add_text (&b, "out", o->out);
  add_text (&b, "resume", o->resume);
  add_text (&b, "branch", o->branch);
  add_number (&b, "branch_step", o->branch_step, o->branch != NULL);
  add_text (&b, "replay", o->replay);
  add_number (&b, "epochs", o->epochs, o->epochs > 0);
  add_number (&b, "steps", o->steps, o->steps > 0);
  add_number (&b, "batch_size", o->batch_size, o->batch_size > 0);
  add_number (&b, "seed", o->seed, o->seed >= 0);
  add_number (&b, "history", o->history, o->history != 0);
  if (isfinite (o->lr))
    g_variant_builder_add (&b, "{sv}", "lr", g_variant_new_double (o->lr));
  if (o->checkpoint_seconds > 0)
    g_variant_builder_add (&b, "{sv}", "checkpoint_seconds", g_variant_new_double (o->checkpoint_seconds));
  if (ranks > 1)
    g_variant_builder_add (&b, "{sv}", "ranks", g_variant_new_int32 (ranks));
  if (o->threads > 0)
    g_variant_builder_add (&b, "{sv}", "threads", g_variant_new_int32 (o->threads));
  if (o->num_workers != 0)
    g_variant_builder_add (&b, "{sv}", "num_workers", g_variant_new_int32 (o->num_workers));
  if (o->tf32)
    g_variant_builder_add (&b, "{sv}", "tf32", g_variant_new_boolean (TRUE));
  if (o->set != NULL)
    g_variant_builder_add (&b, "{sv}", "set", g_variant_new_strv (o->set, -1));
  return g_variant_builder_end (&b);
}

/* The worker prints no more, so the first fault is the error. */
static gboolean
load (WorkerLink *link, LoomGraph *graph, GError **error)
{
  g_autofree char *xml = loom_graph_write (graph, NULL);
  g_autoptr (GVariant) faults = NULL;
  const char *folder = loom_graph_get_folder (graph), *code, *node, *sentence;

  if (!loom_bus_worker1_call_load_sync (link->proxy, xml, folder != NULL ? folder : "", &faults, NULL, error))
    return FALSE;
  if (g_variant_n_children (faults) == 0)
    return TRUE;
  g_variant_get_child (faults, 0, "(&s&s&s&s)", &code, &node, NULL, &sentence);
  g_propagate_prefixed_error (error, worker_link_error (code, sentence), "%s%s", node, *node != '\0' ? ": " : "");
  return FALSE;
}

/* TRUE when the condition holds; FALSE if the worker has ended before. */
static gboolean
wait_for (Start *start, const gboolean *condition)
{
  while (!*condition && !start->failed && !start->closed)
    g_main_context_iteration (NULL, TRUE);
  return *condition && !start->failed;
}

/* Stops a run that would end with this command, and waits for its checkpoint. */
static void
stop (WorkerLink *link, Start *start, GError **why)
{
  worker_link_clean (why);
  g_prefix_error (why, "The run is stopped, with a checkpoint, because it cannot go on in the background: ");
  if (loom_bus_worker1_call_stop_sync (link->proxy, NULL, NULL))
    wait_for (start, &start->stopped);
}

/* Waits for the first step, and lets the run go on. A run that is over by then has nothing to keep. */
static gboolean
begin (WorkerLink *link, GVariant *options, Start *start, GError **error)
{
  g_autoptr (GError) refused = NULL;

  if (!loom_bus_worker1_call_start_sync (link->proxy, options, NULL, error))
    return FALSE;
  if (wait_for (start, &start->trains))
    {
      if (loom_bus_worker1_call_keep_sync (link->proxy, TRUE, NULL, &refused))
        return TRUE;
      if (g_error_matches (refused, G_DBUS_ERROR, G_DBUS_ERROR_FAILED))
        {
          stop (link, start, &refused);
          g_propagate_error (error, g_steal_pointer (&refused));
          return FALSE;
        }
      if (wait_for (start, &start->is_over))
        return TRUE;
    }
  if (start->failed)
    g_propagate_error (error, worker_link_error (start->code, start->message));
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The worker ended before the first step.");
  return FALSE;
}

gboolean
train_detach_begin (LoomGraph *graph, GVariant *options, gboolean *is_done, GError **error)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (options);
  g_auto (WorkerLink) link = { NULL };
  Start start = { FALSE };
  gboolean ok = worker_link_start (&link, error) && (graph == NULL || load (&link, graph, error));

  if (ok)
    {
      g_signal_connect (link.proxy, "state-changed", G_CALLBACK (state_cb), &start);
      g_signal_connect (link.proxy, "metrics", G_CALLBACK (metrics_cb), &start);
      g_signal_connect (link.proxy, "problem", G_CALLBACK (problem_cb), &start);
      g_signal_connect (link.connection, "closed", G_CALLBACK (closed_cb), &start);
      ok = begin (&link, owned, &start, error);
      g_signal_handlers_disconnect_by_data (link.proxy, &start);
      g_signal_handlers_disconnect_by_data (link.connection, &start);
    }
  *is_done = start.is_over;
  g_free (start.message);
  g_free (start.code);
  worker_link_clean (error);
  return ok;
}

int
train_detach (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options, int ranks)
{
  const char *folder = options->resume != NULL ? options->resume : options->out;
  g_autofree char *word = loom_text_shell_word (folder);
  g_autoptr (GError) error = NULL;
  gboolean is_done;

  if (!train_detach_begin (graph, train_detach_options (options, ranks), &is_done, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (is_done)
    printf ("done; the run is in %s\n", folder);
  else
    printf ("Training goes on in the background. Follow it with: gradloom attach %s\n", word);
  return 0;
}
