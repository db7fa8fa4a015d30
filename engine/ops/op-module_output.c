/* Module output: a wire in the flat net, not a computation. */
#include "engine/ops/op-private.h"

static const LoomSample samples[] = { { .inputs = { "f32:B,3" } }, { NULL } };

static const LoomParamSpec params[] = {
  { LOOM_PARAM (LOOM_CARRY, STRING, ""),
    .doc = "The module_input that receives this value: at the next step (scan) or at the parent (recurse)." },
  { NULL },
};

const LoomOp loom_op_module_output = {
  .name = "module_output",
  .title = "Module output",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_MODULE_OUTPUT,
  .icon = "loom-module-output-symbolic",
  .doc = "Declares an output of a module, named like this node.",
  .details = "Wires inside of the module end at this port, and wires to the outside begin at it.",
  .formula = "y = x",
  .reference = "return",
  .inputs = loom_op_port_input,
  .params = params,
  .outputs = loom_op_port_out,
  .example = LOOM_OP_MODULE_EXAMPLE,
  .infer = loom_op_infer_same,
  .lower = loom_op_lower_same,
  .flops = loom_op_no_flops,
  .samples = samples,
};
