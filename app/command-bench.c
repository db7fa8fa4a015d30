/* `gradloom bench`: how fast a graph trains, and how fast the devices are.
 *
 * The whole step is timed (forward, backward, update, with the loss read each time) over batches that are already in
 * memory. The time is cut into windows, and median, minimum and maximum of them are printed, because the machines that
 * this runs on are noisy. */
#include "app/bench-private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BATCHES 32

/* ---- windows ---------------------------------------------------------- */

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y ? 1 : 0;
}

static BenchStats
stats_of (double *value, guint n)
{
  qsort (value, n, sizeof *value, compare_doubles);
  return (BenchStats){ n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2, value[0], value[n - 1] };
}

gboolean
bench_measure (BenchWork work, gpointer data, guint windows, double seconds, BenchStats *stats, GError **error)
{
  g_autofree double *rate = g_new (double, windows);

  for (guint w = 0; w <= windows; w++) /* the first window is the warm-up */
    {
      gint64 start = g_get_monotonic_time (), now = start, calls = 0, stride = 1;
      gint64 length = (gint64)(seconds * G_USEC_PER_SEC);
      while (now - start < length)
        {
          for (gint64 i = 0; i < stride; i++)
            if (!work (data, error))
              return FALSE;
          calls += stride;
          now = g_get_monotonic_time ();
          if (now - start < length / 50 && stride < 1024)
            stride *= 2;
        }
      if (w > 0)
        rate[w - 1] = (double)calls * G_USEC_PER_SEC / (now - start);
    }
  *stats = stats_of (rate, windows);
  return TRUE;
}

/* The most memory that this process has ever held, as the kernel counts it. */
static double
peak_resident (void)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents ("/proc/self/status", &text, NULL, NULL))
    return 0;
  const char *line = strstr (text, "VmHWM:");
  return line != NULL ? g_ascii_strtoull (line + strlen ("VmHWM:"), NULL, 10) * 1024.0 : 0;
}

/* ---- a graph ---------------------------------------------------------- */

void
bench_clear (Bench *b)
{
  g_clear_pointer (&b->batch, g_ptr_array_unref);
  loom_exec_free (b->exec);
  loom_eager_free (b->eager);
  g_clear_pointer (&b->state, loom_state_unref);
  g_clear_pointer (&b->devices, loom_devices_unref);
  loom_step_free (b->step);
  loom_train_spec_free (b->spec);
  loom_net_free (b->net);
}
/* The first full batches of a shuffled epoch, copied, so that no loader runs while steps are timed. */
static gboolean
load_batches (Bench *b, const LoomGraph *graph, gint64 batch_size, GError **error)
{
  g_autoptr (LoomDataset) dataset
      = loom_net_open_dataset (b->net, b->spec->dataset_node, loom_graph_get_folder (graph), error);
  if (dataset == NULL)
    return FALSE;
  g_autoptr (LoomLoader) loader = loom_loader_new (dataset, LOOM_SPLIT_TRAIN, batch_size, TRUE, b->spec->seed, error);
  if (loader == NULL)
    return FALSE;

  const LoomProgram *p = b->step->program;
  const LoomBatch *batch;
  loom_loader_start (loader, 0, 0);
  b->batch = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  while (b->batch->len < MAX_BATCHES && (batch = loom_loader_next (loader, error)) && batch->n == batch_size)
    {
      GPtrArray *inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
      g_ptr_array_add (b->batch, inputs);
      for (guint i = 0; i < loom_program_n_inputs (p); i++)
        {
          guint port = 0;
          for (;; port++)
            {
              if (port == batch->n_tensors)
                {
                  g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "The loss needs “%s”, which no data set brings.",
                               loom_program_get_input (p, i)->name);
                  return FALSE;
                }
              g_autofree char *name = loom_net_port_name (b->net, (guint)b->spec->dataset_node, port);
              if (g_str_equal (name, loom_program_get_input (p, i)->name))
                break;
            }
          const LoomTensor *from = batch->tensors[port];
          LoomTensor *t = loom_tensor_new (from->dtype, from->rank, from->dim, error);
          if (t == NULL)
            return FALSE;
          memcpy (t->data, from->data, from->bytes);
          g_ptr_array_add (inputs, t);
        }
    }
  return TRUE;
}

static GPtrArray *
next_batch (Bench *b)
{
  GPtrArray *inputs = b->batch->pdata[b->next];
  b->next = b->next + 1 == b->batch->len ? 0 : b->next + 1;
  return inputs;
}

static gboolean
plan_step (gpointer data, GError **error)
{
  Bench *b = data;
  GPtrArray *inputs = next_batch (b);

  for (guint i = 0; i < inputs->len; i++)
    loom_exec_feed (b->exec, i, ((LoomTensor *)inputs->pdata[i])->data);
  if (!loom_exec_step (b->exec, error))
    return FALSE;
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
  if (!loom_eager_run (b->eager, TRUE, NULL, NULL, error))
    return FALSE;
  g_autoptr (LoomTensor) loss = loom_eager_output (b->eager, b->loss, error);
  if (loss == NULL)
    return FALSE;
  b->last_loss = loom_tensor_get (loss, 0);
  return TRUE;
}

gboolean
bench_is_emulated (const LoomDeviceInfo *info)
{
  return g_str_equal (info->name, "emulated");
}

static void
find_emulated (const char *name, const LoomDeviceInfo *info, const char *why_not, gpointer data)
{
  if (why_not == NULL && bench_is_emulated (info))
    *(char **)data = g_strdup (name);
}

gboolean
bench_may_be_timed (LoomDevices *devices, const char *device, GError **error)
{
  g_autofree char *emulated = NULL;

  if (g_str_has_prefix (device, "cuda"))
    loom_devices_foreach (devices, find_emulated, &emulated);
  if (emulated == NULL)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE,
               "The device %s is emulated, so its speed says nothing. Choose another --device.", emulated);
  return FALSE;
}

/* Nodes name devices, too. */
static gboolean
plan_may_be_timed (const LoomPlan *plan, GError **error)
{
  for (guint i = 0; i < loom_plan_n_devices (plan); i++)
    {
      const LoomPlanDevice *d = loom_plan_device (plan, i);

      if (bench_is_emulated (&d->info))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE,
                       "Nodes of the graph are on the device %s, which is emulated, so their speed says nothing. Give "
                       "them another device.",
                       d->name);
          return FALSE;
        }
    }
  return TRUE;
}

gboolean
bench_prepare (Bench *b, const char *path, const BenchOptions *o, double *ready_ms, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);
  if (graph == NULL)
    return FALSE;

  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  if (o->precision != NULL && train != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "precision", o->precision)));
  if (o->tf32 && train != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "tf32", "true")));
  if (o->device != NULL && train != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "device", o->device)));
  b->net = loom_net_new (graph, NULL, faults);
  b->spec = loom_train_spec_new (graph, b->net, faults);
  if (!loom_faults_to_error (faults, path, error))
    return FALSE;
  if (b->spec == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "%s has no <train> with a loss, so there is no step to time.", path);
      return FALSE;
    }
  gint64 batch_size = b->spec->dataset_node < 0 ? 1 : o->batch_size ? o->batch_size : b->spec->batch_size;
  const char *device = o->device != NULL ? o->device : b->spec->device;
  gint64 start = g_get_monotonic_time ();
  b->spec->accumulate = 1; /* a batch and the update, together what is timed as a step */
  b->step = loom_step_new (graph, b->spec, batch_size, TRUE, error);
  if (b->step == NULL)
    return FALSE;
  b->devices = loom_devices_new (o->threads);
  if (!bench_may_be_timed (b->devices, device, error))
    return FALSE;
  b->state = loom_state_new (b->devices, device, b->spec->seed);
  if (g_str_equal (o->executor, "eager"))
    b->eager = loom_eager_new (b->step->program, b->state, b->devices, device, error);
  else
    {
      LoomPlanOptions options = { .device = device, .strict_devices = loom_graph_strict_devices (graph) };
      g_autoptr (LoomPlan) plan = loom_plan_new (b->step->program, b->devices, &options, error);
      if (plan == NULL || !plan_may_be_timed (plan, error))
        return FALSE;
      b->exec = loom_exec_new (g_steal_pointer (&plan), b->state, error);
    }
  if (b->exec == NULL && b->eager == NULL)
    return FALSE;
  *ready_ms = (g_get_monotonic_time () - start) / 1000.0;
  for (guint i = 0; i < loom_program_n_outputs (b->step->program); i++)
    if (g_str_equal (loom_program_get_output (b->step->program, i)->name, "loss"))
      b->loss = i;
  if (!load_batches (b, graph, batch_size, error))
    return FALSE;
  if (b->batch->len == 0 || ((GPtrArray *)b->batch->pdata[0])->len != loom_program_n_inputs (b->step->program))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The data set has no full batch of %" G_GINT64_FORMAT " samples. Choose a smaller --batch-size.",
                   batch_size);
      return FALSE;
    }
  return TRUE;
}

static double
planned_bytes (Bench *b)
{
  gsize bytes[LOOM_N_OWNERS] = { 0 };
  double total = 0;

  loom_state_memory (b->state, bytes);
  for (guint i = 0; i < LOOM_N_OWNERS; i++)
    total += bytes[i];
  return total;
}

static int
bench_graph (const Command *command, const char *path, const BenchOptions *o)
{
  g_autoptr (GError) error = NULL;
  g_auto (Bench) b = { 0 };
  BenchStats s;
  double ready_ms;

  if (!bench_prepare (&b, path, o, &ready_ms, &error)
      || !bench_measure (b.exec != NULL ? plan_step : eager_step, &b, o->windows, o->seconds, &s, &error))
    return command_fail (command, g_steal_pointer (&error));

  command_warn_of_costs (command, b.devices);
  double n = b.step->batch;
  if (o->json)
    {
      LoomJson *json = command_event_new ("bench");
      loom_json_string (json, "graph", path);
      loom_json_string (json, "executor", o->executor);
      loom_json_fixed (json, "batch_size", n, 0);
      loom_json_number (json, "steps_per_second", s.median);
      loom_json_number (json, "min", s.min);
      loom_json_number (json, "max", s.max);
      loom_json_number (json, "items_per_second", s.median * n);
      loom_json_fixed (json, "planned_bytes", planned_bytes (&b), 0);
      loom_json_fixed (json, "arena_bytes", b.exec != NULL ? (double)loom_exec_arena_bytes (b.exec) : 0, 0);
      loom_json_fixed (json, "peak_resident_bytes", peak_resident (), 0);
      loom_json_number (json, "ready_ms", ready_ms);
      loom_json_number (json, "loss", b.last_loss);
      command_event_print (json);
      return 0;
    }
  g_autofree char *planned = loom_bytes_to_string (planned_bytes (&b)),
                  *resident = loom_bytes_to_string (peak_resident ());
  printf ("%s, batch %.0f, %s\n", path, n, o->executor);
  printf ("steps/s   %.1f  (min %.1f, max %.1f over %d windows of %.1f s)\n", s.median, s.min, s.max, o->windows,
          o->seconds);
  printf ("items/s   %.0f\n", s.median * n);
  printf ("memory    %s planned, %s resident at most\n", planned, resident);
  printf ("ready in  %.1f ms, data apart\n", ready_ms);
  return 0;
}

/* ---- the command ------------------------------------------------------- */

static int
run_bench (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *executor = NULL, *precision = NULL;
  BenchOptions o = { .windows = 7, .seconds = 0.5 };
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: the graph's)", "D" },
    { "executor", 0, 0, G_OPTION_ARG_STRING, &executor, "plan (default) or eager", "E" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16, f16, or f64 on ref (default: the graph's)", "P" },
    { "tf32", 0, 0, G_OPTION_ARG_NONE, &o.tf32, "Products of f32 in TF32, where the device has it", NULL },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &o.batch_size, "Samples a step", "N" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &o.threads, "Threads of the CPU device (default: all)", "N" },
    { "windows", 0, 0, G_OPTION_ARG_INT, &o.windows, "Windows (7)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &o.seconds, "Length of a window (0.5)", "S" },
    { "tune", 0, 0, G_OPTION_ARG_NONE, &o.tune, "Measure the graph's kernels, for later plans to choose by", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Objects on standard output", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or RUN folder, or the word devices.");
  if (o.tune && (executor != NULL || g_str_equal (argv[1], "devices")))
    return command_usage (command, "--tune takes a GRAPH or RUN folder and measures its kernels: leave %s out.",
                          executor != NULL ? "--executor" : "the word devices");
  command_warn_of_threads (command, o.threads);
  o.device = device;
  o.precision = precision;
  o.executor = executor != NULL ? executor : "plan";
  if (!g_str_equal (o.executor, "plan") && !g_str_equal (o.executor, "eager"))
    return command_usage (command, "--executor is plan or eager, not “%s”.", executor);
  if (g_str_equal (argv[1], "devices"))
    return bench_devices (command, &o);
  if (o.tune)
    return bench_tune (command, argv[1], &o);
  return bench_graph (command, argv[1], &o);
}

const Command command_bench = {
  .name = "bench",
  .arguments = "GRAPH|RUN|devices",
  .summary = "steps/s, items/s and peak memory; or the devices' measured peaks",
  .details
  = "A plan never times anything: which algorithm and layout a kernel has follows from its shape, the device, its\n"
    "threads, the libraries' versions and a cost table, which ships with Gradloom. --tune measures every way in which\n"
    "this machine can compute the graph's kernels, a tenth of --seconds for each, and writes the times to\n"
    "gradloom/costs.ini in the folder of your configuration ($XDG_CONFIG_HOME, else ~/.config). Times of other graphs\n"
    "and devices stay there, and what cannot be run here, for want of memory, is left out. New runs on the same "
    "device\n"
    "then choose by them, so their last bits may change; a run keeps its table, and what it chose, in its "
    "checkpoints.\n"
    "Quiet the machine first; remove the file to go back.",
  .run = run_bench,
};
