/* Sort: elements along a dimension by size. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "dim",
    .type = LOOM_PARAM_INT,
    .def = "-1",
    .minimum = -8,
    .maximum = 7,
    .doc = "The dimension along which it sorts; -1 is the last." },
  { .name = "descending", .type = LOOM_PARAM_BOOL, .def = "false", .doc = "The largest first." },
  { .name = "stable",
    .type = LOOM_PARAM_BOOL,
    .def = "false",
    .doc = "Equals keep their order. They do here in any case, as the sort is stable.",
    .advanced = TRUE },
  { NULL },
};

static void
lower (LoomLower *ctx)
{
  LoomValue where, y = loom_op_sorted (ctx, &where);
  LoomTensorDesc d = loom_op_desc (ctx, loom_lower_input (ctx, 0));
  LoomProgram *p = loom_lower_program (ctx);

  loom_lower_output (ctx, 0, loom_reshape (p, y, d.rank, d.dim));
  loom_lower_output (ctx, 1, loom_reshape (p, where, d.rank, d.dim));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,5" }, .range = "distinct" },
  { .params = "dim=0 descending=true", .inputs = { "f32:4,3" }, .range = "distinct" },
  { .params = "dim=1 stable=true", .inputs = { "f32:2,6,3" }, .range = "distinct" },
  { .inputs = { "f32:1" }, .range = "distinct" },
  { .inputs = { "f32:0" }, .range = "distinct" },
  { .inputs = { "f32:" }, .range = "distinct" },
  { .inputs = { "i64:B,5" } },
  { NULL },
};

const LoomOp loom_op_sort = {
  .name = "sort",
  .title = "Sort",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-sort-symbolic",
  .doc = "Orders elements along a dimension by size, and tells where each one was.",
  .details = "Equal elements keep their order, so the result is the same on every device. NaN counts as larger than "
             "anything. Each element's gradient goes back to the place that it came from.",
  .formula = "y[0] ≤ y[1] ≤ …,  y[i] = x[indices[i]]",
  .reference = "torch.sort",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_ordered,
  .params = params,
  .infer = loom_op_infer_running_extreme,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
