/* Time from a key to the picture: keys come from outside through the X server, as a hand's do, while a worker trains
 * the graph. A key's time ends with the frame that is painted after the window has got the key, in which the canvas
 * shows what the key did; the inspector's rows follow it in the next one. The first keys, which fill caches, are not
 * counted. bench-keys GRAPH */
#include <adwaita.h>
#include <time.h>

#include "tests/ui/bench-window.h"

#define N_KEYS       240
#define N_WARM       20
#define KEY_INTERVAL 60 /* ms: a little slower than the repetition of a key that is held */

typedef struct
{
  StudioWindow *window;
  GOutputStream *hand; /* commands of xdotool */
  gint64 sent;         /* when, 0: no key is under way */
  gboolean arrived;
  guint n;
  double ms[N_KEYS], cpu[N_KEYS];
  double begin; /* processor time when the key was sent */
  gboolean failed;
} Keys;

/* CPU time of the drawing thread in ms, which does not depend on what else the machine does. */
static double
thread_ms (void)
{
  struct timespec t;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Left and right along the wires, so that the focus, the inspector and the canvas change with each key. */
static gboolean
send_cb (gpointer data)
{
  Keys *k = data;
  g_autofree char *command = g_strdup_printf ("key %s\n", k->n / 4 % 2 == 0 ? "Right" : "Left");

  /* A key that is late is not overtaken by the next one. */
  if (k->sent != 0)
    return G_SOURCE_CONTINUE;
  if (k->n == N_KEYS)
    return G_SOURCE_REMOVE;
  k->sent = g_get_monotonic_time ();
  k->begin = thread_ms ();
  k->failed = !g_output_stream_write_all (k->hand, command, strlen (command), NULL, NULL, NULL);
  return !k->failed;
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, Keys *k)
{
  k->arrived = k->sent != 0;
  return FALSE;
}

static void
painted_cb (GdkFrameClock *clock, Keys *k)
{
  if (!k->arrived)
    return;
  k->cpu[k->n] = thread_ms () - k->begin;
  k->ms[k->n++] = (double)(g_get_monotonic_time () - k->sent) / 1e3;
  k->sent = 0;
  k->arrived = FALSE;
}

static int
compare_cb (const void *a, const void *b)
{
  const double *p = a, *q = b;

  return (*p > *q) - (*p < *q);
}

static void
say (const char *when, const char *what, double *ms)
{
  const guint n = N_KEYS - N_WARM;
  qsort (ms, n, sizeof (double), compare_cb);
  g_print ("%-24s %-24s %5.1f ms median, %5.1f p95, %5.1f most, of %u keys\n", when, what, ms[n / 2], ms[n * 95 / 100],
           ms[n - 1], n);
}

static void
measure (Keys *k, const char *when)
{
  gint64 begin = g_get_monotonic_time ();

  k->n = 0;
  g_timeout_add (KEY_INTERVAL, send_cb, k);
  while (k->n < N_KEYS && !k->failed && g_get_monotonic_time () - begin < 60 * G_TIME_SPAN_SECOND)
    g_main_context_iteration (NULL, TRUE);
  if (k->n < N_KEYS)
    {
      g_printerr ("%s: only %u of %d keys reached the window\n", when, k->n, N_KEYS);
      exit (1);
    }
  say (when, "until the picture", k->ms + N_WARM);
  say (when, "of that Studio computes", k->cpu + N_WARM);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) hand = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE, &error, "xdotool", "-", NULL);
  if (hand == NULL)
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  Keys k = { .window = bench_window_open (argc, argv), .hand = g_subprocess_get_stdin_pipe (hand) };
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), &k);
  gtk_widget_add_controller (GTK_WIDGET (k.window), keys);
  gtk_window_present (GTK_WINDOW (k.window));
  bench_run_for (2500);
  g_signal_connect (gtk_widget_get_frame_clock (GTK_WIDGET (k.window)), "after-paint", G_CALLBACK (painted_cb), &k);
  measure (&k, "without a run");
  gtk_widget_activate_action (GTK_WIDGET (k.window), "win.train", NULL);
  bench_run_for (4000);
  if (!studio_run_is_live (studio_page_get_run (studio_window_get_page (k.window))))
    {
      g_printerr ("no worker trains: the graph must train for longer than the keys last\n");
      return 1;
    }
  measure (&k, "while a worker trains");
  gtk_window_destroy (GTK_WINDOW (k.window));
  bench_run_for (300);
  return 0;
}
