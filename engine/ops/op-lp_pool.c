/* Power-average pooling, as torch.nn.LPPool1d, LPPool2d and LPPool3d.
 *
 * A row for each number of dimensions. */
#include "engine/ops/op-layers.h"

#define PARAMS(n)                                                                                                      \
  { LOOM_PARAM_FRESH ("norm_type", FLOAT, "2"), LOOM_RANGE (1e-3, 1e3),                                                \
    .doc = "The exponent p: 1 sums, 2 is the root of the sum of squares, a large one nears the maximum." },            \
      LOOM_OP_POOL_KERNEL (n), LOOM_OP_POOL_STRIDE (n), LOOM_OP_POOL_CEIL_MODE

static const LoomParamSpec params[LOOM_MAX_SPACE][5] = {
  { PARAMS (1), { NULL } },
  { PARAMS (2), { NULL } },
  { PARAMS (3), { NULL } },
};

static const LoomSample samples[LOOM_MAX_SPACE][5] = {
  {
      { .params = "norm_type=2 kernel_size=2", .inputs = { "f32:B,2,6" }, .range = "positive" },
      { .params = "norm_type=1 kernel_size=3 stride=1", .inputs = { "f32:2,1,5" }, .range = "positive" },
      { .params = "norm_type=3 kernel_size=2 ceil_mode=true", .inputs = { "f32:1,2,5" }, .range = "positive" },
      { NULL },
  },
  {
      { .params = "norm_type=2 kernel_size=2", .inputs = { "f32:B,2,4,6" }, .range = "positive" },
      { .params = "norm_type=1.5 kernel_size=3,2 stride=1", .inputs = { "f32:2,1,4,3" }, .range = "positive" },
      { .params = "norm_type=3 kernel_size=2 ceil_mode=true", .inputs = { "f32:1,2,5,3" }, .range = "positive" },
      { NULL },
  },
  {
      { .params = "norm_type=2 kernel_size=2", .inputs = { "f32:B,1,4,2,4" }, .range = "positive" },
      { .params = "norm_type=3 kernel_size=2,1,2 stride=1", .inputs = { "f32:1,2,3,2,3" }, .range = "positive" },
      { .params = "norm_type=2 kernel_size=2 ceil_mode=true", .inputs = { "f32:1,1,3,3,2" }, .range = "positive" },
      { NULL },
  },
};

/* What the rows have in common. */
#define LP_POOL(n)                                                                                                         \
  .title = "Power-average pooling " #n "D", .category = LOOM_CATEGORY_LAYERS, .icon = "loom-avg-pool2d-symbolic",          \
  .formula = "y = (Σ over window of xᵖ)^(1/p)", .reference = "torch.nn.LPPool" #n "d",                                     \
  .details = "Between the sum (p = 1) and the maximum (p → ∞) of a window. Windows with a negative sum of powers are " \
             "not defined.",                                                                                               \
  .inputs = loom_op_port_space[n - 1], .outputs = loom_op_port_out, .params = params[n - 1],                               \
  .infer = loom_op_infer_pool, .lower = loom_op_lower_lp_pool, .flops = loom_op_pool_flops, .samples = samples[n - 1],     \
  .summary = loom_op_pool_summary

const LoomOp loom_op_lp_pool1d = {
  .name = "lp_pool1d",
  LP_POOL (1),
  .doc = "Takes the p-norm of a sequence over sliding windows.",
};

const LoomOp loom_op_lp_pool2d = {
  .name = "lp_pool2d",
  LP_POOL (2),
  .doc = "Takes the p-norm of an image over sliding windows.",
};

const LoomOp loom_op_lp_pool3d = {
  .name = "lp_pool3d",
  LP_POOL (3),
  .doc = "Takes the p-norm of a volume over sliding windows.",
};
