/* What it costs a run to be watched: a worker trains the graph, and the window with its default views is shown and
 * hidden in turns, so that a busy machine slows both alike. A hidden window requests and draws nothing; it still
 * receives the ten messages a second by which steps are counted. Then the run is paused, and single steps are timed
 * from the command to the frame that shows them. bench-watched GRAPH [PAIRS [SECONDS]] */
#include <adwaita.h>

#include "tests/ui/bench-window.h"

#define MOST_PAIRS 100
#define N_STEPS    60

typedef struct
{
  StudioRun *run;
  gint64 first, last; /* steps of the window's first and last message */
  gint64 begin, end;  /* and when they arrived */
  gboolean counts;
} Count;

static void
points_cb (StudioRun *run, Count *count)
{
  if (!count->counts)
    return;
  count->last = studio_run_get_step (run);
  count->end = g_get_monotonic_time ();
  if (count->begin != 0)
    return;
  count->first = count->last;
  count->begin = count->end;
}

/* Steps per second from message to message; what the change of the window costs is left out. */
static double
measure (Count *count, GtkWidget *window, gboolean is_shown, double seconds)
{
  gtk_widget_set_visible (window, is_shown);
  bench_run_for (700);
  count->begin = 0;
  count->counts = TRUE;
  bench_run_for ((guint)(1000 * seconds));
  count->counts = FALSE;
  return count->end > count->begin ? (double)(count->last - count->first) / ((double)(count->end - count->begin) / 1e6)
                                   : 0;
}

static int
compare_cb (const void *a, const void *b)
{
  const double *p = a, *q = b;

  return (*p > *q) - (*p < *q);
}

static void
say_pairs (double *shown, double *hidden, double *cost, int n)
{
  qsort (shown, n, sizeof *shown, compare_cb);
  qsort (hidden, n, sizeof *hidden, compare_cb);
  qsort (cost, n, sizeof *cost, compare_cb);
  g_print (
      "steps a second: %.1f watched, %.1f not; watching takes %.2f %% (median of %d pairs; quartiles %.2f, %.2f)\n",
      shown[n / 2], hidden[n / 2], cost[n / 2], n, cost[n / 4], cost[n * 3 / 4]);
}

/* ---- single steps -------------------------------------------------------------- */

typedef struct
{
  StudioRun *run;
  gint64 step, sent; /* the step before, and when the command was given; 0: none is under way */
  guint n;
  double ms[N_STEPS];
} Steps;

/* The frame is the first one painted after the window knows the step. */
static void
painted_cb (GdkFrameClock *clock, Steps *steps)
{
  if (steps->sent == 0 || studio_run_get_step (steps->run) == steps->step
      || studio_run_get_state (steps->run) != STUDIO_RUN_PAUSED)
    return;
  steps->ms[steps->n++] = (double)(g_get_monotonic_time () - steps->sent) / 1e3;
  steps->sent = 0;
}

static gboolean
step_cb (gpointer data)
{
  Steps *steps = data;

  if (steps->n == N_STEPS)
    return G_SOURCE_REMOVE;
  if (steps->sent != 0)
    return G_SOURCE_CONTINUE;
  steps->step = studio_run_get_step (steps->run);
  steps->sent = g_get_monotonic_time ();
  studio_run_step (steps->run);
  return G_SOURCE_CONTINUE;
}

static void
measure_steps (GtkWidget *window, StudioRun *run)
{
  Steps steps = { .run = run };
  const gint64 begin = g_get_monotonic_time ();

  studio_run_pause (run);
  while (studio_run_get_state (run) != STUDIO_RUN_PAUSED)
    g_main_context_iteration (NULL, TRUE);
  bench_run_for (500);
  g_signal_connect (gtk_widget_get_frame_clock (window), "after-paint", G_CALLBACK (painted_cb), &steps);
  g_timeout_add (100, step_cb, &steps);
  while (steps.n < N_STEPS && g_get_monotonic_time () - begin < 60 * G_TIME_SPAN_SECOND)
    g_main_context_iteration (NULL, TRUE);
  if (steps.n < N_STEPS)
    {
      g_printerr ("only %u of %d steps came to the screen\n", steps.n, N_STEPS);
      exit (1);
    }
  qsort (steps.ms, N_STEPS, sizeof (double), compare_cb);
  g_print ("a step to the screen: %.1f ms median, %.1f p95, %.1f most, of %d\n", steps.ms[N_STEPS / 2],
           steps.ms[N_STEPS * 95 / 100], steps.ms[N_STEPS - 1], N_STEPS);
}

/* At full speed, for longer than the measurement. */
static StudioRun *
start (StudioWindow *window)
{
  StudioDocument *document = studio_window_get_document (window);
  LoomGraph *graph = studio_document_get_graph (document);
  g_autofree char *xml = loom_graph_write (graph, NULL);
  StudioRun *run = studio_window_get_run (window);
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;

  options.epochs = 10000000;
  studio_document_mark_run (document);
  studio_run_set_pace (run, 0);
  studio_run_start (run, xml, loom_graph_get_folder (graph), "watched", &options);
  studio_window_show_panel (window);
  return run;
}

int
main (int argc, char **argv)
{
  GtkWidget *window = GTK_WIDGET (bench_window_open (argc, argv));
  const int n = argc > 2 ? CLAMP (atoi (argv[2]), 1, MOST_PAIRS) : 9;
  const double seconds = argc > 3 ? CLAMP (g_ascii_strtod (argv[3], NULL), 0.5, 600) : 4;
  double shown[MOST_PAIRS], hidden[MOST_PAIRS], cost[MOST_PAIRS];
  StudioRun *run;
  Count count = { 0 };

  gtk_window_present (GTK_WINDOW (window));
  bench_run_for (2000);
  count.run = run = start (STUDIO_WINDOW (window));
  g_signal_connect (run, "points", G_CALLBACK (points_cb), &count);
  bench_run_for (5000);
  for (int i = 0; i < n; i++)
    {
      /* Either comes first in every other pair. */
      const gboolean begins = i % 2 == 0;
      const double first = measure (&count, window, begins, seconds), last = measure (&count, window, !begins, seconds);

      shown[i] = begins ? first : last;
      hidden[i] = begins ? last : first;
      cost[i] = 100 * (1 - shown[i] / hidden[i]);
      if (!studio_run_is_live (run) || !(hidden[i] > 0) || !(shown[i] > 0))
        {
          g_printerr ("no worker trains: the graph must train for longer than this takes\n");
          return 1;
        }
    }
  say_pairs (shown, hidden, cost, n);
  gtk_widget_set_visible (window, TRUE);
  bench_run_for (700);
  measure_steps (window, run);
  gtk_window_destroy (GTK_WINDOW (window));
  bench_run_for (300);
  return 0;
}
