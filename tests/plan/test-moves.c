/* Tests successive copies: which are fused, which attention does itself, and that every element has the same source. */
#include <string.h>

#include "tests/plan/check-passes.h"
#include "tests/plan/run-once.h"
#include "tests/test-program.h"

#define DIMS(...) ((gint64[]){ __VA_ARGS__ })
#define AXES(...) ((int[]){ __VA_ARGS__ })

/* The copies between a product and attention: three slices, each as [samples, heads, positions, width]. */
static void
heads (LoomProgram *p, LoomValue x)
{
  static const char *const name[] = { "q", "k", "v" };

  for (int i = 0; i < 3; i++)
    {
      LoomValue part = loom_slice (p, x, DIMS (0, 0, 16 * i), NULL, DIMS (2, 6, 16));

      part = loom_permute (p, loom_reshape (p, part, 4, DIMS (2, 6, 4, 4)), AXES (0, 2, 1, 3));
      loom_program_output (p, name[i], part);
    }
}

/* The copies between attention's gradient and the product's. */
static void
gradients (LoomProgram *p, LoomValue x)
{
  const gint64 whole[] = { 2, 6, 48 };
  LoomValue sum = 0;

  for (int i = 0; i < 3; i++)
    {
      LoomValue part = loom_binary (p, LOOM_SCALAR_MUL, x, loom_const (p, LOOM_F32, i + 2));

      part = loom_reshape (p, loom_permute (p, part, AXES (0, 2, 1, 3)), 3, DIMS (2, 6, 16));
      part = loom_pad (p, part, DIMS (0, 0, 16 * i), NULL, whole, 0);
      sum = sum == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
    }
  loom_program_output (p, "dx", sum);
}

static void
concat_with (LoomProgram *p, LoomValue x, LoomValue part, int axis)
{
  loom_program_output (p, "y", loom_concat (p, 3, (LoomValue[]){ x, part, x }, axis));
}

static void
one_part (LoomProgram *p, LoomValue x)
{
  concat_with (p, x, loom_permute (p, x, AXES (0, 2, 1)), 1);
}

static void
image (LoomProgram *p, LoomValue x)
{
  concat_with (p, x, loom_permute (p, x, AXES (0, 1, 3, 2)), 1);
}

/* The slice's operand has one axis, and the slice's rows are written apart from one another. */
static void
merged_part (LoomProgram *p, LoomValue x)
{
  LoomValue part = loom_slice (p, x, DIMS (23), DIMS (-1), DIMS (24));

  concat_with (p, loom_reshape (p, x, 2, DIMS (6, 4)), loom_reshape (p, part, 2, DIMS (6, 4)), 1);
}

static void
cut_part (LoomProgram *p, LoomValue x)
{
  concat_with (p, x, loom_slice (p, x, DIMS (0, 0, 4), NULL, DIMS (3, 4, 4)), 2);
}

static void
slice_of_permute (LoomProgram *p, LoomValue x)
{
  LoomValue y = loom_permute (p, x, AXES (1, 0));

  loom_program_output (p, "y", loom_slice (p, y, DIMS (19, 1), DIMS (-3, 2), DIMS (6, 4)));
}

static void
chain (LoomProgram *p, LoomValue x)
{
  LoomValue y = loom_slice (p, x, DIMS (0, 9), NULL, DIMS (6, 30));

  y = loom_permute (p, y, AXES (1, 0));
  y = loom_slice (p, y, DIMS (1, 5), DIMS (2, -1), DIMS (15, 6));
  y = loom_permute (p, loom_reshape (p, y, 3, DIMS (5, 3, 6)), AXES (2, 0, 1));
  loom_program_output (p, "y", y);
}

/* An axis of the view covers two that have no common stride. */
static void
apart (LoomProgram *p, LoomValue x)
{
  LoomValue y = loom_reshape (p, loom_permute (p, x, AXES (1, 0, 2)), 2, DIMS (20, 6));

  loom_program_output (p, "y", loom_permute (p, y, AXES (1, 0)));
}

/* Axes of one element, which are permuted here, have the strides of no other axis. */
static void
ones (LoomProgram *p, LoomValue x)
{
  LoomValue last = loom_permute (p, x, AXES (1, 2, 0));
  LoomValue middle = loom_permute (p, loom_reshape (p, x, 3, DIMS (7, 12, 1)), AXES (0, 2, 1));
  LoomValue cut = loom_slice (p, x, DIMS (0, 0, 4), NULL, DIMS (1, 7, 8));

  loom_program_output (p, "y", loom_slice (p, loom_reshape (p, last, 1, DIMS (84)), DIMS (83), DIMS (-1), DIMS (84)));
  loom_program_output (p, "z", loom_slice (p, loom_reshape (p, middle, 1, DIMS (84)), DIMS (1), DIMS (2), DIMS (42)));
  cut = loom_permute (p, loom_reshape (p, cut, 5, DIMS (7, 1, 4, 1, 2)), AXES (4, 3, 2, 1, 0));
  cut = loom_permute (p, loom_reshape (p, cut, 4, DIMS (1, 2, 4, 7)), AXES (3, 0, 1, 2));
  loom_program_output (p, "w", cut);
}

static void
read_twice (LoomProgram *p, LoomValue x)
{
  LoomValue y = loom_slice (p, x, DIMS (2, 0), NULL, DIMS (4, 9));

  loom_program_output (p, "y", y);
  loom_program_output (p, "z", loom_permute (p, y, AXES (1, 0)));
}

/* Only a view of it is read twice. */
static void
view_read_twice (LoomProgram *p, LoomValue x)
{
  LoomValue y = loom_slice (p, x, DIMS (2, 0), NULL, DIMS (4, 9)), view = loom_reshape (p, y, 3, DIMS (4, 3, 3));

  loom_program_output (p, "y", loom_permute (p, y, AXES (1, 0)));
  loom_program_output (p, "z", loom_unary (p, LOOM_SCALAR_EXP, view));
}

static void
nothing (LoomProgram *p, LoomValue x)
{
  LoomValue y = loom_slice (p, x, DIMS (5, 0), NULL, DIMS (0, 6));

  loom_program_output (p, "y", loom_permute (p, y, AXES (1, 0)));
}

/* Slice i of a product, as four heads of four features at each position: [samples, heads, positions, features]. */
static LoomValue
part_by_heads (LoomProgram *p, LoomValue x, int i)
{
  LoomValue part = loom_slice (p, x, DIMS (0, 0, 16 * i), NULL, DIMS (2, 6, 16));

  return loom_permute (p, loom_reshape (p, part, 4, DIMS (2, 6, 4, 4)), AXES (0, 2, 1, 3));
}

static LoomValue
by_places (LoomProgram *p, LoomValue y)
{
  return loom_reshape (p, loom_permute (p, y, AXES (0, 2, 1, 3)), 3, DIMS (2, 6, 16));
}

/* Attention of a product's slices; in: q, k, v. */
static void
attend (LoomProgram *p, LoomValue x, LoomValue in[3], LoomValue out[2])
{
  const LoomAttentionAttrs attrs = { .scale = 0.01, .causal = TRUE };

  for (int i = 0; i < 3; i++)
    in[i] = part_by_heads (p, x, i);
  loom_emit (p, loom_prim ("attention"), &attrs, 4, (LoomValue[]){ in[0], in[1], in[2], 0 }, out);
}

static void
attention (LoomProgram *p, LoomValue x)
{
  LoomValue in[3], out[2];

  attend (p, x, in, out);
  loom_program_output (p, "y", by_places (p, out[0]));
}

/* Attention and its gradient, whose three results are concatenated as the product's; y is read twice after
 * attention. */
static void
attention_and_gradient (LoomProgram *p, LoomValue x)
{
  const LoomAttentionAttrs attrs = { .scale = 0.01, .causal = TRUE };
  LoomValue in[3], out[2], grad[3], g;

  attend (p, x, in, out);
  loom_program_output (p, "y", by_places (p, out[0]));
  loom_program_output (p, "z", loom_unary (p, LOOM_SCALAR_EXP, by_places (p, out[0])));
  g = loom_unary (p, LOOM_SCALAR_SIN, loom_slice (p, x, DIMS (0, 0, 7), NULL, DIMS (2, 6, 16)));
  g = loom_permute (p, loom_reshape (p, g, 4, DIMS (2, 6, 4, 4)), AXES (0, 2, 1, 3));
  loom_emit (p, loom_prim ("attention_grad"), &attrs, 8, (LoomValue[]){ g, in[0], in[1], in[2], out[1], 0, 0, out[0] },
             grad);
  for (int i = 0; i < 3; i++)
    grad[i] = by_places (p, grad[i]);
  loom_program_output (p, "dx", loom_concat (p, 3, grad, 2));
}

/* The three gradients have different readers. */
static void
gradients_apart (LoomProgram *p, LoomValue x)
{
  const LoomAttentionAttrs attrs = { .scale = 0.01 };
  LoomValue in[3], out[2], grad[3];

  attend (p, x, in, out);
  loom_emit (p, loom_prim ("attention_grad"), &attrs, 8,
             (LoomValue[]){ in[0], in[0], in[1], in[2], out[1], 0, 0, out[0] }, grad);
  loom_program_output (p, "dq", by_places (p, grad[0]));
  loom_program_output (p, "dk", by_places (p, grad[1]));
  loom_program_output (p, "dv", grad[2]);
}

/* The queries have another reader, so keys and values are not all that would be kept. */
static void
queries_shown (LoomProgram *p, LoomValue x)
{
  LoomValue in[3], out[2];

  attend (p, x, in, out);
  loom_program_output (p, "q", in[0]);
  loom_program_output (p, "y", by_places (p, out[0]));
}

static void
result_shown (LoomProgram *p, LoomValue x)
{
  LoomValue in[3], out[2];

  attend (p, x, in, out);
  loom_program_output (p, "h", out[0]);
  loom_program_output (p, "y", by_places (p, out[0]));
}

/* moves, others: the number of fused copies, and of remaining slices, permutes, concatenations and pads. */
static const struct Case
{
  const char *name;
  void (*build) (LoomProgram *p, LoomValue x);
  int rank;
  gint64 dim[4];
  guint moves, others;
} cases[] = {
  { "heads", heads, 3, { 2, 6, 48 }, 3, 0 },
  { "gradients", gradients, 4, { 2, 4, 6, 4 }, 1, 0 },
  { "one-part", one_part, 3, { 4, 6, 6 }, 1, 0 },
  { "merged-part", merged_part, 1, { 24 }, 1, 0 },
  { "slice-of-permute", slice_of_permute, 2, { 9, 20 }, 1, 0 },
  { "chain", chain, 2, { 6, 40 }, 1, 0 },
  { "ones", ones, 3, { 1, 7, 12 }, 3, 0 },
  { "image", image, 4, { 2, 3, 6, 6 }, 1, 0 },
  { "cut-part", cut_part, 3, { 3, 4, 8 }, 0, 2 },
  { "apart", apart, 3, { 4, 5, 6 }, 0, 2 },
  { "read-twice", read_twice, 2, { 8, 9 }, 0, 2 },
  { "view-read-twice", view_read_twice, 2, { 8, 9 }, 0, 2 },
  { "nothing", nothing, 2, { 5, 6 }, 0, 2 },
  { "attention", attention, 3, { 2, 6, 48 }, 0, 0 },
  { "attention-of-a-part", attention, 3, { 2, 6, 64 }, 3, 0 },
  { "attention-and-gradient", attention_and_gradient, 3, { 2, 6, 48 }, 0, 1 },
  { "attention-gradients-apart", gradients_apart, 3, { 2, 6, 48 }, 0, 0 },
  { "attention-queries-shown", queries_shown, 3, { 2, 6, 48 }, 3, 0 },
  { "attention-result-shown", result_shown, 3, { 2, 6, 48 }, 0, 1 },
};

static guint
count (const LoomPlan *plan, const char *const *primitive)
{
  guint n = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += g_strv_contains (primitive, loom_plan_instr (plan, i)->primitive);
  return n;
}

static void
test_case (gconstpointer data)
{
  static const char *const devices_of[] = { "cpu", "ref" };
  static const char *const moves[] = { "move", NULL }, *const others[] = { "slice", "permute", "concat", "pad", NULL };
  const struct Case *c = data;
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autofree float *x = NULL;
  gint64 n = 1;

  for (int i = 0; i < c->rank; i++)
    n *= c->dim[i];
  x = g_new (float, n);
  for (gint64 i = 0; i < n; i++)
    x[i] = (float)i + 1;
  c->build (p, loom_program_input (p, "x", LOOM_F32, c->rank, c->dim));
  for (guint d = 0; d < G_N_ELEMENTS (devices_of); d++)
    {
      LoomPlanOptions joined = { .device = devices_of[d] },
                      apart_options = { .device = devices_of[d], .no_fusion = TRUE };
      g_autofree char *wrong = check_passes (p, devices, &joined);
      LoomPlan *plan = loom_plan_new (p, devices, &joined, NULL), *plain = NULL;
      g_autoptr (GPtrArray) a = NULL, b = NULL;

      g_assert_cmpstr (wrong, ==, NULL);
      g_assert_cmpuint (count (plan, moves), ==, c->moves);
      g_assert_cmpuint (count (plan, others), ==, c->others);
      plain = loom_plan_new (p, devices, &apart_options, NULL);
      g_assert_cmpuint (count (plain, moves), ==, 0);
      a = run_once (devices, plan, devices_of[d], x);
      b = run_once (devices, plain, devices_of[d], x);
      for (guint o = 0; o < a->len; o++)
        for (gint64 i = 0; i < ((LoomTensor *)a->pdata[o])->count; i++)
          g_assert_cmpfloat (loom_tensor_get (a->pdata[o], i), ==, loom_tensor_get (b->pdata[o], i));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/moves/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  return g_test_run ();
}
