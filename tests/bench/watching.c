/* What it costs to watch a run: processor time of a request for each tensor, next to that of the training steps around
 * it, in turns, so that a busy machine slows both alike. Pins send at most ten requests a second, so that the share of
 * two processors is 10 · cost / 2.
 *
 * usage: bench-watching GRAPH STEPS TENSOR… */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/loom-lab.h"
#include "engine/train/loom-trainer.h"

#define ROUNDS     5
#define REQUESTS   10 /* a second */
#define PROCESSORS 2

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

static double
median (double *values)
{
  qsort (values, ROUNDS, sizeof *values, compare);
  return values[ROUNDS / 2];
}

static void
memory_cb (LoomTrainer *trainer, gpointer data)
{
}

static void
fail (GError *error)
{
  fprintf (stderr, "bench-watching: %s\n",
           error != NULL ? error->message : "usage: bench-watching GRAPH STEPS TENSOR…");
  exit (1);
}

int
main (int argc, char **argv)
{
  static const LoomTrainerObserver observer = { .memory = memory_cb };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  GError *error = NULL;
  const gint64 steps = argc > 3 ? g_ascii_strtoll (argv[2], NULL, 10) : 0;
  double training[ROUNDS];

  if (steps <= 0)
    fail (NULL);
  g_autoptr (LoomGraph) graph = loom_graph_read_file (argv[1], faults, &error);
  if (graph == NULL)
    fail (error);
  g_autofree double *cost = g_new0 (double, (gsize)argc *ROUNDS);
  /* A trainer for each tensor, because tensors that were requested before are computed with it. */
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 3; i < argc; i++)
      {
        const LoomTrainerOptions options = { .lr = NAN, .seed = -1, .steps = steps, .threads = PROCESSORS };
        g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
        if (trainer == NULL)
          fail (error);
        loom_trainer_set_observer (trainer, &observer, NULL);
        double begin = processor_time ();
        loom_trainer_run (trainer, &error);
        if (error != NULL)
          fail (error);
        training[round] = (processor_time () - begin) / (double)steps;
        /* The first request plans, once for a pin. */
        for (int k = 0; k <= REQUESTS; k++)
          {
            if (k == 1)
              begin = processor_time ();
            g_autoptr (LoomTensor) value = loom_trainer_snapshot (trainer, argv[i], NULL, &error);
            if (value == NULL)
              fail (error);
          }
        cost[i * ROUNDS + round] = (processor_time () - begin) / REQUESTS;
      }
  printf ("%-32s %8.3f ms of processor time\n", "a training step", 1e3 * median (training));
  for (int i = 3; i < argc; i++)
    {
      const double each = median (cost + i * ROUNDS);
      printf ("%-32s %8.3f ms a request, %5.2f %% of two processors at ten a second\n", argv[i], 1e3 * each,
              100 * each * REQUESTS / PROCESSORS);
    }
  return 0;
}
