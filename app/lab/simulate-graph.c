/* Measures a graph's training step for `gradloom simulate`: its kernels by node, and the same step on ranks of this
 * machine. */
#include "app/lab/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_STEPS 5
#define SECONDS   1.0 /* seconds of steps, with and without a trace */

/* ---- from a plan ----------------------------------------------------------------- */

static gboolean
is_product (const LoomPlanInstr *instr)
{
  static const char *const products[] = { "matmul", "conv", "attention" };

  for (guint i = 0; i < G_N_ELEMENTS (products); i++)
    if (strstr (instr->label, products[i]) != NULL)
      return TRUE;
  return FALSE;
}

/* Returns the layer of a node, and appends it if it is new. Instructions without a node belong to the newest layer. */
static SimulateLayer *
find_layer (SimulateWork *work, const char *origin)
{
  for (guint i = work->layers->len; i > 0; i--)
    {
      SimulateLayer *layer = &g_array_index (work->layers, SimulateLayer, i - 1);

      if (origin == NULL || g_str_equal (layer->name, origin))
        return layer;
    }
  return simulate_work_add (work, origin != NULL ? origin : "others");
}

/* The layer whose path is the longest prefix of a weight's name. */
static SimulateLayer *
find_owner (SimulateWork *work, const char *slot)
{
  SimulateLayer *best = NULL;

  for (guint i = 0; i < work->layers->len; i++)
    {
      SimulateLayer *layer = &g_array_index (work->layers, SimulateLayer, i);
      gsize n = strlen (layer->name);

      if (strncmp (slot, layer->name, n) == 0 && (slot[n] == '.' || slot[n] == '\0')
          && (best == NULL || n > strlen (best->name)))
        best = layer;
    }
  return best != NULL ? best : work->layers->len > 0 ? &g_array_index (work->layers, SimulateLayer, 0) : NULL;
}

static void
add_instr (SimulateWork *work, const LoomPlan *plan, const LoomPlanInstr *instr, double seconds)
{
  SimulateLayer *layer;
  double bytes = 0;

  if (instr->region != LOOM_REGION_FORWARD && instr->region != LOOM_REGION_BACKWARD)
    {
      work->update += seconds;
      return;
    }
  layer = find_layer (work, instr->origin);
  if (instr->region == LOOM_REGION_BACKWARD)
    {
      layer->backward += seconds;
      return;
    }
  layer->forward += seconds;
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->value[instr->n_in + k] != G_MAXUINT)
      bytes = MAX (bytes, (double)loom_desc_bytes (&loom_plan_value (plan, instr->value[instr->n_in + k])->desc));
  layer->activation = bytes;
}

/* Sets the figures that do not depend on time: communicated bytes, and memory. */
static void
add_plan (SimulateWork *work, const LoomPlan *plan, double samples, const LoomParallel *parallel)
{
  const LoomProgram *p = loom_plan_program (plan);

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      SimulateLayer *owner
          = slot->kind == LOOM_SLOT_PARAMETER && slot->trainable ? find_owner (work, slot->name) : NULL;

      if (owner != NULL)
        owner->parameters += (double)loom_plan_slot_bytes (slot);
    }
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      LoomPlanMemory memory;
      gsize bytes[LOOM_N_OWNERS] = { 0 };

      loom_plan_memory (plan, d, &memory);
      loom_plan_memory_sum (&memory, bytes);
      for (guint o = 0; o < LOOM_N_OWNERS; o++)
        work->memory[o] += (double)bytes[o];
    }
  work->samples = samples;
  work->parallel = *parallel;
  work->parallel.splits = NULL;
  work->parallel.stages = NULL;
}

#define SCALAR_BYTES                                                                                                   \
  256 /* an exchange of at most this size is no gradient, because gradients are exchanged in buckets */

/* Counts the exchanges in a step of two replicas at which ranks wait for each other. */
static gboolean
count_scalars (SimulateWork *work, const Bench *b, GError **error)
{
  const LoomMesh mesh = loom_mesh (0, (int[LOOM_MESH_AXES]){ 2, 1, 1 });
  const LoomParallel parallel = b->spec->parallel;
  g_autoptr (LoomStep) step = loom_step_new (b->spec, 2 * b->step->batch, TRUE, error);
  gboolean ok;

  if (step == NULL)
    return FALSE;
  b->spec->parallel.pipeline = 0;
  b->spec->parallel.shards = LOOM_SHARDS_NONE;
  ok = loom_step_divide (step, b->spec, &mesh, error);
  b->spec->parallel = parallel;
  for (guint i = 0; ok && i < loom_program_n_instrs (step->program); i++)
    {
      const LoomInstr *instr = loom_program_instr (step->program, i);
      double bytes = 0;

      for (guint k = 0; k < instr->n_in; k++)
        bytes += instr->in[k] != 0 ? (double)loom_desc_bytes (&loom_value_info (step->program, instr->in[k])->desc) : 0;
      work->scalars += (instr->prim->flags & LOOM_PRIM_COLLECTIVE) != 0 && bytes <= SCALAR_BYTES;
    }
  return ok;
}

/* Finds the precision of a step, and whether the card has it. f16 is planned as bf16, which has the same sizes and
 * which the processor supports. */
static gboolean
simulate_precision (const char *path, const Card *card, BenchOptions *o, LoomDType *precision, GError **error)
{
  static const LoomDType known[] = { LOOM_F32, LOOM_F16, LOOM_BF16 };
  g_autoptr (GString) others = g_string_new (NULL);
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);
  LoomElement *train = graph != NULL ? loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN) : NULL;
  const char *name = o->precision != NULL || train == NULL ? o->precision : loom_element_get (train, "precision");

  if (graph == NULL)
    return FALSE;
  *precision = g_strcmp0 (name, "f16") == 0 ? LOOM_F16 : g_strcmp0 (name, "bf16") == 0 ? LOOM_BF16 : LOOM_F32;
  if (*precision == LOOM_F16)
    o->precision = "bf16";
  if (card_peak (card, *precision) > 0)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (card_peak (card, known[i]) > 0)
      g_string_append_printf (others, "%s%s", others->len > 0 ? " or " : "", loom_dtype_name (known[i]));
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "%s does not compute products in %s. Use --precision %s.",
               card->title, loom_dtype_name (*precision), others->str);
  return FALSE;
}

gboolean
simulate_by_card (const char *path, const BenchOptions *options, const Card *card, SimulateWork *work, GError **error)
{
  g_auto (Bench) b = { 0 };
  BenchOptions o = *options;
  LoomDType precision;
  double ready;

  o.plan_only = TRUE;
  if (!simulate_precision (path, card, &o, &precision, error) || !bench_prepare (&b, path, &o, &ready, error))
    return FALSE;
  for (guint i = loom_plan_n_setup (b.plan); i < loom_plan_n_instrs (b.plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (b.plan, i);

      add_instr (work, b.plan, instr,
                 simulate_card_seconds (card, is_product (instr), precision, b.spec->tf32 || o.tf32, instr->flops,
                                        instr->bytes));
    }
  add_plan (work, b.plan, (double)b.step->batch, &b.spec->parallel);
  return count_scalars (work, &b, error);
}

/* ---- measured -------------------------------------------------------------------- */

/* Computes the median time of each instruction over all steps; a step has n spans. */
static void
take_medians (SimulateWork *work, const LoomPlan *plan, const GArray *spans, guint n)
{
  guint steps = spans->len / n;
  g_autofree double *seconds = g_new (double, steps);

  for (guint i = 0; i < n; i++)
    {
      for (guint s = 0; s < steps; s++)
        {
          const LoomExecSpan *span = &g_array_index (spans, LoomExecSpan, s * n + i);

          seconds[s] = (double)(span->end - span->begin) * 1e-9;
        }
      add_instr (work, plan, g_array_index (spans, LoomExecSpan, i).instr, bench_stats (seconds, steps).median);
    }
}

/* Ranks read and plan the graph one after the other. */
static GMutex preparing;

/* The maximum over all ranks, returned on all ranks. */
static gboolean
longest (LoomComm *comm, double *seconds, GError **error)
{
  LoomMessage message = { "" };
  double own = *seconds;

  return comm->all_reduce (comm, &own, seconds, 1, LOOM_F64, LOOM_REDUCE_MAX, &message) == LOOM_STATUS_OK
         || loom_error_of_ranks (message.text, error);
}

static double
held_bytes (const Bench *b)
{
  gsize bytes[LOOM_N_OWNERS];
  double sum = 0;

  loom_state_memory (b->state, NULL, bytes);
  for (int i = 0; i < LOOM_N_OWNERS; i++)
    sum += (double)bytes[i];
  return sum;
}

/* Steps are timed separately, as kernels are: the median is least affected by other programs. */
static gboolean
time_steps (Bench *b, gint64 steps, double *median, GError **error)
{
  g_autofree double *seconds = g_new (double, steps);

  for (gint64 i = 0; i < steps; i++)
    {
      gint64 start = loom_monotonic ();

      bench_feed (b);
      if (!loom_exec_run (b->exec, error))
        return FALSE;
      seconds[i] = (double)(loom_monotonic () - start) / G_USEC_PER_SEC;
    }
  *median = bench_stats (seconds, (guint)steps).median;
  return TRUE;
}

/* Spreads the remaining time of a step (executor, batch, and time lost to other threads if there are more threads than
 * processors) over the kernels. */
static void
add_rest (SimulateWork *work, double step)
{
  double kernels = work->update;

  for (guint i = 0; i < work->layers->len; i++)
    kernels += g_array_index (work->layers, SimulateLayer, i).forward
               + g_array_index (work->layers, SimulateLayer, i).backward;
  if (kernels <= 0)
    return;
  for (guint i = 0; i < work->layers->len; i++)
    {
      g_array_index (work->layers, SimulateLayer, i).forward *= step / kernels;
      g_array_index (work->layers, SimulateLayer, i).backward *= step / kernels;
    }
  work->update *= step / kernels;
}

static gint64
steps_for (double seconds)
{
  return CLAMP ((gint64)(SECONDS / MAX (seconds, 1e-6)), MIN_STEPS, 10000);
}

static double
now_seconds (void)
{
  return (double)loom_monotonic () / G_USEC_PER_SEC;
}

/* Times steps that ranks begin together; a step takes as long as the slowest rank computes. call receives the seconds
 * of an exchange after the last rank has arrived: ranks that were computing wake up later than ranks that only
 * communicate. */
static gboolean
time_together (Bench *b, LoomComm *comm, gint64 steps, double *median, double *call, GError **error)
{
  g_autofree double *seconds = g_new (double, steps), *calls = g_new (double, steps);

  for (gint64 i = 0; i < steps; i++)
    {
      double come, over;

      if (!time_steps (b, 1, &seconds[i], error))
        return FALSE;
      come = now_seconds ();
      if (!longest (comm, &seconds[i], error))
        return FALSE;
      over = now_seconds ();
      if (!longest (comm, &come, error))
        return FALSE;
      calls[i] = MAX (over - come, 0);
    }
  *median = bench_stats (seconds, (guint)steps).median;
  *call = bench_stats (calls, (guint)steps).median;
  return TRUE;
}

/* Times each kernel, and the whole step without inner measurements. */
static gboolean
measure (Bench *b, double step, SimulateWork *work, GError **error)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (LoomExecSpan));
  const guint n = loom_plan_n_instrs (loom_exec_plan (b->exec)) - loom_plan_n_setup (loom_exec_plan (b->exec));

  loom_exec_trace (b->exec, spans);
  for (gint64 i = 0; n > 0 && i < steps_for (step); i++)
    {
      bench_feed (b);
      if (!loom_exec_run (b->exec, error))
        return FALSE;
    }
  loom_exec_trace (b->exec, NULL);
  if (n > 0)
    take_medians (work, loom_exec_plan (b->exec), spans, n);
  add_rest (work, step);
  add_plan (work, loom_exec_plan (b->exec), (double)b->step->batch, &b->spec->parallel);
  return TRUE;
}

typedef struct
{
  const char *path;
  const BenchOptions *options;
  SimulateWork *work;
  double call;
  gboolean is_over;
} Measurement;

/* With several ranks, rank 0 measures while the others run the same kernels. */
static gboolean
measure_rank (LoomComm *comm, gpointer data, GError **error)
{
  Measurement *m = data;
  g_auto (Bench) b = { 0 };
  double ready, step = 0, call = 0;
  gboolean ok;

  g_mutex_lock (&preparing);
  ok = bench_prepare (&b, m->path, m->options, &ready, error);
  g_mutex_unlock (&preparing);
  if (!ok || !time_together (&b, comm, MIN_STEPS, &step, &call, error)
      || !time_together (&b, comm, steps_for (step), &step, &call, error) || !longest (comm, &call, error))
    return FALSE;
  if (comm->rank == 0)
    {
      m->call = call;
      ok = measure (&b, step, m->work, error) && count_scalars (m->work, &b, error);
      g_atomic_int_set (&m->is_over, TRUE);
      return ok;
    }
  while (!g_atomic_int_get (&m->is_over))
    {
      bench_feed (&b);
      if (!loom_exec_run (b.exec, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
simulate_measure (const char *path, const BenchOptions *options, int ranks, SimulateWork *work, double *call,
                  GError **error)
{
  Measurement m = { .path = path, .options = options, .work = work };
  g_auto (Bench) b = { 0 };
  double ready, step = 0;

  if (ranks > 1)
    {
      gboolean ok = bench_run_ranks (ranks, measure_rank, &m, error);

      *call = m.call;
      return ok;
    }
  return bench_prepare (&b, path, options, &ready, error) && time_steps (&b, MIN_STEPS, &step, error)
         && time_steps (&b, steps_for (step), &step, error) && measure (&b, step, work, error)
         && count_scalars (work, &b, error);
}

/* ---- ranks of this machine --------------------------------------------------------- */

typedef struct
{
  const char *path;
  const BenchOptions *options;
  RankFigures figures;
} RankRun;

static gboolean
run_rank (LoomComm *comm, gpointer data, GError **error)
{
  RankRun *run = data;
  BenchOptions o = *run->options;
  g_auto (Bench) b = { 0 };
  double ready, seconds = 0, planned = 0, held = 0;
  gboolean ok;

  o.comm = comm;
  g_mutex_lock (&preparing);
  ok = bench_prepare (&b, run->path, &o, &ready, error);
  g_mutex_unlock (&preparing);
  /* All ranks take the same number of steps, as determined by the slowest one. */
  if (!ok || !time_steps (&b, MIN_STEPS, &seconds, error) || !longest (comm, &seconds, error)
      || !time_steps (&b, steps_for (seconds), &seconds, error) || !longest (comm, &seconds, error))
    return FALSE;
  planned = bench_planned_bytes (loom_exec_plan (b.exec));
  held = held_bytes (&b);
  if (!longest (comm, &planned, error) || !longest (comm, &held, error))
    return FALSE;
  if (comm->rank == 0)
    run->figures = (RankFigures){ .seconds = seconds, .planned = planned, .held = held };
  return TRUE;
}

gboolean
simulate_run_ranks (const char *path, const BenchOptions *o, int ranks, RankFigures *figures, GError **error)
{
  RankRun run = { .path = path, .options = o };

  if (!bench_run_ranks (ranks, run_rank, &run, error))
    return FALSE;
  *figures = run.figures;
  return TRUE;
}

static gboolean
measure_line (LoomComm *comm, gpointer data, GError **error)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
  BenchLine line;

  for (gint64 bytes = 8; bytes <= 8000000; bytes *= 100)
    g_array_append_val (sizes, bytes);
  if (!bench_comm_line (comm, sizes, 5, &line, error))
    return FALSE;
  if (comm->rank == 0)
    *(BenchLine *)data = line;
  return TRUE;
}

/* The messages and bytes of an all-reduce of n ranks in the model. */
gboolean
simulate_link_here (int ranks, SimulateLink *link, GError **error)
{
  BenchLine line;

  if (!bench_run_ranks (ranks, measure_line, &line, error))
    return FALSE;
  *link = (SimulateLink){ .name = "here",
                          .title = "threads of this process",
                          .latency = line.per_call / (2 * ceil (log2 (ranks))),
                          .rate = line.per_byte > 0 ? 2 * (ranks - 1.0) / ranks / line.per_byte : 1e12,
                          .source = "measured" };
  return TRUE;
}
