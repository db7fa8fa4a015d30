/* A module's input: in the flat net a wire, and nothing that computes. */
#include "engine/ops/op-private.h"

static const LoomSample samples[] = { { .inputs = { "f32:B,3" } }, { NULL } };

static const LoomParamSpec params[] = {
  { .name = "shape",
    .type = LOOM_PARAM_SHAPE,
    .def = "",
    .doc
    = "Of a value that scan or recurse carries: the shape of the zeros that it begins as, where nothing is wired." },
  { .name = "dtype", .type = LOOM_PARAM_DTYPE, .def = "f32", .doc = "The type of these zeros." },
  { NULL },
};

const LoomOp loom_op_module_input = {
  .name = "module_input",
  .title = "Module input",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_MODULE_INPUT,
  .icon = "loom-module-input-symbolic",
  .doc = "An input of a module, under the name of this node.",
  .details = "A module’s ports are named by these nodes. Wires from outside end here, and wires inside begin here.",
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
