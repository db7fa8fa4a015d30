/* The engine's side of the race against PyTorch: a process that trains on command.
 *
 * tests/bench/race.py starts it and PyTorch next to each other and lets them step in turn, so that both meet the same
 * noise. The data lie in memory as fixed batches; a step is everything that training does: forward, loss, backward,
 * optimiser.
 *
 * For a device with memory of its own the batches lie in page-locked memory, and a step begins with copying one.
 *
 * usage: bench-race GRAPH BATCH X.npy Y.npy WEIGHTS.safetensors THREADS [DEVICE [tf32]]
 * standard input: "step N" → "seconds S loss L"; "losses N" → N losses; "memory" → "arena A state S rss R"; "limit" →
 * "products P rate R", the operations of a step's products, convolutions (direct) and attention, and those a second
 * that a product of 1024 x 1024 matrices reaches in the graph's precision */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/interop/loom-npy.h"
#include "engine/loom-lab.h"
#include "engine/train/loom-step.h"
#include "tests/bench/limit.h"

typedef struct
{
  LoomExec *exec;
  const char *x, *y;
  gsize x_bytes, y_bytes;
  gint64 n_batches, next;
  guint x_input, y_input, loss;
} Race;

static void
fail_on (GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "bench-race: %s\n", error->message);
  exit (1);
}

static double
step (Race *r, gint64 n, gboolean print)
{
  g_autoptr (GError) error = NULL;
  double loss = 0;

  for (gint64 i = 0; i < n; i++)
    {
      gint64 b = r->next++ % r->n_batches;

      loom_exec_feed (r->exec, r->x_input, r->x + (gsize)b * r->x_bytes);
      loom_exec_feed (r->exec, r->y_input, r->y + (gsize)b * r->y_bytes);
      if (!loom_exec_step (r->exec, &error))
        fail_on (error);
      if (print)
        printf ("%.9g ", loom_exec_scalar (r->exec, r->loss));
    }
  loss = loom_exec_scalar (r->exec, r->loss);
  return loss;
}

static gsize
peak_rss (void)
{
  g_autofree char *text = NULL;
  const char *line;

  if (!g_file_get_contents ("/proc/self/status", &text, NULL, NULL) || (line = strstr (text, "VmHWM:")) == NULL)
    return 0;
  return (gsize)g_ascii_strtoull (line + 6, NULL, 10) * 1024;
}

static guint
input_of (LoomExec *exec, const char *suffix)
{
  LoomProgram *p = loom_plan_program (loom_exec_plan (exec));

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    if (g_str_has_suffix (loom_program_get_input (p, i)->name, suffix))
      return i;
  g_error ("the graph has no input %s", suffix);
}

/* Memory that the device copies from fastest: page-locked where it has such; it lives as long as the process. */
static const char *
resident (LoomExec *exec, const LoomTensor *t)
{
  LoomPlanDevice *device = loom_plan_device (loom_exec_plan (exec), 0);
  LoomMessage message = { "" };
  void *memory = NULL;

  if (device->info.host_memory || device->backend->alloc_host == NULL)
    return t->data;
  if (device->backend->alloc_host (device->device, t->bytes, &memory, &message) != LOOM_STATUS_OK)
    g_error ("%s", message.text);
  memcpy (memory, t->data, t->bytes);
  return memory;
}

int
main (int argc, char *argv[])
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  gint64 start = g_get_monotonic_time (), batch;
  Race race = { 0 };
  const char *device = argc >= 8 ? argv[7] : "cpu";
  char line[64];

  if (argc < 7 || argc > 9)
    {
      fprintf (stderr, "usage: bench-race GRAPH BATCH X.npy Y.npy WEIGHTS.safetensors THREADS [DEVICE [tf32]]\n");
      return 2;
    }
  batch = g_ascii_strtoll (argv[2], NULL, 10);
  {
    g_autoptr (LoomGraph) graph = loom_graph_read_file (argv[1], faults, &error);
    g_autoptr (LoomNet) net = NULL;
    g_autoptr (LoomTrainSpec) spec = NULL;
    g_autoptr (LoomStep) program = NULL;
    g_autoptr (LoomDevices) devices = loom_devices_new (atoi (argv[6]));
    g_autoptr (LoomState) state = NULL;
    g_autoptr (LoomTensor) x = NULL;
    g_autoptr (LoomTensor) y = NULL;
    LoomPlanOptions options = { .device = device };
    LoomPlan *plan;
    gsize bytes[LOOM_N_OWNERS];

    fail_on (error);
    net = loom_net_new (graph, NULL, faults);
    spec = loom_train_spec_new (graph, net, faults);
    loom_faults_to_error (faults, argv[1], &error);
    fail_on (error);
    spec->tf32 = argc == 9 && g_str_equal (argv[8], "tf32");
    program = loom_step_new (spec, batch, TRUE, &error);
    fail_on (error);
    plan = loom_plan_new (program->program, devices, &options, &error);
    fail_on (error);
    if (g_getenv ("BENCH_PLAN") != NULL)
      {
        g_autofree char *text = loom_plan_print (plan);

        fputs (text, stderr);
      }
    state = loom_state_new (devices, device, 1);
    race.exec = loom_exec_new (plan, state, &error);
    fail_on (error);
    loom_state_load_weights (state, argv[5], FALSE, NULL, &error);
    fail_on (error);
    for (guint i = 0; spec->optimizer->hyper[i].name != NULL; i++)
      loom_state_set_scalar (state, spec->optimizer->hyper[i].name, spec->hyper[i]);
    x = loom_npy_load (argv[3], &error);
    fail_on (error);
    y = loom_npy_load (argv[4], &error);
    fail_on (error);
    race.x = resident (race.exec, x);
    race.y = resident (race.exec, y);
    race.n_batches = x->dim[0] / batch;
    race.x_bytes = x->bytes / (gsize)x->dim[0] * (gsize)batch;
    race.y_bytes = y->bytes / (gsize)y->dim[0] * (gsize)batch;
    race.x_input = input_of (race.exec, ".x");
    race.y_input = input_of (race.exec, ".y");
    race.loss = (guint)loom_exec_find_output (race.exec, "loss");
    printf ("ready %.4f\n", (double)(g_get_monotonic_time () - start) * 1e-6);
    fflush (stdout);
    while (fgets (line, sizeof line, stdin) != NULL)
      {
        gint64 n = strchr (line, ' ') != NULL ? g_ascii_strtoll (strchr (line, ' ') + 1, NULL, 10) : 0;

        if (g_str_has_prefix (line, "step"))
          {
            gint64 t = g_get_monotonic_time ();
            double loss = step (&race, n, FALSE);

            printf ("seconds %.6f loss %.9g\n", (double)(g_get_monotonic_time () - t) * 1e-6, loss);
          }
        else if (g_str_has_prefix (line, "losses"))
          {
            step (&race, n, TRUE);
            printf ("\n");
          }
        else if (g_str_has_prefix (line, "limit"))
          printf ("products %.6g rate %.6g\n", operations_of (program->program),
                  product_rate (devices, device, spec->precision));
        else
          {
            loom_state_memory (state, NULL, bytes);
            printf ("arena %" G_GSIZE_FORMAT " state %" G_GSIZE_FORMAT " rss %" G_GSIZE_FORMAT "\n",
                    loom_exec_arena_bytes (race.exec),
                    bytes[LOOM_OWNER_PARAMETERS] + bytes[LOOM_OWNER_OPTIMIZER] + bytes[LOOM_OWNER_WORKSPACE],
                    peak_rss ());
          }
        fflush (stdout);
      }
    loom_exec_free (race.exec);
  }
  return 0;
}
