/* The eager walker compared with a plan of the same step: the value of every port, steps back and forward, and the
 * state, which changes by a commit alone. GRADLOOM_TEST_DEVICE names the device, which is cpu without it. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-gradient-port.h"
#include "engine/run/loom-eager.h"
#include "engine/run/loom-exec.h"
#include "engine/train/loom-step.h"
#include "tests/exec/test-device.h"
#include "tests/test-program.h"

#define BATCH 6
#define HEAD  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"

/* Dropout, and a node whose device is `%s`. */
static const char *const MLP
    = HEAD "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"12\" in_features=\"5\" out_features=\"4\"/>"
           "<node id=\"hidden\" op=\"linear\" out_features=\"7\"/><node id=\"act\" op=\"tanh\"/>"
           "<node id=\"drop\" op=\"dropout\" p=\"0.3\"/><node id=\"fc\" op=\"linear\" out_features=\"4\"%s/>"
           "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/>"
           "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>"
           "<wire from=\"data.y\" to=\"loss.target\"/>"
           "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"6\" seed=\"3\"/></graph>";

/* Running statistics, and a view. */
static const char *const CONV = HEAD
    "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"12\" in_features=\"36\" out_features=\"3\"/>"
    "<node id=\"image\" op=\"reshape\" shape=\"B,1,6,6\"/>"
    "<node id=\"conv\" op=\"conv2d\" out_channels=\"2\" kernel_size=\"3\"%s/>"
    "<node id=\"norm\" op=\"batch_norm2d\"/><node id=\"act\" op=\"relu\"/>"
    "<node id=\"pool\" op=\"max_pool2d\" kernel_size=\"2\"/><node id=\"flat\" op=\"flatten\"/>"
    "<node id=\"fc\" op=\"linear\" out_features=\"3\"/><node id=\"loss\" op=\"mse_loss\"/>"
    "<wire from=\"data.x\" to=\"image\"/><wire from=\"image\" to=\"conv\"/><wire from=\"conv\" to=\"norm\"/>"
    "<wire from=\"norm\" to=\"act\"/><wire from=\"act\" to=\"pool\"/><wire from=\"pool\" to=\"flat\"/>"
    "<wire from=\"flat\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
    "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"6\" seed=\"3\"/></graph>";

static LoomDevices *devices;
static const char *device;

static LoomStep *
step_new (const char *graph, const char *placed, gboolean training)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *where = placed != NULL ? g_strdup_printf (" device=\"%s\"", placed) : g_strdup ("");
  g_auto (GStrv) parts = g_strsplit (graph, "%s", 2);
  g_autofree char *text = g_strconcat (parts[0], where, parts[1], NULL);
  g_autoptr (LoomGraph) read = loom_graph_read_data (text, strlen (text), "test", faults, &error);
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (LoomTrainSpec) spec = NULL;
  LoomStep *step;

  g_assert_no_error (error);
  net = loom_net_new (read, NULL, faults);
  spec = loom_train_spec_new (read, net, faults);
  g_assert_cmpuint (loom_faults_count (faults), ==, 0);
  step = loom_step_new (spec, BATCH, training, &error);
  g_assert_no_error (error);
  return step;
}

static GPtrArray *
feed_new (const LoomProgram *p)
{
  GPtrArray *feed = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
      gint64 dims[LOOM_MAX_RANK];
      LoomTensor *t;

      for (int r = 0; r < d->rank; r++)
        dims[r] = d->dim[r];
      t = loom_tensor_new (d->dtype, d->rank, dims, NULL);
      for (gint64 k = 0; k < t->count; k++)
        loom_tensor_set (t, k, sin ((double)k * 0.7 + i));
      g_ptr_array_add (feed, t);
    }
  return feed;
}

static void
assert_near (const char *name, LoomTensor *a, LoomTensor *b)
{
  g_assert_cmpint (a->count, ==, b->count);
  for (gint64 k = 0; k < a->count; k++)
    if (!(fabs (loom_tensor_get (a, k) - loom_tensor_get (b, k)) <= 2e-5 * (1 + fabs (loom_tensor_get (a, k)))))
      g_error ("%s[%d] is %g by the plan and %g by the walk", name, (int)k, loom_tensor_get (a, k),
               loom_tensor_get (b, k));
}

static void
walk_to_end (LoomEager *eager, const LoomProgram *p)
{
  g_autoptr (GError) error = NULL;

  while (loom_eager_at (eager) < loom_program_n_instrs (p))
    {
      loom_eager_step (eager, &error);
      g_assert_no_error (error);
    }
}

static GPtrArray *
ports_of (LoomEager *eager, const LoomProgram *p)
{
  GPtrArray *values = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_program_n_ports (p); i++)
    {
      g_autoptr (GError) error = NULL;
      LoomTensor *t = loom_eager_port (eager, loom_program_get_port (p, i)->name, &error);

      g_assert_no_error (error);
      g_ptr_array_add (values, t);
    }
  return values;
}

static GPtrArray *
slots_of (LoomState *state)
{
  GPtrArray *slots = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (slots, loom_state_get (state, name, NULL));
    }
  return slots;
}

/* Results of a plan for the same step: the ports, and then the slots. */
static GPtrArray *
planned (const LoomStep *step, GPtrArray *feed, guint n_ports)
{
  g_autoptr (LoomState) state = loom_state_new (devices, device, 3);
  g_autoptr (GError) error = NULL;
  LoomPlan *plan = loom_plan_new (step->program, devices, &(LoomPlanOptions){ .device = device }, &error);
  g_autoptr (LoomExec) exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
  GPtrArray *values = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GPtrArray) slots = NULL;

  g_assert_no_error (error);
  for (guint i = 0; i < feed->len; i++)
    loom_exec_feed (exec, i, ((LoomTensor *)feed->pdata[i])->data);
  g_assert_true (loom_exec_run (exec, &error));
  for (guint i = 0; i < n_ports; i++)
    g_ptr_array_add (values, loom_exec_output (exec, loom_program_n_outputs (step->program) - n_ports + i, &error));
  g_assert_no_error (error);
  slots = slots_of (state);
  for (guint i = 0; i < slots->len; i++)
    g_ptr_array_add (values, loom_tensor_ref (slots->pdata[i]));
  return values;
}

static void
assert_same (GPtrArray *a, GPtrArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    g_assert_true (loom_tensor_equal_bits (a->pdata[i], b->pdata[i]));
}

/* Back to before instruction `at`: later values are unknown, and values that are computed again have the same bits. */
static void
go_back (LoomEager *eager, const LoomProgram *p, guint at, GPtrArray *before)
{
  g_autoptr (GPtrArray) after = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) lost = NULL;

  loom_eager_back_to (eager, at);
  g_assert_cmpuint (loom_eager_at (eager), ==, at);
  lost = loom_eager_port (eager, "loss", &error);
  g_assert_null (lost);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  walk_to_end (eager, p);
  after = ports_of (eager, p);
  assert_same (before, after);
}

static guint allocated;
static LoomStatus (*real_alloc) (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message);

static LoomStatus
counting_alloc (LoomDevice *of, size_t bytes, void **memory, LoomMessage *message)
{
  allocated++;
  return real_alloc (of, bytes, memory, message);
}

static void
check (const char *graph, const char *placed)
{
  g_autoptr (LoomStep) step = step_new (graph, placed, TRUE);
  LoomProgram *p = step->program;
  g_autoptr (GPtrArray) feed = feed_new (p), wanted = NULL, values = NULL, before = NULL, between = NULL, after = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, device, 3);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEager) eager = NULL;
  guint n = loom_program_n_ports (p);

  g_assert_cmpuint (n, >, 5);
  g_assert_cmpuint (loom_program_find_port (p, "data.x"), !=, 0);
  for (guint i = 0; i < n; i++)
    loom_program_output (p, loom_program_get_port (p, i)->name, loom_program_get_port (p, i)->value);
  wanted = planned (step, feed, n);
  eager = loom_eager_new (p, state, devices, device, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < feed->len; i++)
    loom_eager_feed (eager, i, ((LoomTensor *)feed->pdata[i])->data);
  before = slots_of (state);
  g_assert_true (loom_eager_begin (eager, &error));
  walk_to_end (eager, p);
  values = ports_of (eager, p);
  for (guint i = 0; i < n; i++)
    assert_near (loom_program_get_port (p, i)->name, wanted->pdata[i], values->pdata[i]);
  go_back (eager, p, loom_value_info (p, loom_program_find_port (p, "loss"))->producer, values);
  go_back (eager, p, 0, values);
  between = slots_of (state);
  assert_same (before, between);
  g_assert_true (loom_eager_commit (eager, &error));
  after = slots_of (state);
  for (guint i = 0; i < after->len; i++)
    assert_near ("a slot", wanted->pdata[n + i], after->pdata[i]);
}

static void
test_ports (void)
{
  check (MLP, NULL);
  check (CONV, NULL);
}

/* A node on another device is computed there, and its value is copied back. */
static void
test_placed (void)
{
  check (MLP, g_str_equal (device, "ref") ? "cpu" : "ref");
  check (CONV, g_str_equal (device, "ref") ? "cpu" : "ref");
}

/* The values of the executor are stored on its device, unless that has host memory. */
static void
test_where (void)
{
  g_autoptr (LoomStep) step = step_new (MLP, NULL, TRUE);
  g_autoptr (GPtrArray) feed = feed_new (step->program);
  g_autoptr (LoomState) state = loom_state_new (devices, device, 3);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEager) eager = loom_eager_new (step->program, state, devices, device, &error), none = NULL;
  LoomPlanDevice *d = loom_devices_get (devices, device, NULL);
  const LoomBackend *real = d->backend;
  LoomBackend counting = *real;

  g_assert_no_error (error);
  for (guint i = 0; i < feed->len; i++)
    loom_eager_feed (eager, i, ((LoomTensor *)feed->pdata[i])->data);
  real_alloc = real->alloc;
  counting.alloc = counting_alloc;
  d->backend = &counting;
  allocated = 0;
  g_assert_true (loom_eager_run (eager, FALSE, NULL, NULL, &error));
  if (!d->info.host_memory)
    g_assert_cmpuint (allocated, >=, loom_program_n_instrs (step->program));
  g_clear_pointer (&eager, loom_eager_free);
  d->backend = real;
  none = loom_eager_new (step->program, state, devices, "cuda:7", &error);
  g_assert_null (none);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE);
}

/* Every pass from program to program keeps the table. */
static void
test_passes (void)
{
  g_autoptr (LoomStep) step = step_new (CONV, NULL, TRUE), forward = step_new (CONV, NULL, FALSE);
  g_autoptr (GHashTable) scopes = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomProgram) expanded = loom_program_expand (step->program, &error);
  g_autoptr (LoomProgram) again = NULL, mixed = NULL;
  LoomValue loss = loom_program_find_port (forward->program, "loss");

  g_assert_no_error (error);
  g_hash_table_add (scopes, (gpointer) "act");
  again = loom_program_recompute (step->program, scopes);
  mixed = loom_program_autocast (forward->program, LOOM_BF16, NULL, 1, &loss);
  for (guint i = 0; i < loom_program_n_ports (step->program); i++)
    {
      const char *name = loom_program_get_port (step->program, i)->name;
      const LoomProgram *const all[] = { expanded, again, mixed };

      for (guint k = 0; k < G_N_ELEMENTS (all); k++)
        {
          LoomValue v = loom_program_find_port (all[k], name);

          if (all[k] == mixed && g_str_has_prefix (name, LOOM_PORT_GRADIENT))
            continue; /* it has no backward pass */
          g_assert_cmpuint (v, !=, 0);
          g_assert_cmpint (
              loom_desc_count (&loom_value_info (all[k], v)->desc), ==,
              loom_desc_count (&loom_value_info (step->program, loom_program_find_port (step->program, name))->desc));
        }
    }
  g_assert_cmpuint (loom_program_find_port (mixed, "loss"), ==, loss);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  devices = loom_devices_new (2);
  device = test_device ("cpu");
  if (!test_device_is_there (devices, device))
    return 77;
  g_test_add_func ("/walk/ports", test_ports);
  g_test_add_func ("/walk/placed", test_placed);
  g_test_add_func ("/walk/device", test_where);
  g_test_add_func ("/walk/passes", test_passes);
  status = g_test_run ();
  loom_devices_unref (devices);
  return status;
}
