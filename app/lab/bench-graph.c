/* `gradloom bench GRAPH`: times training steps, or predictions if the graph has no loss, as a table for several
 * devices, executors and batch sizes.
 *
 * The whole step is timed (forward, backward, update, and reading the loss) over batches that are already in memory.
 * Each row of a table is prepared separately, with its own weights and memory. */
#include "app/lab/bench-private.h"

#include <stdio.h>
#include <stdlib.h>

/* The measurements of one combination. */
typedef struct
{
  char *device;
  const char *executor;
  BenchStats steps; /* a second */
  double batch, planned, arena, ready_ms, plan_ms, check_ms, loss;
  gboolean forward; /* without a loss */
} BenchRow;

static GPtrArray *
next_batch (Bench *b)
{
  GPtrArray *inputs = b->batch->pdata[b->next];
  b->next = b->next + 1 == b->batch->len ? 0 : b->next + 1;
  return inputs;
}

void
bench_feed (Bench *b)
{
  GPtrArray *inputs = next_batch (b);

  for (guint i = 0; i < inputs->len; i++)
    loom_exec_feed (b->exec, i, ((LoomTensor *)inputs->pdata[i])->data);
}

static gboolean
plan_step (gpointer data, GError **error)
{
  Bench *b = data;

  if (!b->is_fed)
    bench_feed (b);
  if (!loom_exec_step (b->exec, error))
    return FALSE;
  b->is_fed = loom_exec_can_upload (b->exec);
  if (b->is_fed)
    bench_feed (b);
  if (b->is_fed && !loom_exec_upload (b->exec, error))
    return FALSE;
  if (b->forward)
    return loom_exec_sync (b->exec, error);
  b->last_loss = loom_exec_scalar (b->exec, b->loss);
  return TRUE;
}

static gboolean
eager_step (gpointer data, GError **error)
{
  Bench *b = data;
  GPtrArray *inputs = next_batch (b);

  for (guint i = 0; i < inputs->len; i++)
    loom_eager_feed (b->eager, i, ((LoomTensor *)inputs->pdata[i])->data);
  if (!loom_eager_run (b->eager, !b->forward, NULL, NULL, error))
    return FALSE;
  if (b->forward)
    return TRUE;
  g_autoptr (LoomTensor) loss = loom_eager_output (b->eager, b->loss, error);
  if (loss == NULL)
    return FALSE;
  b->last_loss = loom_tensor_get (loss, 0);
  return TRUE;
}

static double
planned_bytes (Bench *b)
{
  gsize bytes[LOOM_N_OWNERS] = { 0 };
  double total = 0;

  loom_state_memory (b->state, NULL, bytes);
  for (guint i = 0; i < LOOM_N_OWNERS; i++)
    total += bytes[i];
  return total;
}

/* The caller frees row->device. */
static gboolean
measure (const Command *command, const char *path, const BenchOptions *o, BenchRow *row, GError **error)
{
  g_auto (Bench) b = { 0 };
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);

  if (graph == NULL)
    return FALSE;
  row->forward = !bench_has_loss (graph);
  if (!(row->forward ? bench_prepare_forward (&b, graph, o, &row->ready_ms, error)
                     : bench_prepare (&b, path, o, &row->ready_ms, error))
      || !bench_measure (b.exec != NULL ? plan_step : eager_step, &b, o->windows, o->seconds, &row->steps, error))
    return FALSE;
  command_warn_of_costs (command, b.devices);
  row->device = g_strdup (o->device != NULL ? o->device : row->forward ? "cpu" : b.spec->device);
  row->executor = o->executor;
  row->batch = b.step->batch;
  row->planned = planned_bytes (&b);
  row->arena = b.exec != NULL ? (double)loom_exec_arena_bytes (b.exec) : 0;
  row->plan_ms = b.plan_ms;
  row->check_ms = b.check_ms;
  row->loss = b.last_loss;
  return TRUE;
}

static void
print_json (const char *path, const BenchRow *row)
{
  LoomJson *json = command_event_new ("bench");

  loom_json_string (json, "graph", path);
  loom_json_string (json, "device", row->device);
  loom_json_string (json, "executor", row->executor);
  loom_json_fixed (json, "batch_size", row->batch, 0);
  loom_json_number (json, "steps_per_second", row->steps.median);
  loom_json_number (json, "min", row->steps.min);
  loom_json_number (json, "max", row->steps.max);
  loom_json_number (json, "items_per_second", row->steps.median * row->batch);
  loom_json_fixed (json, "planned_bytes", row->planned, 0);
  loom_json_fixed (json, "arena_bytes", row->arena, 0);
  loom_json_fixed (json, "peak_resident_bytes", (double)loom_bytes_of_process (TRUE), 0);
  loom_json_number (json, "ready_ms", row->ready_ms);
  loom_json_number (json, "plan_ms", row->plan_ms);
  loom_json_number (json, "check_ms", row->check_ms);
  if (row->forward)
    loom_json_null (json, "loss");
  else
    loom_json_exact (json, "loss", row->loss);
  command_event_print (json);
}

static void
print_alone (const char *path, const BenchOptions *o, const BenchRow *row)
{
  g_autofree char *planned = loom_bytes_to_string (row->planned),
                  *resident = loom_bytes_to_string ((double)loom_bytes_of_process (TRUE)),
                  *shown = command_printable (path);

  printf ("%s, batch %.0f, %s%s\n", shown, row->batch, row->executor,
          row->forward ? ", forward only: the graph has no loss" : "");
  printf ("steps/s   %.1f  (min %.1f, max %.1f over %d windows of %.1f s)\n", row->steps.median, row->steps.min,
          row->steps.max, o->windows, o->seconds);
  printf ("items/s   %.0f\n", row->steps.median * row->batch);
  printf ("memory    %s planned, %s peak resident\n", planned, resident);
  printf ("ready in  %.1f ms, without the data\n", row->ready_ms);
  if (row->plan_ms > 0)
    printf ("planning  %.1f ms; checking the plan takes %.1f ms\n", row->plan_ms, row->check_ms);
}

/* Prints a line of the table; before the first one, the header. */
static void
print_row (const char *path, const BenchOptions *o, const BenchRow *row, gboolean is_first)
{
  g_autofree char *planned = loom_bytes_to_string (row->planned), *shown = command_printable (path);

  if (is_first)
    {
      printf ("%s, medians of %d windows of %.1f s\n", shown, o->windows, o->seconds);
      printf ("%-8s  %-8s  %6s  %10s  %10s  %10s  %10s  %10s\n", "device", "executor", "batch", "steps/s", "min", "max",
              "items/s", "memory");
    }
  printf ("%-8s  %-8s  %6.0f  %10.1f  %10.1f  %10.1f  %10.0f  %10s\n", row->device, row->executor, row->batch,
          row->steps.median, row->steps.min, row->steps.max, row->steps.median * row->batch, planned);
  fflush (stdout);
}

int
bench_graph (const Command *command, const char *path, const BenchOptions *options, const char *const *devices,
             const char *const *executors, const GArray *sizes)
{
  const guint n_devices = devices != NULL ? g_strv_length ((char **)devices) : 1,
              n_executors = g_strv_length ((char **)executors), n_sizes = sizes != NULL ? sizes->len : 1;
  const guint n = n_devices * n_executors * n_sizes;

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *device = NULL;
      BenchOptions o = *options;
      BenchRow row = { 0 };

      o.device = devices != NULL ? devices[i / (n_executors * n_sizes)] : NULL;
      o.executor = executors[i / n_sizes % n_executors];
      o.batch_size = sizes != NULL ? g_array_index (sizes, gint64, i % n_sizes) : 0;
      if (!measure (command, path, &o, &row, &error))
        {
          if (n > 1)
            g_prefix_error (&error, "%s%s%s, batch size %" G_GINT64_FORMAT ": ", o.device != NULL ? o.device : "",
                            o.device != NULL ? ", " : "", o.executor, o.batch_size);
          return command_fail (command, g_steal_pointer (&error));
        }
      device = row.device;
      if (o.json)
        print_json (path, &row);
      else if (n == 1)
        print_alone (path, &o, &row);
      else
        print_row (path, &o, &row, i == 0);
    }
  return 0;
}
