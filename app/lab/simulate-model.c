/* The discrete-event model of `gradloom simulate`: a step of one replica on lanes that compute and lanes that
 * communicate.
 *
 * A replica is a pipeline of stages, each on `tensor` GPUs that partition its products; replicas divide the batch. GPUs
 * are numbered along the tensor axis first, then by replica, then by stage, so that the ranks that communicate most are
 * in one machine (Narayanan et al., 2021, section 3). Collectives cost as recursive halving and doubling in Thakur et
 * al. (2005): 2 log2(n) messages and 2 (n-1)/n of the bytes for an all-reduce, half of each for a reduce-scatter or an
 * all-gather; between machines each link carries the bytes that remain after the sums within the machine. */
#include "app/lab/simulate.h"

#include <math.h>

void
simulate_work_init (SimulateWork *work)
{
  *work = (SimulateWork){ .layers = g_array_new (FALSE, TRUE, sizeof (SimulateLayer)) };
}

void
simulate_work_clear (SimulateWork *work)
{
  for (guint i = 0; work->layers != NULL && i < work->layers->len; i++)
    g_free (g_array_index (work->layers, SimulateLayer, i).name);
  g_clear_pointer (&work->layers, g_array_unref);
}

SimulateLayer *
simulate_work_add (SimulateWork *work, const char *name)
{
  SimulateLayer layer = { .name = g_strdup (name) };

  g_array_append_val (work->layers, layer);
  return &g_array_index (work->layers, SimulateLayer, work->layers->len - 1);
}

/* ---- exchanges --------------------------------------------------------------- */

static double
all_reduce_seconds (const SimulateSetup *setup, int ranks, int stride, double bytes)
{
  int here = CLAMP (setup->per_machine / stride, 1, ranks), machines = (ranks + here - 1) / here;
  double seconds = 0;

  if (here > 1)
    seconds += 2 * ceil (log2 (here)) * setup->inside.latency + 2 * (here - 1.0) / here * bytes / setup->inside.rate;
  /* The stride is the number of groups that share a machine's link. */
  if (machines > 1)
    seconds += 2 * ceil (log2 (machines)) * setup->between.latency
               + 2 * (machines - 1.0) / machines * bytes * MIN (stride, setup->per_machine) / setup->between.rate;
  return seconds;
}

static double
send_seconds (const SimulateSetup *setup, int stride, double bytes)
{
  if (stride < setup->per_machine)
    return setup->inside.latency + bytes / setup->inside.rate;
  return setup->between.latency + bytes * setup->per_machine / setup->between.rate;
}

/* ---- a stage ------------------------------------------------------------------ */

typedef struct
{
  guint first, end;         /* layers */
  double forward, backward; /* seconds of a micro-batch */
  double send;              /* seconds to send its result to the next stage */
  double *f_end, *b_end;    /* by micro-batch; negative: not yet */
  double free, busy;        /* the time at which it becomes idle; seconds of computation */
  double exchange_free, exchange_busy, exchange_end;
  double sent;    /* the time until which it sends results */
  GArray *passes; /* LoomPipelineEvent, in order */
  int next;       /* of them */
} Stage;

typedef struct
{
  const SimulateWork *work;
  const SimulateSetup *setup;
  int replicas;
  Stage *stage;
  GArray *spans;
} Model;

static void
add_to_lane (Model *m, int stage, const char *lane, LoomTraceKind kind, double begin, double end, double bytes,
             const char *label, const char *node)
{
  LoomTraceSpan span
      = { .rank = stage, .kind = kind, .begin = (gint64)(begin * 1e9), .end = (gint64)(end * 1e9), .bytes = bytes };

  if (m->spans != NULL && end > begin)
    loom_trace_add (m->spans, &span, lane, label, node);
}

static void
add_span (Model *m, int stage, LoomTraceKind kind, double begin, double end, double bytes, const char *label,
          const char *node)
{
  add_to_lane (m, stage, kind == LOOM_TRACE_EXCHANGE ? "exchange" : "GPU", kind, begin, end, bytes, label, node);
}

static const SimulateLayer *
layer_of (const Model *m, guint i)
{
  return &g_array_index (m->work->layers, SimulateLayer, i);
}

/* Of every two layers with weights the first is split by columns and the second by rows, so that one all-reduce is
 * needed in each direction (Shoeybi et al., 2019). */
static double
tensor_seconds (const Model *m, guint i)
{
  const SimulateLayer *layer = layer_of (m, i);

  if (m->setup->tensor == 1 || layer->parameters <= 0)
    return 0;
  return all_reduce_seconds (m->setup, m->setup->tensor, 1, layer->activation / m->setup->microbatches) / 2;
}

static double
forward_seconds (const Model *m, guint i)
{
  return layer_of (m, i)->forward / (m->setup->tensor * m->setup->microbatches) + tensor_seconds (m, i);
}

static double
backward_seconds (const Model *m, guint i)
{
  return layer_of (m, i)->backward / (m->setup->tensor * m->setup->microbatches) + tensor_seconds (m, i);
}

/* Assigns layers to each stage until it has its part of the remaining time. */
static void
balance (Model *m)
{
  double left = 0;
  guint at = 0, n = m->work->layers->len;

  for (guint i = 0; i < n; i++)
    left += forward_seconds (m, i) + backward_seconds (m, i);
  for (int s = 0; s < m->setup->pipeline; s++)
    {
      Stage *stage = &m->stage[s];
      int stages = m->setup->pipeline - s;
      double share = left / stages, own = 0;

      stage->first = at;
      while (at < n && (stages == 1 || n - at >= (guint)stages))
        {
          double next = forward_seconds (m, at) + backward_seconds (m, at);

          if (stages > 1 && at > stage->first && own + next / 2 > share)
            break;
          own += next;
          stage->forward += forward_seconds (m, at);
          stage->backward += backward_seconds (m, at);
          at++;
        }
      stage->end = at;
      left -= own;
      if (s + 1 < m->setup->pipeline && at > 0)
        stage->send = send_seconds (m->setup, m->setup->tensor * m->replicas,
                                    layer_of (m, at - 1)->activation / (m->setup->microbatches * m->setup->tensor));
    }
}

/* Begins when both the lane and its operands are ready; returns the time at which it ends. */
static double
exchange (Model *m, int s, double ready, double seconds, double bytes, const char *label, const char *node)
{
  Stage *stage = &m->stage[s];
  double begin = fmax (ready, stage->exchange_free);

  add_span (m, s, LOOM_TRACE_EXCHANGE, begin, begin + seconds, bytes, label, node);
  stage->exchange_busy += seconds;
  return stage->exchange_free = begin + seconds;
}

/* The partial results of a layer are summed while nothing else is computed; gradients in transfer overlap with this. */
static double
sum_parts (Model *m, int s, double now, guint i)
{
  Stage *stage = &m->stage[s];
  const double end = now + tensor_seconds (m, i);

  add_to_lane (m, s, "tensor", LOOM_TRACE_EXCHANGE, now, end, layer_of (m, i)->activation / m->setup->microbatches,
               "all_reduce", layer_of (m, i)->name);
  /* Time in which gradients are in transfer as well counts once. */
  stage->exchange_busy += fmax (0, end - fmax (now, stage->exchange_end));
  return end;
}

/* Sends a result to another stage, starting at `begin`. The time of several simultaneous transfers counts once. */
static void
send_result (Model *m, int s, double begin, double seconds, int micro)
{
  Stage *stage = &m->stage[s];
  const double end = begin + seconds;
  g_autofree char *name = g_strdup_printf ("micro-batch %d", micro + 1);

  begin = fmax (begin, stage->sent);
  if (end <= begin)
    return;
  add_to_lane (m, s, "send", LOOM_TRACE_EXCHANGE, begin, end, 0, "send", name);
  stage->exchange_busy += end - begin;
  stage->sent = end;
}

static double
gradient_seconds (const Model *m, double bytes)
{
  double whole = all_reduce_seconds (m->setup, m->replicas, m->setup->tensor, bytes);

  return m->setup->zero > 0 ? whole / 2 : whole;
}

/* Runs the layers of a stage in one direction, node by node, starting at `now`; the gradients of the last micro-batch
 * are exchanged by bucket. Returns the time at which the computation ends. */
static double
run_layers (Model *m, int s, double now, gboolean is_backward, gboolean is_last, gboolean shown)
{
  Stage *stage = &m->stage[s];
  double bucket = 0;
  const gboolean gathers = m->setup->zero == 3 && m->replicas > 1;

  /* Loss and metrics are computed for the whole batch before the backward pass begins. */
  if (is_backward && is_last && s + 1 == m->setup->pipeline && m->replicas > 1 && m->work->scalars > 0)
    now = exchange (m, s, now,
                    m->work->scalars * all_reduce_seconds (m->setup, m->replicas, m->setup->tensor, sizeof (float)),
                    m->work->scalars * sizeof (float), "all_reduce", "loss and metrics");
  for (guint k = stage->first; k < stage->end; k++)
    {
      guint i = is_backward ? stage->end - 1 - (k - stage->first) : k;
      const SimulateLayer *layer = layer_of (m, i);
      double own = layer->parameters / m->setup->tensor;
      double seconds = (is_backward ? backward_seconds (m, i) : forward_seconds (m, i)) - tensor_seconds (m, i);
      double begin;

      /* ZeRO-3 gathers a layer's parameters before the layer. */
      if (gathers && own > 0)
        {
          double here = exchange (m, s, m->setup->overlap ? 0 : now,
                                  all_reduce_seconds (m->setup, m->replicas, m->setup->tensor, own) / 2, own,
                                  "all_gather", layer->name);
          now = fmax (now, here);
        }
      if (shown)
        add_span (m, s, LOOM_TRACE_COMPUTE, now, now + seconds, 0, is_backward ? "backward" : "forward", layer->name);
      begin = now;
      now = sum_parts (m, s, now + seconds, i);
      stage->busy += now - begin;
      if (!is_backward || !is_last || m->replicas == 1)
        continue;
      bucket += own;
      if (bucket > 0 && (bucket >= m->setup->bucket || k + 1 == stage->end))
        {
          stage->exchange_end = exchange (m, s, now, gradient_seconds (m, bucket), bucket,
                                          m->setup->zero > 0 ? "reduce_scatter" : "all_reduce", "gradients");
          if (!m->setup->overlap)
            now = stage->exchange_end;
          bucket = 0;
        }
    }
  return now;
}

/* ---- a pipeline --------------------------------------------------------------- */

/* FALSE if its operands are not ready yet. */
static gboolean
try_operation (Model *m, int s)
{
  Stage *stage = &m->stage[s];
  const int n = m->setup->microbatches, stages = m->setup->pipeline;
  const LoomPipelineEvent *pass = &g_array_index (stage->passes, LoomPipelineEvent, stage->next);
  const gboolean is_backward = pass->backward;
  /* A pass of a pipeline is one span, except for the all-reduces within it, which overlap with no computation. */
  const gboolean by_layer = stages == 1 || m->setup->tensor > 1;
  int b = pass->micro;
  double ready = 0, begin, end;

  if (!is_backward && s > 0)
    ready = m->stage[s - 1].f_end[b] < 0 ? -1 : m->stage[s - 1].f_end[b] + m->stage[s - 1].send;
  if (is_backward)
    ready = s + 1 == stages                ? stage->f_end[b]
            : m->stage[s + 1].b_end[b] < 0 ? -1
                                           : m->stage[s + 1].b_end[b] + stage->send;
  if (ready < 0)
    return FALSE;
  begin = fmax (ready, stage->free);
  /* Stalls are recorded only for a trace. */
  if (stages > 1)
    add_span (m, s, LOOM_TRACE_WAIT, stage->free, begin, 0, "wait", "another stage");
  end = run_layers (m, s, begin, is_backward, stage->next == 2 * n - 1, by_layer);
  if (!by_layer)
    {
      g_autofree char *name = g_strdup_printf ("micro-batch %d", b + 1);

      add_span (m, s, LOOM_TRACE_COMPUTE, begin, end, 0, is_backward ? "backward" : "forward", name);
    }
  if (is_backward ? s > 0 : s + 1 < stages)
    send_result (m, s, end, is_backward ? m->stage[s - 1].send : stage->send, b);
  (is_backward ? stage->b_end : stage->f_end)[b] = stage->free = end;
  stage->next++;
  return TRUE;
}

static void
run_pipeline (Model *m)
{
  const int stages = m->setup->pipeline, all = 2 * m->setup->microbatches;
  gboolean moved = TRUE;

  while (moved)
    {
      moved = FALSE;
      for (int s = 0; s < stages; s++)
        while (m->stage[s].next < all && try_operation (m, s))
          moved = TRUE;
    }
}

/* ---- a step --------------------------------------------------------------------- */

static double
memory_of (const SimulateWork *work, const SimulateSetup *setup, int replicas)
{
  const double parts = (double)setup->tensor * setup->pipeline;
  const double alive = setup->one_f_one_b ? MIN (setup->pipeline, setup->microbatches) : setup->microbatches;
  double bytes = 0;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    {
      double own = work->memory[o];

      switch (o)
        {
        case LOOM_OWNER_PARAMETERS:
          own /= parts * (setup->zero >= 3 ? replicas : 1);
          break;
        case LOOM_OWNER_GRADIENTS:
          own /= parts * (setup->zero >= 2 ? replicas : 1);
          break;
        case LOOM_OWNER_OPTIMIZER:
          own /= parts * (setup->zero >= 1 ? replicas : 1);
          break;
        case LOOM_OWNER_ACTIVATIONS:
          own *= alive / (setup->microbatches * parts);
          break;
        default:
          break;
        }
      bytes += own;
    }
  return bytes;
}

/* After the backward pass: the remaining gradients, the update, and with ZeRO the gathering of parameters. */
static double
end_stage (Model *m, int s)
{
  Stage *stage = &m->stage[s];
  double own = 0, now = fmax (stage->free, stage->exchange_end), all = 0, update;

  for (guint i = stage->first; i < stage->end; i++)
    own += layer_of (m, i)->parameters / m->setup->tensor;
  for (guint i = 0; i < m->work->layers->len; i++)
    all += layer_of (m, i)->parameters;
  update = all > 0 ? m->work->update * own / all : m->work->update / m->setup->pipeline;
  if (m->setup->zero > 0)
    update /= m->replicas;
  add_span (m, s, LOOM_TRACE_WAIT, stage->free, now, 0, "wait", "gradients");
  add_span (m, s, LOOM_TRACE_COMPUTE, now, now + update, 0, "update", "parameters");
  now += update;
  if ((m->setup->zero == 1 || m->setup->zero == 2) && m->replicas > 1)
    now = exchange (m, s, now, all_reduce_seconds (m->setup, m->replicas, m->setup->tensor, own) / 2, own, "all_gather",
                    "parameters");
  return now;
}

static void
free_stages (Model *m)
{
  for (int s = 0; s < m->setup->pipeline; s++)
    {
      g_free (m->stage[s].f_end);
      g_array_unref (m->stage[s].passes);
    }
  g_free (m->stage);
}

/* The seconds of the step, given the stages at its end. */
static double
run_step (Model *m)
{
  LoomPipelineKind kind = m->setup->one_f_one_b ? LOOM_PIPELINE_1F1B : LOOM_PIPELINE_GPIPE;
  g_autoptr (GArray) schedule = loom_pipeline_schedule (kind, m->setup->pipeline, m->setup->microbatches, TRUE);
  double step = 0;

  m->stage = g_new0 (Stage, m->setup->pipeline);
  for (int s = 0; s < m->setup->pipeline; s++)
    {
      m->stage[s].f_end = g_new (double, 2 * m->setup->microbatches);
      m->stage[s].b_end = m->stage[s].f_end + m->setup->microbatches;
      for (int b = 0; b < 2 * m->setup->microbatches; b++)
        m->stage[s].f_end[b] = -1;
      m->stage[s].passes = g_array_new (FALSE, FALSE, sizeof (LoomPipelineEvent));
    }
  for (guint i = 0; i < schedule->len; i++)
    g_array_append_val (m->stage[g_array_index (schedule, LoomPipelineEvent, i).stage].passes,
                        g_array_index (schedule, LoomPipelineEvent, i));
  balance (m);
  run_pipeline (m);
  for (int s = 0; s < m->setup->pipeline; s++)
    step = fmax (step, end_stage (m, s));
  return step;
}

/* The time without communication. */
static double
without_exchange (const SimulateWork *work, const SimulateSetup *setup, int replicas)
{
  SimulateSetup ideal = *setup;
  Model m = { .work = work, .setup = &ideal, .replicas = replicas };
  double step;

  ideal.inside = ideal.between = (SimulateLink){ .rate = INFINITY };
  step = run_step (&m);
  free_stages (&m);
  return step;
}

SimulateResult
simulate_step (const SimulateWork *work, const SimulateSetup *setup, int gpus, GArray *spans)
{
  Model m = { .work = work, .setup = setup, .replicas = gpus / (setup->tensor * setup->pipeline), .spans = spans };
  SimulateResult r = { .gpus = gpus, .replicas = m.replicas };
  double makespan = 0, busy = 0, alone = work->update;

  r.step = run_step (&m);
  for (int s = 0; s < setup->pipeline; s++)
    {
      makespan = fmax (makespan, m.stage[s].free);
      busy += m.stage[s].busy;
      r.exchange = fmax (r.exchange, m.stage[s].exchange_busy);
    }
  for (guint i = 0; i < work->layers->len; i++)
    alone += layer_of (&m, i)->forward + layer_of (&m, i)->backward;
  r.exposed = r.step - without_exchange (work, setup, m.replicas);
  r.bubble = setup->pipeline > 1 ? 1 - busy / (setup->pipeline * makespan) : 0;
  r.samples_per_second = work->samples * m.replicas / r.step;
  r.efficiency = r.samples_per_second / gpus / (work->samples / alone);
  r.memory = memory_of (work, setup, m.replicas);
  free_stages (&m);
  if (spans != NULL)
    loom_trace_sort (spans);
  return r;
}
