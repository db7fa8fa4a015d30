/* Cuts a net into stages. */
#include "engine/train/loom-stages.h"

#include "engine/core/loom-refuse.h"

/* ---- times ------------------------------------------------------------------- */

static double
seconds_of_call (const LoomProgram *p, const LoomInstr *instr, const LoomPlanDevice *device)
{
  LoomElementwiseAttrs store;
  LoomKernelSpec spec = { 0 };
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomMessage message = { "" };
  guint n_in = loom_instr_n_operands (instr), n;
  g_autofree LoomTensorDesc *desc = g_new0 (LoomTensorDesc, n_in + instr->n_out + 1);
  g_autofree char *words = loom_prim_describe (instr->prim, instr->attrs);
  double least = 0;

  if (!loom_plan_spec_of_instr (p, instr, &spec.primitive, &spec.attrs, &store))
    return 0;
  for (guint k = 0; k < n_in + instr->n_out; k++)
    {
      LoomValue v = k < n_in ? instr->in[k] : instr->out[k - n_in];

      if (v != 0)
        desc[k] = loom_value_info (p, v)->desc;
      else
        desc[k].dtype = LOOM_N_DTYPES;
    }
  spec.n_in = (int)n_in;
  spec.n_out = (int)instr->n_out;
  spec.in = desc;
  spec.out = desc + n_in;
  n = loom_plan_options (device, &spec, words, option, &message);
  for (guint k = 0; k < n; k++)
    least = k == 0 ? option[k].seconds : MIN (least, option[k].seconds);
  return least;
}

static double
seconds_of (const LoomProgram *p, const LoomInstr *instr, const LoomPlanDevice *device)
{
  guint n = 0;
  LoomProgram **body = instr->prim->bodies != NULL ? instr->prim->bodies (instr->attrs, &n) : NULL;
  double runs = instr->prim->flags & LOOM_PRIM_LOOP ? (double)((const LoomScanAttrs *)instr->attrs)->length : 1;
  double seconds = 0;

  if (n == 0)
    return instr->prim->on_host != NULL ? 0 : seconds_of_call (p, instr, device);
  /* Of several bodies each runs for some of the rows. */
  for (guint b = 0; b < (instr->prim->n_distinct != NULL ? 1 : n); b++)
    for (guint i = 0; i < loom_program_n_instrs (body[b]); i++)
      seconds += seconds_of (body[b], loom_program_instr (body[b], i), device);
  return runs * seconds;
}

/* Marks values that depend on weights: each stage computes all others itself. */
static gboolean *
find_learning (const LoomProgram *p)
{
  gboolean *learns = g_new0 (gboolean, loom_program_n_values (p) + 1);

  for (guint s = 0; s < loom_program_n_slots (p); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, s);

      if (slot->kind != LOOM_SLOT_SCALAR && slot->read != 0)
        learns[slot->read] = TRUE;
    }
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      gboolean any = FALSE;

      for (guint k = 0; k < instr->n_in; k++)
        any = any || learns[instr->in[k]];
      for (guint o = 0; o < instr->n_out; o++)
        if (instr->out[o] != 0)
          learns[instr->out[o]] = any;
    }
  return learns;
}

/* The seconds of each node in both passes, by path, and only of work that stages divide. */
static GHashTable *
measure (const LoomProgram *p, const LoomPlanDevice *device)
{
  GHashTable *seconds = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  g_autofree gboolean *learns = find_learning (p);

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      double *sum;

      if (instr->origin == NULL || instr->region == LOOM_REGION_UPDATE || instr->n_out == 0
          || !(instr->out[0] != 0 && learns[instr->out[0]]))
        continue;
      sum = g_hash_table_lookup (seconds, instr->origin);
      if (sum == NULL)
        {
          sum = g_new0 (double, 1);
          g_hash_table_insert (seconds, (gpointer)instr->origin, sum);
        }
      *sum += seconds_of (p, instr, device);
    }
  return seconds;
}

static guint
runner_of (const LoomNet *net, guint node)
{
  while (loom_net_node (net, node)->loop != G_MAXUINT)
    node = loom_net_node (net, node)->loop;
  return node;
}

/* The seconds of each node; nodes in a loop count for the node that runs it. Negative: no work that stages divide. */
static double *
times_of (const LoomStep *step, const LoomPlanDevice *device)
{
  g_autoptr (GHashTable) seconds = measure (step->program, device);
  double *time = g_new (double, loom_net_n_nodes (step->net) + 1);

  for (guint i = 0; i < loom_net_n_nodes (step->net); i++)
    time[i] = -1;
  for (guint i = 0; i < loom_net_n_nodes (step->net); i++)
    {
      const double *own = g_hash_table_lookup (seconds, loom_net_node (step->net, i)->path);
      guint runner = runner_of (step->net, i);

      if (own != NULL)
        time[runner] = MAX (time[runner], 0) + *own;
    }
  return time;
}

/* ---- cutting -------------------------------------------------------------------- */

/* Assigns nodes to stages until each has as much as `most`; returns the number of stages. With `stage`, each of n
 * stages gets at least one node. */
static int
fill (const double *time, guint n_nodes, double most, int n, int *stage)
{
  int at = 0;
  guint left = 0;
  double sum = 0;
  gboolean any = FALSE;

  for (guint i = 0; i < n_nodes; i++)
    left += time[i] >= 0;
  for (guint i = 0; i < n_nodes; i++)
    {
      if (time[i] >= 0)
        {
          gboolean is_due = stage != NULL && left <= (guint)(n - 1 - at);

          if (any && (sum + time[i] > most || is_due) && (stage == NULL || at + 1 < n))
            {
              at++;
              sum = 0;
            }
          any = TRUE;
          sum += time[i];
          left--;
        }
      if (stage != NULL)
        stage[i] = at;
    }
  return at + 1;
}

static void
balance (const double *time, guint n_nodes, int n, int *stage)
{
  double low = 0, high = 0;

  for (guint i = 0; i < n_nodes; i++)
    {
      low = MAX (low, time[i]);
      high += MAX (time[i], 0);
    }
  /* The minimum time of the slowest stage, to a billionth of the total. */
  for (int round = 0; round < 60; round++)
    {
      double middle = (low + high) / 2;

      if (fill (time, n_nodes, middle, n, NULL) <= n)
        high = middle;
      else
        low = middle;
    }
  fill (time, n_nodes, high, n, stage);
}

static gboolean
by_hand (int named, int n, guint n_nodes, int *stage, GError **error)
{
  g_autofree gboolean *has = g_new0 (gboolean, (gsize)named + 1);

  if (named < n)
    return loom_refuse (
        error, LOOM_ERROR_SCHEMA,
        "Nodes name the stages 0 to %d, but the run has %d ranks for stages. Start %d, name more stages, "
        "or remove stage=\"…\", so that stages are chosen by the cost of nodes.",
        named - 1, n, named);
  for (guint i = 0; i < n_nodes; i++)
    has[MAX (stage[i], 0)] = TRUE;
  for (int s = 0; s < named; s++)
    if (!has[s])
      return loom_refuse (error, LOOM_ERROR_SCHEMA,
                          "Nodes name the stages 0 to %d, but none is in stage %d. Number them without gaps.",
                          named - 1, s);
  for (guint i = 0; i < n_nodes; i++)
    stage[i] = MAX (stage[i], 0) * n / named;
  return TRUE;
}

LoomStages *
loom_stages_choose (const LoomStep *step, int n, LoomDevices *devices, const char *device, LoomStageCost *costs,
                    GError **error)
{
  guint n_nodes = loom_net_n_nodes (step->net), n_timed = 0;
  LoomPlanDevice *d = loom_devices_get (devices, device, error);
  g_autofree int *stage = g_new0 (int, n_nodes + 1);
  g_autofree double *time = NULL;
  LoomStages *stages;
  int named;

  if (d == NULL)
    return NULL;
  time = times_of (step, d);
  named = loom_net_stages (step->net, stage);
  for (guint i = 0; i < n_nodes; i++)
    n_timed += time[i] >= 0;
  if (named > 0)
    {
      if (!by_hand (named, n, n_nodes, stage, error))
        return NULL;
    }
  else if (n_timed < (guint)n)
    return loom_refuse_null (
        error, LOOM_ERROR_SHAPE,
        "A pipeline of %d stages needs as many nodes with weights, but this graph has %u. Use fewer stages.", n,
        n_timed);
  else
    balance (time, n_nodes, n, stage);
  stages = loom_stages_new (n);
  stages->meet = !d->info.host_memory; /* they communicate by NCCL */
  for (guint i = 0; i < n_nodes; i++)
    {
      int own = stage[runner_of (step->net, i)];

      loom_stages_set (stages, loom_net_node (step->net, i)->path, own);
      if (costs == NULL || time[i] < 0)
        continue;
      costs[own].nodes++;
      costs[own].seconds += time[i];
    }
  return stages;
}
