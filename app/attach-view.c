/* Implements attach-view.h: signals of the worker become lines, a line that is overwritten, or events. */
#include "app/attach-view.h"

#include <glib-unix.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

typedef struct
{
  const Command *command;
  GMainLoop *loop;
  gboolean json, terminal, line_shown;
  gint64 last; /* the last step that was printed */
  double loss;
  char *state, *message, *code;
  gboolean has_left;
} AttachView;

static void
clear_line (AttachView *view)
{
  if (view->line_shown)
    fprintf (stderr, "\r\033[K");
  view->line_shown = FALSE;
}

static const char *
readable (double x, char *buffer)
{
  return isnan (x) ? "nan" : g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.5g", x);
}

static void
metrics_cb (LoomBusWorker1 *proxy, const char *const *names, GVariant *points, gint64 recent, AttachView *view)
{
  GVariantIter iter;
  gint64 step, epoch;
  double loss;

  g_variant_iter_init (&iter, points);
  while (g_variant_iter_next (&iter, "(xxdd@ad)", &step, &epoch, &loss, NULL, NULL))
    {
      view->loss = loss;
      if (!view->json || step <= view->last)
        continue;
      LoomJson *json = command_event_new ("step");
      loom_json_int (json, "step", step);
      loom_json_int (json, "epoch", epoch);
      loom_json_exact (json, "loss", loss);
      command_event_print (json);
      view->last = step;
    }
  if (view->json)
    command_flush ();
}

static void
evaluated_cb (LoomBusWorker1 *proxy, const char *split, gint64 step, gint64 epoch, double loss,
              const char *const *names, GVariant *values, AttachView *view)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  gsize n;
  const double *value = g_variant_get_fixed_array (values, &n, sizeof (double));

  clear_line (view);
  if (view->json)
    {
      LoomJson *json = command_event_new ("eval");
      loom_json_string (json, "split", split);
      loom_json_int (json, "step", step);
      loom_json_exact (json, "loss", loss);
      loom_json_begin_object (json, "metrics");
      for (gsize i = 0; i < n && names[i] != NULL; i++)
        loom_json_exact (json, g_intern_string (names[i]), value[i]);
      loom_json_end_object (json);
      command_event_print (json);
    }
  else
    {
      printf ("epoch %" G_GINT64_FORMAT "  %s loss %s", epoch, split, readable (loss, number));
      for (gsize i = 0; i < n && names[i] != NULL; i++)
        printf ("  %s %s", names[i], readable (value[i], number));
      printf ("\n");
    }
  command_flush ();
}

/* "epoch 2/3  41 %  loss 0.31  0:12 left". A log gets a line at each evaluation only. */
static void
progress_cb (LoomBusWorker1 *proxy, gint64 step, gint64 total, gint64 epoch, gint64 epochs, double rate, double eta,
             AttachView *view)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *left = isfinite (eta) ? command_duration (eta) : NULL;

  if (!view->terminal)
    return;
  fprintf (stderr,
           "\r\033[Kepoch %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "  %.0f %%  loss %s%s%s%s  (Ctrl-C leaves the run)",
           epoch, epochs, total > 0 ? floor (100 * (double)step / (double)total) : 0, readable (view->loss, number),
           left != NULL ? "  " : "", left != NULL ? left : "", left != NULL ? " left" : "");
  fflush (stderr);
  view->line_shown = TRUE;
}

static void
problem_cb (LoomBusWorker1 *proxy, const char *code, const char *node, const char *port, const char *sentence,
            AttachView *view)
{
  clear_line (view);
  if (g_str_equal (code, "NOTE"))
    {
      g_autofree char *shown = command_sentence (sentence);
      command_warn (view->command, "%s", shown);
      return;
    }
  g_free (view->code);
  view->code = g_strdup (code);
}

static void
state_cb (LoomBusWorker1 *proxy, const char *state, const char *message, AttachView *view)
{
  g_free (view->state);
  g_free (view->message);
  view->state = g_strdup (state);
  view->message = g_strdup (message);
  if (g_str_equal (state, "paused") && !view->json)
    {
      clear_line (view);
      printf ("paused\n");
      command_flush ();
    }
  if (g_str_equal (state, "done") || g_str_equal (state, "stopped") || g_str_equal (state, "failed"))
    g_main_loop_quit (view->loop);
}

static void
closed_cb (GDBusConnection *connection, gboolean remote, GError *error, AttachView *view)
{
  g_main_loop_quit (view->loop);
}

static gboolean
leave_cb (gpointer data)
{
  AttachView *view = data;

  view->has_left = TRUE;
  g_main_loop_quit (view->loop);
  return G_SOURCE_CONTINUE;
}

static int
report_end (AttachView *view, const char *folder)
{
  g_autofree char *word = loom_text_shell_word (folder);
  const gboolean done = g_strcmp0 (view->state, "done") == 0, stopped = g_strcmp0 (view->state, "stopped") == 0;

  clear_line (view);
  if (done && view->json)
    command_event_print (command_event_new ("done"));
  else if (done)
    printf ("done\n");
  else if (stopped && !view->json)
    printf ("stopped; resume with: gradloom train --resume %s\n", word);
  else if (g_strcmp0 (view->state, "failed") == 0)
    return command_fail (view->command, worker_link_error (view->code, view->message));
  else if (view->has_left && !view->json)
    fprintf (stderr, "The run goes on. Stop it with: gradloom attach %s --stop\n", word);
  return done || stopped ? ATTACH_VIEW_ENDED : view->has_left ? ATTACH_VIEW_LEFT : ATTACH_VIEW_LOST;
}

int
attach_view_follow (const Command *command, WorkerLink *link, const char *folder, gboolean stop, gboolean json)
{
  AttachView view = { .command = command, .json = json, .loss = NAN, .loop = g_main_loop_new (NULL, FALSE) };
  g_autoptr (GError) error = NULL;
  guint interrupt = g_unix_signal_add (SIGINT, leave_cb, &view), term = g_unix_signal_add (SIGTERM, leave_cb, &view);
  int status;

  view.terminal = isatty (STDERR_FILENO) && !json;
  g_signal_connect (link->proxy, "metrics", G_CALLBACK (metrics_cb), &view);
  g_signal_connect (link->proxy, "evaluated", G_CALLBACK (evaluated_cb), &view);
  g_signal_connect (link->proxy, "progress", G_CALLBACK (progress_cb), &view);
  g_signal_connect (link->proxy, "problem", G_CALLBACK (problem_cb), &view);
  g_signal_connect (link->proxy, "state-changed", G_CALLBACK (state_cb), &view);
  g_signal_connect (link->connection, "closed", G_CALLBACK (closed_cb), &view);
  if (stop)
    loom_bus_worker1_call_stop_sync (link->proxy, NULL, &error);
  if (error == NULL && loom_bus_worker1_call_follow_sync (link->proxy, NULL, &error))
    g_main_loop_run (view.loop);
  g_signal_handlers_disconnect_by_data (link->proxy, &view);
  g_signal_handlers_disconnect_by_data (link->connection, &view);
  worker_link_clean (&error);
  status = error != NULL ? command_fail (command, g_steal_pointer (&error)) : report_end (&view, folder);
  g_source_remove (interrupt);
  g_source_remove (term);
  g_main_loop_unref (view.loop);
  g_free (view.state);
  g_free (view.message);
  g_free (view.code);
  return status;
}
