/* L2 penalty: λ times the sum of squares. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "0", "The weights, of any shapes; as many as are wired.", LOOM_PORT_VARIADIC },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("lambda", FLOAT, "0.0005"), LOOM_RANGE (0, 1e30), .doc = "The factor λ of the penalty.",
    .hyper = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape scalar = loom_shape_scalar ();

  for (guint i = 0; i < loom_infer_n_inputs (ctx); i++)
    {
      g_autofree char *port = g_strdup_printf ("%u", i);

      if (!loom_op_needs_float (ctx, i, port, "penalises weights"))
        return;
    }
  loom_infer_output (ctx, 0, LOOM_F32, &scalar);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue sum = 0;

  for (guint i = 0; i < loom_infer_n_inputs (loom_lower_infer (ctx)); i++)
    {
      LoomValue w = loom_cast (p, loom_lower_input (ctx, i), loom_program_get_float (p));
      LoomValue squares = loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, w));

      sum = sum == 0 ? squares : loom_binary (p, LOOM_SCALAR_ADD, sum, squares);
    }
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_MUL, sum, loom_lower_hyper (ctx, "lambda")));
}

static double
flops (const LoomInfer *ctx)
{
  double n = 0;

  for (guint i = 0; i < loom_infer_n_inputs (ctx); i++)
    n += 2 * loom_op_input_count (ctx, i);
  return n;
}

static const LoomSample samples[] = {
  { .params = "lambda=0.1", .inputs = { "f32:3,4", "f32:3", "f32:" } },
  { .inputs = { "f32:2,2" } },
  { .inputs = { "f32:0" } },
  { NULL },
};

const LoomOp loom_op_l2_penalty = {
  .name = "l2_penalty",
  .title = "L2 penalty",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-l2-penalty-symbolic",
  .synonyms = "weight decay regularization ridge svm",
  .usual = TRUE,
  .doc = "Computes the sum of squares of all wired weights, times lambda.",
  .details = "Added to a loss it keeps weights small, which reduces overfitting. The gradient of each weight w is 2 · "
             "lambda · w; with plain gradient descent this is weight decay.",
  .formula = "L = λ Σ w²",
  .reference = "torch.linalg.vector_norm",
  .source = "Krogh and Hertz, “A Simple Weight Decay Can Improve Generalization”, NIPS 1991",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
