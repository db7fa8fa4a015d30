/* A loop over a module: engine/net makes its body flat and types it, since only it knows modules. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = LOOM_BODY, .type = LOOM_PARAM_STRING, .doc = "The module that each step runs." },
  { .name = "axis",
    .type = LOOM_PARAM_INT,
    .def = "0",
    .minimum = 0,
    .maximum = LOOM_SHAPE_MAX_RANK - 1,
    .doc = "The dimension of the sequences that is time, counted from 0." },
  { .name = "reverse",
    .type = LOOM_PARAM_BOOL,
    .def = "false",
    .doc
    = "It goes from the last step to the first; outputs are at the positions of the inputs that they were made from." },
  { .name = LOOM_STATEFUL,
    .type = LOOM_PARAM_BOOL,
    .def = "false",
    .doc
    = "In training what is carried begins a batch as the batch before has left it: windows of a text are then read "
      "in order, and gradients end at a window’s beginning." },
  { .name = "hoist",
    .type = LOOM_PARAM_BOOL,
    .def = "true",
    .advanced = TRUE,
    .doc
    = "Products that do not depend on what is carried, and the gradients of weights, are computed for all steps at "
      "once outside of the loop; false computes them step by step, to the bit as if the steps were drawn one by "
      "one." },
  { .name = "sequence",
    .type = LOOM_PARAM_STRING,
    .def = "",
    .doc = "The module’s inputs that are cut into steps, with commas between; without it the first that is not "
           "carried. The others go whole to every step." },
  { NULL },
};

/* engine/net types and lowers it: these are there for tables that ask every operator. */
static void
infer (LoomInfer *ctx)
{
}

static void
lower (LoomLower *ctx)
{
}

const LoomOp loom_op_scan = {
  .name = "scan",
  .title = "Scan",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_LOOP,
  .icon = "loom-scan-symbolic",
  .synonyms = "loop recurrent while for iterate sequence time cell",
  .doc = "Runs a module once for each step of a sequence.",
  .details
  = "The module is one step of a recurrent network of your own. An output with carry=\"h\" becomes its input h "
    "at the next step, which begins as what is wired to h here, or as zeros of the module_input’s shape. "
    "Other outputs are stacked over the steps; a carried one gives its last value. lengths says how many steps "
    "of each sample count, as at rnn.",
  .formula = "hₜ, yₜ = body(hₜ₋₁, xₜ)",
  .reference = "torch._higher_order_ops.scan",
  .params = params,
  .example
  = "<module name=\"cell\"><node id=\"x\" op=\"module_input\"/>"
    "<node id=\"h\" op=\"module_input\" shape=\"B,3\"/>"
    "<node id=\"in\" op=\"linear\" out_features=\"3\"/><node id=\"rec\" op=\"linear\" out_features=\"3\"/>"
    "<node id=\"sum\" op=\"add\"/><node id=\"act\" op=\"tanh\"/><node id=\"y\" op=\"module_output\"/>"
    "<node id=\"h1\" op=\"module_output\" carry=\"h\"/><wire from=\"x\" to=\"in\"/><wire from=\"h\" to=\"rec\"/>"
    "<wire from=\"in\" to=\"sum.input\"/><wire from=\"rec\" to=\"sum.other\"/><wire from=\"sum\" to=\"act\"/>"
    "<wire from=\"act\" to=\"y\"/><wire from=\"act\" to=\"h1\"/></module>"
    "<node id=\"x\" op=\"input\" shape=\"T,B,2\"/><node id=\"loop\" op=\"scan\" body=\"cell\"/>"
    "<wire from=\"x\" to=\"loop.x\"/>",
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
};
