/* Addition: y = a + b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_add = {
  .name = "add",
  .title = "Add",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-add-symbolic",
  .synonyms = "plus residual skip +",
  .usual = TRUE,
  .doc = "Adds two tensors, or a number to a tensor, element by element.",
  .details = "Joins two paths of a network, as in a residual block, or adds a bias. Shapes broadcast: counted from the "
             "right, a dimension of size 1 is repeated to the size of the other operand. Both operands get the "
             "gradient of the result, summed over repeated dimensions. The operation plus.",
  .formula = "y = a + b",
  .reference = "torch.add",
  .inputs = loom_op_port_operands,
  .outputs = loom_op_port_out,
  .params = loom_op_param_other,
  .scalar = LOOM_SCALAR_ADD,
  .infer = loom_op_infer_binary,
  .lower = loom_op_lower_binary,
  .samples = loom_op_samples_pairs,
};
