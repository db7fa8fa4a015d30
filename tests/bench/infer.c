/* The engine's side of the race of inference against onnxruntime (infer.py): a process that predicts on command, as
 * `gradloom predict` does.
 *
 * usage: bench-infer GRAPH WEIGHTS.safetensors X.npy THREADS
 * standard input: "run N" → "seconds S", of N predictions for the batch X; "save FILE.npy" → "saved"; "limit" →
 * "products P rate R", the operations of a prediction's products and convolutions (direct), and those a second that a
 * product of 1024 x 1024 matrices reaches */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/infer/loom-predictor.h"
#include "engine/interop/loom-npy.h"
#include "tests/bench/limit.h"

static void
fail_on (GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "bench-infer: %s\n", error->message);
  exit (1);
}

/* Operations of the products of output y for a batch of n. */
static double
products_of (const LoomGraph *graph, gint64 n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };
  LoomNetSource y = { 0 };
  LoomLowerOptions options = { .float_dtype = LOOM_F32, .n_wanted = 1, .wanted = &y };
  LoomValue value;

  binding.value['B' - 'A'] = n;
  g_autoptr (LoomNet) net = loom_net_new (graph, &binding, faults);
  while (!g_str_equal (loom_net_node (net, y.node)->path, "y"))
    y.node++;
  g_autoptr (LoomProgram) p = loom_lower (net, &options, &value, &error);
  fail_on (error);
  return operations_of (p);
}

int
main (int argc, char *argv[])
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  char line[4096];

  if (argc != 5)
    {
      fprintf (stderr, "usage: bench-infer GRAPH WEIGHTS.safetensors X.npy THREADS\n");
      return 2;
    }
  LoomPredictorOptions options = { .weights = argv[2], .output = "y", .threads = atoi (argv[4]) };
  g_autoptr (LoomGraph) graph = loom_graph_read_file (argv[1], faults, &error);
  fail_on (error);
  g_autoptr (LoomPredictor) predictor = loom_predictor_new (graph, &options, &error);
  fail_on (error);
  g_autoptr (LoomTensor) x = loom_npy_load (argv[3], &error);
  fail_on (error);
  g_autoptr (LoomTensor) y = loom_predictor_compute (predictor, x, &error);
  fail_on (error);
  printf ("ready\n");
  fflush (stdout);
  while (fgets (line, sizeof line, stdin) != NULL)
    {
      g_strchomp (line);
      if (g_str_has_prefix (line, "run "))
        {
          const gint64 n = g_ascii_strtoll (line + 4, NULL, 10), start = g_get_monotonic_time ();

          for (gint64 i = 0; i < n; i++)
            {
              loom_tensor_unref (y);
              y = loom_predictor_compute (predictor, x, &error);
              fail_on (error);
            }
          printf ("seconds %.6f\n", (double)(g_get_monotonic_time () - start) * 1e-6);
        }
      else if (g_str_has_prefix (line, "limit"))
        {
          g_autoptr (LoomDevices) devices = loom_devices_new (options.threads);

          printf ("products %.6g rate %.6g\n", products_of (graph, x->dim[0]), product_rate (devices, "cpu", LOOM_F32));
        }
      else if (g_str_has_prefix (line, "save "))
        {
          loom_npy_save (line + 5, y, &error);
          fail_on (error);
          printf ("saved\n");
        }
      fflush (stdout);
    }
  return 0;
}
