/* Parameter: a tensor that training changes. */
#include "engine/ops/op-private.h"

static const char *const inits[] = { "normal", "uniform", "zeros", "ones", "constant", NULL };

static const LoomParamSpec params[] = {
  { .name = "shape",
    .type = LOOM_PARAM_SHAPE,
    .fresh = "1",
    .doc = "Sizes of the dimensions, plain numbers; empty for a single number." },
  { .name = "init", .type = LOOM_PARAM_ENUM, .def = "normal", .choices = inits, .doc = "How it begins." },
  { .name = "mean", .type = LOOM_PARAM_FLOAT, .def = "0", .doc = "Of normal: the centre.", .advanced = TRUE },
  { .name = "std",
    .type = LOOM_PARAM_FLOAT,
    .def = "1",
    .minimum = 0,
    .maximum = 1e30,
    .doc = "Of normal: how far numbers spread." },
  { .name = "low", .type = LOOM_PARAM_FLOAT, .def = "0", .doc = "Of uniform: the smallest number.", .advanced = TRUE },
  { .name = "high", .type = LOOM_PARAM_FLOAT, .def = "1", .doc = "Of uniform: the bound above.", .advanced = TRUE },
  { .name = "value", .type = LOOM_PARAM_FLOAT, .def = "0", .doc = "Of constant: the number.", .advanced = TRUE },
  { NULL },
};

static LoomInit
init_of (const LoomInfer *ctx)
{
  const char *kind = loom_infer_string (ctx, "init");

  if (g_str_equal (kind, "normal"))
    return (LoomInit){ LOOM_INIT_NORMAL, loom_infer_float (ctx, "mean"), loom_infer_float (ctx, "std"), NULL };
  if (g_str_equal (kind, "uniform"))
    return (LoomInit){ LOOM_INIT_UNIFORM, loom_infer_float (ctx, "low"), loom_infer_float (ctx, "high"), NULL };
  if (g_str_equal (kind, "zeros"))
    return (LoomInit){ .kind = LOOM_INIT_ZEROS };
  return (LoomInit){ LOOM_INIT_CONSTANT, g_str_equal (kind, "ones") ? 1 : loom_infer_float (ctx, "value"), 0, NULL };
}

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_shape (ctx, "shape");

  if (!loom_shape_is_concrete (&shape))
    {
      g_autofree char *text = loom_shape_to_string (&shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "shape", "A parameter's sizes must be plain numbers; here they are %s.",
                        text);
      return;
    }
  loom_infer_weight (
      ctx,
      &(LoomWeightSpec){ .name = "out", .shape = shape, .init = init_of (ctx), .dtype = LOOM_F32, .bare_name = TRUE });
  loom_infer_output (ctx, 0, LOOM_F32, &shape);
}

static void
lower (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, loom_lower_weight (ctx, "out"));
}

static const LoomSample samples[] = {
  { .params = "shape=3,4" },
  { .params = "shape=5 init=uniform low=-0.5 high=0.5" },
  { .params = "shape=1 init=ones" },
  { .params = "shape=2,0 init=zeros" },
  { .params = "shape=2 init=constant value=0.25" },
  { NULL },
};

const LoomOp loom_op_parameter = {
  .name = "parameter",
  .role = LOOM_ROLE_PARAMETER,
  .title = "Parameter",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-parameter-symbolic",
  .synonyms = "weight variable learnable",
  .usual = TRUE,
  .doc = "A tensor that training changes.",
  .details
  = "Layers bring their own weights; this is a weight on its own, to build a layer from plain operations or to "
    "let two places share it. It begins random or constant and then follows its gradient.",
  .formula = "y = θ",
  .reference = "torch.nn.Parameter",
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
