/* Random programs whose batches are uploaded while the previous step is computed have the bits of those whose batches
 * wait; the memory of inputs changes as soon as that is allowed. If the device's streams run at random
 * (GRADLOOM_EMULATOR_STREAMS), memory that is written before its last reader, or read before its writer, changes these
 * bits, because only events order lanes. GRADLOOM_GRAPH_SEEDS="40" sets the number of programs. */
#include <string.h>

#include "tests/exec/graph-case.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define STEPS         5
#define DEFAULT_SEEDS 12

static LoomDevices *devices;
static const char *device;

/* The inputs of a step: the program's own; floats are halved in every second step. */
static void
fill (const Case *c, const LoomProgram *p, guint step, GPtrArray *batch)
{
  for (guint i = 0; i < batch->len; i++)
    {
      LoomTensor *t = batch->pdata[i];

      random_graph_fill (c->source, loom_program_get_input (p, i)->name, t);
      for (gint64 k = 0; step % 2 == 1 && loom_dtype_is_float (t->dtype) && k < t->count; k++)
        loom_tensor_set (t, k, loom_tensor_get (t, k) / 2);
    }
}

static void
feed (LoomExec *exec, GPtrArray *batch)
{
  for (guint i = 0; i < batch->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)batch->pdata[i])->data);
}

static void
collect (LoomExec *exec, const LoomProgram *p, GPtrArray *results, GError **error)
{
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    {
      LoomTensor *t = *error == NULL ? loom_exec_output (exec, o, error) : NULL;

      if (t != NULL)
        g_ptr_array_add (results, t);
    }
}

/* Every output of every step; NULL with a message if it does not run. */
static GPtrArray *
run (Case *c, LoomProgram *p, gboolean ahead)
{
  const LoomPlanOptions options = { .device = device };
  g_autoptr (LoomState) state = loom_state_new (devices, device, c->seed);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (GPtrArray) batch = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GPtrArray) results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomPlan *plan = loom_plan_new (p, devices, &options, &error);
  gboolean is_fed = FALSE;

  exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;

      g_ptr_array_add (batch, loom_tensor_new (d->dtype, d->rank, d->dim, NULL));
    }
  for (guint step = 0; step < STEPS && error == NULL; step++)
    {
      if (!is_fed)
        {
          fill (c, p, step, batch);
          feed (exec, batch);
        }
      if (!loom_exec_step (exec, &error))
        break;
      is_fed = ahead && loom_exec_can_upload (exec);
      if (is_fed)
        {
          fill (c, p, step + 1, batch);
          feed (exec, batch);
          if (!loom_exec_upload (exec, &error))
            break;
          for (guint i = 0; i < batch->len; i++)
            memset (((LoomTensor *)batch->pdata[i])->data, 0xff, ((LoomTensor *)batch->pdata[i])->bytes);
        }
      if (loom_exec_sync (exec, &error))
        collect (exec, p, results, &error);
    }
  if (error == NULL)
    return g_steal_pointer (&results);
  case_complain (c, "%s: %s", ahead ? "ahead" : "in turns", error->message);
  return NULL;
}

static gboolean
run_seed (guint32 seed, guint *n)
{
  g_autoptr (RandomGraph) source = random_graph_new (seed, 10 + seed % 7);
  g_autofree char *text = random_graph_text (source);
  Case c = {
    .seed = seed, .source = source, .training = TRUE, .update = TRUE, .devices = devices, .wrong = g_string_new (NULL)
  };
  g_autoptr (LoomProgram) p = NULL;

  case_read (&c, text);
  if (case_bind_sizes (&c) && c.wrong->len == 0)
    p = case_program (&c, LOOM_F32, FALSE);
  if (p != NULL)
    {
      g_autoptr (GPtrArray) apart = run (&c, p, FALSE);
      g_autoptr (GPtrArray) ahead = run (&c, p, TRUE);

      for (guint i = 0; apart != NULL && ahead != NULL && i < apart->len; i++)
        if (i >= ahead->len || !loom_tensor_equal_bits (apart->pdata[i], ahead->pdata[i]))
          case_complain (&c, "step %u: %s has other bits where batches go up ahead", i / loom_program_n_outputs (p),
                         loom_program_get_output (p, i % loom_program_n_outputs (p))->name);
      *n += apart != NULL;
    }
  return case_end (&c, "lanes", seed, FALSE);
}

static void
test_lanes (void)
{
  const char *asked = g_getenv ("GRADLOOM_GRAPH_SEEDS");
  guint seeds = asked != NULL ? (guint)g_ascii_strtoull (asked, NULL, 10) : DEFAULT_SEEDS, wrong = 0, n = 0;

  for (guint seed = 0; seed < seeds; seed++)
    wrong += !run_seed (seed, &n);
  g_test_message ("%u programs ran", n);
  g_assert_cmpuint (wrong, ==, 0);
  g_assert_cmpuint (n, >, 0);
}

TEST_FILE (argc, argv)
{
  int status = 77;

  g_test_init (&argc, &argv, NULL);
  device = test_device ("cpu");
  devices = loom_devices_new (1);
  g_test_add_func ("/run/lanes", test_lanes);
  if (test_device_is_there (devices, device))
    status = g_test_run ();
  loom_devices_unref (devices);
  return status;
}
