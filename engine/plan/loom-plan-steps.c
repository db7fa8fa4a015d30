/* Implements loom-plan-steps.h. Times, and the bytes alive at each instruction, are computed when a view requests them,
 * so that planning for a run does less. The storages are recorded at the end of planning (plan-memory-owners.c). */
#include "engine/plan/loom-plan-steps.h"

#include "engine/plan/plan-private.h"

const GPtrArray *
loom_plan_instr_nodes (const LoomPlan *plan, guint instr)
{
  return plan->nodes->pdata[instr];
}

/* ---- memory ------------------------------------------------------------------- */

guint
loom_plan_n_storages (const LoomPlan *plan)
{
  return plan->storages->len;
}

const LoomPlanStorage *
loom_plan_storage (const LoomPlan *plan, guint i)
{
  return &g_array_index (plan->storages, LoomPlanStorage, i);
}

/* Lets the sum of a row be at most that of the arena, by the rule that loom_plan_memory_along() states. */
static void
count_once (gsize *row, gsize arena)
{
  gsize sum = 0;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    sum += row[o];
  while (sum > arena)
    {
      int least = -1;

      for (int o = 0; o < LOOM_N_OWNERS; o++)
        if (row[o] > 0 && (least < 0 || row[o] < row[least]))
          least = o;
      const gsize less = MIN (row[least], sum - arena);
      row[least] -= less;
      sum -= less;
    }
}

gsize *
loom_plan_memory_along (const LoomPlan *plan, guint device)
{
  const guint n = loom_plan_n_instrs (plan);
  gsize *rows = g_new0 (gsize, (gsize)(n + 1) * LOOM_N_OWNERS), fixed[LOOM_N_OWNERS] = { 0 };
  LoomPlanMemory memory;

  loom_plan_memory (plan, device, &memory);
  /* First the changes at each instruction, in bytes that may be negative modulo 2^64; then their sums. */
  for (guint i = 0; i < plan->storages->len; i++)
    {
      const LoomPlanStorage *s = loom_plan_storage (plan, i);

      if (s->device != device)
        continue;
      if (s->is_fixed)
        fixed[s->owner] += s->bytes;
      else
        {
          rows[(gsize)s->first * LOOM_N_OWNERS + s->owner] += s->bytes;
          rows[(gsize)(s->last + 1) * LOOM_N_OWNERS + s->owner] -= s->bytes;
        }
    }
  for (guint i = 1; i < n; i++)
    for (int o = 0; o < LOOM_N_OWNERS; o++)
      rows[(gsize)i * LOOM_N_OWNERS + o] += rows[(gsize)(i - 1) * LOOM_N_OWNERS + o];
  for (guint i = 0; i < n; i++)
    {
      gsize *row = rows + (gsize)i * LOOM_N_OWNERS;

      count_once (row, memory.arena);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        row[o] += memory.state[o] + fixed[o];
    }
  return rows;
}

/* ---- time ----------------------------------------------------------------------- */

/* The attributes as the cost table's keys have them: those of the primitive, or the operations of a fused chain, which
 * is no primitive of programs. */
static char *
attributes_of (const LoomPlanInstr *instr)
{
  const LoomPrim *prim = loom_prim (instr->primitive);
  const LoomElementwiseAttrs *chain = instr->spec->attrs;
  GString *s;

  if (prim != NULL)
    return loom_prim_describe (prim, instr->spec->attrs);
  s = g_string_new (NULL);
  for (int i = 0; i < chain->n_steps; i++)
    g_string_append_printf (s, "%s%s", i > 0 ? "," : "", loom_scalar_name (chain->step[i].op));
  return g_string_free (s, FALSE);
}

LoomSecondsKind
loom_plan_seconds (const LoomPlan *plan, const LoomPlanInstr *instr, double *seconds)
{
  const LoomPlanDevice *device = loom_plan_device (plan, instr->device);
  LoomKernelOption option[LOOM_MAX_OPTIONS], own = { .algorithm = instr->algorithm };
  LoomKernelSpec plain;
  LoomMessage message;
  guint n;

  *seconds = 0;
  if (instr->spec == NULL || instr->kernel == NULL || instr->n_bodies > 0 || loom_plan_exchanges (instr)
      || instr->algorithm == NULL)
    return LOOM_SECONDS_UNKNOWN;
  const guint n_operands = (guint)(instr->spec->n_in + instr->spec->n_out);
  g_autofree LoomTensorDesc *desc = g_new (LoomTensorDesc, n_operands + 1);

  plain = *instr->spec;
  plain.algorithm = NULL;
  plain.in = desc;
  plain.out = desc + plain.n_in;
  for (guint i = 0; i < n_operands; i++)
    {
      desc[i] = i < (guint)plain.n_in ? instr->spec->in[i] : instr->spec->out[i - (guint)plain.n_in];
      if (desc[i].layout == LOOM_LAYOUT_NHWC && i < 64)
        own.nhwc |= G_GUINT64_CONSTANT (1) << i;
      desc[i].layout = LOOM_LAYOUT_PLAIN;
    }
  g_autofree char *attributes = attributes_of (instr);
  g_autofree char *call = loom_cost_call_key (&plain, attributes), *key = loom_cost_option_key (&plain, &own);
  const double measured = loom_cost_table_measured (device->costs, device->cost_key, call, key);

  if (measured >= 0)
    {
      *seconds = measured;
      return LOOM_SECONDS_MEASURED;
    }
  n = loom_plan_options (device, &plain, attributes, option, &message);
  for (guint i = 0; i < n; i++)
    if (option[i].nhwc == own.nhwc && g_strcmp0 (option[i].algorithm, own.algorithm) == 0)
      {
        *seconds = option[i].seconds;
        return LOOM_SECONDS_ESTIMATED;
      }
  *seconds = loom_cost_table_estimate (device->costs, device->backend->name, &plain, &own, instr->flops, instr->bytes);
  return LOOM_SECONDS_ESTIMATED;
}
