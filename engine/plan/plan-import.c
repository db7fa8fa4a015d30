/* Converts a program to the planner's working form, instruction by instruction.
 *
 * Only the representation changes. An element-wise primitive becomes a node with one step, and so does a type
 * conversion that fusion may merge. A view keeps only its first operand, because the others serve its gradient. The
 * file also makes the kernel call of a program's instruction for callers that do not plan (loom_plan_spec_of_instr()).
 */
#include "engine/plan/plan-private.h"

#include <string.h>

static LoomDType
compute_type (LoomDType float_type, guint n_in, const LoomDType *in, LoomDType out)
{
  gboolean has_float = loom_dtype_is_float (out);

  for (guint i = 0; i < n_in; i++)
    has_float |= loom_dtype_is_float (in[i]);
  return has_float ? float_type : LOOM_I64;
}

gboolean
loom_plan_rounds_to_tf32 (const LoomProgram *program, const LoomPrim *prim)
{
  return prim != NULL && (prim->flags & LOOM_PRIM_PRODUCT) && loom_program_get_tf32 (program);
}

gboolean
loom_plan_spec_of_instr (const LoomProgram *program, const LoomInstr *instr, const char **primitive, const void **attrs,
                         LoomElementwiseAttrs *attrs_store)
{
  if (instr->prim->view == LOOM_VIEW_ALWAYS)
    return FALSE;
  if (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
    {
      LoomDType in[3];

      g_assert (instr->n_in <= 3 && instr->n_out == 1);
      for (guint i = 0; i < instr->n_in; i++)
        in[i] = loom_value_info (program, instr->in[i])->desc.dtype;
      memset (attrs_store, 0, sizeof *attrs_store);
      attrs_store->compute = compute_type (loom_program_get_float (program), instr->n_in, in,
                                           loom_value_info (program, instr->out[0])->desc.dtype);
      attrs_store->n_steps = 1;
      attrs_store->step[0] = (LoomElementwiseStep){ .op = instr->prim->scalar, .arg = { 0, 1, 2 } };
      attrs_store->out[0] = (uint8_t)instr->n_in;
      *primitive = "elementwise";
      *attrs = attrs_store;
      return TRUE;
    }
  *primitive = instr->prim->name;
  *attrs = instr->attrs;
  return TRUE;
}

/* TRUE if a conversion keeps its meaning when it is fused: a conversion of any type to the registers' float type, or
 * between that and a 16-bit float, to which a step can round. A conversion to an integer stays a kernel, because a
 * float register would lose the truncation. */
static gboolean
is_mergeable_cast (PlanGraph *g, const LoomInstr *instr)
{
  const LoomTensorDesc *from, *to;

  if (!(instr->prim->flags & LOOM_PRIM_CONVERTS))
    return FALSE;
  from = &graph_value (g, instr->in[0])->desc;
  to = &graph_value (g, instr->out[0])->desc;
  return from->dtype != to->dtype
         && (to->dtype == loom_program_get_float (g->program)
             || (loom_dtype_is_float (from->dtype) && (to->dtype == LOOM_BF16 || to->dtype == LOOM_F16)));
}

/* Returns the device that a node requests; NULL for the plan's own device in any spelling. A program interns names, so
 * results can be compared by address. */
static const char *
requested_device (const PlanGraph *g, const char *name)
{
  name = loom_devices_for_dtype (g->devices, name, loom_program_get_float (g->program));
  return g_strcmp0 (name, g->options.device) == 0 ? NULL : name;
}

/* Fusion relies on each operand being listed once. */
static void
add_operand_once (PlanGraph *g, PlanNode *instr, guint v)
{
  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) == v)
      return;
  graph_add_in (g, instr, v);
}

static void
import_elementwise (PlanGraph *g, PlanNode *instr, const LoomInstr *from, LoomScalarOp op)
{
  PlanStep step = { .op = op, .result = from->out[0] };
  LoomDType in[3];

  for (guint i = 0; i < from->n_in; i++)
    {
      add_operand_once (g, instr, from->in[i]);
      step.arg[i] = from->in[i];
      in[i] = graph_value (g, from->in[i])->desc.dtype;
    }
  instr->compute
      = compute_type (loom_program_get_float (g->program), from->n_in, in, graph_value (g, from->out[0])->desc.dtype);
  instr->steps = g_array_new (FALSE, FALSE, sizeof (PlanStep));
  g_array_append_val (instr->steps, step);
}

static void
import_instr (PlanGraph *g, const LoomInstr *from)
{
  const LoomPrim *prim = from->prim;
  gboolean cast = is_mergeable_cast (g, from), elementwise = (prim->flags & LOOM_PRIM_ELEMENTWISE) != 0 || cast;
  PlanNode *instr = graph_insert (g, NULL, prim, elementwise ? NULL : from->attrs);
  /* The other operands of a view serve only its gradient, which has been computed already. */
  guint n = prim->view == LOOM_VIEW_ALWAYS ? 1 : loom_instr_n_operands (from);

  instr->region = from->region;
  instr->origin = from->origin;
  instr->device_name = requested_device (g, from->device);
  instr->recomputation = from->recomputation;
  instr->pass = from->pass;
  g_string_assign (instr->label, cast ? "cast" : prim->name);
  if (prim->flags & LOOM_PRIM_SIDE_EFFECT)
    {
      g_autofree char *whom = loom_prim_describe (prim, from->attrs);

      g_string_append_printf (instr->label, " %s", whom);
    }
  if (elementwise)
    import_elementwise (g, instr, from, cast ? LOOM_SCALAR_ID : prim->scalar);
  else
    for (guint i = 0; i < n; i++)
      graph_add_in (g, instr, from->in[i]);
  for (guint i = 0; i < from->n_out; i++)
    graph_add_out (g, instr, from->out[i]);
}

PlanGraph *
graph_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options)
{
  PlanGraph *g = g_new0 (PlanGraph, 1);
  PlanValue none = { .slot = -1, .input = -1, .commit = -1, .storage = -1 };

  g->nodes.size = sizeof (PlanNode);
  g->program = program;
  g->devices = devices;
  g->options = *options;
  g->faults = loom_faults_new ();
  g->values = g_array_new (FALSE, FALSE, sizeof (PlanValue));
  g->schedule = g_ptr_array_new ();
  g->storages = g_array_new (FALSE, FALSE, sizeof (PlanStorage));
  g->plan_devices = g_ptr_array_new ();
  g->input_copied = g_array_new (FALSE, TRUE, sizeof (gboolean));
  g_array_set_size (g->input_copied, loom_program_n_inputs (program));
  g->output_value = g_array_new (FALSE, FALSE, sizeof (guint));

  g_array_append_val (g->values, none);
  for (guint v = 1; v <= loom_program_n_values (program); v++)
    {
      const LoomValueInfo *info = loom_value_info (program, v);
      PlanValue value = none;

      value.desc = info->desc;
      value.slot = info->slot;
      value.input = info->input;
      value.region = info->region;
      value.origin = info->origin;
      value.device_name = requested_device (g, info->device);
      value.device = -1;
      value.owner = info->input >= 0 ? LOOM_OWNER_DATA : LOOM_OWNER_ACTIVATIONS;
      g_array_append_val (g->values, value);
    }
  for (guint o = 0; o < loom_program_n_outputs (program); o++)
    {
      guint v = loom_program_get_output (program, o)->value;

      graph_value (g, v)->is_output = TRUE;
      g_array_append_val (g->output_value, v);
    }
  for (guint s = 0; s < loom_program_n_slots (program); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (program, s);

      if (slot->commit != 0 && slot->commit != slot->read)
        graph_commit (g, slot->commit, (int)s);
    }
  for (guint i = 0; i < loom_program_n_instrs (program); i++)
    import_instr (g, loom_program_instr (program, i));

  return g;
}
