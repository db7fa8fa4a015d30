/* A parameter server: rounds, and the workers. */
#include "engine/train/rank-server-private.h"

#include "engine/core/loom-refuse.h"
#include "engine/program/loom-optimizer.h"

#include <string.h>

/* Seconds by which a rank waits longer for its answer than rank 0 for pushes, because only rank 0 knows which rank is
 * missing. */
#define PATIENCE 3

/* The data that all ranks have after a round. */
typedef struct
{
  gint64 step, batch;
  double loss_sum, sample_sum;
  gint32 code;
  char why[WHY_BYTES];
} Outcome;

void
rank_server_free (RankServer *s)
{
  if (s == NULL)
    return;
  g_clear_pointer (&s->pushed, g_ptr_array_unref);
  g_clear_pointer (&s->pulled, g_ptr_array_unref);
  for (int k = 0; s->member != NULL && k < s->n; k++)
    g_byte_array_unref (s->member[k].push);
  if (s->answer != NULL)
    g_byte_array_unref (s->answer);
  g_free (s->member);
  g_free (s->unfinished);
  g_free (s->own);
  g_free (s);
}

RankServer *
rank_server_new (const TrainModel *model, const RankGroup *group, GError **error)
{
  RankServer *s;

  if (group->comm->size < 2)
    return loom_refuse_null (
        error, LOOM_ERROR_USAGE,
        "strategy=\"server\" needs a rank that serves and a rank that trains. Start two or more with "
        "--ranks.");
  s = g_new0 (RankServer, 1);
  s->model = model;
  s->group = group;
  s->n = group->comm->size - 1;
  return s;
}

LoomStaleness
rank_server_staleness (const RankServer *s)
{
  return s->staleness;
}

char *
rank_server_why (const char why[WHY_BYTES])
{
  return g_utf8_make_valid (why, (gssize)strnlen (why, WHY_BYTES));
}

/* ---- values of slots as bytes ---------------------------------------------------- */

gboolean
rank_server_append (RankServer *s, const GPtrArray *names, GByteArray *to, GError **error)
{
  for (guint i = 0; i < names->len; i++)
    {
      g_autoptr (LoomTensor) value = loom_state_get (s->model->state, names->pdata[i], error);

      if (value == NULL)
        return FALSE;
      g_byte_array_append (to, value->data, (guint)value->bytes);
    }
  return TRUE;
}

LoomTensor *
rank_server_slot (RankServer *s, const char *name, GError **error)
{
  LoomTensorDesc desc;

  loom_state_slot (s->model->state, (guint)loom_state_find (s->model->state, name), NULL, NULL, &desc);
  return loom_tensor_new (desc.dtype, desc.rank, desc.dim, error);
}

gboolean
rank_server_set (RankServer *s, const GPtrArray *names, guint first, guint end, const guint8 *from, GError **error)
{
  for (guint i = first; i < end; i++)
    {
      g_autoptr (LoomTensor) value = rank_server_slot (s, names->pdata[i], error);

      if (value == NULL)
        return FALSE;
      memcpy (value->data, from, value->bytes);
      from += value->bytes;
      if (!loom_state_set (s->model->state, names->pdata[i], value, error))
        return FALSE;
    }
  return TRUE;
}

static gsize
bytes_of (RankServer *s, const GPtrArray *names)
{
  gsize bytes = 0;

  for (guint i = 0; i < names->len; i++)
    {
      LoomTensorDesc desc;

      loom_state_slot (s->model->state, (guint)loom_state_find (s->model->state, names->pdata[i]), NULL, NULL, &desc);
      bytes += loom_desc_bytes (&desc);
    }
  return bytes;
}

/* The outputs of a step's program: accumulated gradients, buffers of the forward pass, and weights. */
static void
find_slots (RankServer *s, const LoomProgram *p)
{
  g_autoptr (GPtrArray) buffers = g_ptr_array_new ();

  s->pushed = g_ptr_array_new_with_free_func (g_free);
  s->pulled = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if ((slot->kind == LOOM_SLOT_OPTIMIZER && g_str_has_prefix (slot->name, LOOM_SLOT_ACCUMULATE))
          || (slot->kind == LOOM_SLOT_SCALAR && slot->commit != 0
              && g_str_has_prefix (slot->name, LOOM_SCALAR_ACCUMULATE)))
        g_ptr_array_add (s->pushed, g_strdup (slot->name));
      else if (slot->kind == LOOM_SLOT_PARAMETER)
        g_ptr_array_add (s->pulled, g_strdup (slot->name));
      else if (slot->kind == LOOM_SLOT_BUFFER && slot->commit != 0)
        g_ptr_array_add (buffers, (gpointer)slot->name);
    }
  s->n_gradients = s->pushed->len;
  for (guint i = 0; i < buffers->len; i++)
    {
      g_ptr_array_add (s->pushed, g_strdup (buffers->pdata[i]));
      g_ptr_array_add (s->pulled, g_strdup (buffers->pdata[i]));
    }
}

static void
prepare (RankServer *s)
{
  if (s->pushed != NULL)
    return;
  find_slots (s, step_plans_first (s->owner.plans)->step->program);
  s->metric_bytes = metric_sums_count (s->owner.log->progress->metrics) * sizeof (double);
  s->push_bytes = sizeof (Push) + s->metric_bytes + bytes_of (s, s->pushed);
  s->answer_bytes = sizeof (Answer) + bytes_of (s, s->pulled);
  s->answer = g_byte_array_sized_new ((guint)s->answer_bytes);
  s->member = g_new0 (Member, s->n);
  for (int k = 0; k < s->n; k++)
    s->member[k].push = g_byte_array_new ();
  s->unfinished = g_new0 (Unfinished, s->model->spec->parallel.staleness + 2);
  s->own = g_new0 (double, (gsize)(s->model->spec->parallel.staleness + 2) * (gsize)s->n);
}

/* ---- a rank that trains ------------------------------------------------------------- */

/* The numbers of the metrics for one batch: their sums, then their weights. */
static gboolean
batch_metrics (RankServer *s, StepPlan *plan, double *sums, GError **error)
{
  g_autoptr (MetricSums) metrics = metric_sums_new (s->model->spec, plan->step);

  if (!metric_sums_add (metrics, plan, error))
    return FALSE;
  metric_sums_save (metrics, sums);
  return TRUE;
}

static gboolean
compute (RankServer *s, Push *push, double *metrics, GError **error)
{
  StepPlans *plans = s->owner.plans;
  const TrainProgress *progress = s->owner.log->progress;
  LoomState *state = s->model->state;
  const LoomBatch *batch = loom_loader_next (s->owner.data->loader, error);
  g_autoptr (GError) local = NULL;
  StepPlan *plan;
  int rank, ranks;

  rank_group_shard (s->group, &rank, &ranks);
  plan = batch != NULL ? step_plans_get (plans, batch->n_own, TRUE, error) : NULL;
  if (plan == NULL)
    return FALSE;
  push->samples = (double)batch->n;
  /* A batch that is too small to be divided is computed whole by each rank. */
  push->share = batch->n < ranks ? 1.0 / ranks : (double)batch->n_own / (double)batch->n;
  if (!learning_rates_check (s->owner.rates, progress, progress->step, error))
    return FALSE;
  learning_rates_set (s->owner.rates, progress, progress->step);
  loom_state_put_scalar_at (state, (guint)plans->first_slot, 1);
  loom_state_put_scalar_at (state, (guint)plans->weight_slot, push->share);
  if (plans->rng_slot >= 0)
    loom_state_put_scalar_at (state, (guint)plans->rng_slot, (double)(progress->step * ranks + rank));
  step_plan_feed (plan, batch);
  if (!loom_exec_run (plan->exec, &local))
    return step_failure_of_batch (s->owner.failure, plan, batch, s->owner.rates->lr, g_steal_pointer (&local), error);
  push->loss = loom_exec_scalar (plan->exec, plan->loss);
  push->weight = plan->step->n_terms == 1 ? loom_exec_scalar (plan->exec, plan->term_count[0]) : push->share;
  return batch_metrics (s, plan, metrics, error);
}

static gboolean
push_batch (RankServer *s, gint64 version, gboolean *failed, GError **error)
{
  const TrainProgress *progress = s->owner.log->progress;
  g_autoptr (GByteArray) bytes = g_byte_array_sized_new ((guint)s->push_bytes);
  g_autofree double *metrics = g_malloc0 (s->metric_bytes + sizeof (double));
  g_autoptr (GError) local = NULL;
  LoomMessage message = { "" };
  Push push = { .batch = progress->batch, .version = version, .code = -1, .wants = s->owner.must_end (s->owner.owner) };

  if (!compute (s, &push, metrics, &local))
    {
      push.code = local->domain == LOOM_ERROR ? local->code : LOOM_ERROR_IO;
      push.overflows = s->owner.failure->place.weights_overflow;
      g_strlcpy (push.why, local->message, sizeof push.why);
    }
  *failed = push.code >= 0;
  g_byte_array_append (bytes, (const guint8 *)&push, sizeof push);
  g_byte_array_append (bytes, (const guint8 *)metrics, (guint)s->metric_bytes);
  if (!rank_server_append (s, s->pushed, bytes, error))
    return FALSE;
  return rank_group_check (s->group->comm->send (s->group->comm, bytes->data, bytes->len, 0, TAG_PUSH, &message),
                           &message, error);
}

static gboolean
receive_answer (RankServer *s, guint8 *bytes, GError **error)
{
  LoomComm *comm = s->group->comm;
  const double timeout = comm->timeout;
  LoomMessage message = { "" };
  LoomStatus status;

  comm->timeout += timeout > 0 ? PATIENCE : 0;
  status = comm->receive (comm, bytes, (gint64)s->answer_bytes, 0, TAG_ANSWER, &message);
  comm->timeout = timeout;
  return rank_group_check (status, &message, error);
}

/* Of the newest push, before `batch`: the server may end the round earlier, but not later, and if it continues it has
 * taken a step. */
static gboolean
is_answer (const Answer *answer, gint64 batch, gint64 version, gint64 last)
{
  const gboolean continues = !answer->stop && batch < answer->end;

  return answer->batch == batch - 1 && answer->end <= last && answer->version >= version + continues;
}

static gboolean
train (RankServer *s, gint64 end, GError **error)
{
  TrainProgress *progress = s->owner.log->progress;
  g_autofree guint8 *bytes = g_malloc (s->answer_bytes);
  gint64 last = end;
  gint64 version = s->version;

  while (progress->batch < end)
    {
      Answer answer;
      gboolean failed;

      if (!push_batch (s, version, &failed, error))
        return FALSE;
      progress->step++;
      progress->batch++;
      if (failed || progress->batch >= last)
        return TRUE; /* rank 0 sends no answer then */
      if (!receive_answer (s, bytes, error))
        return FALSE;
      memcpy (&answer, bytes, sizeof answer);
      if (!is_answer (&answer, progress->batch, version, last))
        return loom_refuse (error, LOOM_ERROR_DIST, "Rank 0 has answered another push, or one twice.");
      if (answer.stop)
        return TRUE;
      if (!rank_server_set (s, s->pulled, 0, s->pulled->len, bytes + sizeof answer, error))
        return FALSE;
      version = answer.version;
      end = answer.end;
    }
  return TRUE;
}

/* ---- a round --------------------------------------------------------------------------- */

/* All receive the progress and the weights of rank 0; its failure ends the others, too. */
static gboolean
settle (RankServer *s, GError *failure, GError **error)
{
  TrainProgress *progress = s->owner.log->progress;
  Outcome outcome = { .step = progress->step,
                      .batch = progress->batch,
                      .loss_sum = progress->loss_sum,
                      .sample_sum = progress->sample_sum,
                      .code = failure != NULL ? (failure->domain == LOOM_ERROR ? failure->code : LOOM_ERROR_IO) : -1 };
  g_autofree guint8 *bytes = g_malloc0 (s->metric_bytes + s->answer_bytes);

  if (failure != NULL)
    g_strlcpy (outcome.why, failure->message, sizeof outcome.why);
  if (s->group->comm->rank == 0)
    {
      g_autoptr (GByteArray) values = g_byte_array_new ();

      metric_sums_save (progress->metrics, (double *)(gpointer)bytes);
      if (!rank_server_append (s, s->pulled, values, error))
        return FALSE;
      memcpy (bytes + s->metric_bytes, values->data, values->len);
    }
  if (!rank_group_broadcast (s->group, &outcome, sizeof outcome, error)
      || !rank_group_broadcast (s->group, bytes, s->metric_bytes + s->answer_bytes - sizeof (Answer), error)
      || !rank_group_broadcast (s->group, &s->version, sizeof s->version, error))
    return FALSE;
  if (outcome.batch < 0 || outcome.batch > s->owner.data->steps_per_epoch || outcome.step < outcome.batch)
    return loom_refuse (error, LOOM_ERROR_DIST, "Rank 0 has sent a step that is not of this epoch.");
  progress->step = outcome.step;
  progress->batch = outcome.batch;
  progress->loss_sum = outcome.loss_sum;
  progress->sample_sum = outcome.sample_sum;
  metric_sums_load (progress->metrics, (const double *)(gconstpointer)bytes);
  if (!rank_server_set (s, s->pulled, 0, s->pulled->len, bytes + s->metric_bytes, error))
    return FALSE;
  if (outcome.code < 0)
    return TRUE;
  /* All exit with the same status, because a launcher reports the first one. */
  g_autofree char *why = rank_server_why (outcome.why);
  g_set_error_literal (error, LOOM_ERROR, outcome.code == LOOM_ERROR_NAN ? LOOM_ERROR_NAN : LOOM_ERROR_DIST, why);
  return FALSE;
}

gboolean
rank_server_round (RankServer *s, const RankServerOwner *owner, gint64 steps, GError **error)
{
  const TrainProgress *progress = owner->log->progress;
  gint64 end = progress->batch + MIN (MAX (1, steps), owner->data->steps_per_epoch - progress->batch);
  GError *failure = NULL;

  s->owner = *owner;
  prepare (s);
  if (!rank_group_broadcast (s->group, &end, sizeof end, error))
    return FALSE;
  if (end > owner->data->steps_per_epoch)
    return loom_refuse (error, LOOM_ERROR_DIST, "Rank 0 has sent an end of the round that is after that of the epoch.");
  if (!rank_group_is_first (s->group))
    return train (s, end, error) && settle (s, NULL, error);
  if (!rank_server_serve (s, end, &failure, error))
    {
      g_clear_error (&failure);
      return FALSE;
    }
  if (failure == NULL)
    return settle (s, NULL, error);
  settle (s, failure, NULL);
  g_propagate_error (error, failure);
  return FALSE;
}
