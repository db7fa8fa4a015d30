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
  .doc = "Marks a value as a result of the graph.",
  .details
  = "Changes nothing; it says to readers and other programs which of many values is the answer, and gives it a "
    "name that stays when what lies before it is rebuilt.",
  .formula = "y = x",
  .reference = "return",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = loom_op_infer_same,
  .lower = loom_op_lower_same,
  .flops = loom_op_no_flops,
  .samples = samples,
};
