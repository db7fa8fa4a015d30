/* A module's output: in the flat net a wire, and nothing that computes. */
#include "engine/ops/op-private.h"

static const LoomSample samples[] = { { .inputs = { "f32:B,3" } }, { NULL } };

static const LoomParamSpec params[] = {
  { .name = LOOM_CARRY,
    .type = LOOM_PARAM_STRING,
    .def = "",
    .doc = "Under scan: the module_input that this is at the next step; under recurse: at the parent." },
  { NULL },
};

const LoomOp loom_op_module_output = {
  .name = "module_output",
  .title = "Module output",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_MODULE_OUTPUT,
  .icon = "loom-module-output-symbolic",
  .doc = "An output of a module, under the name of this node.",
  .details = "A module’s ports are named by these nodes. Wires inside end here, and wires to the outside begin here.",
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
