/* How long a run takes to go back to one of its steps, and what the states cost that are kept for it, against the
 * goals.
 *
 * Trains a graph with history, and at 20 places of the run, in turns, as many steps without. Then it goes to random
 * steps: warm, by the run's own trainer, which has states in memory, and cold, by a trainer that has just resumed the
 * run and reads the disk, each step once. In the same way it goes to the last step of each of the widest gaps between
 * states, of which one takes longer than any other step of the run. Times are given of the wall and of the processor,
 * and in steps of the training; on a busy machine, one thread and the time of the processor are closest to those of a
 * quiet one.
 *
 * usage: bench-travelling GRAPH STEPS [VISITS [MB [THREADS]]], for example graphs/models/fashion-lenet.xml 100000
 *        bench-travelling RUN [VISITS [THREADS]] repeats the cold visits of a run that it left */
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "engine/infer/loom-run-files.h"
#include "engine/loom-lab.h"
#include "engine/train/loom-trainer.h"

#define ROUNDS    20  /* of the comparison */
#define PAIR      250 /* steps of one of them, at most */
#define WIDEST    10  /* gaps */
#define GOAL_WARM 0.3 /* seconds */
#define GOAL_COLD 1.0
#define GOAL_COST 5.0 /* % */

typedef struct
{
  double wall, processor;
} Time;

static void
fail (GError *error)
{
  fprintf (stderr, "bench-travelling: %s\n",
           error != NULL ? error->message
                         : "usage: bench-travelling GRAPH STEPS [VISITS [MB [THREADS]]], or RUN [VISITS [THREADS]]");
  exit (1);
}

static double
clock_time (clockid_t id)
{
  struct timespec t;

  clock_gettime (id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static Time
now (void)
{
  return (Time){ clock_time (CLOCK_MONOTONIC), clock_time (CLOCK_PROCESS_CPUTIME_ID) };
}

static Time
since (Time begin)
{
  const Time end = now ();

  return (Time){ end.wall - begin.wall, end.processor - begin.processor };
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
  trainer = loom_trainer_new (graph, &options, &error);
  if (trainer == NULL)
    fail (error);
  return trainer;
}

/* ---- what history costs -------------------------------------------------- */

/* Called after each step of the run with history: at the beginning of each round the other one trains, too. */
typedef struct
{
  LoomTrainer *other;
  gint64 steps, pair, other_steps;
  Time begin, without[ROUNDS], with[ROUNDS], all; /* all: of the other one */
} Pairs;

static void
pairs_step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Pairs *self = data;
  const gint64 every = self->steps / ROUNDS, at = step->step % every, round = step->step / every;

  if (round >= ROUNDS)
    return;
  if (at == every - self->pair)
    {
      self->begin = now ();
      run_to (self->other, self->other_steps += self->pair);
      self->without[round] = since (self->begin);
      self->all.wall += self->without[round].wall;
      self->all.processor += self->without[round].processor;
      self->begin = now ();
    }
  else if (at == every - 1)
    self->with[round] = since (self->begin);
}

static void
pairs_report (const Pairs *self)
{
  double ratio[ROUNDS], with = 0, without = 0;
  /* One step of a round is not counted. */
  const double scale = (double)self->pair / (double)(self->pair - 1);

  for (guint i = 0; i < ROUNDS; i++)
    {
      ratio[i] = scale * self->with[i].processor / self->without[i].processor;
      with += scale * self->with[i].processor;
      without += self->without[i].processor;
    }
  qsort (ratio, ROUNDS, sizeof *ratio, compare);
  printf ("history, processor time: %+.2f %% (median of %d pairs of %" G_GINT64_FORMAT
          " steps; %+.2f to %+.2f; all together %+.2f); goal: at most %.0f %%\n",
          100 * (ratio[ROUNDS / 2] - 1), ROUNDS, self->pair, 100 * (ratio[1] - 1), 100 * (ratio[ROUNDS - 2] - 1),
          100 * (with / without - 1), GOAL_COST);
}

/* ---- what is kept -------------------------------------------------------- */

static gint64
bytes_on_disk (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  struct stat about;
  gint64 bytes = lstat (path, &about) == 0 ? (gint64)about.st_blocks * 512 : 0;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *inner = g_build_filename (path, name, NULL);

      bytes += bytes_on_disk (inner);
    }
  return bytes;
}

/* Of the states, the newest first. */
static GArray *
read_steps (const char *history)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (history, NULL);

  return loom_run_checkpoint_steps (folder, NULL);
}

static void
report_disk (const char *run, gint64 steps, gint64 megabytes)
{
  g_autofree char *path = g_build_filename (run, LOOM_RUN_HISTORY, NULL);
  g_autoptr (GArray) step = read_steps (path);
  gint64 widest = step->len > 0 ? steps - g_array_index (step, gint64, 0) : steps;

  for (guint i = 1; i < step->len; i++)
    widest = MAX (widest, g_array_index (step, gint64, i - 1) - g_array_index (step, gint64, i));
  printf ("disk: %.1f MB in %u states, the widest gap is %" G_GINT64_FORMAT " steps; goal: at most %" G_GINT64_FORMAT
          " MB\n",
          (double)bytes_on_disk (path) / 1e6, step->len, widest, megabytes);
}

/* ---- going back ---------------------------------------------------------- */

static Time
travel (LoomTrainer *trainer, gint64 step)
{
  const Time begin = now ();
  GError *error = NULL;

  if (!loom_trainer_travel (trainer, step, NULL, &error))
    fail (error);
  return since (begin);
}

static void
report_times (const char *what, double *seconds, guint n, double step, double goal)
{
  qsort (seconds, n, sizeof *seconds, compare);
  printf ("  %-9s median %5.0f ms, 95 %% %5.0f ms, worst %5.0f ms (%.0f, %.0f, %.0f steps)", what, 1e3 * seconds[n / 2],
          1e3 * seconds[n * 95 / 100], 1e3 * seconds[n - 1], seconds[n / 2] / step, seconds[n * 95 / 100] / step,
          seconds[n - 1] / step);
  if (goal > 0)
    printf ("; goal: %.0f ms: %s", 1e3 * goal, seconds[n - 1] <= goal ? "kept" : "missed");
  printf ("\n");
}

/* drag: steps from one to the next, which is earlier; 0: at random. */
static void
visit (LoomTrainer *trainer, const char *what, gint64 steps, gint64 drag, guint n, Time step, double goal)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (n);
  g_autofree double *wall = g_new (double, n), *processor = g_new (double, n);
  gint64 at = steps * 3 / 4;

  printf ("%s\n", what);
  if (drag > 0)
    travel (trainer, at);
  for (guint i = 0; i < n; i++)
    {
      at = drag > 0 ? MAX (0, at - drag) : (gint64)g_rand_double_range (rand, 0, (double)steps);
      const Time time = travel (trainer, at);

      wall[i] = time.wall;
      processor[i] = time.processor;
    }
  report_times ("wall", wall, n, step.wall, goal);
  report_times ("processor", processor, n, step.processor, 0);
  fflush (stdout);
}

/* Of two gaps, each the later and the earlier state, the wider one is first. */
static int
compare_gaps (gconstpointer a, gconstpointer b)
{
  const gint64 *one = a, *other = b, x = one[0] - one[1], y = other[0] - other[1];

  return (x < y) - (x > y);
}

/* Goes to the last steps of the widest gaps. */
static void
visit_widest (const char *run, int threads, Time step)
{
  g_autofree char *path = g_build_filename (run, LOOM_RUN_HISTORY, NULL);
  g_autoptr (GArray) state = read_steps (path), gap = g_array_new (FALSE, FALSE, 2 * sizeof (gint64));
  LoomTrainer *cold = trainer_new (NULL, (LoomTrainerOptions){ .resume = run, .threads = threads });
  double wall[WIDEST], processor[WIDEST];
  guint n;

  for (guint i = 1; i < state->len; i++)
    g_array_append_vals (gap, &g_array_index (state, gint64, i - 1), 1); /* two neighbours */
  g_array_sort (gap, compare_gaps);
  n = MIN (gap->len, WIDEST);
  for (guint i = 0; i < n; i++)
    {
      const gint64 *ends = (const gint64 *)gap->data + 2 * i;
      const Time time = travel (cold, ends[0] - 1);

      wall[i] = time.wall;
      processor[i] = time.processor;
    }
  if (n > 0)
    {
      printf ("cold: the last step of each of the %u widest gaps\n", n);
      report_times ("wall", wall, n, step.wall, GOAL_COLD);
      report_times ("processor", processor, n, step.processor, 0);
    }
  loom_trainer_free (cold);
}

static void
visit_cold (const char *run, guint n, int threads, Time step)
{
  Time begin = now ();
  LoomTrainer *cold = trainer_new (NULL, (LoomTrainerOptions){ .resume = run, .threads = threads });
  const gint64 steps = loom_trainer_steps (cold);

  printf ("resuming takes %.0f ms\n", 1e3 * since (begin).wall);
  visit (cold, "cold: any step, from the disk", steps, 0, n, step, GOAL_COLD);
  visit (cold, "then a drag, 7 steps at a time", steps, 7, n, step, GOAL_WARM);
  loom_trainer_free (cold);
  visit_widest (run, threads, step);
}

int
main (int argc, char **argv)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  GError *error = NULL;
  const gint64 steps = argc > 2 ? g_ascii_strtoll (argv[2], NULL, 10) : 0;
  const guint visits = argc > 3 ? (guint)g_ascii_strtoull (argv[3], NULL, 10) : 100;
  const gint64 megabytes = argc > 4 ? g_ascii_strtoll (argv[4], NULL, 10) : 200;
  const int threads = argc > 5 ? (int)g_ascii_strtoll (argv[5], NULL, 10) : 0;

  if (argc > 1 && g_file_test (argv[1], G_FILE_TEST_IS_DIR))
    {
      visit_cold (argv[1], argc > 2 ? (guint)steps : 100, argc > 3 ? (int)visits : 0, (Time){ 0 });
      return 0;
    }
  if (steps < 2 * ROUNDS || visits == 0)
    fail (NULL);
  g_autoptr (LoomGraph) graph = loom_graph_read_file (argv[1], faults, &error);
  if (graph == NULL)
    fail (error);
  g_autofree char *top = g_dir_make_tmp ("travelling-XXXXXX", NULL);
  g_autofree char *kept = g_build_filename (top, "kept", NULL), *plain = g_build_filename (top, "plain", NULL);
  LoomTrainerOptions options = { .epochs = 1, .steps = steps, .threads = threads, .history = -1 };
  LoomTrainer *trainer = trainer_new (graph, options);

  /* The schedule ends with the steps. */
  options.epochs = steps / loom_trainer_total_steps (trainer) + 1;
  loom_trainer_free (trainer);
  options.out = plain;
  Pairs pairs = { .other = trainer_new (graph, options), .steps = steps, .pair = MIN (PAIR, steps / ROUNDS / 2) };
  options.history = megabytes * 1000000;
  options.out = kept;
  trainer = trainer_new (graph, options);
  loom_trainer_set_observer (trainer, &(LoomTrainerObserver){ .step = pairs_step_cb }, &pairs);
  Time step = now ();
  run_to (trainer, steps);
  step = since (step);
  step.wall = (step.wall - pairs.all.wall) / (double)steps;
  step.processor = (step.processor - pairs.all.processor) / (double)steps;
  loom_trainer_set_observer (trainer, NULL, NULL);
  loom_trainer_free (pairs.other);
  printf ("%" G_GINT64_FORMAT " steps, %.3f ms each, %.3f of the processor\n", steps, 1e3 * step.wall,
          1e3 * step.processor);
  pairs_report (&pairs);
  report_disk (kept, steps, megabytes);
  fflush (stdout);
  visit (trainer, "warm: any step, by the trainer of the run", steps, 0, visits, step, GOAL_WARM);
  visit (trainer, "a drag, 7 steps at a time", steps, 7, visits, step, GOAL_WARM);
  loom_trainer_free (trainer);
  visit_cold (kept, visits, threads, step);
  printf ("the run is in %s\n", kept);
  return 0;
}
