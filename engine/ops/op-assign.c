/* Assign: sets a weight or buffer at the end of a training step.
 *
 * Every node of the step reads the old value, so the order of nodes has no meaning, as everywhere in a graph. */
#include "engine/ops/op-private.h"

#define TWICE "Another assign already sets “%s”; a step can set it only once. Remove one."

static const LoomPortSpec inputs[] = {
  { "target", "The state to set: a weight or buffer of a layer (fc.weight) or a parameter node." },
  { "value", "The value at the end of the step, with the shape of target." },
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
                        "Only state can be assigned: a parameter node, or a weight or buffer of a layer such as "
                        "from=\"fc.weight\". The value that is wired here is computed in every step.");
      return;
    }
  if (!loom_shape_compatible (&target->shape, &value->shape))
    {
      g_autofree char *want = loom_shape_to_string (&target->shape), *got = loom_shape_to_string (&value->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "value",
                        "The target is %s, but the value is %s; the shapes must be equal.", want, got);
      return;
    }
  if (!loom_dtype_is_float (target->dtype) && loom_dtype_is_float (value->dtype))
    {
      loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "value", "The target has integers (%s), but the value is %s.",
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
                                         "An assign depends on an input of the graph that is given as a value, so the "
                                         "weight cannot be set. Give the other inputs, or use the mode eval."));
      return;
    }
  if (loom_program_get_slot (p, (guint)slot)->commit != 0)
    {
      loom_lower_fail (ctx,
                       g_error_new (LOOM_ERROR, LOOM_ERROR_PORT, TWICE, loom_program_get_slot (p, (guint)slot)->name));
      return;
    }
  /* A value that is itself state is read before anything is written, so that two states can be swapped. */
  loom_program_commit (p, slot, loom_unary (p, LOOM_SCALAR_ID, value));
}

/* A target is state, which a sample cannot have: tests/ops tests it in graphs. */
static const LoomSample samples[] = { { NULL } };

const LoomOp loom_op_assign = {
  .name = "assign",
  .title = "Assign",
  .category = LOOM_CATEGORY_TRAINING,
  .icon = "loom-assign-symbolic",
  .synonyms = "update set variable",
  .usual = TRUE,
  .doc = "Sets a weight to a new value at the end of each training step.",
  .details = "With gradient it makes a training step in the graph itself: wire w − lr · ∂loss/∂w into “value” and w "
             "into “target”. All nodes of the step read the old value. It runs only in training. The optimiser does "
             "not update such a weight; with optimizer=\"none\" a graph trains with assigns only.",
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
