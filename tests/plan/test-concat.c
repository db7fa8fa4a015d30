/* Tests sums of padded parts: parts that fill the whole become one concatenation, anything else stays a sum, and the
 * numbers are those of an unfused plan. */
#include <math.h>
#include <string.h>

#include "engine/run/loom-exec.h"
#include "tests/plan/check-passes.h"
#include "tests/test-program.h"

#define ROWS  3
#define WHOLE 6

/* A padded part: columns `first` to first + n of six, of an input scaled so that all differ. */
typedef struct
{
  gint64 first, n;
} Part;

typedef struct
{
  const char *name;
  Part part[4]; /* ends with n = 0 */
  guint others; /* summands that are not padded parts */
  gboolean transposed, twice, shared;
  LoomDType dtype; /* of the sum; 0: f32 */
  guint concats, pads;
} Case;

static const Case cases[] = {
  { "side-by-side", { { 0, 2 }, { 2, 2 }, { 4, 2 } }, .concats = 1 },
  { "any-order", { { 3, 1 }, { 4, 2 }, { 0, 3 } }, .concats = 1 },
  { "rows", { { 0, 1 }, { 1, 2 } }, .transposed = TRUE, .concats = 1 },
  { "and-another", { { 2, 4 }, { 0, 2 } }, .others = 1, .concats = 1 },
  { "read-twice", { { 0, 2 }, { 2, 4 } }, .twice = TRUE, .concats = 1, .pads = 2 },
  { "two-sums", { { 0, 2 }, { 2, 2 }, { 4, 2 } }, .shared = TRUE, .concats = 2 },
  { "bf16", { { 0, 2 }, { 2, 2 }, { 4, 2 } }, .dtype = LOOM_BF16, .concats = 1 },
  { "f16", { { 3, 1 }, { 4, 2 }, { 0, 3 } }, .dtype = LOOM_F16, .concats = 1 },
  { "bf16-and-another", { { 2, 4 }, { 0, 2 } }, .others = 1, .dtype = LOOM_BF16, .concats = 1 },
  { "bf16-among-others", { { 2, 4 }, { 0, 2 } }, .others = 2, .dtype = LOOM_BF16, .pads = 2 },
  { "bf16-gap", { { 0, 2 }, { 3, 3 } }, .dtype = LOOM_BF16, .pads = 2 },
  { "gap", { { 0, 2 }, { 3, 3 } }, .pads = 2 },
  { "overlap", { { 0, 4 }, { 3, 3 } }, .pads = 2 },
};

static LoomProgram *
program_of (const Case *c)
{
  LoomProgram *p = loom_program_new ();
  const LoomDType dtype = c->dtype != 0 ? c->dtype : LOOM_F32;
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ ROWS, WHOLE }), sum = 0, second = 0;
  int axis = c->transposed ? 0 : 1;
  gint64 whole[] = { ROWS, WHOLE };

  x = loom_cast (p, x, dtype);
  for (guint i = 0; c->part[i].n > 0; i++)
    {
      gint64 start[LOOM_MAX_RANK] = { 0 }, n[LOOM_MAX_RANK] = { ROWS, WHOLE };
      LoomValue part, cut;

      start[axis] = c->part[i].first;
      n[axis] = c->part[i].n;
      part = loom_slice (p, x, start, NULL, n);
      part = loom_cast (p, loom_binary (p, LOOM_SCALAR_MUL, part, loom_const (p, LOOM_F32, i + 2)), dtype);
      cut = part;
      part = loom_pad (p, cut, start, NULL, whole, 0);
      if (c->twice)
        {
          g_autofree char *name = g_strdup_printf ("part%u", i);

          loom_program_output (p, name, loom_cast (p, part, LOOM_F32));
        }
      if (c->shared)
        {
          /* Another sum has all but one of the same parts. */
          LoomValue own = i == 1 ? loom_pad (p, loom_unary (p, LOOM_SCALAR_NEG, cut), start, NULL, whole, 0) : part;

          second = second == 0 ? own : loom_binary (p, LOOM_SCALAR_ADD, second, own);
        }
      sum = sum == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
      for (guint k = 0; k < c->others && i == 0; k++)
        sum = loom_binary (p, LOOM_SCALAR_ADD, k == 0 ? x : loom_unary (p, LOOM_SCALAR_COS, x), sum);
    }
  sum = loom_cast (p, sum, LOOM_F32);
  loom_program_output (p, "y", sum);
  loom_program_output (p, "z", loom_unary (p, LOOM_SCALAR_EXP, c->shared ? second : sum));
  return p;
}

static guint
count (const LoomPlan *plan, const char *word)
{
  guint n = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += strstr (loom_plan_instr (plan, i)->label, word) != NULL;
  return n;
}

static LoomTensor *
run (LoomDevices *devices, LoomPlan *plan /* transfer full */, const char *output)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 1);
  g_autoptr (LoomExec) exec = loom_exec_new (plan, state, &error);
  float x[ROWS * WHOLE];

  g_assert_no_error (error);
  for (int i = 0; i < ROWS * WHOLE; i++)
    x[i] = sinf ((float)i + 0.5F);
  loom_exec_feed (exec, 0, x);
  g_assert_true (loom_exec_step (exec, &error));
  return loom_exec_output (exec, (guint)loom_exec_find_output (exec, output), &error);
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = program_of (c);
  LoomPlanOptions joined = { .device = "cpu" }, apart = { .device = "cpu", .no_fusion = TRUE };
  g_autofree char *wrong = check_passes (p, devices, &joined);
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &joined, NULL);

  g_assert_cmpstr (wrong, ==, NULL);
  g_assert_cmpuint (count (plan, "concat"), ==, c->concats);
  g_assert_cmpuint (count (plan, "pad"), ==, c->pads);
  for (guint o = 0; o < 2; o++)
    {
      const char *name = o == 0 ? "y" : "z";
      g_autoptr (LoomTensor) a = run (devices, loom_plan_new (p, devices, &joined, NULL), name);
      g_autoptr (LoomTensor) b = run (devices, loom_plan_new (p, devices, &apart, NULL), name);

      for (gint64 i = 0; i < ROWS * WHOLE; i++)
        g_assert_cmpfloat (loom_tensor_get (a, i), ==, loom_tensor_get (b, i));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/concat/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  return g_test_run ();
}
