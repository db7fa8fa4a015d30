/* The planner's driver: runs the passes and builds the finished plan.
 *
 * The plan keeps only what the executor and the listings read: instructions with kernels, values with addresses, and
 * memory figures. */
#include "engine/plan/loom-plan-steps.h"
#include "engine/plan/plan-collective.h"
#include "engine/plan/plan-private.h"

#include <string.h>

static void
clear_instr (LoomPlanInstr *instr)
{
  if (instr->kernel != NULL)
    instr->kernel->free (instr->kernel);
  g_free (instr->label);
  g_free (instr->body);
  g_free (instr->sent);
  if (instr->spec != NULL)
    g_free ((gpointer)instr->spec->attrs);
  g_free ((LoomKernelSpec *)instr->spec);
  g_free ((guint *)instr->value);
}

/* TRUE if operand k is also an earlier operand, so that its bytes are counted already. */
static gboolean
is_repeated_operand (const PlanNode *instr, guint k)
{
  for (guint i = 0; i < k; i++)
    if (node_in (instr, i) == node_in (instr, k))
      return TRUE;
  return FALSE;
}

static double
bytes_of (PlanGraph *g, const PlanNode *instr)
{
  /* The update of all weights has an operand for each of them, too many for a comparison of all pairs. */
  g_autoptr (GHashTable) seen = instr->in->len > 16 ? g_hash_table_new (NULL, NULL) : NULL;
  double sum = 0;

  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) != 0
        && (seen != NULL ? g_hash_table_add (seen, GUINT_TO_POINTER (node_in (instr, k)))
                         : !is_repeated_operand (instr, k)))
      sum += (double)loom_desc_bytes (&graph_value (g, node_in (instr, k))->desc);
  for (guint k = 0; k < instr->out->len; k++)
    if (node_out (instr, k) != 0)
      sum += (double)loom_desc_bytes (&graph_value (g, node_out (instr, k))->desc);
  return sum;
}

static double
flops_of (PlanGraph *g, const PlanNode *instr)
{
  g_autofree LoomTensorDesc *in = NULL, *out = NULL;

  if (instr->prim == NULL || instr->out->len == 0)
    return 0;
  if (instr->steps != NULL)
    return (double)instr->steps->len * (double)loom_desc_count (&graph_value (g, node_out (instr, 0))->desc);
  if (instr->prim->flags & LOOM_PRIM_CONVERTS
      && graph_value (g, node_in (instr, 0))->desc.dtype == graph_value (g, node_out (instr, 0))->desc.dtype)
    return 0; /* a change of layout, or a copy of state */
  if (instr->prim->flops == NULL)
    return node_out (instr, 0) != 0 ? (double)loom_desc_count (&graph_value (g, node_out (instr, 0))->desc) : 0;
  in = g_new0 (LoomTensorDesc, instr->in->len + 1);
  out = g_new0 (LoomTensorDesc, instr->out->len + 1);
  for (guint k = 0; k < instr->in->len; k++)
    in[k] = graph_value (g, node_in (instr, k))->desc;
  for (guint k = 0; k < instr->out->len; k++)
    out[k] = graph_value (g, node_out (instr, k))->desc;
  return instr->prim->flops (instr->attrs, instr->in->len, in, out);
}

/* Copies the call of the instruction's kernel into one block: the spec, its tensor descriptions and its attributes.
 * Bodies that the attributes refer to belong to the kernel. */
static const LoomKernelSpec *
spec_of (PlanGraph *g, const PlanNode *instr)
{
  const guint n = instr->in->len + instr->out->len;
  g_auto (PlanKernelCall) call = { 0 };
  LoomKernelSpec *spec;
  LoomTensorDesc *desc;

  node_kernel_call (g, &call, instr);
  spec = g_malloc (sizeof *spec + n * sizeof *desc);
  desc = (LoomTensorDesc *)(spec + 1);
  if (n > 0)
    memcpy (desc, call.desc, n * sizeof *desc);
  *spec = call.spec;
  spec->in = desc;
  spec->out = desc + instr->in->len;
  spec->attrs = instr->steps != NULL ? g_memdup2 (&call.elementwise, sizeof call.elementwise)
                                     : g_memdup2 (instr->attrs, instr->prim->attrs_size);
  spec->algorithm = instr->algorithm;
  return spec;
}

static void
finalise_instr (LoomPlan *plan, PlanGraph *g, PlanNode *from)
{
  guint n = from->in->len + from->out->len;
  guint *value = g_new (guint, n + 1);
  LoomPlanInstr to = { .is_gate = from->prim != NULL && (from->prim->flags & LOOM_PRIM_GATE) != 0,
                       .primitive = node_kernel (from),
                       .origin = from->origin,
                       .region = from->region,
                       .pass = from->pass,
                       .device = (guint)from->device,
                       .n_in = from->in->len,
                       .n_out = from->out->len,
                       .value = value,
                       .scratch = from->scratch_offset,
                       .kept = from->kept_offset,
                       .until = G_MAXUINT };

  for (guint k = 0; k < from->in->len; k++)
    value[k] = node_in (from, k) != 0 ? node_in (from, k) : G_MAXUINT;
  for (guint k = 0; k < from->out->len; k++)
    value[from->in->len + k] = node_out (from, k) != 0 ? node_out (from, k) : G_MAXUINT;
  to.kernel = g_steal_pointer (&from->kernel);
  if (from->prim != NULL && from->prim->bodies != NULL)
    {
      to.n_bodies = from->prim->n_distinct != NULL ? from->prim->n_distinct (from->attrs) : 1;
      to.body = g_new (const LoomPlan *, to.n_bodies);
      for (guint k = 0; k < to.n_bodies; k++)
        to.body[k] = loom_plan_of_body (to.kernel, k);
    }
  to.syncs_host = from->prim != NULL && (from->prim->on_host != NULL || from->prim->n_distinct != NULL);
  for (guint k = 0; k < to.n_bodies; k++)
    to.syncs_host |= loom_plan_syncs_host (to.body[k]);
  if (from->prim != NULL && (from->prim->flags & LOOM_PRIM_COLLECTIVE) != 0)
    {
      to.along = loom_collective_along (from->prim, from->attrs);
      to.is_async = from->stream >= PLAN_STREAM_EXCHANGE;
      to.is_wait = n == 0;
    }
  if (from->prim != NULL && !to.is_wait)
    to.spec = spec_of (g, from);
  g_ptr_array_add (plan->nodes, plan_nodes_of (g, from));
  to.algorithm = from->algorithm;
  to.label = g_strdup (from->label->str);
  to.flops = flops_of (g, from);
  to.bytes = bytes_of (g, from);
  g_array_append_val (plan->instrs, to);
  plan->n_setup += from->setup;
}

static void
finalise_values (LoomPlan *plan, PlanGraph *g)
{
  for (guint v = 0; v < g->values->len; v++)
    {
      const PlanValue *from = graph_value (g, v);
      const PlanValue *root = graph_value (g, graph_root (g, v));
      LoomPlanValue to
          = { .desc = from->desc, .owner = root->owner, .origin = from->origin, .root = graph_root (g, v) };

      if (v > 0 && root->storage >= 0)
        {
          const PlanStorage *s = &g_array_index (g->storages, PlanStorage, (guint)root->storage);

          to.location.device = (guint)s->device;
          to.location.offset = s->offset;
          to.first = (guint)MAX (s->first, 0);
          to.last = (guint)MAX (s->last, 0);
          to.location.kind = s->once ? LOOM_LOCATION_SETUP : LOOM_LOCATION_ARENA;
          if (s->slot >= 0)
            {
              to.location.kind = LOOM_LOCATION_SLOT;
              to.location.index = (guint)s->slot;
              to.owner = loom_owner_of_slot (loom_program_get_slot (g->program, to.location.index)->kind);
            }
          else if (s->input >= 0)
            {
              to.location.kind = g_array_index (g->input_copied, gboolean, (guint)s->input) ? LOOM_LOCATION_ARENA
                                                                                            : LOOM_LOCATION_INPUT;
              to.location.index = (guint)s->input;
            }
        }
      g_array_append_val (plan->values, to);
    }
}

/* Records the device of each slot. A slot that no instruction reads is on the default device, number 0. */
static void
finalise_slots (LoomPlan *plan, PlanGraph *g)
{
  for (guint i = 0; i < loom_program_n_slots (g->program); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (g->program, i);
      guint device = slot->read != 0 ? (guint)graph_value (g, slot->read)->device : 0;

      g_array_append_val (plan->slot_device, device);
    }
}

/* Records the area of each device; a device without one gets an empty area. */
static void
finalise_areas (GArray *areas, PlanGraph *g, const GArray *storages)
{
  for (guint d = 0; d < g->plan_devices->len; d++)
    {
      const int at = g_array_index (storages, int, d);
      LoomPlanArea area = { 0 };

      if (at >= 0)
        {
          const PlanStorage *s = &g_array_index (g->storages, PlanStorage, (guint)at);

          area = (LoomPlanArea){ s->offset, s->bytes };
        }
      g_array_append_val (areas, area);
    }
}

static void
finalise (LoomPlan *plan, PlanGraph *g)
{
  for (guint i = 0; i < g->plan_devices->len; i++)
    g_ptr_array_add (plan->plan_devices, g_ptr_array_index (g->plan_devices, i));
  for (guint i = 0; i < g->schedule->len; i++)
    finalise_instr (plan, g, g_ptr_array_index (g->schedule, i));
  graph_export_waits (g, plan);
  graph_export_sends (g, plan);
  finalise_values (plan, g);
  finalise_slots (plan, g);
  graph_export_memory (g, plan);
  g_array_append_vals (plan->uploads, g->uploads->data, g->uploads->len);
  finalise_areas (plan->staging, g, g->staging);
  finalise_areas (plan->results, g, g->results);
  for (guint i = 0; i < loom_program_n_inputs (g->program); i++)
    {
      guint v = loom_program_get_input (g->program, i)->value;

      v = graph_is_used (g, v) ? v : G_MAXUINT;
      g_array_append_val (plan->input_value, v);
    }
  g_array_append_vals (plan->output_value, g->output_value->data, g->output_value->len);
  for (guint v = 1; v < g->values->len; v++)
    {
      const PlanValue *value = graph_value (g, v);
      const PlanStorage *s;

      if (value->commit < 0)
        continue;
      s = &g_array_index (g->storages, PlanStorage, (guint)graph_value (g, graph_root (g, v))->storage);
      if (s->slot != value->commit)
        {
          guint pair[2] = { v, (guint)value->commit };

          g_array_append_vals (plan->commit_copy, pair, 2);
        }
    }
}

static void
copy_fault (LoomFaults *to, const LoomFault *f)
{
  LoomFault *copy = loom_faults_add (to, f->code, f->line, f->node, f->port, "%s", f->message);

  loom_fault_copy_fix (copy, f);
}

static void
report_program (const LoomProgram *program, const LoomPlanOptions *options)
{
  LoomPlanPass whole
      = { "program", "The unchanged program.", TRUE, loom_program_n_instrs (program), loom_program_bytes (program) };

  if (options->on_pass == NULL)
    return;
  for (guint i = 0; i < loom_program_n_passes (program); i++)
    {
      const LoomProgramPass *made = loom_program_pass (program, i);
      LoomPlanPass pass = { made->name, made->doc, TRUE, made->n_instrs, made->bytes };

      options->on_pass (&pass, options->on_pass_data);
    }
  options->on_pass (&whole, options->on_pass_data);
}

static void
report_pass (PlanGraph *g, const PlanPass *pass, gboolean ran, gpointer data)
{
  LoomPlanPass left = { pass->name, pass->doc, ran, graph_n_nodes (g), 0 };

  if (pass->provides & GRAPH_HAS_MEMORY)
    for (guint d = 0; d < g->plan_devices->len; d++)
      left.bytes += graph_arena_bytes (g, d);
  else
    left.bytes = graph_bytes (g);
  g->options.on_pass (&left, g->options.on_pass_data);
}

static LoomPlanCheckFunc checker;

void
loom_plan_set_checker (LoomPlanCheckFunc check)
{
  checker = check;
}

LoomPlan *
loom_plan_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options, GError **error)
{
  LoomPlanOptions defaults = { .device = "cpu" };
  LoomPlan *plan;
  PlanGraph *g;

  g_return_val_if_fail (program != NULL && devices != NULL, NULL);

  if (options != NULL)
    defaults = *options;
  if (defaults.device == NULL)
    defaults.device = "cpu";
  if (!loom_program_is_countable (program, error))
    return NULL;
  report_program (program, &defaults);
  g = graph_new (program, devices, &defaults);
  if (!graph_run_passes (g, defaults.on_pass != NULL ? report_pass : NULL, NULL, error))
    {
      for (guint i = 0; defaults.faults != NULL && i < loom_faults_length (g->faults); i++)
        copy_fault (defaults.faults, loom_faults_get (g->faults, i));
      graph_free (g);
      return NULL;
    }

  plan = g_new0 (LoomPlan, 1);
  plan->program = loom_program_ref (program);
  plan->devices = loom_devices_ref (devices);
  plan->has_fixed_weights = defaults.fixed_weights;
  plan->fixed_inputs = defaults.fixed_inputs > 0 ? defaults.fixed_inputs : loom_program_n_inputs (program);
  plan->plan_devices = g_ptr_array_new ();
  plan->instrs = g_array_new (FALSE, FALSE, sizeof (LoomPlanInstr));
  plan->nodes = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  g_array_set_clear_func (plan->instrs, (GDestroyNotify)clear_instr);
  plan->values = g_array_new (FALSE, FALSE, sizeof (LoomPlanValue));
  plan->input_value = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->output_value = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->commit_copy = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->slot_device = g_array_new (FALSE, FALSE, sizeof (guint));
  plan->memory = g_array_new (FALSE, FALSE, sizeof (LoomPlanMemory));
  plan->holdings = g_array_new (FALSE, FALSE, sizeof (PlanHolding));
  plan->storages = g_array_new (FALSE, FALSE, sizeof (LoomPlanStorage));
  plan->uploads = g_array_new (FALSE, FALSE, sizeof (LoomPlanUpload));
  plan->staging = g_array_new (FALSE, FALSE, sizeof (LoomPlanArea));
  plan->results = g_array_new (FALSE, FALSE, sizeof (LoomPlanArea));
  plan->flat_gradients = defaults.flat_gradients;
  plan->has_mesh = defaults.mesh != NULL;
  for (int axis = 0; axis < LOOM_MESH_AXES && plan->has_mesh; axis++)
    {
      plan->mesh.size[axis] = defaults.mesh->size[axis];
      plan->mesh.at[axis] = defaults.mesh->at[axis];
    }
  finalise (plan, g);
  graph_free (g);
  if (checker != NULL)
    checker (plan);
  return plan;
}

void
loom_plan_drain (LoomPlan *plan)
{
  for (guint i = 0; i < plan->instrs->len; i++)
    {
      LoomKernel *kernel = g_array_index (plan->instrs, LoomPlanInstr, i).kernel;

      if (kernel != NULL)
        plan_collective_drain (kernel);
    }
}

void
loom_plan_free (LoomPlan *plan)
{
  if (plan == NULL)
    return;
  g_array_unref (plan->instrs);
  g_ptr_array_unref (plan->nodes);
  g_array_unref (plan->values);
  g_array_unref (plan->input_value);
  g_array_unref (plan->output_value);
  g_array_unref (plan->commit_copy);
  g_array_unref (plan->slot_device);
  g_array_unref (plan->memory);
  g_array_unref (plan->holdings);
  g_array_unref (plan->storages);
  g_array_unref (plan->uploads);
  g_array_unref (plan->staging);
  g_array_unref (plan->results);
  g_ptr_array_unref (plan->plan_devices);
  loom_devices_unref (plan->devices);
  loom_program_unref (plan->program);
  g_free (plan);
}

LoomProgram *
loom_plan_program (const LoomPlan *plan)
{
  return plan->program;
}

const LoomMesh *
loom_plan_mesh (const LoomPlan *plan)
{
  return plan->has_mesh ? &plan->mesh : NULL;
}

guint
loom_plan_n_devices (const LoomPlan *plan)
{
  return plan->plan_devices->len;
}

LoomPlanDevice *
loom_plan_device (const LoomPlan *plan, guint i)
{
  return g_ptr_array_index (plan->plan_devices, i);
}

guint
loom_plan_n_instrs (const LoomPlan *plan)
{
  return plan->instrs->len;
}

const LoomPlanInstr *
loom_plan_instr (const LoomPlan *plan, guint i)
{
  return &g_array_index (plan->instrs, LoomPlanInstr, i);
}

char *
loom_plan_purpose (const LoomPlan *plan, const LoomPlanInstr *instr)
{
  return loom_program_purpose (plan->program, loom_prim (instr->primitive), instr->region, instr->n_out,
                               instr->value + instr->n_in);
}

guint
loom_plan_n_values (const LoomPlan *plan)
{
  return plan->values->len;
}

const LoomPlanValue *
loom_plan_value (const LoomPlan *plan, guint i)
{
  return &g_array_index (plan->values, LoomPlanValue, i);
}

guint
loom_plan_input_value (const LoomPlan *plan, guint input)
{
  return g_array_index (plan->input_value, guint, input);
}

guint
loom_plan_output_value (const LoomPlan *plan, guint output)
{
  return g_array_index (plan->output_value, guint, output);
}

guint
loom_plan_slot_device (const LoomPlan *plan, guint slot)
{
  return g_array_index (plan->slot_device, guint, slot);
}

guint
loom_plan_fixed_inputs (const LoomPlan *plan)
{
  return plan->fixed_inputs;
}

gboolean
loom_plan_has_fixed_weights (const LoomPlan *plan)
{
  return plan->has_fixed_weights;
}

guint
loom_plan_n_setup (const LoomPlan *plan)
{
  return plan->n_setup;
}

guint
loom_plan_n_uploads (const LoomPlan *plan)
{
  return plan->uploads->len;
}

const LoomPlanUpload *
loom_plan_upload (const LoomPlan *plan, guint i)
{
  return &g_array_index (plan->uploads, LoomPlanUpload, i);
}

LoomPlanArea
loom_plan_staging (const LoomPlan *plan, guint device)
{
  return g_array_index (plan->staging, LoomPlanArea, device);
}

LoomPlanArea
loom_plan_results (const LoomPlan *plan, guint device)
{
  return g_array_index (plan->results, LoomPlanArea, device);
}

gboolean
loom_plan_is_result (const LoomPlan *plan, guint output)
{
  const LoomLocation *at = &loom_plan_value (plan, loom_plan_output_value (plan, output))->location;
  LoomPlanArea area;

  if (at->kind != LOOM_LOCATION_ARENA)
    return FALSE;
  area = loom_plan_results (plan, at->device);
  return at->offset >= area.offset && at->offset < area.offset + area.bytes;
}

gboolean
loom_plan_has_flat_gradients (const LoomPlan *plan)
{
  return plan->flat_gradients;
}

const GArray *
loom_plan_commit_copies (const LoomPlan *plan)
{
  return plan->commit_copy;
}

const char *
loom_plan_why_via_host (const LoomPlan *plan)
{
  for (guint i = 0; i < plan->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const char *why = instr->kernel != NULL ? plan_collective_why_via_host (instr->kernel) : NULL;

      if (why != NULL)
        return why;
    }
  return NULL;
}

gboolean
loom_plan_syncs_host (const LoomPlan *plan)
{
  for (guint i = 0; i < plan->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (instr->syncs_host || (instr->kernel != NULL && plan_collective_syncs_host (instr->kernel)))
        return TRUE;
    }
  return FALSE;
}
