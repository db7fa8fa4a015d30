/* Scan: runs a module over the steps of a sequence. engine/net flattens the module and infers its types, because
 * operators do not know modules. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM (LOOM_BODY, STRING, NULL), .doc = "The module to run at each step." },
  { LOOM_PARAM ("axis", INT, "0"), LOOM_RANGE (0, LOOM_SHAPE_MAX_RANK - 1),
    .doc = "The dimension of the sequences that is time, counted from 0." },
  { LOOM_PARAM ("reverse", BOOL, "false"),
    .doc = "Whether the loop runs from the last step to the first; outputs keep the positions of their inputs." },
  { LOOM_PARAM (LOOM_STATEFUL, BOOL, "false"),
    .doc
    = "Whether a batch in training begins with the final state of the batch before (truncated backpropagation through "
      "time): the windows of a text are then read in order, and gradients end at the beginning of a window." },
  { LOOM_PARAM ("hoist", BOOL, "true"), .advanced = TRUE,
    .doc
    = "Whether products that do not depend on the carried state, and the gradients of weights, are computed for all "
      "steps at once outside of the loop; false computes them step by step, with the same bits as an unrolled loop." },
  { LOOM_PARAM ("sequence", STRING, ""),
    .doc = "The inputs of the module that are sliced along time, separated by commas; if not set, the first one that "
           "is not carried. The others are passed whole to every step." },
  { NULL },
};

const LoomOp loom_op_scan = {
  .name = "scan",
  .title = "Scan",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_LOOP,
  .icon = "loom-scan-symbolic",
  .synonyms = "loop recurrent while for iterate sequence time cell",
  .doc = "Runs a module once for each step of a sequence.",
  .details = "The module is one step of a recurrent network. An output with carry=\"h\" becomes its input h at the "
             "next step, of the same shape and type; the initial value is the tensor wired to h here, or zeros of the "
             "module_input’s shape. Other outputs are stacked over the steps; of a carried one the last value is "
             "returned. lengths [B] is the number of valid steps of each sample: after its end the carried values stay "
             "and the outputs are 0. All steps share the weights, random numbers differ between steps, and batch norms "
             "update their running statistics at each step. Loops can be nested.",
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
  .infer = loom_op_infer_module,
  .lower = loom_op_lower_module,
  .flops = loom_op_no_flops,
};
