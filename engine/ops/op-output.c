/* Output: a name for a result. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = { { "input", "The result." }, { NULL } };

static const LoomSample samples[] = { { .inputs = { "f32:B,3" } }, { .inputs = { "i64:" } }, { NULL } };

const LoomOp loom_op_output = {
  .name = "output",
  .title = "Output",
  .category = LOOM_CATEGORY_DATA,
  .role = LOOM_ROLE_OUTPUT,
  .icon = "loom-output-symbolic",
  .usual = TRUE,
  .doc = "Names a value as a result of the graph.",
  .details = "Returns its input unchanged. The name is that of the node, so it stays the same if the operators before "
             "it are replaced.",
  .formula = "y = x",
  .reference = "return",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .lower = loom_op_lower_same,
  .flops = loom_op_no_flops,
  .samples = samples,
};
