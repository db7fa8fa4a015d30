/* The rank that serves (trainer-server.c): takes pushes as they come, steps from one or from all, and answers who may
 * go on. */
#include "engine/train/trainer-server-private.h"

#include <string.h>

static const Push *
head_of (const Member *member)
{
  return (const Push *)member->push->data;
}

static const guint8 *
values_of (const TrainerServer *s, const Member *member)
{
  return member->push->data + sizeof (Push) + s->metric_bytes;
}

/* Each push, with the number of updates that its gradients know nothing of. */
static gboolean
record (TrainerServer *s, int rank, gint64 batch, gint64 staleness, GError **error)
{
  LoomTrainer *t = s->t;
  gint64 step = t->place.step + batch - t->place.batch + 1;
  LoomJson *json;

  s->staleness.pushes++;
  s->staleness.sum += staleness;
  s->staleness.most = MAX (s->staleness.most, staleness);
  if (t->event_stride > 1 && step % t->event_stride != 0)
    return TRUE;
  json = trainer_event_new ("push");
  loom_json_int (json, "step", step);
  loom_json_int (json, "rank", rank);
  loom_json_int (json, "staleness", staleness);
  return trainer_event_write (t, json, error);
}

static gboolean
update (TrainerServer *s, GError **error)
{
  LoomTrainer *t = s->t;

  if (!loom_exec_run (t->update, error))
    return FALSE;
  s->grad_norm = loom_exec_scalar (t->update, t->update_norm);
  s->version++;
  return TRUE;
}

static void
add_metrics (TrainerServer *s, const Member *member)
{
  TrainerMetrics *metrics = s->t->place.metrics;
  const double *sums = (const double *)(gconstpointer)(member->push->data + sizeof (Push));
  const double *weights = sums + trainer_metrics_count (metrics);

  TrainerMetrics *recent = trainer_recent_metrics (&s->t->recent);

  for (guint i = 0; i < metrics->n; i++)
    {
      const LoomMetric *metric = ((const LoomMetricSpec *)s->t->spec->metrics->pdata[i])->metric;
      const guint at = metrics->at[i], size = metrics->size[i];

      loom_metric_merge (metric, metrics->total + at, &metrics->weight[i], sums + at, weights[i], size);
      loom_metric_merge (metric, recent->total + at, &recent->weight[i], sums + at, weights[i], size);
    }
}

static Unfinished *
unfinished (TrainerServer *s, gint64 batch)
{
  return &s->unfinished[batch % (s->t->spec->parallel.staleness + 2)];
}

/* What a push says of its batch beside the gradients. */
static void
count_push (TrainerServer *s, const Member *member)
{
  const Push *push = head_of (member);
  Unfinished *of = unfinished (s, push->batch);

  of->loss += push->weight > 0 ? push->loss * push->weight : 0;
  of->weight += push->weight;
  s->own[(of - s->unfinished) * s->n + (member - s->member)] = push->loss;
  of->samples = push->samples;
  add_metrics (s, member);
}

/* A step from one push. */
static gboolean
take_one (TrainerServer *s, int k, GError **error)
{
  const Member *member = &s->member[k];
  gint64 staleness = s->version - head_of (member)->version;

  count_push (s, member);
  return trainer_server_set (s, s->pushed, 0, s->pushed->len, values_of (s, member), error) && update (s, error)
         && record (s, k + 1, head_of (member)->batch, staleness, error);
}

/* to = the sum of all that stands at `at`, in this order; of what is no float, the first. */
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

/* A step from the sum over all; buffers become the mean, as the ranks of other strategies keep it. */
static gboolean
take_all (TrainerServer *s, GError **error)
{
  g_autofree const guint8 **at = g_new0 (const guint8 *, (gsize)s->n);

  for (int k = 0; k < s->n; k++)
    at[k] = values_of (s, &s->member[k]);
  for (guint i = 0; i < s->pushed->len; i++)
    {
      g_autoptr (LoomTensor) sum = trainer_server_slot (s, s->pushed->pdata[i], error);

      if (sum == NULL)
        return FALSE;
      add_values (sum, at, s->n);
      for (gint64 j = 0; i >= s->n_gradients && loom_dtype_is_float (sum->dtype) && j < sum->count; j++)
        loom_tensor_set (sum, j, loom_tensor_get (sum, j) / s->n);
      for (int k = 0; k < s->n; k++)
        at[k] += sum->bytes;
      if (!loom_state_set (s->t->state, s->pushed->pdata[i], sum, error))
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

/* The batch that the slowest rank is at. */
static gint64
slowest (const TrainerServer *s)
{
  gint64 batch = G_MAXINT64;

  for (int k = 0; k < s->n; k++)
    batch = MIN (batch, s->member[k].batch);
  return batch;
}

/* Ranks that compute end with what they compute. */
static void
end_early (TrainerServer *s)
{
  gint64 end = 0;

  for (int k = 0; k < s->n; k++)
    end = MAX (end, s->member[k].batch + (s->member[k].waiting || s->member[k].over ? 0 : 1));
  s->end = MIN (s->end, MAX (end, s->t->place.batch + 1));
}

/* A step that every rank has pushed for. */
static gboolean
finish_step (TrainerServer *s, GError **error)
{
  LoomTrainer *t = s->t;
  Unfinished *done = unfinished (s, t->place.batch);
  double loss = done->loss / done->weight, samples = done->samples, lr = t->rates.lr;
  gboolean checkpoint_is_due;

  *done = (Unfinished){ 0 };
  trainer_count_step (t, loss, samples);
  if (!trainer_note_step (t, loss, lr, &checkpoint_is_due, error))
    return FALSE;
  t->checkpoint_due = t->checkpoint_due || checkpoint_is_due;
  trainer_look_served (t, loss, &s->own[(done - s->unfinished) * s->n]);
  trainer_tell_step (t, t->place.step, loss, lr, s->grad_norm);
  return TRUE;
}

/* The values that all are answered with until the next update. */
static gboolean
pack_answer (TrainerServer *s, GError **error)
{
  if (s->answered == s->version)
    return TRUE;
  g_byte_array_set_size (s->answer, sizeof (Answer));
  if (!trainer_server_append (s, s->pulled, s->answer, error))
    return FALSE;
  s->answered = s->version;
  return TRUE;
}

static gboolean
answer (TrainerServer *s, int k, gboolean stop, GError **error)
{
  Answer head = { .version = s->version, .end = s->end, .stop = stop };
  LoomMessage message = { "" };

  s->member[k].waiting = FALSE;
  if (!pack_answer (s, error))
    return FALSE;
  memcpy (s->answer->data, &head, sizeof head);
  return trainer_ok (s->t->comm->send (s->t->comm, s->answer->data, s->answer->len, k + 1, TAG_ANSWER, &message),
                     &message, error);
}

/* All who wait and may go on; with `stop` all who wait. */
static gboolean
answer_all (TrainerServer *s, gint64 last, gboolean stop, GError **error)
{
  for (int k = 0; k < s->n; k++)
    {
      Member *member = &s->member[k];

      if (!member->waiting || member->over)
        continue;
      member->over = stop || member->batch >= s->end;
      if (member->batch >= last)
        {
          member->over = TRUE; /* it expects no answer */
          continue;
        }
      if ((member->over || member->batch - s->t->spec->parallel.staleness <= slowest (s))
          && !answer (s, k, stop, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
are_over (const TrainerServer *s)
{
  for (int k = 0; k < s->n; k++)
    if (!s->member[k].over)
      return FALSE;
  return TRUE;
}

/* Of the batch that the server is at. One that ends with it has had its answer already. */
static gboolean
have_all_pushed (const TrainerServer *s)
{
  return slowest (s) > s->t->place.batch;
}

/* Of member k, what has come of it. */
static gboolean
take (TrainerServer *s, int k, GError **error)
{
  LoomTrainer *t = s->t;
  Member *member = &s->member[k];
  const Push *push = head_of (member);

  if (push->code >= 0)
    {
      member->over = TRUE;
      g_set_error (error, LOOM_ERROR, push->code, "Rank %d: %s", k + 1, push->why);
      return FALSE;
    }
  if (push->wants)
    end_early (s);
  member->batch++;
  member->waiting = TRUE;
  trainer_set_rates (t, t->place.step);
  if (t->spec->parallel.staleness > 0 ? !take_one (s, k, error) : have_all_pushed (s) && !take_all (s, error))
    return FALSE;
  while (t->place.batch < slowest (s))
    if (!finish_step (s, error))
      return FALSE;
  return TRUE;
}

/* The next push, whosever it is. */
static gboolean
receive (TrainerServer *s, int *from, GError **error)
{
  LoomTrainer *t = s->t;
  g_autofree bool *come = g_new0 (bool, (gsize)t->comm->size);
  LoomMessage message = { "" };
  int rank;

  come[0] = TRUE;
  for (int k = 0; k < s->n; k++)
    come[k + 1] = s->member[k].waiting || s->member[k].over;
  if (!trainer_ok (t->comm->probe (t->comm, TAG_PUSH, come, &rank, &message), &message, error))
    return FALSE;
  *from = rank - 1;
  g_byte_array_set_size (s->member[*from].push, (guint)s->push_bytes);
  return trainer_ok (
      t->comm->receive (t->comm, s->member[*from].push->data, (gint64)s->push_bytes, rank, TAG_PUSH, &message),
      &message, error);
}

gboolean
trainer_server_serve (TrainerServer *s, gint64 last, GError **failure, GError **error)
{
  LoomTrainer *t = s->t;

  s->end = last;
  s->answered = -1; /* between two rounds weights may have been set */
  for (int k = 0; k < s->n; k++)
    s->member[k] = (Member){ .batch = t->place.batch, .push = s->member[k].push };
  memset (s->unfinished, 0, (gsize)(t->spec->parallel.staleness + 2) * sizeof *s->unfinished);
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
      if (*failure == NULL && s->end == last && (t->checkpoint_due || g_atomic_int_get (&t->inbox.pending)))
        end_early (s);
      if (!answer_all (s, last, *failure != NULL, error))
        return FALSE;
    }
  return TRUE;
}
