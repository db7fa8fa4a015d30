/* CPU time per second of showing a run: a worker sends numbers ten times a second, and the window is open and
 * untouched. On a machine with two processors both threads of the training wait for this. bench-run GRAPH */
#include <adwaita.h>
#include <sys/resource.h>

#include "tests/ui/bench-window.h"

#define SECONDS 6

static int frames;

static double
cpu_seconds (void)
{
  struct rusage r;
  getrusage (RUSAGE_SELF, &r);
  return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void
paint_cb (GdkFrameClock *clock, gpointer data)
{
  frames++;
}

/* Ten steps, as a worker sends them. */
static gboolean
feed_cb (gpointer data)
{
  StudioRun *run = data;
  static gint64 step;
  const char *const names[] = { "accuracy", NULL };
  GVariantBuilder b;
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a(xxddad)"));
  for (int i = 0; i < 10; i++)
    {
      step++;
      double fall = 1 / (1 + (double)step * 0.003), accuracy[1] = { 1 - fall };
      g_variant_builder_add (&b, "(xxdd@ad)", step, (gint64)1, 2.3 * fall + g_random_double () * 0.2, 0.01,
                             g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, accuracy, 1, sizeof (double)));
    }
  g_autoptr (GVariant) points = g_variant_ref_sink (g_variant_builder_end (&b));
  studio_run_take_metrics (run, names, points, 1);
  studio_run_take_progress (run, step, 3000, 1, 3, 1900 + (double)(step % 7), 30);
  return G_SOURCE_CONTINUE;
}

int
main (int argc, char **argv)
{
  StudioWindow *window = bench_window_open (argc, argv);
  gtk_window_present (GTK_WINDOW (window));
  bench_run_for (1500);

  StudioRun *run = studio_window_get_run (window);
  studio_document_mark_run (studio_window_get_document (window));
  studio_run_take_begin (run);
  studio_run_take_state (run, "running", NULL);
  studio_window_show_panel (window);
  g_signal_connect (gtk_widget_get_frame_clock (GTK_WIDGET (window)), "paint", G_CALLBACK (paint_cb), NULL);
  g_timeout_add (100, feed_cb, run);
  bench_run_for (1500);
  for (int i = 0; i < 3; i++)
    {
      double before = cpu_seconds ();
      frames = 0;
      bench_run_for (SECONDS * 1000);
      g_print ("while it trains          %7.1f ms of a processor a second, %.1f frames\n",
               1e3 * (cpu_seconds () - before) / SECONDS, (double)frames / SECONDS);
    }
  gtk_window_destroy (GTK_WINDOW (window));
  return 0;
}
