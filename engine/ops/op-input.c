/* Input: a value that is given from outside. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "shape",
    .type = LOOM_PARAM_SHAPE,
    .fresh = "B,2",
    .doc = "Sizes of the dimensions, numbers or symbols: “B,1,28,28”; empty for a single number." },
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
  .doc = "A tensor that is handed in from outside.",
  .details
  = "Stands for something that the graph does not compute: a file given on the command line, or a value of "
    "another program. Capital letters in the shape are sizes that are fixed only when it runs, B for the batch.",
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
