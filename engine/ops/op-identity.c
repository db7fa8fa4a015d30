/* Identity: what comes in goes out, as torch.nn.Identity. */
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
  .doc = "Passes its input on unchanged.",
  .details = "A place holder: for a layer that is not there yet, for the second branch of a residual block, "
             "or for a module’s choice between a layer and none.",
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
