/* Input: a value given from outside the graph. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "shape",
    .type = LOOM_PARAM_SHAPE,
    .fresh = "B,2",
    .doc = "The shape, of numbers and symbols: “B,1,28,28”; empty for a scalar." },
  { .name = "dtype", .type = LOOM_PARAM_DTYPE, .def = "f32", .doc = "The type of the elements." },
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
  .doc = "Declares a tensor that is given from outside the graph.",
  .details = "The value is a file given on the command line, or a tensor of another program. Capital letters in the "
             "shape are sizes that are bound when the graph runs, B for the batch size.",
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
