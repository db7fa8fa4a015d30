/* The server of a parameter server: receives pushes in the order of arrival, takes steps from one push or from all, and
 * answers the ranks that may continue. */
#include "engine/train/rank-server-private.h"

#include "engine/core/loom-refuse.h"

#include <string.h>

static const Push *
head_of (const Member *member)
{
  return (const Push *)member->push->data;
}

/* A rank pushes the batches of its round in order, computed with weights that it has received. */
static gboolean
check_push (const RankServer *s, int k, GError **error)
{
  const Push *push = head_of (&s->member[k]);

  return (push->batch == s->member[k].batch && push->version >= 0 && push->version <= s->version)
         || loom_refuse (error, LOOM_ERROR_DIST, "Rank %d has pushed gradients of another batch.", k + 1);
}

static const guint8 *
values_of (const RankServer *s, const Member *member)
{
  return member->push->data + sizeof (Push) + s->metric_bytes;
}

/* Logs each push with its staleness. */
static gboolean
record (RankServer *s, int rank, gint64 batch, gint64 staleness, GError **error)
{
  const TrainProgress *progress = s->owner.log->progress;
  RunFolder *folder = s->owner.log->folder;
  gint64 step = progress->step + batch - progress->batch + 1;
  LoomJson *json;

  s->staleness.pushes++;
  s->staleness.sum += staleness;
  s->staleness.most = MAX (s->staleness.most, staleness);
  if (folder->stride > 1 && step % folder->stride != 0)
    return TRUE;
  json = run_event_new ("push");
  loom_json_int (json, "step", step);
  loom_json_int (json, "rank", rank);
  loom_json_int (json, "staleness", staleness);
  return run_folder_add_event (folder, json, error);
}

static gboolean
update (RankServer *s, GError **error)
{
  StepPlans *plans = s->owner.plans;

  if (!loom_exec_run (plans->update, error))
    return FALSE;
  s->grad_norm = loom_exec_scalar (plans->update, plans->update_norm);
  s->version++;
  return TRUE;
}

static void
add_metrics (RankServer *s, const Member *member)
{
  const double *sums = (const double *)(gconstpointer)(member->push->data + sizeof (Push));

  metric_sums_merge_saved (s->owner.log->progress->metrics, sums);
  metric_sums_merge_saved (recent_steps_metrics (&s->owner.log->recent), sums);
}

static Unfinished *
unfinished (RankServer *s, gint64 batch)
{
  return &s->unfinished[batch % (s->model->spec->parallel.staleness + 2)];
}

/* The values of a push that are no gradients. */
static void
count_push (RankServer *s, const Member *member)
{
  const Push *push = head_of (member);
  Unfinished *of = unfinished (s, push->batch);

  of->loss += push->weight > 0 ? push->loss * push->weight : 0;
  of->weight += push->weight;
  s->own[(of - s->unfinished) * s->n + (member - s->member)] = push->loss;
  of->samples = push->samples;
  add_metrics (s, member);
}

/* Takes a step from one push. */
static gboolean
take_one (RankServer *s, int k, GError **error)
{
  const Member *member = &s->member[k];
  gint64 staleness = s->version - head_of (member)->version;

  count_push (s, member);
  return rank_server_set (s, s->pushed, 0, s->pushed->len, values_of (s, member), error) && update (s, error)
         && record (s, k + 1, head_of (member)->batch, staleness, error);
}

/* to = the sum of the n values at[k], in this order; values that are no floats are copied from the first. */
static void
add_values (LoomTensor *to, const guint8 *const *at, int n)
{
  memcpy (to->data, at[0], to->bytes);
  for (int k = 1; k < n; k++)
    for (gint64 i = 0; i < to->count; i++)
      if (to->dtype == LOOM_F32)
        ((float *)to->data)[i] += ((const float *)(gconstpointer)at[k])[i];
      else if (to->dtype == LOOM_F64)
        ((double *)to->data)[i] += ((const double *)(gconstpointer)at[k])[i];
}

/* Takes a step from the sum over all pushes; buffers become the mean, as with other strategies. */
static gboolean
take_all (RankServer *s, GError **error)
{
  g_autofree const guint8 **at = g_new0 (const guint8 *, (gsize)s->n);

  for (int k = 0; k < s->n; k++)
    at[k] = values_of (s, &s->member[k]);
  for (guint i = 0; i < s->pushed->len; i++)
    {
      g_autoptr (LoomTensor) sum = rank_server_slot (s, s->pushed->pdata[i], error);

      if (sum == NULL)
        return FALSE;
      add_values (sum, at, s->n);
      for (gint64 j = 0; i >= s->n_gradients && loom_dtype_is_float (sum->dtype) && j < sum->count; j++)
        loom_tensor_set (sum, j, loom_tensor_get (sum, j) / s->n);
      for (int k = 0; k < s->n; k++)
        at[k] += sum->bytes;
      if (!loom_state_set (s->model->state, s->pushed->pdata[i], sum, error))
        return FALSE;
    }
  if (!update (s, error))
    return FALSE;
  for (int k = 0; k < s->n; k++)
    {
      count_push (s, &s->member[k]);
      if (!record (s, k + 1, head_of (&s->member[k])->batch, 0, error))
        return FALSE;
    }
  return TRUE;
}

/* The batch of the slowest rank. */
static gint64
slowest (const RankServer *s)
{
  gint64 batch = G_MAXINT64;

  for (int k = 0; k < s->n; k++)
    batch = MIN (batch, s->member[k].batch);
  return batch;
}

/* Ranks that are computing stop after the current batch. */
static void
end_early (RankServer *s)
{
  gint64 end = 0;

  for (int k = 0; k < s->n; k++)
    end = MAX (end, s->member[k].batch + (s->member[k].waiting || s->member[k].over ? 0 : 1));
  s->end = MIN (s->end, MAX (end, s->owner.log->progress->batch + 1));
}

/* Takes a step that every rank has pushed for. */
static gboolean
finish_step (RankServer *s, GError **error)
{
  StepLog *log = s->owner.log;
  Unfinished *done = unfinished (s, log->progress->batch);
  double loss = done->loss / done->weight, samples = done->samples, lr = s->owner.rates->lr;

  *done = (Unfinished){ 0 };
  if (!step_log_add (log, loss, samples, lr, error))
    return FALSE;
  s->owner.served (loss, &s->own[(done - s->unfinished) * s->n], s->owner.owner);
  step_log_report (log, log->progress->step, loss, lr, s->grad_norm);
  return TRUE;
}

/* The values of all answers until the next update. */
static gboolean
pack_answer (RankServer *s, GError **error)
{
  if (s->answered == s->version)
    return TRUE;
  g_byte_array_set_size (s->answer, sizeof (Answer));
  if (!rank_server_append (s, s->pulled, s->answer, error))
    return FALSE;
  s->answered = s->version;
  return TRUE;
}

static gboolean
answer (RankServer *s, int k, gboolean stop, GError **error)
{
  Answer head = { .batch = s->member[k].batch - 1, .version = s->version, .end = s->end, .stop = stop };
  LoomMessage message = { "" };

  s->member[k].waiting = FALSE;
  if (!pack_answer (s, error))
    return FALSE;
  memcpy (s->answer->data, &head, sizeof head);
  return rank_group_check (
      s->group->comm->send (s->group->comm, s->answer->data, s->answer->len, k + 1, TAG_ANSWER, &message), &message,
      error);
}

/* Answers all waiting ranks that may continue; with `stop`, all waiting ranks. */
static gboolean
answer_all (RankServer *s, gint64 last, gboolean stop, GError **error)
{
  for (int k = 0; k < s->n; k++)
    {
      Member *member = &s->member[k];

      if (!member->waiting || member->over)
        continue;
      member->over = stop || member->batch >= s->end;
      if (member->batch >= last)
        {
          member->over = TRUE; /* it waits for no answer */
          continue;
        }
      if ((member->over || member->batch - s->model->spec->parallel.staleness <= slowest (s))
          && !answer (s, k, stop, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
are_over (const RankServer *s)
{
  for (int k = 0; k < s->n; k++)
    if (!s->member[k].over)
      return FALSE;
  return TRUE;
}

/* Ends the round before the server's batch. A rank that already ends with it has received its answer. */
static gboolean
have_all_pushed (const RankServer *s)
{
  return slowest (s) > s->owner.log->progress->batch;
}

/* Processes the push of member k. */
static gboolean
take (RankServer *s, int k, GError **error)
{
  const TrainProgress *progress = s->owner.log->progress;
  Member *member = &s->member[k];
  const Push *push = head_of (member);

  if (push->code >= 0)
    {
      g_autofree char *why = rank_server_why (push->why);

      member->over = TRUE;
      s->owner.failure->place.weights_overflow = push->overflows;
      g_set_error (error, LOOM_ERROR, push->code, "Rank %d: %s", k + 1, why);
      return FALSE;
    }
  if (!check_push (s, k, error))
    return FALSE;
  if (push->wants)
    end_early (s);
  member->batch++;
  member->waiting = TRUE;
  learning_rates_set (s->owner.rates, progress, progress->step);
  if (s->model->spec->parallel.staleness > 0 ? !take_one (s, k, error) : have_all_pushed (s) && !take_all (s, error))
    return FALSE;
  while (progress->batch < slowest (s))
    if (!finish_step (s, error))
      return FALSE;
  return TRUE;
}

/* Receives the next push of any rank. */
static gboolean
receive (RankServer *s, int *from, GError **error)
{
  g_autofree bool *come = g_new0 (bool, (gsize)s->group->comm->size);
  LoomMessage message = { "" };
  int rank;

  come[0] = TRUE;
  for (int k = 0; k < s->n; k++)
    come[k + 1] = s->member[k].waiting || s->member[k].over;
  if (!rank_group_check (s->group->comm->probe (s->group->comm, TAG_PUSH, come, &rank, &message), &message, error))
    return FALSE;
  *from = rank - 1;
  g_byte_array_set_size (s->member[*from].push, (guint)s->push_bytes);
  return rank_group_check (s->group->comm->receive (s->group->comm, s->member[*from].push->data, (gint64)s->push_bytes,
                                                    rank, TAG_PUSH, &message),
                           &message, error);
}

gboolean
rank_server_serve (RankServer *s, gint64 last, GError **failure, GError **error)
{
  const gint64 first = s->owner.log->progress->batch;

  s->end = last;
  s->answered = -1; /* between two rounds weights may have been set */
  for (int k = 0; k < s->n; k++)
    s->member[k] = (Member){ .batch = first, .push = s->member[k].push };
  memset (s->unfinished, 0, (gsize)(s->model->spec->parallel.staleness + 2) * sizeof *s->unfinished);
  while (!are_over (s))
    {
      int k;

      if (!receive (s, &k, error))
        return FALSE;
      if (*failure != NULL)
        {
          s->member[k].batch++;
          s->member[k].waiting = TRUE;
          s->member[k].over = head_of (&s->member[k])->code >= 0;
        }
      else
        take (s, k, failure);
      if (*failure == NULL && s->end == last && s->owner.is_called (s->owner.owner))
        end_early (s);
      if (!answer_all (s, last, *failure != NULL, error))
        return FALSE;
    }
  return TRUE;
}
