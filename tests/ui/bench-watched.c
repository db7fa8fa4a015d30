/* Measures what views cost a run: a worker trains the graph, and the window with its default views is shown and
 * hidden in turns, so that a busy machine slows both alike. A hidden window requests and draws nothing; it still
 * receives the ten messages a second by which steps are counted. Steps per second are comparable on a quiet machine;
 * processor time, of the worker for a step and of Studio for a second, also on a busy one. Then the run is paused, and
 * single steps are timed from the command to the frame that shows them. bench-watched GRAPH [PAIRS [SECONDS]] */
#include <adwaita.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/ui/bench-window.h"

#define MOST_PAIRS 100
#define N_STEPS    60
#define PROCESSORS 2

/* At a message of the worker. */
typedef struct
{
  gint64 step, time;     /* time in microseconds */
  double worker, studio; /* processor seconds */
} Moment;

typedef struct
{
  StudioRun *run;
  Moment first, last;
  gboolean counts;
} Count;

/* What was measured while the window was shown, or hidden. */
typedef struct
{
  double rate;   /* steps a second */
  double worker; /* processor seconds of a step */
  double studio; /* processor seconds a second */
} Figures;

static double
studio_seconds (void)
{
  struct rusage r;

  getrusage (RUSAGE_SELF, &r);
  return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static double
worker_seconds (StudioRun *run)
{
  g_autofree char *path = g_strdup_printf ("/proc/%s/stat", studio_run_get_worker_pid (run)), *text = NULL;
  const char *end;
  unsigned long user = 0, system = 0;

  if (!g_file_get_contents (path, &text, NULL, NULL) || (end = strrchr (text, ')')) == NULL
      || sscanf (end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
    return 0;
  return (double)(user + system) / (double)sysconf (_SC_CLK_TCK);
}

static void
points_cb (StudioRun *run, Count *count)
{
  if (!count->counts)
    return;
  count->last = (Moment){ studio_run_get_step (run), g_get_monotonic_time (), worker_seconds (run), studio_seconds () };
  if (count->first.time == 0)
    count->first = count->last;
}

/* From message to message; what the change of the window costs is left out. */
static Figures
measure (Count *count, GtkWidget *window, gboolean is_shown, double seconds)
{
  gtk_widget_set_visible (window, is_shown);
  bench_run_for (700);
  count->first = (Moment){ 0 };
  count->counts = TRUE;
  bench_run_for ((guint)(1000 * seconds));
  count->counts = FALSE;
  const double steps = (double)(count->last.step - count->first.step);
  const double time = (double)(count->last.time - count->first.time) / 1e6;
  if (!(steps > 0 && time > 0) || !studio_run_is_live (count->run))
    {
      g_printerr ("no worker trains\n");
      exit (1);
    }
  return (Figures){ steps / time, (count->last.worker - count->first.worker) / steps,
                    (count->last.studio - count->first.studio) / time };
}

static int
compare_cb (const void *a, const void *b)
{
  const double *p = a, *q = b;

  return (*p > *q) - (*p < *q);
}

static void
say (const char *what, double *percent, int n)
{
  qsort (percent, n, sizeof *percent, compare_cb);
  g_print ("%-52s %6.2f %% median, quartiles %.2f and %.2f, of %d pairs\n", what, percent[n / 2], percent[n / 4],
           percent[n * 3 / 4], n);
}

static void
measure_pairs (Count *count, GtkWidget *window, int n, double seconds)
{
  double rate[MOST_PAIRS], worker[MOST_PAIRS], studio[MOST_PAIRS];

  for (int i = 0; i < n; i++)
    {
      /* Either comes first in every other pair. */
      const gboolean begins = i % 2 == 0;
      const Figures first = measure (count, window, begins, seconds), last = measure (count, window, !begins, seconds);
      const Figures shown = begins ? first : last, hidden = begins ? last : first;

      g_print ("  %.1f steps a second watched, %.1f not\n", shown.rate, hidden.rate);
      rate[i] = 100 * (1 - shown.rate / hidden.rate);
      worker[i] = 100 * (shown.worker / hidden.worker - 1);
      studio[i] = 100 * (shown.studio - hidden.studio) / PROCESSORS;
    }
  say ("fewer steps a second", rate, n);
  say ("more processor time of the worker for a step", worker, n);
  say ("more processor time of Studio, of two processors", studio, n);
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
  if (steps->n == N_STEPS || steps->sent == 0 || studio_run_get_step (steps->run) == steps->step
      || studio_run_get_state (steps->run) != STUDIO_RUN_PAUSED)
    return;
  steps->ms[steps->n++] = (double)(g_get_monotonic_time () - steps->sent) / 1e3;
  steps->sent = 0;
}

static gboolean
step_cb (gpointer data)
{
  Steps *steps = data;

  if (steps->n == N_STEPS || steps->sent != 0)
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
  const gulong painted
      = g_signal_connect (gtk_widget_get_frame_clock (window), "after-paint", G_CALLBACK (painted_cb), &steps);
  const guint timer = g_timeout_add (100, step_cb, &steps);
  while (steps.n < N_STEPS && g_get_monotonic_time () - begin < 60 * G_TIME_SPAN_SECOND)
    g_main_context_iteration (NULL, TRUE);
  if (steps.n < N_STEPS)
    {
      g_printerr ("only %u of %d steps came to the screen\n", steps.n, N_STEPS);
      exit (1);
    }
  g_signal_handler_disconnect (gtk_widget_get_frame_clock (window), painted);
  g_source_remove (timer);
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
  StudioRun *run;
  Count count = { 0 };

  gtk_window_present (GTK_WINDOW (window));
  bench_run_for (2000);
  count.run = run = start (STUDIO_WINDOW (window));
  g_signal_connect (run, "points", G_CALLBACK (points_cb), &count);
  bench_run_for (5000);
  measure_pairs (&count, window, n, seconds);
  gtk_widget_set_visible (window, TRUE);
  bench_run_for (700);
  measure_steps (window, run);
  gtk_window_destroy (GTK_WINDOW (window));
  bench_run_for (300);
  return 0;
}
