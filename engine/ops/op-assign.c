/* Assign: gives a weight or buffer a new value when a training step ends.
 *
 * It reads like an assignment but happens at the end: everything in the step sees the old value, so the order of nodes
 * means nothing, as everywhere in a graph. */
#include "engine/ops/op-private.h"

#define TWICE "Something gives “%s” a new value already, so a second assign to it cannot be right. Remove one."

static const LoomPortSpec inputs[] = {
  { "target", "The state that changes: a weight or buffer of a layer (fc.weight) or a parameter node." },
  { "value", "Its value when the step ends; same shape." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *target = loom_infer_input (ctx, 0), *value = loom_infer_input (ctx, 1);
  const char *name;

  if (!loom_infer_input_is_state (ctx, 0, &name))
    {
      loom_infer_fault (ctx, LOOM_ERROR_PORT, "target",
                        "Only state can be assigned to: a parameter node, or a weight or buffer of a layer such as "
                        "from=\"fc.weight\". What is wired here is computed in every step.");
      return;
    }
  if (!loom_shape_compatible (&target->shape, &value->shape))
    {
      g_autofree char *want = loom_shape_to_string (&target->shape), *got = loom_shape_to_string (&value->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "value", "The target is %s, but the value is %s; they must be alike.",
                        want, got);
      return;
    }
  if (!loom_dtype_is_float (target->dtype) && loom_dtype_is_float (value->dtype))
    {
      loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "value", "The target holds whole numbers (%s), but the value is %s.",
                        loom_dtype_name (target->dtype), loom_dtype_name (value->dtype));
      return;
    }
  if (!loom_infer_claim_state (ctx, name))
    {
      loom_infer_fault (ctx, LOOM_ERROR_PORT, "target", TWICE, name);
      return;
    }
  loom_infer_output (ctx, 0, target->dtype, &target->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  int slot = loom_lower_input_slot (ctx, 0);
  LoomValue value;

  value = loom_cast (p, loom_lower_input (ctx, 1), loom_op_desc (ctx, loom_lower_input (ctx, 0)).dtype);
  loom_lower_output (ctx, 0, value);
  if (!loom_lower_has_effects (ctx))
    return;
  if (slot < 0)
    {
      loom_lower_fail (ctx, g_error_new (LOOM_ERROR, LOOM_ERROR_PORT,
                                         "An assign leads to a value that is given from outside, so it cannot be kept. "
                                         "Give the other inputs, or use the mode eval."));
      return;
    }
  if (loom_program_get_slot (p, (guint)slot)->commit != 0)
    {
      loom_lower_fail (ctx,
                       g_error_new (LOOM_ERROR, LOOM_ERROR_PORT, TWICE, loom_program_get_slot (p, (guint)slot)->name));
      return;
    }
  /* State that becomes other state is read before anything is written, or two that change places would be one. */
  loom_program_commit (p, slot, loom_unary (p, LOOM_SCALAR_ID, value));
}

/* A target is state, which a lone sample has none of: tests/ops tries it in graphs. */
static const LoomSample samples[] = { { NULL } };

const LoomOp loom_op_assign = {
  .name = "assign",
  .title = "Assign",
  .category = LOOM_CATEGORY_TRAINING,
  .icon = "loom-assign-symbolic",
  .synonyms = "update set variable",
  .usual = TRUE,
  .doc = "Gives a weight a new value when the step ends.",
  .details
  = "With gradient it makes a training step that is drawn instead of chosen: w − lr · ∂loss/∂w is wired into “value” "
    "and "
    "w into “target”. All nodes of a step see the old value. It works in training only; the optimiser leaves such a "
    "weight alone, and optimizer=\"none\" trains by assigns alone.",
  .formula = "θ ← value",
  .reference = "torch.Tensor.copy_",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .has_effect = TRUE,
  .example = "<node id=\"w\" op=\"parameter\" shape=\"3\"/>"
             "<node id=\"square\" op=\"square\"/>"
             "<node id=\"loss\" op=\"sum\"/>"
             "<node id=\"slope\" op=\"gradient\"/>"
             "<node id=\"step\" op=\"mul\" other=\"0.1\"/>"
             "<node id=\"lower\" op=\"sub\"/>"
             "<node id=\"update\" op=\"assign\"/>"
             "<wire from=\"w\" to=\"square\"/>"
             "<wire from=\"square\" to=\"loss\"/>"
             "<wire from=\"loss\" to=\"slope.of\"/>"
             "<wire from=\"w\" to=\"slope.wrt\"/>"
             "<wire from=\"slope\" to=\"step.input\"/>"
             "<wire from=\"w\" to=\"lower.input\"/>"
             "<wire from=\"step\" to=\"lower.other\"/>"
             "<wire from=\"w\" to=\"update.target\"/>"
             "<wire from=\"lower\" to=\"update.value\"/>",
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
