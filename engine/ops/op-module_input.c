/* Module input: a wire in the flat net, not a computation. */
#include "engine/ops/op-private.h"

static const LoomSample samples[] = { { .inputs = { "f32:B,3" } }, { NULL } };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("shape", SHAPE, ""),
    .doc = "For a value that scan or recurse carries: the shape of the initial zeros if nothing is wired." },
  { LOOM_PARAM ("dtype", DTYPE, "f32"), .doc = "The type of these zeros." },
  { NULL },
};

const LoomOp loom_op_module_input = {
  .name = "module_input",
  .title = "Module input",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_MODULE_INPUT,
  .icon = "loom-module-input-symbolic",
  .doc = "Declares an input of a module, named like this node.",
  .details = "Wires from outside of the module end at this port, and wires inside begin at it.",
  .formula = "y = x",
  .reference = "forward(self, x)",
  .inputs = loom_op_port_input,
  .params = params,
  .outputs = loom_op_port_out,
  .example = LOOM_OP_MODULE_EXAMPLE,
  .infer = loom_op_infer_same,
  .lower = loom_op_lower_same,
  .flops = loom_op_no_flops,
  .samples = samples,
};
