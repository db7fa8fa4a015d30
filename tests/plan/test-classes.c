/* Tests losses of logits with classes on the last axis: nothing is permuted if only losses, their gradients and argmax
 * read the logits, logits and their gradient share memory, and the numbers are those of a plan with permutes. */
#include <math.h>
#include <string.h>

#include "engine/run/loom-exec.h"
#include "tests/plan/check-passes.h"
#include "tests/test-program.h"

#define N       2
#define T       3
#define D       4
#define CLASSES 70

typedef struct
{
  const char *name;
  gboolean narrow;  /* in bf16, cast for the loss */
  gboolean largest; /* argmax reads the logits, too */
  gboolean output;  /* the permuted logits are an output */
  gboolean sum;     /* something else reads them */
  guint permutes;
} Case;

static const Case cases[] = {
  { "loss", .permutes = 0 },
  { "metric", .largest = TRUE, .permutes = 0 },
  { "narrow", .narrow = TRUE, .permutes = 0 },
  { "narrow-metric", .narrow = TRUE, .largest = TRUE, .permutes = 0 },
  { "output", .output = TRUE, .permutes = 2 },
  { "another-reader", .sum = TRUE, .permutes = 2 },
};

static LoomProgram *
program_of (const Case *c)
{
  LoomProgram *p = loom_program_new ();
  const LoomDType type = c->narrow ? LOOM_BF16 : LOOM_F32;
  const LoomCrossEntropyAttrs attrs = { .ignore_index = 5 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ N * T, D });
  LoomValue weight = loom_program_input (p, "w", LOOM_F32, 2, (gint64[]){ CLASSES, D });
  LoomValue target = loom_program_input (p, "target", LOOM_I64, 2, (gint64[]){ N, T });
  LoomValue scores, out[2], loss, wrt[2] = { x, weight }, gradient[2] = { 0 };
  g_autoptr (GError) error = NULL;

  scores = loom_matmul (p, loom_cast (p, x, type), loom_cast (p, weight, type), FALSE, TRUE);
  scores = loom_permute (p, loom_reshape (p, scores, 3, (gint64[]){ N, T, CLASSES }), (int[]){ 0, 2, 1 });
  if (c->output)
    loom_program_output (p, "scores", scores);
  loom_emit (p, loom_prim ("cross_entropy"), &attrs, 2, (LoomValue[]){ loom_cast (p, scores, LOOM_F32), target }, out);
  loss = loom_mean_all (p, out[0]);
  if (c->sum)
    loss = loom_binary (p, LOOM_SCALAR_ADD, loss, loom_mean_all (p, loom_unary (p, LOOM_SCALAR_TANH, scores)));
  loom_program_output (p, "loss", loss);
  loom_program_output (p, "each", out[0]);
  if (c->largest)
    loom_program_output (
        p, "largest",
        loom_emit (p, loom_prim ("argreduce"), &(LoomArgReduceAttrs){ .largest = true, .axis = 1 }, 1, &scores, NULL));
  g_assert_true (loom_differentiate (p, loss, 0, 2, wrt, gradient, &error));
  loom_program_output (p, "dx", gradient[0]);
  loom_program_output (p, "dw", gradient[1]);
  return p;
}

static GPtrArray *
run (LoomDevices *devices, LoomProgram *p, const LoomPlanOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, options->device, 1);
  g_autoptr (LoomExec) exec = loom_exec_new (loom_plan_new (p, devices, options, NULL), state, &error);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  float x[N * T * D], w[CLASSES * D];
  gint64 target[N * T];

  g_assert_no_error (error);
  for (int i = 0; i < N * T * D; i++)
    x[i] = sinf ((float)i + 0.5F);
  for (int i = 0; i < CLASSES * D; i++)
    w[i] = cosf ((float)i * 1.7F);
  for (int i = 0; i < N * T; i++)
    target[i] = i * 11 % CLASSES;
  target[4] = 5; /* is ignored */
  loom_exec_feed (exec, 0, x);
  loom_exec_feed (exec, 1, w);
  loom_exec_feed (exec, 2, target);
  g_assert_true (loom_exec_run (exec, &error));
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, &error));
  return results;
}

/* The number of locations of values with this many elements; these are logits and their gradients. */
static guint
count_places (const LoomPlan *plan, gint64 elements)
{
  g_autoptr (GHashTable) places = g_hash_table_new (NULL, NULL);

  for (guint v = 1; v < loom_plan_n_values (plan); v++)
    {
      const LoomPlanValue *value = loom_plan_value (plan, v);

      if (value->location.kind == LOOM_LOCATION_ARENA && loom_desc_count (&value->desc) == elements)
        g_hash_table_add (places, GSIZE_TO_POINTER (value->location.offset + 1));
    }
  return g_hash_table_size (places);
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  static const char *const names[] = { "ref", "cpu" };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = program_of (c);

  for (guint d = 0; d < G_N_ELEMENTS (names); d++)
    {
      LoomPlanOptions turned = { .device = names[d] }, apart = { .device = names[d], .no_fusion = TRUE };
      g_autofree char *wrong = check_passes (p, devices, &turned);
      g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &turned, NULL);
      g_autoptr (GPtrArray) a = run (devices, p, &turned);
      g_autoptr (GPtrArray) b = run (devices, p, &apart);
      guint permutes = 0;

      g_assert_cmpstr (wrong, ==, NULL);
      for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
        permutes += strstr (loom_plan_instr (plan, i)->label, "permute") != NULL;
      g_assert_cmpuint (permutes, ==, c->permutes);
      if (c->permutes == 0 && !c->narrow)
        g_assert_cmpuint (count_places (plan, N * T * CLASSES), ==, 1);
      for (guint o = 0; o < a->len; o++)
        {
          LoomTensor *x = a->pdata[o], *y = b->pdata[o];

          g_assert_cmpint (x->rank, ==, y->rank);
          for (int r = 0; r < x->rank; r++)
            g_assert_cmpint (x->dim[r], ==, y->dim[r]);
          for (gint64 i = 0; i < x->count; i++)
            g_assert_cmpfloat_with_epsilon (loom_tensor_get (x, i), loom_tensor_get (y, i), c->narrow ? 2e-2 : 1e-6);
        }
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/classes/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  return g_test_run ();
}
