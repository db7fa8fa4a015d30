/* Tests planning of nets: random blocks of convolutions, normalisations, ReLUs, poolings and sums whose values are
 * large enough to be rematerialised, with every way of reading a value that a pass might miss; and nets so deep that a
 * quadratic pass would be noticed.
 *
 * GRADLOOM_NET_SEEDS sets the number of seeds. */
#include <math.h>
#include <string.h>

#include "engine/plan/loom-node-memory.h"
#include "engine/program/loom-optimizer.h"
#include "tests/plan/check-passes.h"
#include "tests/plan/poison.h"
#include "tests/test-program.h"

#define CHANNELS 8
#define SIDE     92 /* 4·8·92·92 floats are more than 1 MiB */

typedef struct
{
  LoomProgram *p;
  GRand *rand;
  GArray *slots;  /* int: trained parameters */
  GArray *values; /* LoomValue: images of full size */
  GArray *terms;  /* LoomValue: scalars that the loss adds */
  guint n_names;
  const char *device; /* of the second half */
} Net;

static char *
fresh (Net *net, const char *what)
{
  return g_strdup_printf ("%s%u", what, net->n_names++);
}

static LoomValue
weight (Net *net, const char *what, int rank, const gint64 *dims, double low, double high)
{
  g_autofree char *name = fresh (net, what);
  LoomInit init = { LOOM_INIT_UNIFORM, low, high, NULL };
  gboolean trained = g_rand_double (net->rand) < 0.85;
  int slot = loom_program_slot (net->p, name, LOOM_SLOT_PARAMETER, loom_program_get_float (net->p), rank, dims, &init,
                                trained);

  if (trained)
    g_array_append_val (net->slots, slot);
  return loom_program_read (net->p, slot);
}

static LoomValue
conv (Net *net, LoomValue x)
{
  int k = g_rand_boolean (net->rand) ? 3 : 1;
  LoomConv2dTo to = { .kernel = { .stride = { 1, 1 },
                                  .pad = { k / 2, k / 2, k / 2, k / 2 },
                                  .dilation = { 1, 1 },
                                  .groups = 1,
                                  .act = LOOM_SCALAR_ID } };
  LoomValue in[3] = { x, weight (net, "w", 4, (gint64[]){ CHANNELS, CHANNELS, k, k }, -0.3, 0.3) };

  return loom_emit (net->p, loom_prim ("conv2d"), &to, 3, in, NULL);
}

static LoomValue
norm (Net *net, LoomValue x)
{
  LoomNormAttrs attrs = { .eps = 1e-5, .affine = g_rand_double (net->rand) < 0.8 };
  gint64 dims = CHANNELS;
  LoomValue in[3] = { x }, out[3];

  if (attrs.affine)
    {
      in[1] = weight (net, "gamma", 1, &dims, 0.5, 1.5);
      in[2] = weight (net, "beta", 1, &dims, -0.3, 0.3);
    }
  loom_emit (net->p, loom_prim ("batch_norm"), &attrs, 3, in, out);
  if (g_rand_boolean (net->rand))
    { /* running statistics */
      LoomInit init = { .kind = LOOM_INIT_ZEROS };
      g_autofree char *name = fresh (net, "running");
      int slot = loom_program_slot (net->p, name, LOOM_SLOT_BUFFER, loom_value_info (net->p, out[1])->desc.dtype, 1,
                                    &dims, &init, FALSE);
      LoomValue old = loom_program_read (net->p, slot), by;

      by = loom_binary (net->p, LOOM_SCALAR_MUL, loom_binary (net->p, LOOM_SCALAR_SUB, out[1], old),
                        loom_const (net->p, loom_value_info (net->p, old)->desc.dtype, 0.1));
      loom_program_commit (net->p, slot, loom_binary (net->p, LOOM_SCALAR_ADD, old, by));
    }
  return out[0];
}

static LoomValue
max_pool (Net *net, LoomValue x)
{
  LoomPool2dTo pool = { .kernel = { .kernel = { 3, 3 }, .stride = { 1, 1 }, .pad = { 1, 1 }, .dilation = { 1, 1 } },
                        .size = { SIDE, SIDE } };
  LoomValue in[1] = { x }, out[2];
  LoomValue y = loom_emit (net->p, loom_prim ("max_pool2d"), &pool, 1, in, out);

  if (g_rand_double (net->rand) < 0.25)
    { /* the positions are read, too */
      g_autofree char *name = fresh (net, "where");

      loom_program_output (net->p, name, out[1]);
    }
  return y;
}

static LoomValue
any (Net *net)
{
  guint n = net->values->len;

  return g_array_index (net->values, LoomValue,
                        MAX (g_rand_int_range (net->rand, 0, (gint32)n), g_rand_int_range (net->rand, 0, (gint32)n)));
}

/* Adds an image, and now and then another reader of it: an output, a state's next value, a reshape, a term of the
 * loss. */
static void
grow (Net *net)
{
  static const LoomScalarOp smooth[] = { LOOM_SCALAR_GELU, LOOM_SCALAR_SIGMOID, LOOM_SCALAR_TANH, LOOM_SCALAR_RELU };
  LoomValue x = any (net), y = 0;
  gint64 flat[3] = { 4, CHANNELS, SIDE * SIDE };
  double other;

  switch (g_rand_int_range (net->rand, 0, 6))
    {
    case 0:
    case 1:
      y = loom_unary (net->p, LOOM_SCALAR_RELU, norm (net, conv (net, x)));
      break;
    case 2:
      y = loom_binary (net->p, LOOM_SCALAR_ADD, norm (net, conv (net, x)), any (net));
      if (g_rand_boolean (net->rand))
        y = loom_unary (net->p, LOOM_SCALAR_RELU, y);
      break;
    case 3:
      y = max_pool (net,
                    loom_unary (net->p, LOOM_SCALAR_RELU, g_rand_boolean (net->rand) ? conv (net, x) : norm (net, x)));
      break;
    case 4:
      y = loom_unary (net->p, smooth[g_rand_int_range (net->rand, 0, G_N_ELEMENTS (smooth))], x);
      break;
    case 5:
      y = loom_binary (net->p, g_rand_boolean (net->rand) ? LOOM_SCALAR_MUL : LOOM_SCALAR_ADD, norm (net, x),
                       loom_unary (net->p, LOOM_SCALAR_SIGMOID, any (net)));
      break;
    }
  g_array_append_val (net->values, y);
  other = g_rand_double (net->rand);
  if (other < 0.1)
    {
      g_autofree char *name = fresh (net, "watch");

      loom_program_output (net->p, name, y);
    }
  else if (other < 0.15)
    {
      g_autofree char *name = fresh (net, "kept");
      LoomInit init = { .kind = LOOM_INIT_ZEROS };
      const LoomTensorDesc d = loom_value_info (net->p, y)->desc;
      int slot = loom_program_slot (net->p, name, LOOM_SLOT_BUFFER, d.dtype, d.rank, d.dim, &init, FALSE);

      loom_program_read (net->p, slot);
      loom_program_commit (net->p, slot, y);
    }
  else if (other < 0.25)
    {
      LoomValue rows = loom_reshape (net->p, y, 3, flat);
      LoomValue term = loom_mean_all (net->p, loom_binary (net->p, LOOM_SCALAR_MUL, rows, rows));

      g_array_append_val (net->terms, term);
    }
}

/* Forward, backward, and a step of sgd; the outputs are the loss, gradients, and observed values. */
static LoomProgram *
random_net (guint32 seed, gboolean low_precision, gboolean far, gboolean update)
{
  Net net = { .p = loom_program_new (),
              .rand = g_rand_new_with_seed (seed),
              .slots = g_array_new (FALSE, FALSE, sizeof (int)),
              .values = g_array_new (FALSE, FALSE, sizeof (LoomValue)),
              .terms = g_array_new (FALSE, FALSE, sizeof (LoomValue)) };
  guint n = (guint)g_rand_int_range (net.rand, 3, 9);
  gboolean wants_input = g_rand_boolean (net.rand);
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autofree LoomValue *grads = NULL;
  g_autoptr (GError) error = NULL;
  LoomValue x, y, pattern, loss;

  x = loom_program_input (net.p, "x", LOOM_F32, 4, (gint64[]){ 4, CHANNELS, SIDE, SIDE });
  pattern = loom_program_input (net.p, "pattern", LOOM_F32, 4, (gint64[]){ 4, CHANNELS, SIDE, SIDE });
  y = conv (&net, x);
  g_array_append_val (net.values, y);
  for (guint i = 0; i < n; i++)
    {
      loom_program_set_origin (net.p, i < n / 2 ? "first" : "second", far && i >= n / 2 ? "cpu:1" : NULL);
      grow (&net);
    }
  loom_program_set_origin (net.p, "loss", NULL);
  loss = loom_mean_all (net.p, loom_binary (net.p, LOOM_SCALAR_MUL,
                                            y = g_array_index (net.values, LoomValue, net.values->len - 1), pattern));
  for (guint i = 0; i < net.terms->len; i++)
    loss = loom_binary (net.p, LOOM_SCALAR_ADD, loss, g_array_index (net.terms, LoomValue, i));
  if (low_precision)
    {
      LoomProgram *narrow = loom_program_autocast (net.p, LOOM_BF16, NULL, 1, &loss);

      loom_program_unref (net.p);
      net.p = narrow;
    }
  loom_program_output (net.p, "loss", loss);
  for (guint i = 0; i < net.slots->len; i++)
    {
      LoomValue v = loom_program_read (net.p, g_array_index (net.slots, int, i));

      g_array_append_val (wrt, v);
    }
  if (wants_input)
    {
      LoomValue v = loom_program_get_input (net.p, 0)->value;

      g_array_append_val (wrt, v);
    }
  grads = g_new0 (LoomValue, wrt->len + 1);
  loom_differentiate (net.p, loss, 0, wrt->len, (const LoomValue *)wrt->data, grads, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < wrt->len; i++)
    if (grads[i] != 0)
      {
        g_autofree char *name = g_strdup_printf ("gradient %u", i);

        loom_program_output (net.p, name, grads[i]);
      }
  if (update)
    {
      const LoomOptimizer *sgd = loom_optimizer ("sgd");
      double hyper[16];
      LoomUpdateOptions options = { .optimizer = "sgd", .hyper = hyper, .loss = loss };
      g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
      g_autoptr (GArray) used = g_array_new (FALSE, FALSE, sizeof (LoomValue));

      for (guint i = 0; sgd->hyper[i].name != NULL; i++)
        hyper[i] = sgd->hyper[i].value;
      for (guint i = 0; i < net.slots->len; i++)
        if (grads[i] != 0)
          {
            g_array_append_val (slots, g_array_index (net.slots, int, i));
            g_array_append_val (used, grads[i]);
          }
      loom_program_set_region (net.p, LOOM_REGION_UPDATE);
      if (slots->len > 0)
        loom_emit_update (net.p, &options, slots->len, (const int *)slots->data, (const LoomValue *)used->data, &error);
      g_assert_no_error (error);
    }
  g_rand_free (net.rand);
  g_array_unref (net.slots);
  g_array_unref (net.values);
  g_array_unref (net.terms);
  return net.p;
}

/* ---- running ---------------------------------------------------------- */

static float *
numbers (guint32 seed)
{
  gsize n = 4 * CHANNELS * SIDE * SIDE;
  float *x = g_new (float, n);
  GRand *rand = g_rand_new_with_seed (seed);

  for (gsize i = 0; i < n; i++)
    x[i] = (float)g_rand_double_range (rand, -1, 1);
  g_rand_free (rand);
  return x;
}

typedef enum
{
  EXEC,
  POISON_RUN,
  EAGER
} How;

static GPtrArray *
run (LoomProgram *p, LoomDevices *devices, const LoomPlanOptions *options, How how, const void *const *feed)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 5);
  GPtrArray *results = NULL;

  if (how == EAGER)
    {
      g_autoptr (LoomEager) eager = loom_eager_new (p, state, devices, "cpu", &error);

      g_assert_no_error (error);
      results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
      for (guint i = 0; i < loom_program_n_inputs (p); i++)
        loom_eager_feed (eager, i, feed[i]);
      for (int step = 0; step < 2; step++)
        loom_eager_run (eager, TRUE, NULL, NULL, &error);
      g_assert_no_error (error);
      for (guint o = 0; o < loom_program_n_outputs (p); o++)
        g_ptr_array_add (results, loom_eager_output (eager, o, NULL));
    }
  else
    {
      LoomPlan *plan = loom_plan_new (p, devices, options, &error);

      g_assert_no_error (error);
      if (how == POISON_RUN)
        {
          results = poison_run (plan, state, feed, 2, &error);
          loom_plan_free (plan);
        }
      else
        {
          g_autoptr (LoomExec) exec = loom_exec_new (plan, state, &error);

          g_assert_no_error (error);
          results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
          for (guint i = 0; i < loom_program_n_inputs (p); i++)
            loom_exec_feed (exec, i, feed[i]);
          for (int step = 0; step < 2; step++)
            loom_exec_step (exec, &error);
          g_assert_no_error (error);
          for (guint o = 0; o < loom_program_n_outputs (p); o++)
            g_ptr_array_add (results, loom_exec_output (exec, o, NULL));
        }
      g_assert_no_error (error);
    }
  poison_append_state (state, results);
  return results;
}

static const char *
name_of (const LoomProgram *p, guint i)
{
  guint n = loom_program_n_outputs (p);

  return i < n ? loom_program_get_output (p, i)->name : loom_program_get_slot (p, i - n)->name;
}

/* The distance relative to the size, both as vectors: a single ReLU flipped by rounding has little weight, a wrong one
 * has much. */
static void
assert_near (LoomProgram *p, guint32 seed, const char *what, GPtrArray *a, GPtrArray *b, double tolerance)
{
  for (guint i = 0; i < a->len; i++)
    {
      LoomTensor *x = g_ptr_array_index (a, i), *y = g_ptr_array_index (b, i);
      double far = 0, size = 0;

      g_assert_cmpint (x->count, ==, y->count);
      for (gint64 k = 0; k < x->count; k++)
        {
          double u = loom_tensor_get (x, k), v = loom_tensor_get (y, k);

          far += (u - v) * (u - v);
          size += u * u;
        }
      if (!(sqrt (far) <= tolerance * (sqrt (size) + 1e-5 * sqrt ((double)x->count))))
        g_error ("seed %u, %s, %s: %g of %g away", seed, what, name_of (p, i), sqrt (far), sqrt (size));
    }
}

static void
assert_equal (LoomProgram *p, guint32 seed, const char *what, GPtrArray *a, GPtrArray *b)
{
  for (guint i = 0; i < a->len; i++)
    if (!loom_tensor_equal_bits (g_ptr_array_index (a, i), g_ptr_array_index (b, i)))
      g_error ("seed %u, %s: %s differs", seed, what, name_of (p, i));
}

/* No two values that are alive together share bytes, except those that share all of them. */
static void
assert_no_overlap (const LoomPlan *plan)
{
  for (guint a = 1; a < loom_plan_n_values (plan); a++)
    for (guint b = a + 1; b < loom_plan_n_values (plan); b++)
      {
        const LoomPlanValue *x = loom_plan_value (plan, a), *y = loom_plan_value (plan, b);

        if (x->location.kind != LOOM_LOCATION_ARENA || y->location.kind != LOOM_LOCATION_ARENA || x->last < y->first
            || y->last < x->first || x->location.offset == y->location.offset
            || x->location.device != y->location.device)
          continue;
        if (x->location.offset + loom_desc_bytes (&x->desc) > y->location.offset
            && y->location.offset + loom_desc_bytes (&y->desc) > x->location.offset)
          g_error ("values %u and %u share bytes", a, b);
      }
}

typedef struct
{
  guint again, norm_relu, grad_relu, norm_sum, grad_sum, moved;
} Acts;

static void
note_acts (const LoomPlan *plan, Acts *acts)
{
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      acts->again += g_str_has_suffix (instr->label, " rematerialised");
      acts->norm_relu += strcmp (instr->label, "batch_norm+relu") == 0;
      acts->grad_relu += strcmp (instr->label, "batch_norm_grad+relu") == 0;
      acts->norm_sum += g_str_has_prefix (instr->label, "batch_norm+add");
      acts->grad_sum += strcmp (instr->label, "batch_norm_grad+relu+add") == 0;
      if (strcmp (instr->label, "max_pool2d") == 0 && i + 1 < loom_plan_n_instrs (plan))
        acts->moved += strcmp (loom_plan_instr (plan, i + 1)->label, "relu") == 0;
    }
}

/* The sums over nodes are the plan's memory, by owner. */
static void
assert_nodes (const LoomPlan *plan, const LoomPlanMemory *memory)
{
  g_autoptr (LoomNodeMemory) nodes = loom_node_memory_new ();
  g_autoptr (GPtrArray) rows = NULL;
  gsize bytes[LOOM_N_OWNERS], sum[LOOM_N_OWNERS] = { 0 };

  loom_node_memory_add_plans (nodes, 1, &plan);
  rows = loom_node_memory_list (nodes);
  loom_plan_memory_sum (memory, bytes);
  for (guint i = 0; i < rows->len; i++)
    for (int o = 0; o < LOOM_N_OWNERS; o++)
      {
        const LoomNodeBytes *row = rows->pdata[i];

        sum[o] += strcmp (row->device, loom_plan_device (plan, 0)->name) == 0 ? row->bytes[o] : 0;
      }
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    g_assert_cmpuint (sum[o], ==, bytes[o]);
}

static void
check_seed (guint32 seed, LoomDevices *devices, Acts *acts)
{
  gboolean low_precision = seed % 5 == 3, far = seed % 7 == 5, update = seed % 2 == 0;
  g_autoptr (LoomProgram) p = random_net (seed, low_precision, far, update && !far);
  g_autofree float *x = numbers (seed), *pattern = numbers (seed + 1000);
  const void *feed[2] = { x, pattern };
  LoomPlanOptions tight = { .device = "cpu" }, apart = { .device = "cpu", .no_reuse = TRUE };
  LoomPlanOptions plain = { .device = "cpu", .no_fusion = TRUE };
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &tight, NULL);
  g_autoptr (GPtrArray) a = run (p, devices, &tight, EXEC, feed);
  g_autoptr (GPtrArray) b = run (p, devices, &apart, EXEC, feed);
  g_autoptr (GPtrArray) c = run (p, devices, &tight, POISON_RUN, feed);
  g_autoptr (GPtrArray) d = run (p, devices, &plain, EXEC, feed);
  g_autoptr (GPtrArray) e = run (p, devices, &plain, EAGER, feed);
  LoomPlanMemory memory;

  assert_equal (p, seed, "bytes of its own", a, b);
  assert_equal (p, seed, "poisoned memory", a, c);
  assert_near (p, seed, "without fusion", d, a, low_precision ? 0.1 : 0.01);
  assert_near (p, seed, "eager", e, a, low_precision ? 0.1 : 0.01);
  loom_plan_memory (plan, 0, &memory);
  assert_nodes (plan, &memory);
  if ((double)memory.arena > 1.1 * (double)memory.lower_bound)
    g_error ("seed %u: the arena has %" G_GSIZE_FORMAT " bytes where %" G_GSIZE_FORMAT " are alive at once", seed,
             memory.arena, memory.lower_bound);
  assert_no_overlap (plan);
  {
    g_autofree char *wrong = check_passes (p, devices, &tight);
    g_autofree char *wrong_plain = check_passes (p, devices, &plain);

    if (wrong != NULL || wrong_plain != NULL)
      g_error ("seed %u: %s", seed, wrong != NULL ? wrong : wrong_plain);
  }
  note_acts (plan, acts);
}

static void
test_blocks (void)
{
  const char *asked = g_getenv ("GRADLOOM_NET_SEEDS");
  guint n = asked != NULL ? (guint)g_ascii_strtoull (asked, NULL, 10) : 16;
  Acts acts = { 0 };
  g_autoptr (LoomDevices) devices = NULL;

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  devices = loom_devices_new (1);
  for (guint32 seed = 1; seed <= n; seed++)
    check_seed (seed, devices, &acts);
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
  g_test_message ("%u values made again, %u normalisations with a ReLU, %u gradients of them, %u with a sum, %u "
                  "gradients of a sum's "
                  "ReLU whose cotangent is a sum, %u poolings in front of a ReLU",
                  acts.again, acts.norm_relu, acts.grad_relu, acts.norm_sum, acts.grad_sum, acts.moved);
  g_assert_cmpuint (acts.again, >, 0);
  g_assert_cmpuint (acts.norm_relu, >, 0);
  g_assert_cmpuint (acts.grad_relu, >, 0);
  g_assert_cmpuint (acts.norm_sum, >, 0);
  g_assert_cmpuint (acts.grad_sum, >, 0);
  g_assert_cmpuint (acts.moved, >, 0);
}

/* ---- large nets ------------------------------------------------------- */

static LoomValue
small_weight (LoomProgram *p, GArray *slots, const char *what, guint i, int rank, const gint64 *dims)
{
  g_autofree char *name = g_strdup_printf ("%s%u", what, i);
  LoomInit init = { LOOM_INIT_UNIFORM, -0.1, 0.1, NULL };
  int slot = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, rank, dims, &init, TRUE);

  g_array_append_val (slots, slot);
  return loom_program_read (p, slot);
}

static void
finish_training (LoomProgram *p, LoomValue y, GArray *slots)
{
  LoomValue loss = loom_mean_all (p, y);
  g_autofree LoomValue *wrt = g_new (LoomValue, slots->len), *grads = g_new (LoomValue, slots->len);
  const LoomOptimizer *adam = loom_optimizer ("adam");
  double hyper[16];
  LoomUpdateOptions options = { .optimizer = "adam", .hyper = hyper, .loss = loss };
  g_autoptr (GError) error = NULL;

  loom_program_output (p, "loss", loss);
  for (guint i = 0; i < slots->len; i++)
    wrt[i] = loom_program_read (p, g_array_index (slots, int, i));
  loom_differentiate (p, loss, 0, slots->len, wrt, grads, &error);
  g_assert_no_error (error);
  for (guint i = 0; adam->hyper[i].name != NULL; i++)
    hyper[i] = adam->hyper[i].value;
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  loom_emit_update (p, &options, slots->len, (const int *)slots->data, grads, &error);
  g_assert_no_error (error);
}

static LoomProgram *
deep_mlp (guint n)
{
  LoomProgram *p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  const gint64 dims[2] = { 8, 8 };
  LoomValue h;

  loom_program_set_float (p, LOOM_F32);
  h = loom_program_input (p, "x", LOOM_F32, 2, dims);
  for (guint i = 0; i < n; i++)
    {
      h = loom_matmul (p, h, small_weight (p, slots, "w", i, 2, dims), FALSE, TRUE);
      h = loom_binary (p, LOOM_SCALAR_ADD, h, small_weight (p, slots, "b", i, 1, dims));
      h = loom_unary (p, LOOM_SCALAR_RELU, h);
    }
  finish_training (p, h, slots);
  return p;
}

static LoomProgram *
deep_residual (guint n)
{
  LoomProgram *p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  LoomConv2dTo to = { .kernel = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1 } };
  LoomNormAttrs attrs = { .eps = 1e-5, .affine = TRUE };
  const gint64 channels = CHANNELS;
  LoomValue h;

  to.kernel.act = LOOM_SCALAR_ID;
  loom_program_set_float (p, LOOM_F32);
  h = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 4, CHANNELS, SIDE, SIDE });
  for (guint i = 0; i < n; i++)
    {
      LoomValue in[3] = { h, small_weight (p, slots, "w", i, 4, (gint64[]){ CHANNELS, CHANNELS, 3, 3 }) }, y;

      in[0] = loom_emit (p, loom_prim ("conv2d"), &to, 3, in, NULL);
      in[1] = small_weight (p, slots, "scale.", i, 1, &channels);
      in[2] = small_weight (p, slots, "shift.", i, 1, &channels);
      y = loom_unary (p, LOOM_SCALAR_RELU, loom_emit (p, loom_prim ("batch_norm"), &attrs, 3, in, NULL));
      h = loom_unary (p, LOOM_SCALAR_RELU, loom_binary (p, LOOM_SCALAR_ADD, y, h));
    }
  finish_training (p, h, slots);
  return p;
}

/* Plans a program and returns the number of values of the plan. */
static guint
plan_values (LoomProgram *p, LoomDevices *devices)
{
  LoomPlanMemory memory;
  LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &options, &error);

  g_assert_no_error (error);
  if (loom_plan_n_values (plan) < 20000)
    assert_no_overlap (plan);
  loom_plan_memory (plan, 0, &memory);
  g_assert_cmpfloat ((double)memory.arena, <=, 1.1 * (double)memory.lower_bound);
  return loom_plan_n_values (plan);
}

/* Nets of thousands of layers are planned, and the plan grows as the net does. */
static void
test_deep (gconstpointer data)
{
  LoomProgram *(*make) (guint) = strcmp (data, "mlp") == 0 ? deep_mlp : deep_residual;
  guint n = strcmp (data, "mlp") == 0 ? 10000 : 1000;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) small = make (n / 10);
  g_autoptr (LoomProgram) large = make (n);
  guint before = plan_values (small, devices), after = plan_values (large, devices);

  g_assert_cmpuint (after, >, 9 * before);
  g_assert_cmpuint (after, <=, 10 * before);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/blocks", test_blocks);
  g_test_add_data_func ("/plan/time/mlp", "mlp", test_deep);
  g_test_add_data_func ("/plan/time/residual", "residual", test_deep);
  return g_test_run ();
}
