/* `gradloom bench`: measures the speed of a graph's training, and of the devices.
 *
 * This file prepares a graph for one batch size on one device; bench-graph.c times its steps. The time is divided into
 * windows, and median, minimum and maximum over windows are printed, because timings vary. */
#include "app/lab/bench-private.h"
#include "app/lab/commands.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_BATCHES 32

/* ---- windows ---------------------------------------------------------- */

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y ? 1 : 0;
}

BenchStats
bench_stats (double *value, guint n)
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
      gint64 start = loom_monotonic (), now = start, calls = 0, stride = 1;
      gint64 length = (gint64)(seconds * G_USEC_PER_SEC);
      while (now - start < length)
        {
          for (gint64 i = 0; i < stride; i++)
            if (!work (data, error))
              return FALSE;
          calls += stride;
          now = loom_monotonic ();
          if (now - start < length / 50 && stride < 1024)
            stride *= 2;
        }
      if (w > 0)
        rate[w - 1] = (double)calls * G_USEC_PER_SEC / (now - start);
    }
  *stats = bench_stats (rate, windows);
  return TRUE;
}

/* ---- a graph ---------------------------------------------------------- */

void
bench_clear (Bench *b)
{
  g_clear_pointer (&b->batch, g_ptr_array_unref);
  loom_plan_free (b->plan);
  loom_exec_free (b->exec);
  loom_eager_free (b->eager);
  g_clear_pointer (&b->state, loom_state_unref);
  g_clear_pointer (&b->devices, loom_devices_unref);
  loom_mesh_close (&b->mesh);
  loom_step_free (b->step);
  loom_train_spec_free (b->spec);
  loom_net_free (b->net);
}
/* Copies the first full batches of a shuffled epoch, so that no loader runs while steps are timed. */
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
                  g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "The loss needs “%s”, which no data set provides.",
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

gboolean
bench_is_emulated (const LoomDeviceInfo *info)
{
  return g_str_has_prefix (info->name, "emulated");
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
               "The device %s is emulated, so its speed has no meaning. Choose another --device.", emulated);
  return FALSE;
}

/* Nodes may name devices, too. */
static gboolean
plan_may_be_timed (const LoomPlan *plan, GError **error)
{
  for (guint i = 0; i < loom_plan_n_devices (plan); i++)
    {
      const LoomPlanDevice *d = loom_plan_device (plan, i);

      if (bench_is_emulated (&d->info))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE,
                       "Nodes of the graph are on the device %s, which is emulated, so their speed has no meaning. "
                       "Set another device on them.",
                       d->name);
          return FALSE;
        }
    }
  return TRUE;
}

/* Partitions for one rank, with the graph's bucket_mb. */
static void
divide (Bench *b, LoomComm *comm, LoomShards shards)
{
  b->spec->parallel.shards = shards;
  b->spec->parallel.pipeline = 0;
  b->mesh = loom_mesh_open (comm, (int[LOOM_MESH_AXES]){ comm->size, 1, 1 });
  loom_step_divide (b->step, b->spec, &b->mesh, NULL);
}

/* Puts a replica on each of the first devices of a kind. */
static gboolean
replicate (Bench *b, const char *device, int n, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *kind = g_strndup (device, strcspn (device, ":"));
  LoomProgram *program;

  for (int k = 0; k < n; k++)
    g_ptr_array_add (names, k == 0 ? g_strdup (kind) : g_strdup_printf ("%s:%d", kind, k));
  g_ptr_array_add (names, NULL);
  program = loom_program_replicate (b->step->program, b->step->batch, (const char *const *)names->pdata);
  if (program == NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DIST,
                           "Replicas of this graph would exchange values that are not sums, which one device cannot "
                           "gather. Compare ranks with gradloom simulate.");
      return FALSE;
    }
  loom_program_unref (b->step->program);
  b->step->program = program;
  return TRUE;
}

double
bench_planned_bytes (const LoomPlan *plan)
{
  LoomPlanMemory memory;
  gsize bytes[LOOM_N_OWNERS];
  double sum = 0;

  loom_plan_memory (plan, 0, &memory);
  loom_plan_memory_sum (&memory, bytes);
  for (int i = 0; i < LOOM_N_OWNERS; i++)
    sum += (double)bytes[i];
  return sum;
}

/* The processor time of this thread, which alone plans and checks: on a busy machine both can be compared too. */
static double
thread_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double
time_check (const LoomPlan *plan)
{
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();
  const double start = thread_ms ();

  loom_check_plan (plan, NULL, report);
  return thread_ms () - start;
}

gboolean
bench_make_executor (Bench *b, const LoomGraph *graph, const char *device, guint64 seed, const BenchOptions *o,
                     GError **error)
{
  b->devices = loom_devices_new (o->threads);
  if (!bench_may_be_timed (b->devices, device, error))
    return FALSE;
  b->state = loom_state_new (b->devices, device, seed);
  if (g_str_equal (o->executor, "eager"))
    b->eager = loom_eager_new (b->step->program, b->state, b->devices, device, error);
  else
    {
      LoomPlanOptions options = { .device = device,
                                  .strict_devices = loom_graph_strict_devices (graph),
                                  .mesh = o->comm != NULL ? &b->mesh : NULL };
      const double planning = thread_ms ();
      g_autoptr (LoomPlan) plan = loom_plan_new (b->step->program, b->devices, &options, error);
      b->plan_ms = thread_ms () - planning;
      if (plan == NULL || !plan_may_be_timed (plan, error))
        return FALSE;
      if (o->plan_only)
        {
          b->plan = g_steal_pointer (&plan);
          return TRUE;
        }
      b->exec = loom_exec_new (g_steal_pointer (&plan), b->state, error);
    }
  return b->exec != NULL || b->eager != NULL;
}

void
bench_note_ready (Bench *b, gint64 start, double *ready_ms)
{
  *ready_ms = (loom_monotonic () - start) / 1000.0;
  b->check_ms = b->exec != NULL ? time_check (loom_exec_plan (b->exec)) : 0;
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
  g_autofree char *given = command_train_options (o->precision, o->tf32, o->device);
  if (!command_option_faults (faults, path, given, error))
    return FALSE;
  if (b->spec == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "%s has no <train> with a loss, so it has no step to measure.",
                   path);
      return FALSE;
    }
  gint64 batch_size = b->spec->dataset_node < 0 ? 1 : o->batch_size ? o->batch_size : b->spec->batch_size;
  const char *device = o->device != NULL ? o->device : b->spec->device;
  gint64 start = loom_monotonic ();
  b->spec->accumulate = 1; /* one batch and the update, which are timed as a step */
  const int parts = o->comm != NULL ? o->comm->size : MAX (1, o->replicas);
  b->step = loom_step_new (b->spec, batch_size * parts, TRUE, error);
  if (b->step == NULL || (o->replicas > 1 && !o->whole_batch && !replicate (b, device, o->replicas, error)))
    return FALSE;
  if (o->comm != NULL)
    divide (b, o->comm, o->shards);
  if (!bench_make_executor (b, graph, device, b->spec->seed, o, error))
    return FALSE;
  if (o->plan_only)
    return TRUE;
  bench_note_ready (b, start, ready_ms);
  for (guint i = 0; i < loom_program_n_outputs (b->step->program); i++)
    if (g_str_equal (loom_program_get_output (b->step->program, i)->name, "loss"))
      b->loss = i;
  if (o->comm == NULL)
    batch_size = b->step->batch;
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

/* ---- the command ------------------------------------------------------- */

static int
run_bench (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *executor = NULL, *precision = NULL, *batch_size = NULL;
  g_autofree char *over = NULL, *bytes = NULL, *strategies = NULL, *memory = NULL;
  BenchOptions o = { .windows = 7, .seconds = 0.5 };
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: the graph's), or several: cpu,cuda:0", "D,…" },
    { "executor", 0, 0, G_OPTION_ARG_STRING, &executor, "plan (default), eager, or both: plan,eager", "E,…" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision,
      "f32, bf16, f16, or f64 with device ref (default: the graph's)", "P" },
    { "tf32", 0, 0, G_OPTION_ARG_NONE, &o.tf32, "Compute f32 products in TF32 if the device has it", NULL },
    { "batch-size", 0, 0, G_OPTION_ARG_STRING, &batch_size, "Samples per step, or several: 64,4,2", "N,…" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &o.threads, "Threads of the CPU device (default: all)", "N" },
    { "windows", 0, 0, G_OPTION_ARG_INT, &o.windows, "Windows (7)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &o.seconds, "Length of a window (0.5)", "S" },
    { "tune", 0, 0, G_OPTION_ARG_NONE, &o.tune,
      "Measure the graph's kernels, so that later plans choose by these times", NULL },
    { "replicas", 0, 0, G_OPTION_ARG_INT, &o.replicas,
      "Compare one device with N replicas in one process and with N ranks", "N" },
    { "ranks", 0, 0, G_OPTION_ARG_INT, &o.ranks,
      "Compare strategies of N ranks; comm: measure exchanges of N ranks (2)", "N" },
    { "strategies", 0, 0, G_OPTION_ARG_STRING, &strategies, "With --ranks: data,zero1,zero2,zero3 (default: all)",
      "S,…" },
    { "memory", 0, 0, G_OPTION_ARG_STRING, &memory,
      "With --ranks: find the largest batch within N bytes, such as 1.5G (default: the memory of data)", "N" },
    { "over", 0, 0, G_OPTION_ARG_STRING, &over, "comm: threads or mpi (default: both)", "T" },
    { "sizes", 0, 0, G_OPTION_ARG_STRING, &bytes, "comm: sizes of the values in bytes: 8,80k,8M", "N,…" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print JSON objects on standard output", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or RUN folder, or the word devices or comm.");
  const gboolean is_comm = g_str_equal (argv[1], "comm");
  const gboolean of_ranks = !is_comm && o.ranks != 0;
  if (!is_comm && (over != NULL || bytes != NULL))
    return command_usage (command, "--over and --sizes are options of gradloom bench comm.");
  if ((strategies != NULL || memory != NULL) && !of_ranks)
    return command_usage (command, "--strategies and --memory need a GRAPH and --ranks.");
  if (is_comm
      && (device != NULL || executor != NULL || precision != NULL || batch_size != NULL || o.tf32 || o.tune
          || o.threads > 0))
    return command_usage (command, "comm takes only --ranks, --over, --sizes, --windows, --seconds and --json.");
  if (o.tune && (executor != NULL || g_str_equal (argv[1], "devices")))
    return command_usage (command, "--tune measures the kernels of a GRAPH or RUN folder. Leave out %s.",
                          executor != NULL ? "--executor" : "the word devices");
  g_autoptr (GArray) sizes = command_numbers (batch_size != NULL ? batch_size : "1", 1, G_MAXINT32);
  g_auto (GStrv) devices = device != NULL ? g_strsplit (device, ",", -1) : NULL;
  g_auto (GStrv) executors = g_strsplit (executor != NULL ? executor : "plan", ",", -1);

  if (sizes == NULL)
    return command_usage (command, "--batch-size takes a positive number, or several separated by commas, not “%s”.",
                          batch_size);
  if (executors[0] == NULL)
    return command_usage (command, "--executor takes plan, eager, or plan,eager, not “%s”.", executor);
  for (guint i = 0; executors[i] != NULL; i++)
    if (!g_str_equal (executors[i], "plan") && !g_str_equal (executors[i], "eager"))
      return command_usage (command, "--executor takes plan, eager, or plan,eager, not “%s”.", executor);
  if ((o.tune || g_str_equal (argv[1], "devices"))
      && (sizes->len > 1 || (devices != NULL && g_strv_length (devices) > 1)))
    return command_usage (command, "Several devices or batch sizes need a GRAPH. Name one device and one batch size.");
  command_warn_of_threads (command, o.threads);
  o.device = device;
  o.precision = precision;
  o.executor = executors[0];
  o.batch_size = batch_size != NULL ? g_array_index (sizes, gint64, 0) : 0;
  o.over = over;
  o.sizes = bytes;
  if (o.replicas != 0)
    {
      if (is_comm || o.tune || g_str_equal (argv[1], "devices") || sizes->len > 1 || executor != NULL || o.replicas < 2
          || o.replicas > 64 || (device != NULL && strpbrk (device, ",:") != NULL))
        return command_usage (command, "--replicas takes a number from 2 to 64, with one GRAPH, one --batch-size, and "
                                       "a kind of device (cpu or ref) that has as many devices.");
      return bench_replicas (command, argv[1], &o);
    }
  if (of_ranks)
    {
      if (o.tune || g_str_equal (argv[1], "devices") || sizes->len > 1 || executor != NULL
          || (device != NULL && strpbrk (device, ",") != NULL))
        return command_usage (command,
                              "--ranks takes one GRAPH, one --batch-size, one --device and the executor plan.");
      return bench_ranks (command, argv[1], &o, strategies, memory);
    }
  if (is_comm)
    return bench_comm (command, &o);
  if (g_str_equal (argv[1], "devices"))
    return bench_devices (command, &o);
  if (g_str_equal (argv[1], "machine"))
    return bench_machine (command, &o);
  if (o.tune)
    return bench_tune (command, argv[1], &o);
  return bench_graph (command, argv[1], &o, (const char *const *)devices, (const char *const *)executors,
                      batch_size != NULL ? sizes : NULL);
}

const Command command_bench = {
  .name = "bench",
  .arguments = "GRAPH|RUN|devices|machine|comm",
  .summary = "measure steps/s, items/s and peak memory of a graph, peaks of devices, or exchanges of ranks",
  .details
  = "Planning takes no measurements: it chooses a kernel's algorithm and layout by its shape, the device, the number\n"
    "of threads, the versions of libraries, and a cost table that ships with Gradloom. --tune measures every "
    "algorithm\n"
    "of the graph's kernels on this machine, for a tenth of --seconds each, and writes the times to\n"
    "gradloom/costs.ini in your configuration folder ($XDG_CONFIG_HOME, else ~/.config). The file keeps the times\n"
    "of other graphs and devices; kernels that do not fit into memory are left out. New runs on the same device use\n"
    "these times, so their last bits may change; a run keeps its table and its choices in its checkpoints. Stop\n"
    "other programs first. Delete the file to return to the shipped table.\n\n"
    "Several devices, executors or batch sizes, separated by commas, make a table with a row for each combination,\n"
    "or with --json an object for each.\n\n"
    "devices measures matrix products by size and type, sums (limited by memory bandwidth), copies from page-locked\n"
    "and other memory, the overhead of a step with one sum, and of a bare kernel in consecutive launches and with a\n"
    "wait. Then follow the convolutions of VGG-16, ResNet-18 and ResNet-50 by every algorithm of a device,\n"
    "Gradloom's loops and those of libraries, with their sum after each net, and on a GPU the naive and the tiled\n"
    "product of textbooks (own-naive, own-tiled) in comparison with cuBLAS.\n\n"
    "machine prints a short table instead, next to the numbers of lectures: a product by plain loops and by a "
    "library,\n"
    "memory, copies, and a GPU's ratio to the processor if there is one.\n\n"
    "comm measures the collectives of --ranks, first as threads of this process, then as processes over MPI, by the\n"
    "size of the value: microseconds per call, bytes per second, and bus bandwidth, the bytes per second that an\n"
    "ideal algorithm sends through its slowest link. Under mpirun or srun --mpi=pmix the launcher starts the "
    "ranks.\n\n"
    "--ranks N with a GRAPH runs steps on N ranks, as threads of this process, with each of --strategies: steps and\n"
    "items per second, the measured and the predicted memory of a rank, and the largest batch of a rank that by\n"
    "prediction fits into --memory.\n\n"
    "--replicas N divides a batch of N times --batch-size among N virtual devices in one process, as DataParallel\n"
    "does: the first device stores the weights, copies them to the others in every step, gathers losses and\n"
    "gradients, and computes the update. The table compares it with one device with all threads, and with N ranks\n"
    "with the same batch.\n\n"
    "  gradloom bench comm --ranks 4 --over mpi\n"
    "  gradloom bench graphs/models/fashion-mlp.xml --replicas 2\n"
    "  gradloom bench graphs/models/char-gpt.xml --ranks 2 --strategies data,zero3\n"
    "  gradloom bench graphs/models/cifar-cnn.xml --batch-size 64,4,2 --executor plan,eager",
  .run = run_bench,
};
