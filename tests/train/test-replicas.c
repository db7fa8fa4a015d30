/* Replicas in one program have the numbers of the whole batch on one device: losses and weights of some steps of
 * example graphs, in f64, on two and on three virtual devices, with parts that differ in size. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-partition.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-step.h"
#include "tests/test-program.h"

#define SAMPLES 7
#define STEPS   5

/* Outputs of all steps, then all slots. (transfer full) */
static GArray *
run (LoomProgram *p)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomState) state = loom_state_new (devices, "ref", 3);
  LoomPlanOptions options = { .device = "ref" };
  LoomPlan *plan = loom_plan_new (p, devices, &options, &error);
  GArray *numbers = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GPtrArray) feed = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (LoomExec) exec = NULL;

  g_assert_no_error (error);
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
      LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);

      for (gint64 k = 0; k < t->count; k++)
        loom_tensor_set (t, k,
                         loom_dtype_is_float (d->dtype) ? (double)(k * 37 % 101 - 50) / 64 : (double)(k * 5 % 7 % 2));
      g_ptr_array_add (feed, t);
      loom_exec_feed (exec, i, t->data);
    }
  for (int s = 0; s < STEPS; s++)
    {
      loom_exec_run (exec, &error);
      g_assert_no_error (error);
      for (guint o = 0; o < loom_program_n_outputs (p); o++)
        {
          g_autoptr (LoomTensor) t = loom_exec_output (exec, o, &error);

          for (gint64 k = 0; k < t->count; k++)
            {
              double x = loom_tensor_get (t, k);

              g_array_append_val (numbers, x);
            }
        }
    }
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_autoptr (LoomTensor) t = loom_state_get (state, name, &error);
      for (gint64 k = 0; k < t->count; k++)
        {
          double x = loom_tensor_get (t, k);

          g_array_append_val (numbers, x);
        }
    }
  return numbers;
}

static void
test_graph (gconstpointer data)
{
  static const char *const devices[] = { "ref", "ref:1", "ref:2", NULL };
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", data, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (LoomTrainSpec) spec = NULL;
  g_autoptr (LoomStep) step = NULL;
  g_autoptr (GArray) one = NULL;

  g_assert_no_error (error);
  net = loom_net_new (graph, NULL, faults);
  spec = loom_train_spec_new (graph, net, faults);
  g_assert_nonnull (spec);
  spec->precision = LOOM_F64;
  step = loom_step_new (spec, SAMPLES, TRUE, &error);
  g_assert_no_error (error);
  one = run (step->program);
  for (guint n = 2; n <= 3; n++)
    {
      const char *names[] = { devices[0], devices[1], n > 2 ? devices[2] : NULL, NULL };
      g_autoptr (LoomProgram) p = loom_program_replicate (step->program, SAMPLES, names);
      g_autoptr (GArray) several = NULL;

      g_assert_nonnull (p);
      several = run (p);
      g_assert_cmpuint (several->len, ==, one->len);
      for (guint i = 0; i < one->len; i++)
        {
          double a = g_array_index (one, double, i), b = g_array_index (several, double, i);

          if (!(fabs (a - b) <= 1e-10 * MAX (1, fabs (a))))
            g_error ("%s on %u: number %u is %.17g, and %.17g on one", (const char *)data, n, i, b, a);
        }
    }
}

TEST_FILE (argc, argv)
{
  g_setenv ("GRADLOOM_CPU_DEVICES", "3", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/replicas/spirals", "lessons/spirals.xml", test_graph);
  g_test_add_data_func ("/replicas/optimisers", "lessons/optimisers.xml", test_graph);
  g_test_add_data_func ("/replicas/attention", "lessons/self-attention.xml", test_graph);
  return g_test_run ();
}
