/* Tests the table of primitives: consistent descriptors, equality of attributes, and in-place results. */
#include "engine/core/loom-tensor.h"
#include "engine/program/loom-prim.h"
#include "kernels/move.h"
#include "tests/test-program.h"

/* Checks that the members of a primitive that passes read agree with each other. */
static void
check_facts (const LoomPrim *prim)
{
  gboolean elementwise = (prim->flags & LOOM_PRIM_ELEMENTWISE) != 0;

  /* Without equality two equal calls would not be merged; updates and collectives never are. */
  g_assert_true (prim->attrs_size == 0 || prim->equal != NULL || prim->updates != NULL
                 || (prim->flags & LOOM_PRIM_COLLECTIVE) != 0);
  g_assert_true (prim->hash == NULL || prim->equal != NULL);
  g_assert_true (prim->precision != LOOM_PRECISION_ROUNDS_ONCE || elementwise);
  g_assert_true (prim->view == LOOM_VIEW_NEVER || (!elementwise && prim->updates == NULL && prim->max_out == 1));
  g_assert_true (!(prim->flags & (LOOM_PRIM_CONVERTS | LOOM_PRIM_REARRANGES)) || prim->max_out == 1);
}

/* Attributes that differ in one field are not equal, and equal ones have one hash. */
#define DIFFERS(id, Type, field, other)                                                                                \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    const LoomPrim *prim = loom_prim (id);                                                                             \
    Type *a = g_new0 (Type, 1), *b = g_new0 (Type, 1);                                                                 \
                                                                                                                       \
    g_assert_cmpuint (prim->attrs_size, ==, sizeof (Type));                                                            \
    g_assert_true (loom_prim_same_attrs (prim, a, b));                                                                 \
    g_assert_true (prim->hash == NULL || prim->hash (a) == prim->hash (b));                                            \
    b->field = other;                                                                                                  \
    if (loom_prim_same_attrs (prim, a, b) || loom_prim_same_attrs (prim, b, a))                                        \
      g_error ("%s: attributes that differ in " #field " are equal", id);                                              \
    g_free (a);                                                                                                        \
    g_free (b);                                                                                                        \
  }                                                                                                                    \
  G_STMT_END

static void
test_equality (void)
{
  static const char *const pools[] = { "max_pool2d", "max_pool2d_grad", "avg_pool2d", "avg_pool2d_grad" };
  static const char *const convs[] = { "conv2d", "conv2d_input_grad", "conv2d_weight_grad" };
  static const char *const norms[]
      = { "batch_norm", "batch_norm_grad", "batch_norm_apply", "layer_norm", "layer_norm_grad" };
  static const char *const pairs[] = { "softmax", "softmax_grad" };
  static const char *const attentions[] = { "attention", "attention_grad" };

  DIFFERS ("scan", LoomScanAttrs, length, 2);
  DIFFERS ("scan", LoomScanAttrs, n_carried, 1);
  DIFFERS ("scan", LoomScanAttrs, n_sequences, 1);
  DIFFERS ("scan", LoomScanAttrs, n_stacked, 1);
  DIFFERS ("scan", LoomScanAttrs, reverse, TRUE);
  DIFFERS ("visit", LoomVisitAttrs, n_branches, 2);
  DIFFERS ("visit", LoomVisitAttrs, n_zeroed, 1);
  DIFFERS ("visit", LoomVisitAttrs, n_rows, 1);
  DIFFERS ("visit", LoomVisitAttrs, n_links, 1);
  DIFFERS ("visit", LoomVisitAttrs, slots, 2);
  DIFFERS ("visit", LoomVisitAttrs, n_counters, 1);
  DIFFERS ("visit", LoomVisitAttrs, n_sums, 1);
  DIFFERS ("visit", LoomVisitAttrs, n_row_results, 1);
  DIFFERS ("visit", LoomVisitAttrs, levels, TRUE);
  DIFFERS ("visit", LoomVisitAttrs, down, TRUE);
  DIFFERS ("visit", LoomVisitAttrs, is_gradient, TRUE);
  DIFFERS ("switch", LoomVisitAttrs, n_whole, 1);
  DIFFERS ("group_rows", LoomOrderAttrs, groups, 2);
  DIFFERS ("level_rows", LoomOrderAttrs, slots, 2);
  DIFFERS ("matmul", LoomMatmulAttrs, trans_a, TRUE);
  DIFFERS ("matmul", LoomMatmulAttrs, trans_b, TRUE);
  DIFFERS ("matmul", LoomMatmulAttrs, has_bias, TRUE);
  DIFFERS ("matmul", LoomMatmulAttrs, act, LOOM_SCALAR_RELU);
  DIFFERS ("matmul", LoomMatmulAttrs, derivative, LOOM_SCALAR_RELU_GRAD);
  DIFFERS ("matmul", LoomMatmulAttrs, sum_b, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (convs); i++)
    {
      DIFFERS (convs[i], LoomConv2dTo, kernel.stride[1], 2);
      DIFFERS (convs[i], LoomConv2dTo, kernel.pad[3], 2);
      DIFFERS (convs[i], LoomConv2dTo, kernel.dilation[1], 2);
      DIFFERS (convs[i], LoomConv2dTo, kernel.groups, 2);
      DIFFERS (convs[i], LoomConv2dTo, kernel.has_bias, TRUE);
      DIFFERS (convs[i], LoomConv2dTo, kernel.act, LOOM_SCALAR_RELU);
      DIFFERS (convs[i], LoomConv2dTo, kernel.algorithm, LOOM_CONV_DIRECT);
      DIFFERS (convs[i], LoomConv2dTo, size[1], 2);
    }
  for (guint i = 0; i < G_N_ELEMENTS (pools); i++)
    {
      DIFFERS (pools[i], LoomPool2dTo, kernel.kernel[1], 2);
      DIFFERS (pools[i], LoomPool2dTo, kernel.stride[1], 2);
      DIFFERS (pools[i], LoomPool2dTo, kernel.pad[1], 2);
      DIFFERS (pools[i], LoomPool2dTo, kernel.dilation[1], 2);
      DIFFERS (pools[i], LoomPool2dTo, kernel.count_include_pad, TRUE);
      DIFFERS (pools[i], LoomPool2dTo, kernel.divisor, 2);
      DIFFERS (pools[i], LoomPool2dTo, size[1], 2);
    }
  for (guint i = 0; i < G_N_ELEMENTS (norms); i++)
    {
      DIFFERS (norms[i], LoomNormAttrs, eps, 1);
      DIFFERS (norms[i], LoomNormAttrs, axes, 1);
      DIFFERS (norms[i], LoomNormAttrs, affine, TRUE);
      DIFFERS (norms[i], LoomNormAttrs, act, LOOM_SCALAR_RELU);
    }
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      DIFFERS (pairs[i], LoomSoftmaxAttrs, axis, 1);
      DIFFERS (pairs[i], LoomSoftmaxAttrs, log, TRUE);
    }
  for (guint i = 0; i < G_N_ELEMENTS (attentions); i++)
    {
      DIFFERS (attentions[i], LoomAttentionAttrs, scale, 2);
      DIFFERS (attentions[i], LoomAttentionAttrs, causal, TRUE);
      DIFFERS (attentions[i], LoomAttentionAttrs, has_mask, TRUE);
      DIFFERS (attentions[i], LoomAttentionAttrs, dropout, 0.5);
      DIFFERS (attentions[i], LoomAttentionAttrs, stream, 1);
      DIFFERS (attentions[i], LoomAttentionAttrs, in_place, TRUE);
    }
  DIFFERS ("cross_entropy", LoomCrossEntropyAttrs, ignore_index, 1);
  DIFFERS ("cross_entropy_grad", LoomCrossEntropyAttrs, ignore_index, 1);
  DIFFERS ("cross_entropy", LoomCrossEntropyAttrs, classes, 1);
  DIFFERS ("cross_entropy_grad", LoomCrossEntropyAttrs, classes, 1);
  DIFFERS ("reduce", LoomReduceAttrs, op, LOOM_REDUCE_MAX);
  DIFFERS ("reduce", LoomReduceAttrs, axes, 1);
  DIFFERS ("argreduce", LoomArgReduceAttrs, largest, TRUE);
  DIFFERS ("argreduce", LoomArgReduceAttrs, axis, 1);
  DIFFERS ("argreduce", LoomArgReduceAttrs, classes, 1);
  DIFFERS ("scatter_add_rows", LoomScatterTo, rows, 1);
  DIFFERS ("gather", LoomGatherAttrs, axis, 1);
  DIFFERS ("scatter", LoomScatterAttrs, axis, 1);
  DIFFERS ("scatter", LoomScatterAttrs, mode, LOOM_SCATTER_ADD);
  DIFFERS ("sort", LoomSortAttrs, axis, 1);
  DIFFERS ("sort", LoomSortAttrs, descending, TRUE);
  DIFFERS ("cumsum", LoomCumsumAttrs, axis, 1);
  DIFFERS ("cumsum", LoomCumsumAttrs, exclusive, TRUE);
  DIFFERS ("cumsum", LoomCumsumAttrs, reverse, TRUE);
  DIFFERS ("reshape", LoomDims, rank, 1);
  DIFFERS ("expand", LoomDims, rank, 1);
  DIFFERS ("permute", LoomPermuteAttrs, perm[LOOM_MAX_RANK - 1], 1);
  DIFFERS ("slice", LoomSliceTo, to.rank, 1);
  DIFFERS ("pad", LoomPadTo, to.rank, 1);
  DIFFERS ("pad", LoomPadTo, kernel.value, -0.0);
  DIFFERS ("concat", LoomConcatAttrs, axis, 1);
  DIFFERS ("move", LoomMoveAttrs, n, 1);
  DIFFERS ("move", LoomMoveAttrs, rank, 1);
  DIFFERS ("copy", LoomCopyTo, dtype, LOOM_I64);
  DIFFERS ("fill", LoomFillTo, kernel.value, -0.0);
  DIFFERS ("fill", LoomFillTo, dtype, LOOM_I64);
  DIFFERS ("fill", LoomFillTo, to.rank, 1);
  DIFFERS ("iota", LoomIotaTo, kernel.axis, 1);
  DIFFERS ("iota", LoomIotaTo, kernel.start, 1);
  DIFFERS ("iota", LoomIotaTo, kernel.step, 1);
  DIFFERS ("iota", LoomIotaTo, dtype, LOOM_I64);
  DIFFERS ("iota", LoomIotaTo, to.rank, 1);
  DIFFERS ("random", LoomRandomTo, kernel.kind, LOOM_RANDOM_NORMAL);
  DIFFERS ("random", LoomRandomTo, kernel.stream, 1);
  DIFFERS ("random", LoomRandomTo, dtype, LOOM_I64);
  DIFFERS ("random", LoomRandomTo, to.rank, 1);
  DIFFERS ("require", LoomRequireAttrs, what[0], 'a');
  DIFFERS ("triangular_solve", LoomTriangularSolveAttrs, upper, TRUE);
  DIFFERS ("triangular_solve", LoomTriangularSolveAttrs, transpose, TRUE);
  DIFFERS ("triangular_solve", LoomTriangularSolveAttrs, unitriangular, TRUE);
  DIFFERS ("solve", LoomSolveAttrs, transpose, TRUE);
  DIFFERS ("grad_stats", LoomGradStatsAttrs, n, 1);
  DIFFERS ("custom_gradient", LoomCustomGradientAttrs, n_inputs, 1);
  DIFFERS ("custom_gradient", LoomCustomGradientAttrs, backward.n_in, 1);
  DIFFERS ("custom_gradient", LoomCustomGradientAttrs, backward.n_steps, 1);
  DIFFERS ("custom_gradient", LoomCustomGradientAttrs, backward.n_out, 1);
}

/* An operand that a result updates has the result's type and shape, and no two results update one operand. */
static void
test_updates (void)
{
  const LoomSgdAttrs sgd = { .n = 2, .momentum = TRUE };
  const LoomAdamAttrs adam = { .n = 2, .amsgrad = TRUE };
  const LoomStepAttrs rmsprop = { .n = 2, .kind = LOOM_STEP_RMSPROP, .momentum = TRUE, .centered = TRUE };
  const struct
  {
    const char *prim;
    const void *attrs;
    guint lists, scalars;
  } steps[] = { { "sgd_step", &sgd, 3, 7 }, { "adam_step", &adam, 5, 8 }, { "rmsprop_step", &rmsprop, 5, 8 } };

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      const LoomPrim *prim = loom_prim (steps[i].prim);
      LoomTensorDesc in[32] = { 0 }, out[32];
      guint n_in = 2 * steps[i].lists + steps[i].scalars, n_out = 0;
      g_autofree char *why = NULL;
      guint seen = 0;

      for (guint k = 0; k < 2 * steps[i].lists; k++)
        in[k] = (LoomTensorDesc){ .dtype = LOOM_F32, .rank = 1, .dim = { k % 2 + 3 } };
      in[n_in - 1].dtype = LOOM_I64;
      if (!prim->infer (steps[i].attrs, n_in, in, out, &n_out, &why))
        g_error ("%s: %s", prim->name, why);
      g_assert_cmpuint (n_out, ==, 2 * (steps[i].lists - 1));
      for (guint o = 0; o < n_out; o++)
        {
          guint k = prim->updates (steps[i].attrs, o);

          g_assert_cmpuint (k, <, 2 * steps[i].lists);
          g_assert_cmpint (in[k].dim[0], ==, out[o].dim[0]);
          g_assert_true (k / 2 != 1); /* gradients are not updated */
          g_assert_cmpuint (seen >> k & 1, ==, 0);
          seen |= 1u << k;
        }
    }
}

/* Each composite of the table can be expanded, and each entry is documented. */
static void
test_table (void)
{
  for (const LoomPrim *const *prim = loom_prims (); *prim != NULL; prim++)
    {
      g_assert_true (loom_prim ((*prim)->name) == *prim);
      g_assert_nonnull ((*prim)->doc);
      g_assert_nonnull ((*prim)->infer);
      g_assert_true ((*prim)->tier == LOOM_TIER_CORE || (*prim)->expand != NULL);
      check_facts (*prim);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/program/prim-table/table", test_table);
  g_test_add_func ("/program/prim-table/equality", test_equality);
  g_test_add_func ("/program/prim-table/updates", test_updates);
  return g_test_run ();
}
