/* Softplus: ln(1 + e^(βx))/β. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("beta", FLOAT, "1"), .doc = "The sharpness β of the transition." },
  { LOOM_PARAM ("threshold", FLOAT, "20"), .advanced = TRUE,
    .doc = "If beta · x is above this, the result is x, so that the exponential does not overflow." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  const LoomInfer *params_of = loom_lower_infer (ctx);

  loom_lower_output (ctx, 0,
                     loom_op_emit_softplus (loom_lower_program (ctx), loom_op_operand (ctx, 0),
                                            loom_infer_float (params_of, "beta"),
                                            loom_infer_float (params_of, "threshold")));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "beta=2", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "beta=0.5 threshold=30", .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_softplus = {
  .name = "softplus",
  .title = "Softplus",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-softplus-symbolic",
  .doc = "Applies softplus, a smooth approximation of ReLU that is always positive.",
  .details = "Converts any number to a positive one, for example a variance or a rate. Larger beta is closer to ReLU. "
             "Its derivative is the sigmoid of beta · x.",
  .formula = "y = ln(1 + e^(βx)) / β",
  .reference = "torch.nn.Softplus",
  .source = "Dugas, Bengio, Bélisle, Nadeau and Garcia, “Incorporating Second-Order Functional Knowledge for Better "
            "Option Pricing”, NIPS 2000",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = loom_op_smooth_flops,
  .samples = samples,
};
