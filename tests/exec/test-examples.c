/* Every example in graphs/, as its training step and its evaluation: a plan has the numbers of the eager executor, bit
 * for bit if the kernels are the same, and again over memory that is poisoned when it is free; it needs as many bytes
 * as forecast, and little more than are live at once. Large examples (tests/examples.h) are planned at full size, and
 * have the eager executor's numbers for one reduced step. */
#include <math.h>
#include <string.h>

#include "engine/train/loom-step.h"
#include "tests/example-data.h"
#include "tests/examples.h"
#include "tests/plan/poison.h"
#include "tests/test-program.h"

#define STEPS 2
#define BATCH 4

typedef struct
{
  const char *name;
  LoomProgram *p;
  LoomDevices *devices;
  GPtrArray *feed; /* LoomTensor, by input */
  int steps;
} Example;

/* ---- programs --------------------------------------------------------- */

/* Ports that nothing reads, of a graph without <train>. */
static LoomProgram *
lower_all (const LoomNet *net, LoomDType dtype)
{
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  g_autofree LoomValue *value = NULL;
  LoomLowerOptions options = { .float_dtype = dtype };
  g_autoptr (GError) error = NULL;
  LoomProgram *p;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint o = 0; loom_net_node (net, i)->loop == G_MAXUINT && o < loom_net_node (net, i)->n_outputs; o++)
      {
        LoomNetSource s = { i, o };

        g_array_append_val (wanted, s);
      }
  options.n_wanted = wanted->len;
  options.wanted = (const LoomNetSource *)wanted->data;
  value = g_new0 (LoomValue, wanted->len + 1);
  p = loom_lower (net, &options, value, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < wanted->len; i++)
    {
      g_autofree char *name = g_strdup_printf ("out%u", i);

      loom_program_output (p, name, value[i]);
    }
  return p;
}

static LoomProgram *
program_of (const LoomGraph *graph, gint64 batch, gboolean training, LoomDType dtype)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = NULL;
  g_autoptr (LoomStep) step = NULL;

  spec = loom_train_spec_new (graph, net, faults);
  if (spec == NULL)
    return training ? NULL : lower_all (net, dtype);
  spec->precision = dtype;
  step = loom_step_new (spec, batch, training, &error);
  g_assert_no_error (error);
  return loom_program_ref (step->program);
}

/* An index of a body or a parent must be valid. */
static gint64
choice (const char *example, const char *input, const LoomTensor *t, gint64 k)
{
  gint64 last = t->rank > 0 ? t->dim[t->rank - 1] - 1 : 0;

  if (g_str_has_suffix (example, "modular-network.xml") && strcmp (input, "data.x") == 0)
    return 10 + k % 4; /* symbols of operators */
  if (g_str_has_suffix (example, "tree-recursion.xml") && strcmp (input, "data.parent") == 0)
    return k % (last + 1) == last ? -1 : MIN (last, k % (last + 1) + 1 + k % 2);
  if (g_str_has_suffix (example, "tree-recursion.xml") && strcmp (input, "data.length") == 0)
    return k + 1;
  return k * 5 % 7 % 2;
}

/* Numbers that are exact in f32; 0 and 1 if classes are needed, which every example has. */
static GPtrArray *
feed_for (const char *example, const LoomProgram *p)
{
  GPtrArray *feed = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
      LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);

      for (gint64 k = 0; k < t->count; k++)
        loom_tensor_set (t, k,
                         loom_dtype_is_float (d->dtype)
                             ? (double)(k * 37 % 101 - 50) / 64
                             : (double)choice (example, loom_program_get_input (p, i)->name, t, k));
      g_ptr_array_add (feed, t);
    }
  return feed;
}

/* ---- running ---------------------------------------------------------- */

static GPtrArray *
run_eager (const Example *e, const char *device)
{
  g_autoptr (LoomState) state = loom_state_new (e->devices, device, 3);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEager) eager = loom_eager_new (e->p, state, e->devices, device, &error);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  g_assert_no_error (error);
  for (guint i = 0; i < e->feed->len; i++)
    loom_eager_feed (eager, i, ((LoomTensor *)g_ptr_array_index (e->feed, i))->data);
  for (int s = 0; s < e->steps; s++)
    loom_eager_run (eager, TRUE, NULL, NULL, &error);
  g_assert_no_error (error);
  for (guint o = 0; o < loom_program_n_outputs (e->p); o++)
    g_ptr_array_add (results, loom_eager_output (eager, o, NULL));
  poison_append_state (state, results);
  return results;
}

static gsize allocated;
static LoomStatus (*real_alloc) (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message);

static LoomStatus
counting_alloc (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message)
{
  allocated += bytes;
  return real_alloc (device, bytes, memory, message);
}

/* Predicted bytes are those that are allocated on the devices. */
static LoomExec *
exec_counted (const Example *e, LoomPlan *plan, LoomState *state)
{
  const guint n_devices = loom_plan_n_devices (plan);
  const LoomBackend *backend = loom_plan_device (plan, 0)->backend;
  LoomBackend counting = *backend;
  g_autoptr (GError) error = NULL;
  LoomExec *exec;
  gsize state_bytes[LOOM_N_OWNERS], sum = 0, arenas = 0;

  real_alloc = backend->alloc;
  counting.alloc = counting_alloc;
  for (guint d = 0; d < n_devices; d++)
    {
      g_assert_true (loom_plan_device (plan, d)->backend == backend);
      loom_plan_device (plan, d)->backend = &counting;
    }
  allocated = 0;
  loom_state_add_slots (state, e->p, &error);
  g_assert_no_error (error);
  loom_state_memory (state, NULL, state_bytes);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    sum += state_bytes[o];
  g_assert_cmpuint (allocated, >=, sum);
  g_assert_cmpuint (allocated, <=, sum + 64 * loom_state_n_slots (state) + 4096);
  allocated = 0;
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (guint d = 0; d < n_devices; d++)
    {
      LoomPlanMemory memory;

      loom_plan_device (plan, d)->backend = backend;
      loom_plan_memory (plan, d, &memory);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        allocated -= memory.once[o];
      arenas += memory.arena;
      g_assert_cmpuint (memory.arena, >=, memory.lower_bound);
      if ((double)memory.arena > 1.1 * (double)memory.lower_bound + 512)
        g_error ("%s: the arena has %" G_GSIZE_FORMAT " bytes where %" G_GSIZE_FORMAT " are alive at once", e->name,
                 memory.arena, memory.lower_bound);
    }
  g_assert_cmpuint (allocated, ==, arenas);
  return exec;
}

static GPtrArray *
run_plan (const Example *e, const LoomPlanOptions *options, gboolean poisoned)
{
  g_autoptr (LoomState) state = loom_state_new (e->devices, options->device, 3);
  g_autoptr (GError) error = NULL;
  LoomPlan *plan = loom_plan_new (e->p, e->devices, options, &error);
  g_autofree const void **data = g_new0 (const void *, e->feed->len + 1);
  g_autoptr (LoomExec) exec = NULL;
  GPtrArray *results;

  g_assert_no_error (error);
  for (guint i = 0; i < e->feed->len; i++)
    data[i] = ((LoomTensor *)g_ptr_array_index (e->feed, i))->data;
  if (poisoned)
    {
      results = poison_run (plan, state, data, e->steps, &error);
      g_assert_no_error (error);
      loom_plan_free (plan);
      poison_append_state (state, results);
      return results;
    }
  exec = options->no_reuse ? loom_exec_new (plan, state, &error) : exec_counted (e, plan, state);
  g_assert_no_error (error);
  results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < e->feed->len; i++)
    loom_exec_feed (exec, i, data[i]);
  for (int s = 0; s < e->steps; s++)
    loom_exec_step (exec, &error);
  g_assert_no_error (error);
  for (guint o = 0; o < loom_program_n_outputs (e->p); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, NULL));
  poison_append_state (state, results);
  return results;
}

/* ---- comparing -------------------------------------------------------- */

static const char *
name_of (const LoomProgram *p, guint i)
{
  guint n = loom_program_n_outputs (p);

  return i < n ? loom_program_get_output (p, i)->name : loom_program_get_slot (p, i - n)->name;
}

static void
assert_equal (const Example *e, const char *what, GPtrArray *a, GPtrArray *b)
{
  for (guint i = 0; i < a->len; i++)
    if (!loom_tensor_equal_bits (g_ptr_array_index (a, i), g_ptr_array_index (b, i)))
      g_error ("%s, %s: %s differs", e->name, what, name_of (e->p, i));
}

/* As a share of the vector's length, so that one ReLU on the edge does not weigh much. */
static void
assert_near (const Example *e, const char *what, GPtrArray *a, GPtrArray *b, double tolerance)
{
  for (guint i = 0; i < a->len; i++)
    {
      LoomTensor *x = g_ptr_array_index (a, i), *y = g_ptr_array_index (b, i);
      double far = 0, size = 0;

      for (gint64 k = 0; k < x->count; k++)
        {
          double u = loom_tensor_get (x, k), v = loom_tensor_get (y, k);

          far += (u - v) * (u - v);
          size += u * u;
        }
      if (!(sqrt (far) <= tolerance * (sqrt (size) + 0.1)))
        g_error ("%s, %s, %s: %g of %g away", e->name, what, name_of (e->p, i), sqrt (far), sqrt (size));
    }
}

static void
check_program (const char *name, LoomProgram *p, LoomDevices *devices, gboolean exact)
{
  const char *device = exact ? "ref" : "cpu";
  g_autoptr (GPtrArray) feed = feed_for (name, p);
  Example e = { name, p, devices, feed, STEPS };
  LoomPlanOptions fused = { .device = device }, plain = { .device = device, .no_fusion = TRUE, .no_layout = TRUE };
  LoomPlanOptions apart = { .device = device, .no_reuse = TRUE };
  g_autoptr (GPtrArray) walk = run_eager (&e, device);
  g_autoptr (GPtrArray) one_by_one = run_plan (&e, &plain, FALSE);
  g_autoptr (GPtrArray) plan = run_plan (&e, &fused, FALSE);
  /* Plain loops of one thread have nothing that could differ a second time. */
  g_autoptr (GPtrArray) again = exact ? NULL : run_plan (&e, &fused, FALSE);
  g_autoptr (GPtrArray) no_reuse = run_plan (&e, &apart, FALSE);
  g_autoptr (GPtrArray) poisoned = run_plan (&e, &fused, TRUE);

  if (exact)
    assert_equal (&e, "a kernel for each primitive", walk, one_by_one);
  assert_near (&e, "a kernel for each primitive", walk, one_by_one, exact ? 0 : 1e-3);
  assert_near (&e, "fused", walk, plan, exact ? 1e-9 : 1e-3);
  if (again != NULL)
    assert_equal (&e, "run twice", plan, again);
  assert_equal (&e, "every value with bytes of its own", plan, no_reuse);
  assert_equal (&e, "poisoned memory", plan, poisoned);
}

/* A plan of the whole graph, and the numbers of a reduced step of training. */
static void
check_large (const char *name, LoomGraph *graph, LoomDevices *devices)
{
  const LoomPlanOptions options = { .device = "cpu" };

  for (int training = 0; training < 2; training++)
    {
      g_autoptr (LoomProgram) p = program_of (graph, EXAMPLE_REDUCED_BATCH, training, LOOM_F32);
      g_autoptr (GError) error = NULL;
      LoomPlan *plan = p != NULL ? loom_plan_new (p, devices, &options, &error) : NULL;

      g_assert_no_error (error);
      if (plan != NULL)
        loom_plan_free (plan);
    }
  example_reduce (graph);
  g_autoptr (LoomProgram) p = program_of (graph, EXAMPLE_REDUCED_BATCH, TRUE, LOOM_F32);
  if (p == NULL)
    return;
  g_autoptr (GPtrArray) feed = feed_for (name, p);
  const Example e = { name, p, devices, feed, 1 };
  g_autoptr (GPtrArray) walk = run_eager (&e, "cpu");
  g_autoptr (GPtrArray) plan = run_plan (&e, &options, FALSE);

  /* Fifty batch norms over eight values each, as ResNet-50 has them here, make much of how a sum was rounded: the
   * gradient of its first convolution differs by three hundredths. */
  assert_near (&e, "fused", walk, plan, 1e-1);
}

static void
test_example (gconstpointer data)
{
  const char *path = data;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);

  g_assert_no_error (error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  if (example_is_large (net))
    {
      check_large (path, graph, devices);
      return;
    }
  for (int mode = 0; mode < 4; mode++)
    {
      gboolean training = mode & 1, exact = mode & 2;
      g_autoptr (LoomProgram) p = program_of (graph, BATCH, training, exact ? LOOM_F64 : LOOM_F32);

      if (p != NULL)
        check_program (path, p, devices, exact);
    }
}

TEST_FILE (argc, argv)
{
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");
  g_autofree char *folder = g_build_filename (root != NULL ? root : ".", "graphs", NULL);

  g_test_init (&argc, &argv, NULL);
  /* For graphs whose nodes are on two devices. */
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  example_add_folder ("/run/examples", folder, test_example);
  return g_test_run ();
}
