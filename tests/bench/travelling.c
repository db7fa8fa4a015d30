/* How long a run takes to go back to one of its steps, and what the states cost that are kept for it.
 *
 * Trains a graph, at first in turns with and without history, and compares processor time; then goes to random steps of
 * the one with history: by its own trainer, which has states in memory, and cold, by a trainer that has just resumed
 * the run and reads the disk. The first visit of a trainer is reported apart. Times are of the processor, which a busy
 * machine changes less: with one thread they are those of a quiet one. They are also given in steps of the training.
 *
 * usage: bench-travelling GRAPH STEPS [VISITS [MB]] */
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/loom-lab.h"
#include "engine/train/loom-trainer.h"

#define ROUNDS 20  /* of the comparison */
#define PAIR   200 /* steps of one of them, at most */

static void
fail (GError *error)
{
  fprintf (stderr, "bench-travelling: %s\n",
           error != NULL ? error->message : "usage: bench-travelling GRAPH STEPS [VISITS [MB]]");
  exit (1);
}

static double
processor_time (void)
{
  struct timespec t;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
compare (const void *a, const void *b)
{
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void
run_to (LoomTrainer *trainer, gint64 step)
{
  GError *error = NULL;

  loom_trainer_set_last_step (trainer, step);
  loom_trainer_run (trainer, &error);
  if (error != NULL)
    fail (error);
}

static LoomTrainer *
trainer_new (const LoomGraph *graph, LoomTrainerOptions options)
{
  GError *error = NULL;
  LoomTrainer *trainer;

  options.lr = NAN;
  options.seed = -1;
  options.threads = 1; /* a busy machine disturbs one least */
  trainer = loom_trainer_new (graph, &options, &error);
  if (trainer == NULL)
    fail (error);
  return trainer;
}

static double
travel (LoomTrainer *trainer, gint64 step)
{
  const double begin = processor_time ();
  GError *error = NULL;

  if (!loom_trainer_travel (trainer, step, NULL, &error))
    fail (error);
  return processor_time () - begin;
}

static void
report (const char *what, double *seconds, guint n, double step)
{
  qsort (seconds, n, sizeof *seconds, compare);
  printf ("%-34s median %6.0f ms, 95 %% %6.0f ms, worst %6.0f ms (%.0f, %.0f and %.0f steps)\n", what,
          1e3 * seconds[n / 2], 1e3 * seconds[n * 95 / 100], 1e3 * seconds[n - 1], seconds[n / 2] / step,
          seconds[n * 95 / 100] / step, seconds[n - 1] / step);
}

static void
visit (LoomTrainer *trainer, const char *what, gint64 steps, guint n, guint32 seed, double step)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree double *seconds = g_new (double, n + 1);

  printf ("%-34s %6.0f ms\n", "the first visit",
          1e3 * travel (trainer, (gint64)g_rand_double_range (rand, 0, (double)steps)));
  for (guint i = 0; i < n; i++)
    seconds[i] = travel (trainer, (gint64)g_rand_double_range (rand, 0, (double)steps));
  report (what, seconds, n, step);
}

/* A drag along the curve: each step is close to the one before. */
static void
drag (LoomTrainer *trainer, gint64 steps, guint n, double step)
{
  g_autofree double *seconds = g_new (double, n + 1);
  gint64 at = steps * 3 / 4;

  travel (trainer, at);
  for (guint i = 0; i < n; i++)
    seconds[i] = travel (trainer, at = MAX (0, at - 7));
  report ("a drag, 7 steps at a time", seconds, n, step);
}

int
main (int argc, char **argv)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  GError *error = NULL;
  const gint64 steps = argc > 2 ? g_ascii_strtoll (argv[2], NULL, 10) : 0;
  const guint visits = argc > 3 ? (guint)g_ascii_strtoull (argv[3], NULL, 10) : 100;
  const gint64 megabytes = argc > 4 ? g_ascii_strtoll (argv[4], NULL, 10) : 200;
  double with[ROUNDS], without[ROUNDS], ratio[ROUNDS], begin, step;
  const gint64 pair = MIN (PAIR, steps / ROUNDS);

  if (steps < ROUNDS || visits == 0)
    fail (NULL);
  g_autoptr (LoomGraph) graph = loom_graph_read_file (argv[1], faults, &error);
  if (graph == NULL)
    fail (error);
  g_autofree char *top = g_dir_make_tmp ("travelling-XXXXXX", NULL);
  g_autofree char *kept = g_build_filename (top, "kept", NULL), *plain = g_build_filename (top, "plain", NULL);
  const LoomTrainerOptions options = { .epochs = 1000000, .steps = steps, .history = megabytes * 1000000 };
  LoomTrainerOptions none = options;
  LoomTrainer *trainer, *other, *cold;

  none.history = -1;
  none.out = plain;
  other = trainer_new (graph, none);
  none = options;
  none.out = kept;
  trainer = trainer_new (graph, none);
  for (int i = 0; i < ROUNDS; i++)
    {
      begin = processor_time ();
      run_to (other, pair * (i + 1));
      without[i] = processor_time () - begin;
      begin = processor_time ();
      run_to (trainer, pair * (i + 1));
      with[i] = processor_time () - begin;
      ratio[i] = with[i] / without[i];
    }
  qsort (ratio, ROUNDS, sizeof *ratio, compare);
  printf ("history takes %+.2f %% of processor time (median of %d pairs of %" G_GINT64_FORMAT
          " steps, %+.2f to %+.2f)\n",
          100 * (ratio[ROUNDS / 2] - 1), ROUNDS, pair, 100 * (ratio[1] - 1), 100 * (ratio[ROUNDS - 2] - 1));
  begin = processor_time ();
  run_to (trainer, steps);
  step = (processor_time () - begin) / (double)MAX (1, steps - pair * ROUNDS);
  printf ("%" G_GINT64_FORMAT " steps, %.3f ms each\n", steps, 1e3 * step);
  loom_trainer_free (other);
  visit (trainer, "any step, the trainer of the run", steps, visits, 1, step);
  drag (trainer, steps, visits, step);
  loom_trainer_free (trainer);
  begin = processor_time ();
  cold = trainer_new (NULL, (LoomTrainerOptions){ .resume = kept });
  printf ("%-34s %6.0f ms\n", "resuming the run", 1e3 * (processor_time () - begin));
  visit (cold, "any step, from the disk", steps, visits, 2, step);
  loom_trainer_free (cold);
  printf ("the run is in %s\n", kept);
  return 0;
}
