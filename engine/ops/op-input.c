/* Input: a value given from outside the graph. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("shape", SHAPE, "B,2"),
    .doc = "The sizes of the dimensions, as numbers or capital letters: “B,1,28,28”; empty for a scalar." },
  { LOOM_PARAM ("dtype", DTYPE, "f32"), .doc = "The type of the elements." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_shape (ctx, "shape");

  loom_infer_output (ctx, 0, loom_infer_dtype (ctx, "dtype"), &shape);
}

/* It has no lower(): its value is always an input of the program. */
const LoomOp loom_op_input = {
  .name = "input",
  .title = "Input",
  .category = LOOM_CATEGORY_DATA,
  .role = LOOM_ROLE_INPUT,
  .icon = "loom-input-symbolic",
  .usual = TRUE,
  .doc = "Declares an input of the graph, a tensor that the caller provides.",
  .details
  = "The value comes from a file (--in on the command line) or from the program that runs the graph. A capital letter "
    "in the shape is a size that is set when the graph runs; B is the batch size.",
  .formula = "y = given",
  .reference = "forward(self, x)",
  .outputs = loom_op_port_out,
  .params = params,
  .example = "<node id=\"x\" op=\"input\" shape=\"B,4\"/>"
             "<node id=\"y\" op=\"linear\" out_features=\"2\"/>"
             "<wire from=\"x\" to=\"y\"/>",
  .infer = infer,
  .flops = loom_op_no_flops,
};
