/* SGD with an undo log: when the plan uses it, when it must not, and that the numbers do not change: weights have the
 * bits of an unfused plan, also after steps that are not finite. GRADLOOM_TEST_DEVICE names a GPU, which has the same
 * weights and no log; tests/cuda/test-cuda-device.c undoes a step with its kernels. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/run/loom-exec.h"
#include "tests/exec/state-slots.h"
#include "tests/test-program.h"

#define BATCH 3
#define WIDTH 70 /* two strips of 32 and a rest in the kernel's sums */
#define STEPS 6

typedef enum
{
  MOMENTUM = 1 << 0,
  CLIP = 1 << 1,        /* the scale follows from the norm */
  SHOWN = 1 << 2,       /* a gradient is an output */
  SHARED = 1 << 3,      /* two parameters have one gradient */
  CONSTANT = 1 << 4,    /* a gradient that is made once, before the first step */
  AVERAGE = 1 << 5,     /* the moving average reads the new weights */
  DECAY = 1 << 6,       /* weight decay, and a step uphill */
  TWO_GROUPS = 1 << 7,  /* two steps after one gate */
  SHOWN_STATE = 1 << 8, /* a weight is an output, as it was before the step */
} Variant;

static LoomValue
parameter (LoomProgram *p, const char *name, gint64 n, GArray *slots)
{
  LoomInit init = { LOOM_INIT_UNIFORM, -0.4, 0.4, NULL };
  int slot = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, 1, &n, &init, TRUE);

  g_array_append_val (slots, slot);
  return loom_program_read (p, slot);
}

/* loss = mean (square (x·a + b)), plus the variant's terms. */
static LoomProgram *
program_new (Variant variant)
{
  LoomProgram *p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GError) error = NULL;
  const LoomOptimizer *sgd = loom_optimizer ("sgd");
  const gint64 width = WIDTH;
  const guint group_of[] = { 0, 1, 1, 1 };
  double hyper[16], other[16];
  LoomUpdateGroup group = { "group1.", 1, other };
  LoomUpdateOptions options = { .optimizer = "sgd", .hyper = hyper, .clip_norm = variant & CLIP ? 0.01 : 0 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ BATCH, WIDTH }), wrt[4], grads[4], y;

  y = loom_binary (p, LOOM_SCALAR_MUL, x, parameter (p, "a", width, slots));
  y = loom_binary (p, LOOM_SCALAR_ADD, y, parameter (p, "b", width, slots));
  if (variant & SHARED)
    y = loom_binary (p, LOOM_SCALAR_ADD, y, parameter (p, "c", width, slots));
  options.loss = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, y));
  if (variant & CONSTANT)
    {
      LoomIotaTo iota
          = { .kernel = { .axis = 0, .start = 0.5, .step = 0.25 }, .dtype = LOOM_F32, .to = { 1, { WIDTH } } };
      LoomValue line = loom_emit (p, loom_prim ("iota"), &iota, 0, NULL, NULL);

      line = loom_binary (p, LOOM_SCALAR_MUL, line, parameter (p, "d", width, slots));
      options.loss = loom_binary (p, LOOM_SCALAR_ADD, options.loss, loom_reduce (p, LOOM_REDUCE_SUM, line, 1, FALSE));
    }
  loom_program_output (p, "loss", options.loss);
  for (guint i = 0; i < slots->len; i++)
    wrt[i] = loom_program_read (p, g_array_index (slots, int, i));
  if (variant & SHOWN_STATE)
    loom_program_output (p, "a", wrt[0]);
  loom_differentiate (p, options.loss, 0, slots->len, wrt, grads, &error);
  g_assert_no_error (error);
  if (variant & SHOWN)
    loom_program_output (p, "gradient", grads[1]);
  for (guint i = 0; sgd->hyper[i].name != NULL; i++)
    {
      const char *name = sgd->hyper[i].name;

      hyper[i] = strcmp (name, "lr") == 0                                  ? 0.1
                 : strcmp (name, "momentum") == 0 && (variant & MOMENTUM)  ? 0.9
                 : strcmp (name, "weight_decay") == 0 && (variant & DECAY) ? 0.25
                 : strcmp (name, "maximize") == 0 && (variant & DECAY)     ? 1
                                                                           : sgd->hyper[i].value;
      other[i] = i == 0 ? 0.05 : hyper[i];
    }
  if (variant & TWO_GROUPS)
    {
      options.groups = &group;
      options.group_of = group_of;
    }
  loom_emit_update (p, &options, slots->len, &g_array_index (slots, int, 0), grads, &error);
  g_assert_no_error (error);
  if (variant & AVERAGE)
    loom_emit_average (p, 0.9);
  return p;
}

static guint
count (const LoomPlan *plan, const char *primitive)
{
  guint n = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += g_strcmp0 (loom_plan_instr (plan, i)->primitive, primitive) == 0;
  return n;
}

/* The state after each of the steps, the third and the last of which meet an infinity. */
static GPtrArray *
states (LoomProgram *p, const char *device, gboolean no_fusion, guint logged)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  LoomPlanOptions options = { .device = device, .no_fusion = no_fusion };
  LoomPlan *plan = loom_plan_new (p, devices, &options, &error);
  g_autoptr (LoomState) state = loom_state_new (devices, device, 7);
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  g_autoptr (LoomExec) exec = NULL;
  float x[BATCH * WIDTH];

  g_assert_no_error (error);
  g_assert_cmpuint (count (plan, "sgd_step_logged"), ==, logged);
  g_assert_cmpuint (count (plan, "undo_step"), ==, logged);
  g_assert_true ((count (plan, "sgd_step") == 0) == (logged > 0));
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (int step = 0; step < STEPS; step++)
    {
      gboolean bad = step == 2 || step == STEPS - 1;

      for (int i = 0; i < BATCH * WIDTH; i++)
        x[i] = (float)sin (0.37 * i + step);
      if (bad)
        x[WIDTH + (step == 2 ? 5 : WIDTH - 1)] = INFINITY;
      loom_exec_feed (exec, 0, x);
      g_assert_true (loom_exec_run (exec, &error) == !bad);
      if (bad)
        g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
      g_clear_error (&error);
      g_ptr_array_add (all, state_slots (state));
      if (bad)
        assert_same_slots (all->pdata[step], all->pdata[step - 1]);
    }
  return all;
}

typedef struct
{
  const char *name;
  Variant variant;
  guint logged; /* steps that the plan logs */
} Case;

static const Case cases[] = {
  { "plain", 0, 1 },
  { "decay", DECAY, 1 },
  { "average", AVERAGE, 1 },
  { "two-groups", TWO_GROUPS, 2 },
  { "weight-is-output", SHOWN_STATE, 1 },
  { "momentum", MOMENTUM, 0 },
  { "clipping", CLIP, 0 },
  { "gradient-is-output", SHOWN, 0 },
  { "shared-gradient", SHARED, 0 },
  { "constant-gradient", CONSTANT, 0 },
};

static void
test_case (gconstpointer data)
{
  const char *named = g_getenv ("GRADLOOM_TEST_DEVICE"), *const devices[] = { named != NULL ? named : "ref", "cpu" };
  const Case *c = data;
  g_autoptr (LoomProgram) p = program_new (c->variant);

  for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
    {
      gboolean on_gpu = g_str_has_prefix (devices[d], "cuda");
      g_autoptr (GPtrArray) with = states (p, devices[d], FALSE, on_gpu ? 0 : c->logged);
      g_autoptr (GPtrArray) without = states (p, devices[d], TRUE, 0);

      for (int step = 0; step < STEPS; step++)
        assert_same_slots (with->pdata[step], without->pdata[step]);
    }
}

/* Gradients in a slot belong to the caller: they are read twice, and stay. */
static void
test_slots (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomPlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  const LoomOptimizer *sgd = loom_optimizer ("sgd");
  const gint64 width = WIDTH;
  double hyper[16];
  LoomUpdateOptions options = { .optimizer = "sgd", .hyper = hyper };
  LoomValue grad;

  for (guint i = 0; sgd->hyper[i].name != NULL; i++)
    hyper[i] = sgd->hyper[i].value;
  parameter (p, "a", width, slots);
  grad = loom_program_read (p, loom_program_slot (p, "g", LOOM_SLOT_BUFFER, LOOM_F32, 1, &width, NULL, FALSE));
  loom_emit_update (p, &options, 1, &g_array_index (slots, int, 0), &grad, &error);
  g_assert_no_error (error);
  plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (count (plan, "sgd_step"), ==, 1);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("/undo/", cases[i].name, NULL);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/undo/gradients-in-slots", test_slots);
  return g_test_run ();
}
