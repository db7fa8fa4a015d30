/* Add: y = a + b, with broadcasting. */
#include "engine/ops/op-private.h"

const LoomOp loom_op_add = {
  .name = "add",
  .title = "Add",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-add-symbolic",
  .synonyms = "plus residual skip +",
  .usual = TRUE,
  .doc = "Adds two tensors, or a number to a tensor.",
  .details = "Where two paths of a network join, as around a residual block, or where a bias is put on. Shapes need "
             "not be equal: counted from the right, a size of 1 is repeated as often as the other operand asks. The "
             "gradient reaches both operands unchanged, summed over repetitions. The operation plus.",
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
