/* Identity: returns its input, as torch.nn.Identity. */
#include "engine/ops/op-private.h"

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" } },
  { .inputs = { "i64:2,0" } },
  { .inputs = { "f32:" } },
  { NULL },
};

const LoomOp loom_op_identity = {
  .name = "identity",
  .title = "Identity",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-identity-symbolic",
  .doc = "Returns its input unchanged.",
  .details = "A placeholder: for a layer that is added later, for the shortcut of a residual block, or for a module "
             "that makes a layer optional.",
  .formula = "y = x",
  .reference = "torch.nn.Identity",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = NULL,
  .infer = loom_op_infer_same,
  .lower = loom_op_lower_same,
  .flops = loom_op_no_flops,
  .samples = samples,
};
