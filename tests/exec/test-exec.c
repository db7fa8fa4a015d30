/* Plans compared with the eager executor, on programs built by hand: a multilayer perceptron that trains, a
 * convolutional net with batch norm, and random programs of element-wise work. Fusing, reusing memory, working in place
 * and choosing layouts change no number beyond rounding, and nothing at all between two plans of equal kernels. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/run/loom-eager.h"
#include "engine/run/loom-exec.h"
#include "tests/test-program.h"

#define BATCH 8

typedef struct
{
  LoomProgram *program;
  LoomValue loss;
} Net;

static LoomValue
weight (LoomProgram *p, const char *name, int rank, const gint64 *dims, GArray *slots)
{
  LoomInit init = { LOOM_INIT_UNIFORM, -0.4, 0.4, NULL };
  int slot = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, loom_program_get_float (p), rank, dims, &init, TRUE);

  g_array_append_val (slots, slot);
  return loom_program_read (p, slot);
}

static void
finish (LoomProgram *p, LoomValue logits, const char *optimizer, GArray *slots)
{
  gint64 batch = BATCH;
  LoomValue target = loom_program_input (p, "y", LOOM_I64, 1, &batch);
  LoomCrossEntropyAttrs attrs = { -100 };
  LoomValue in[2] = { logits, target }, out[2];
  LoomValue loss;
  g_autofree LoomValue *wrt = g_new0 (LoomValue, slots->len);
  g_autofree LoomValue *grads = g_new0 (LoomValue, slots->len);
  const LoomOptimizer *o = loom_optimizer (optimizer);
  double hyper[16];
  LoomUpdateOptions options = { .optimizer = optimizer, .hyper = hyper, .clip_norm = 1.0 };
  g_autoptr (GError) error = NULL;

  loom_program_set_origin (p, "loss", NULL);
  loom_emit (p, loom_prim ("cross_entropy"), &attrs, 2, in, out);
  loss = loom_mean_all (p, out[0]);
  loom_program_output (p, "loss", loss);
  for (guint i = 0; i < slots->len; i++)
    wrt[i] = loom_program_read (p, g_array_index (slots, int, i));
  loom_differentiate (p, loss, 0, slots->len, wrt, grads, &error);
  g_assert_no_error (error);
  for (guint i = 0; o->hyper[i].name != NULL; i++)
    hyper[i] = strcmp (o->hyper[i].name, "lr") == 0 ? 0.1 : o->hyper[i].value;
  options.loss = loss;
  loom_emit_update (p, &options, slots->len, &g_array_index (slots, int, 0), grads, &error);
  g_assert_no_error (error);
}

/* The device of the second layer, NULL for the graph's: a test of parameters that live elsewhere sets it. */
static const char *far_device;

static LoomProgram *
mlp (LoomDType dtype, const char *optimizer)
{
  LoomProgram *p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  LoomValue x, h;

  loom_program_set_float (p, dtype);
  x = loom_program_input (p, "x", dtype, 2, (gint64[]){ BATCH, 6 });
  loom_program_set_origin (p, "fc1", NULL);
  h = loom_matmul (p, x, weight (p, "fc1.weight", 2, (gint64[]){ 16, 6 }, slots), FALSE, TRUE);
  h = loom_binary (p, LOOM_SCALAR_ADD, h, weight (p, "fc1.bias", 1, (gint64[]){ 16 }, slots));
  loom_program_set_origin (p, "act", NULL);
  h = loom_unary (p, LOOM_SCALAR_RELU, h);
  loom_program_set_origin (p, "gelu", NULL);
  h = loom_unary (p, LOOM_SCALAR_GELU, h);
  loom_program_set_origin (p, "fc2", far_device);
  h = loom_matmul (p, h, weight (p, "fc2.weight", 2, (gint64[]){ 4, 16 }, slots), FALSE, TRUE);
  h = loom_binary (p, LOOM_SCALAR_ADD, h, weight (p, "fc2.bias", 1, (gint64[]){ 4 }, slots));
  finish (p, h, optimizer, slots);
  return p;
}

static LoomProgram *
conv_net (LoomDType dtype, const char *optimizer)
{
  LoomProgram *p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  LoomConv2dTo conv = { .kernel = { .stride = { 1, 1 },
                                    .pad = { 1, 1, 1, 1 },
                                    .dilation = { 1, 1 },
                                    .groups = 1,
                                    .has_bias = true,
                                    .act = LOOM_SCALAR_ID } };
  LoomPool2dTo pool = { .kernel = { .kernel = { 2, 2 }, .stride = { 2, 2 }, .dilation = { 1, 1 } } };
  LoomNormAttrs norm = { .eps = 1e-5, .affine = true };
  LoomValue in[3], out[3], h;

  loom_program_set_float (p, dtype);
  h = loom_program_input (p, "x", dtype, 4, (gint64[]){ BATCH, 2, 8, 8 });
  for (int layer = 0; layer < 2; layer++)
    {
      int channels = layer == 0 ? 4 : 6;
      g_autofree char *name = g_strdup_printf ("conv%d.weight", layer), *bias = g_strdup_printf ("conv%d.bias", layer);
      g_autofree char *g = g_strdup_printf ("bn%d.weight", layer), *b = g_strdup_printf ("bn%d.bias", layer);

      loom_program_set_origin (p, layer == 0 ? "conv0" : "conv1", NULL);
      in[0] = h;
      in[1] = weight (p, name, 4, (gint64[]){ channels, layer == 0 ? 2 : 4, 3, 3 }, slots);
      in[2] = weight (p, bias, 1, (gint64[]){ channels }, slots);
      h = loom_emit (p, loom_prim ("conv2d"), &conv, 3, in, NULL);
      loom_program_set_origin (p, layer == 0 ? "bn0" : "bn1", NULL);
      in[0] = h;
      in[1] = weight (p, g, 1, (gint64[]){ channels }, slots);
      in[2] = weight (p, b, 1, (gint64[]){ channels }, slots);
      h = loom_emit (p, loom_prim ("batch_norm"), &norm, 3, in, out);
      h = loom_unary (p, LOOM_SCALAR_RELU, h);
      in[0] = h;
      pool.size[0] = pool.size[1] = layer == 0 ? 4 : 2;
      h = loom_emit (p, loom_prim ("max_pool2d"), &pool, 1, in, out);
    }
  h = loom_reshape (p, h, 2, (gint64[]){ BATCH, 6 * 2 * 2 });
  loom_program_set_origin (p, "fc", NULL);
  h = loom_matmul (p, h, weight (p, "fc.weight", 2, (gint64[]){ 5, 24 }, slots), FALSE, TRUE);
  finish (p, h, optimizer, slots);
  return p;
}

typedef struct
{
  LoomTensor *x, *y;
} Batch;

static Batch
batch_for (LoomProgram *p, int step)
{
  const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, 0)->value)->desc;
  gint64 dims[8], n = BATCH;
  Batch b;

  for (int r = 0; r < d->rank; r++)
    dims[r] = d->dim[r];
  b.x = loom_tensor_new (d->dtype, d->rank, dims, NULL);
  b.y = loom_tensor_new (LOOM_I64, 1, &n, NULL);
  for (gint64 i = 0; i < b.x->count; i++)
    loom_tensor_set (b.x, i, sin (0.37 * (double)i * (double)(i % 11) + step));
  for (gint64 i = 0; i < n; i++)
    loom_tensor_set (b.y, i, (double)((i + step) % 4));
  return b;
}

static void
batch_clear (Batch *b)
{
  loom_tensor_unref (b->x);
  loom_tensor_unref (b->y);
}

/* Ten steps; the losses, and the state at the end. */
static LoomState *
train_plan (LoomProgram *p, const char *device, gboolean fuse, gboolean reuse, double losses[10])
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  LoomState *state = loom_state_new (devices, device, 7);
  LoomPlanOptions options = { .device = device, .no_fusion = !fuse, .no_reuse = !reuse, .no_layout = !fuse };
  g_autoptr (GError) error = NULL;
  LoomPlan *plan = loom_plan_new (p, devices, &options, &error);
  g_autoptr (LoomExec) exec = NULL;

  g_assert_no_error (error);
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (int step = 0; step < 10; step++)
    {
      Batch b = batch_for (p, step % 2);

      loom_exec_feed (exec, 0, b.x->data);
      loom_exec_feed (exec, 1, b.y->data);
      loom_exec_step (exec, &error);
      g_assert_no_error (error);
      losses[step] = loom_exec_scalar (exec, (guint)loom_exec_find_output (exec, "loss"));
      batch_clear (&b);
    }
  return state;
}

static LoomState *
train_eager (LoomProgram *p, const char *device, double losses[10])
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  LoomState *state = loom_state_new (devices, device, 7);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomEager) eager = loom_eager_new (p, state, devices, device, &error);

  g_assert_no_error (error);
  for (int step = 0; step < 10; step++)
    {
      Batch b = batch_for (p, step % 2);
      g_autoptr (LoomTensor) loss = NULL;

      loom_eager_feed (eager, 0, b.x->data);
      loom_eager_feed (eager, 1, b.y->data);
      loom_eager_run (eager, TRUE, NULL, NULL, &error);
      g_assert_no_error (error);
      loss = loom_eager_output (eager, 0, &error);
      losses[step] = loom_tensor_get (loss, 0);
      batch_clear (&b);
    }
  return state;
}

static void
assert_states_near (LoomState *a, LoomState *b, double tolerance)
{
  g_assert_cmpuint (loom_state_n_slots (a), ==, loom_state_n_slots (b));
  for (guint i = 0; i < loom_state_n_slots (a); i++)
    {
      const char *name;
      g_autoptr (LoomTensor) x = NULL;
      g_autoptr (LoomTensor) y = NULL;

      loom_state_slot (a, i, &name, NULL, NULL);
      x = loom_state_get (a, name, NULL);
      y = loom_state_get (b, name, NULL);
      for (gint64 k = 0; k < x->count; k++)
        {
          double u = loom_tensor_get (x, k), v = loom_tensor_get (y, k);

          if (!(fabs (u - v) <= tolerance * (1 + fabs (u))))
            g_error ("%s[%" G_GINT64_FORMAT "]: %.17g is not %.17g", name, k, u, v);
        }
    }
}

static void
compare (LoomProgram *(*make) (LoomDType, const char *), const char *optimizer)
{
  g_autoptr (LoomProgram) exact = make (LOOM_F64, optimizer);
  g_autoptr (LoomProgram) fast = make (LOOM_F32, optimizer);
  double oracle[10], fused[10], plain[10], cpu[10], cpu_plain[10];
  g_autoptr (LoomState) s0 = train_eager (exact, "ref", oracle);
  g_autoptr (LoomState) s1 = train_plan (exact, "ref", TRUE, TRUE, fused);
  g_autoptr (LoomState) s2 = train_plan (exact, "ref", FALSE, FALSE, plain);
  g_autoptr (LoomState) s3 = train_plan (fast, "cpu", TRUE, TRUE, cpu);
  g_autoptr (LoomState) s4 = train_plan (fast, "cpu", TRUE, FALSE, cpu_plain);

  g_assert_cmpfloat (oracle[9], <, oracle[0]);
  for (int i = 0; i < 10; i++)
    {
      g_assert_cmpfloat_with_epsilon (oracle[i], fused[i], 1e-11);
      g_assert_cmpfloat_with_epsilon (oracle[i], plain[i], 1e-11);
      g_assert_cmpfloat_with_epsilon (oracle[i], cpu[i], 2e-3);
      /* Memory reuse moves bytes, never values. */
      g_assert_cmpfloat (cpu[i], ==, cpu_plain[i]);
    }
  assert_states_near (s0, s1, 1e-8);
  assert_states_near (s0, s2, 1e-8);
  assert_states_near (s3, s4, 0);
}

static void
test_mlp (void)
{
  compare (mlp, "sgd");
  compare (mlp, "adam");
  compare (mlp, "adamw");
}

static void
test_conv (void)
{
  compare (conv_net, "sgd");
  compare (conv_net, "adam");
}

/* A layer on another device is trained there: the numbers are those of one device, for every optimiser. */
static void
test_two_devices (void)
{
  static const char *const optimizers[] = { "sgd", "adam", "adamw" };

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (optimizers); i++)
    {
      g_autoptr (LoomProgram) near = mlp (LOOM_F32, optimizers[i]);
      g_autoptr (LoomProgram) far = NULL;
      double one[10], two[10];
      g_autoptr (LoomState) a = NULL;
      g_autoptr (LoomState) b = NULL;

      far_device = "cpu:1";
      far = mlp (LOOM_F32, optimizers[i]);
      far_device = NULL;
      a = train_plan (near, "cpu", TRUE, TRUE, one);
      b = train_plan (far, "cpu", TRUE, TRUE, two);
      for (int s = 0; s < 10; s++)
        g_assert_cmpfloat_with_epsilon (one[s], two[s], 1e-5);
      assert_states_near (a, b, 1e-4);
    }
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
}

/* A value that no machine holds is refused before any byte is counted. */
static void
test_too_large (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (GError) error = NULL;
  LoomValue x, y;

  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ G_GINT64_CONSTANT (1) << 40, 1 });
  y = loom_program_input (p, "y", LOOM_F32, 2, (gint64[]){ 1, G_GINT64_CONSTANT (1) << 40 });
  loom_program_set_origin (p, "huge", NULL);
  loom_program_output (p, "z", loom_binary (p, LOOM_SCALAR_ADD, x, y));
  g_assert_null (loom_plan_new (p, devices, &options, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
  g_assert_nonnull (strstr (error->message, "huge"));
}

/* No two values that are alive together overlap, and the arena is at most 10 % above the lower bound. */
static void
test_memory (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  g_autoptr (LoomProgram) p = conv_net (LOOM_F32, "adam");
  LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &options, &error);
  LoomPlanMemory memory;

  g_assert_no_error (error);
  loom_plan_memory (plan, 0, &memory);
  g_assert_cmpuint (memory.arena, >=, memory.lower_bound);
  g_assert_cmpfloat ((double)memory.arena, <=, 1.1 * (double)memory.lower_bound);
  for (guint a = 1; a < loom_plan_n_values (plan); a++)
    for (guint b = a + 1; b < loom_plan_n_values (plan); b++)
      {
        const LoomPlanValue *x = loom_plan_value (plan, a), *y = loom_plan_value (plan, b);

        if (x->location.kind != LOOM_LOCATION_ARENA || y->location.kind != LOOM_LOCATION_ARENA || x->last < y->first
            || y->last < x->first || x->location.offset == y->location.offset)
          continue;
        g_assert_true (x->location.offset + loom_desc_bytes (&x->desc) <= y->location.offset
                       || y->location.offset + loom_desc_bytes (&y->desc) <= x->location.offset);
      }
}

/* If requested, gradients that one update reads are adjacent, in the order of the parameters, each at a multiple of 64
 * bytes. */
static void
test_flat_gradients (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  g_autoptr (LoomProgram) p = conv_net (LOOM_F32, "adam");
  LoomPlanOptions options = { .device = "cpu", .flat_gradients = TRUE };
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &options, NULL);
  guint seen = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      gsize next = 0;

      if (strcmp (instr->primitive, "adam_step") != 0)
        continue;
      for (guint k = 0; k < instr->n_in; k++)
        {
          const LoomPlanValue *v = loom_plan_value (plan, instr->value[k]);

          if (v->owner != LOOM_OWNER_GRADIENTS)
            continue;
          if (seen++ > 0)
            g_assert_cmpuint (v->location.offset, ==, next);
          next = v->location.offset + (loom_desc_bytes (&v->desc) + 63) / 64 * 64;
        }
    }
  g_assert_cmpuint (seen, ==, 9);
}

/* A NaN in the batch changes nothing that is remembered. */
static void
test_nan_keeps_state (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  g_autoptr (LoomProgram) p = mlp (LOOM_F32, "adam");
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 7);
  g_autoptr (GError) error = NULL;
  LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (LoomExec) exec = loom_exec_new (loom_plan_new (p, devices, &options, &error), state, &error);
  Batch b = batch_for (p, 0);
  g_autoptr (GPtrArray) before = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  g_assert_no_error (error);
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (before, loom_state_get (state, name, &error));
    }
  loom_tensor_set (b.x, 3, NAN);
  loom_exec_feed (exec, 0, b.x->data);
  loom_exec_feed (exec, 1, b.y->data);
  g_assert_false (loom_exec_run (exec, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  g_clear_error (&error);
  g_assert_cmpfloat (loom_exec_scalar (exec, (guint)loom_exec_find_output (exec, "finite")), ==, 0);
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      g_autoptr (LoomTensor) now = NULL;

      loom_state_slot (state, i, &name, NULL, NULL);
      now = loom_state_get (state, name, &error);
      g_assert_true (loom_tensor_equal_bits (now, g_ptr_array_index (before, i)));
    }
  batch_clear (&b);
}

/* A label that is no class stops the step with a sentence that names the node. */
/* Slots that begin as zeros are among others whose initial values are not affected. */
static void
test_zero_rows (void)
{
  const gint64 dims[2] = { 5, 3 };
  g_autoptr (LoomDevices) devices = loom_devices_new (0);
  g_autoptr (LoomTensor) all = NULL, some = NULL;
  g_autoptr (GError) error = NULL;

  for (int zeros = 0; zeros < 2; zeros++)
    {
      g_autoptr (LoomProgram) p = loom_program_new ();
      g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 7);
      LoomInit init = { .kind = LOOM_INIT_NORMAL, .a = 2, .b = 1, .zero_from = 6, .zero_count = zeros ? 3 : 0 };

      loom_program_read (p, loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F32, 2, dims, &init, TRUE));
      loom_state_add_slots (state, p, &error);
      g_assert_no_error (error);
      *(zeros ? &some : &all) = loom_state_get (state, "w", &error);
      g_assert_no_error (error);
    }
  for (gint64 i = 0; i < all->count; i++)
    {
      g_assert_cmpfloat (loom_tensor_get (all, i), !=, 0);
      g_assert_cmpfloat (loom_tensor_get (some, i), ==, i / 3 == 2 ? 0 : loom_tensor_get (all, i));
    }
}

static void
test_bad_label (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  g_autoptr (LoomProgram) p = mlp (LOOM_F32, "sgd");
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 7);
  g_autoptr (GError) error = NULL;
  LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (LoomExec) exec = loom_exec_new (loom_plan_new (p, devices, &options, &error), state, &error);
  Batch b = batch_for (p, 0);

  g_assert_no_error (error);
  loom_tensor_set (b.y, 2, 9);
  loom_exec_feed (exec, 0, b.x->data);
  loom_exec_feed (exec, 1, b.y->data);
  g_assert_false (loom_exec_step (exec, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "loss"));
  batch_clear (&b);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run/mlp", test_mlp);
  g_test_add_func ("/run/conv", test_conv);
  g_test_add_func ("/run/two-devices", test_two_devices);
  g_test_add_func ("/run/too-large", test_too_large);
  g_test_add_func ("/run/memory", test_memory);
  g_test_add_func ("/run/flat-gradients", test_flat_gradients);
  g_test_add_func ("/run/nan-keeps-state", test_nan_keeps_state);
  g_test_add_func ("/run/zero-rows", test_zero_rows);
  g_test_add_func ("/run/bad-label", test_bad_label);
  return g_test_run ();
}
