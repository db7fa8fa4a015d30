/* `gradloom bench GRAPH --replicas N`: compares one batch on one device, on replicas of one process
 * (torch.nn.DataParallel), and on as many ranks.
 *
 * Replicas copy from and to the first device, which alone computes the update; ranks all-reduce, and each computes the
 * update. */
#include "app/lab/bench-private.h"
#include "app/lab/simulate.h"

#include <math.h>
#include <stdio.h>

typedef struct
{
  const char *what;
  double seconds; /* per step, the median */
  guint copies;   /* between devices, per step */
  double bytes;
  double loss; /* NaN: not compared */
} ReplicaRow;

static void
count_copies (const LoomPlan *plan, ReplicaRow *row)
{
  for (guint i = loom_plan_n_setup (plan); i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (instr->kernel != NULL)
        continue;
      row->copies++;
      row->bytes += (double)loom_desc_bytes (&loom_plan_value (plan, instr->value[instr->n_in])->desc);
    }
}

static gboolean
one_step (gpointer data, GError **error)
{
  Bench *b = data;

  bench_feed (b);
  if (!loom_exec_run (b->exec, error))
    return FALSE;
  b->last_loss = loom_exec_scalar (b->exec, b->loss);
  return TRUE;
}

static gboolean
measure (const char *path, const BenchOptions *o, ReplicaRow *row, GError **error)
{
  g_auto (Bench) b = { 0 };
  BenchStats steps;
  double ready;

  if (!bench_prepare (&b, path, o, &ready, error))
    return FALSE;
  /* In the first step all have the same weights. */
  if (!one_step (&b, error))
    return FALSE;
  row->loss = b.last_loss;
  if (!bench_measure (one_step, &b, (guint)o->windows, o->seconds, &steps, error))
    return FALSE;
  row->seconds = 1 / steps.median;
  count_copies (loom_exec_plan (b.exec), row);
  return TRUE;
}

static void
print_row (const char *path, const BenchOptions *o, const ReplicaRow *row, double alone)
{
  g_autofree char *bytes = loom_bytes_to_string (row->bytes);

  if (o->json)
    {
      LoomJson *json = command_event_new ("replicas");

      loom_json_string (json, "graph", path);
      loom_json_string (json, "how", row->what);
      loom_json_int (json, "replicas", o->replicas);
      loom_json_number (json, "steps_per_second", 1 / row->seconds);
      loom_json_number (json, "speedup", alone / row->seconds);
      loom_json_int (json, "copies", row->copies);
      loom_json_fixed (json, "copied_bytes", row->bytes, 0);
      loom_json_exact (json, "loss", row->loss);
      command_event_print (json);
      return;
    }
  printf ("%-28s %10.1f %9.2f", row->what, 1 / row->seconds, alone / row->seconds);
  if (row->copies > 0)
    printf (" %8u %10s", row->copies, bytes);
  putchar ('\n');
  fflush (stdout);
}

int
bench_replicas (const Command *command, const char *path, const BenchOptions *options)
{
  g_autoptr (GError) error = NULL;
  BenchOptions o = *options;
  RankFigures figures;
  ReplicaRow alone = { .what = "one device" }, replicas = { .what = "replicas of one process" },
             ranks = { .what = "ranks", .loss = NAN };
  g_autofree char *n = g_strdup_printf ("%d", o.replicas);
  g_autofree char *before = g_strdup (g_getenv ("GRADLOOM_CPU_DEVICES"));

  /* All threads for one device, then divided among n devices. */
  o.whole_batch = TRUE;
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
  if (!measure (path, &o, &alone, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (!o.json)
    printf ("%s, with one batch divided among %d\n"
            "%-28s %10s %9s %8s %10s\n",
            path, o.replicas, "", "steps/s", "speedup", "copies", "copied");
  print_row (path, &o, &alone, alone.seconds);
  g_setenv ("GRADLOOM_CPU_DEVICES", n, TRUE);
  o.whole_batch = FALSE;
  if (!measure (path, &o, &replicas, &error))
    return command_fail (command, g_steal_pointer (&error));
  print_row (path, &o, &replicas, alone.seconds);
  if (before != NULL)
    g_setenv ("GRADLOOM_CPU_DEVICES", before, TRUE);
  else
    g_unsetenv ("GRADLOOM_CPU_DEVICES");
  o.threads = MAX (1, (o.threads > 0 ? o.threads : loom_processors ()) / o.replicas);
  o.replicas = 0;
  if (!simulate_run_ranks (path, &o, options->replicas, &figures, &error))
    return command_fail (command, g_steal_pointer (&error));
  ranks.seconds = figures.seconds;
  o.replicas = options->replicas;
  print_row (path, &o, &ranks, alone.seconds);
  return command_flush () ? 0 : 5;
}
