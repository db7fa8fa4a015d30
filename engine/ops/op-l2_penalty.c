/* L2 penalty: the squares of weights, as a loss of their own. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "0", "Weights, or any floats; as many as are wired.", LOOM_PORT_VARIADIC },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "strength",
    .type = LOOM_PARAM_FLOAT,
    .def = "0.01",
    .minimum = 0,
    .maximum = 1e300,
    .doc = "How much the squares count against the other losses, λ." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_shape_scalar ();
  LoomDType dtype = loom_infer_input (ctx, 0)->dtype;

  for (guint i = 0; i < loom_infer_n_inputs (ctx); i++)
    {
      g_autofree char *port = g_strdup_printf ("%u", i);

      if (!loom_op_needs_float (ctx, i, port, "squares weights"))
        return;
      dtype = loom_op_promote (dtype, loom_infer_input (ctx, i)->dtype);
    }
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue sum = 0;

  for (guint i = 0; i < loom_infer_n_inputs (loom_lower_infer (ctx)); i++)
    {
      LoomValue square = loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, loom_op_loss_input (ctx, i)));

      sum = sum != 0 ? loom_binary (p, LOOM_SCALAR_ADD, sum, square) : square;
    }
  sum = loom_binary (p, LOOM_SCALAR_MUL, sum,
                     loom_op_const_like (ctx, sum, loom_infer_float (loom_lower_infer (ctx), "strength")));
  loom_lower_output (ctx, 0, sum);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,4" } },
  { .params = "strength=0.5", .inputs = { "f32:2,3", "f32:3", "f32:" } },
  { .params = "strength=1", .inputs = { "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_l2_penalty = {
  .name = "l2_penalty",
  .title = "L2 penalty",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-l2-penalty-symbolic",
  .doc = "Adds up the squares of what is wired in, times a strength.",
  .details = "Wire weights into it (a layer’s “weight” is an output, too) and add the result to the loss: large "
             "weights then cost something, and the network prefers small ones. What is called weight decay, drawn "
             "into the graph; with half the strength it is the same as weight_decay of sgd.",
  .formula = "L = λ · Σ w²",
  .reference = "torch.nn.utils.parameters_to_vector",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
