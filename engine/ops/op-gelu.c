/* GELU: x·Φ(x), exact or with a tanh approximation (Hendrycks and Gimpel 2016). */
#include "engine/ops/op-private.h"

static const char *const approximations[] = { "none", "tanh", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("approximate", ENUM, "none"), .choices = approximations,
    .doc = "“tanh” uses the approximation of GPT-2, which differs from the exact function by less than 0.0005." },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  gboolean exact = g_str_equal (loom_infer_string (loom_lower_infer (ctx), "approximate"), "none");

  loom_op_emit_unary (ctx, exact ? LOOM_SCALAR_GELU : LOOM_SCALAR_GELU_TANH);
}

static double
flops (const LoomInfer *ctx)
{
  return 8 * loom_op_output_count (ctx, 0);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "approximate=tanh", .inputs = { "f32:B,3,4" } },
  { .inputs = { "f32:" } },
  { .params = "approximate=tanh", .inputs = { "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_gelu = {
  .name = "gelu",
  .title = "GELU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-gelu-symbolic",
  .synonyms = "transformer",
  .usual = TRUE,
  .doc = "Applies the Gaussian error linear unit.",
  .details = "Each element is multiplied by the standard normal cumulative distribution function Φ of itself. It is "
             "smooth, and the usual activation in transformers.",
  .formula = "y = x · Φ(x)",
  .reference = "torch.nn.GELU",
  .source = "Hendrycks and Gimpel, “Gaussian Error Linear Units (GELUs)”, 2016, arXiv:1606.08415",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = loom_op_infer_float,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
