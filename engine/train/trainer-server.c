/* A parameter server (Li et al. 2014): rank 0 has the weights and the states of the optimiser, and computes no
 * gradients. The other ranks train: each takes its part of every batch, pushes the gradients of that part to rank 0,
 * and goes on with the weights that it is answered with.
 *
 * With staleness 0 rank 0 adds up what all have pushed for a step, in the order of ranks, and takes one step from the
 * sum: these are the numbers of synchronous training. With staleness K it takes a step from each push as it comes,
 * whose gradients may be of weights that others have changed since; a rank that is K steps ahead of the slowest one
 * waits for its answer (stale synchronous parallel; Ho et al. 2013). A push weighs as its samples do in their batch, so
 * the pushes for one batch together move SGD as far as one synchronous step does.
 *
 * Ranks run freely for a round, at most an epoch long. It ends where rank 0 has something else to do: then each is told
 * the step after which it is over, they leave it with the same weights, and whatever ranks agree on between two steps
 * is agreed on there. */
#include "engine/train/trainer-private.h"

#include <math.h>
#include <string.h>

#define TAG_PUSH   1
#define TAG_ANSWER 2

#define WHY_BYTES 400

/* Seconds by which a rank waits longer for its answer than rank 0 does for pushes: only that one knows who has not
 * come. */
#define PATIENCE 3

/* What a push begins with; numbers of the metrics, gradients and buffers follow. */
typedef struct
{
  gint64 batch;   /* whose gradients these are, counted in the epoch */
  gint64 version; /* steps that the weights were behind which they are of */
  double loss;    /* the mean over the rank's samples */
  double samples;
  double share; /* of the batch */
  gint32 wants; /* the round is to end */
  gint32 code;  /* of an error: the rank does not go on. -1: none */
  char why[WHY_BYTES];
} Push;

/* What an answer begins with; weights and buffers follow. */
typedef struct
{
  gint64 version;
  gint64 end;  /* the batch in front of which the round is over */
  gint32 stop; /* at once: somebody has failed */
} Answer;

/* What all ranks know behind a round. */
typedef struct
{
  gint64 step, batch;
  double loss_sum, sample_sum;
  gint32 code;
  char why[WHY_BYTES];
} Outcome;

typedef struct
{
  gint64 batch;     /* that it computes, or would compute next */
  gboolean waiting; /* for its answer; else it computes */
  gboolean over;    /* nothing more comes of it in this round */
  GByteArray *push; /* the newest one, head and all */
} Member;

/* A step that not all ranks have pushed for. */
typedef struct
{
  double loss, samples;
} Unfinished;

struct _TrainerServer
{
  LoomTrainer *t;
  int n;             /* ranks that train */
  GPtrArray *pushed; /* char*: slots whose values a push has: gradients, then buffers */
  GPtrArray *pulled; /* char*: slots whose values an answer has: weights, then buffers */
  guint n_gradients; /* of pushed */
  gsize push_bytes, answer_bytes, metric_bytes;
  gint64 version;     /* updates of this run */
  GByteArray *answer; /* to all, head and values, and the version of these; -1: none */
  gint64 answered;
  Member *member;
  Unfinished *unfinished; /* by batch, modulo staleness + 2 */
  double *own;            /* of the same steps, what each rank's samples lose */
  gint64 end;             /* as told */
  double grad_norm;
  LoomStaleness staleness;
};

void
trainer_server_free (TrainerServer *s)
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

void
trainer_server_part (const LoomTrainer *t, int *rank, int *ranks)
{
  *rank = MAX (0, t->comm->rank - 1);
  *ranks = t->comm->size - 1;
}

TrainerServer *
trainer_server_new (LoomTrainer *t, GError **error)
{
  TrainerServer *s;

  if (t->trace.is_optional)
    g_clear_pointer (&t->trace.path, g_free);
  if (t->comm->size < 2 || t->trace.path != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   t->comm->size < 2 ? "strategy=\"server\" needs a rank that serves and one that trains. Start two or "
                                       "more with --ranks."
                                     : "--trace shows a step that all ranks take together; with strategy=\"server\" "
                                       "each takes its own.");
      return NULL;
    }
  s = g_new0 (TrainerServer, 1);
  s->t = t;
  s->n = t->comm->size - 1;
  return s;
}

LoomStaleness
loom_trainer_staleness (const LoomTrainer *t)
{
  return t->server != NULL ? t->server->staleness : (LoomStaleness){ 0 };
}

/* ---- values of slots as bytes ---------------------------------------------------- */

static gboolean
append_slots (TrainerServer *s, const GPtrArray *names, GByteArray *to, GError **error)
{
  for (guint i = 0; i < names->len; i++)
    {
      g_autoptr (LoomTensor) value = loom_state_get (s->t->state, names->pdata[i], error);

      if (value == NULL)
        return FALSE;
      g_byte_array_append (to, value->data, (guint)value->bytes);
    }
  return TRUE;
}

static LoomTensor *
slot_like (TrainerServer *s, const char *name, GError **error)
{
  LoomTensorDesc desc;

  loom_state_slot (s->t->state, (guint)loom_state_find (s->t->state, name), NULL, NULL, &desc);
  return loom_tensor_new (desc.dtype, desc.rank, desc.dim, error);
}

/* Slots number first to end of names become what stands at `from`. */
static gboolean
set_slots (TrainerServer *s, const GPtrArray *names, guint first, guint end, const guint8 *from, GError **error)
{
  for (guint i = first; i < end; i++)
    {
      g_autoptr (LoomTensor) value = slot_like (s, names->pdata[i], error);

      if (value == NULL)
        return FALSE;
      memcpy (value->data, from, value->bytes);
      from += value->bytes;
      if (!loom_state_set (s->t->state, names->pdata[i], value, error))
        return FALSE;
    }
  return TRUE;
}

static gsize
bytes_of (TrainerServer *s, const GPtrArray *names)
{
  gsize bytes = 0;

  for (guint i = 0; i < names->len; i++)
    {
      LoomTensorDesc desc;

      loom_state_slot (s->t->state, (guint)loom_state_find (s->t->state, names->pdata[i]), NULL, NULL, &desc);
      bytes += loom_desc_bytes (&desc);
    }
  return bytes;
}

/* Of a step's program: what it gathers, what it remembers from the forward pass, and what it reads. */
static void
find_slots (TrainerServer *s, const LoomProgram *p)
{
  g_autoptr (GPtrArray) buffers = g_ptr_array_new ();

  s->pushed = g_ptr_array_new_with_free_func (g_free);
  s->pulled = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->kind == LOOM_SLOT_OPTIMIZER && g_str_has_prefix (slot->name, LOOM_SLOT_ACCUMULATE))
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
prepare (TrainerServer *s)
{
  LoomTrainer *t = s->t;

  if (s->pushed != NULL)
    return;
  find_slots (s, ((TrainerPlan *)t->plans->pdata[0])->step->program);
  s->metric_bytes = (trainer_metrics_count (t->place.metrics) + t->place.metrics->n) * sizeof (double);
  s->push_bytes = sizeof (Push) + s->metric_bytes + bytes_of (s, s->pushed);
  s->answer_bytes = sizeof (Answer) + bytes_of (s, s->pulled);
  s->answer = g_byte_array_sized_new ((guint)s->answer_bytes);
  s->member = g_new0 (Member, s->n);
  for (int k = 0; k < s->n; k++)
    s->member[k].push = g_byte_array_new ();
  s->unfinished = g_new0 (Unfinished, t->spec->parallel.staleness + 2);
  s->own = g_new0 (double, (gsize)(t->spec->parallel.staleness + 2) * (gsize)s->n);
}

/* ---- a rank that trains ------------------------------------------------------------- */

/* Numbers of the metrics as one batch has them: its sums, then its weights. */
static gboolean
batch_metrics (LoomTrainer *t, TrainerPlan *plan, double *sums, GError **error)
{
  g_autoptr (TrainerMetrics) metrics = trainer_metrics_new (t->spec, plan->step);

  if (!trainer_metrics_take (metrics, plan, error))
    return FALSE;
  trainer_metrics_save (metrics, sums);
  return TRUE;
}

static gboolean
compute (TrainerServer *s, Push *push, double *metrics, GError **error)
{
  LoomTrainer *t = s->t;
  const LoomBatch *batch = loom_loader_next (t->loader, error);
  g_autoptr (GError) local = NULL;
  TrainerPlan *plan;
  int rank, ranks;

  trainer_server_part (t, &rank, &ranks);
  plan = batch != NULL ? trainer_plan_get (t, batch->n_own, TRUE, error) : NULL;
  if (plan == NULL)
    return FALSE;
  push->samples = (double)batch->n;
  /* A batch that is too small to be divided each rank has whole. */
  push->share = batch->n < ranks ? 1.0 / ranks : (double)batch->n_own / (double)batch->n;
  trainer_set_rates (t, t->place.step);
  loom_state_put_scalar_at (t->state, (guint)t->first_slot, 1);
  loom_state_put_scalar_at (t->state, (guint)t->weight_slot, push->share);
  if (t->rng_slot >= 0)
    loom_state_put_scalar_at (t->state, (guint)t->rng_slot, (double)(t->place.step * ranks + rank));
  trainer_feed_batch (plan, batch);
  if (!loom_exec_run (plan->exec, &local))
    return trainer_explain_failure (t, plan, batch, g_steal_pointer (&local), error);
  push->loss = loom_exec_scalar (plan->exec, plan->loss);
  return batch_metrics (t, plan, metrics, error);
}

static gboolean
push_batch (TrainerServer *s, gint64 version, gboolean *failed, GError **error)
{
  LoomTrainer *t = s->t;
  g_autoptr (GByteArray) bytes = g_byte_array_sized_new ((guint)s->push_bytes);
  g_autofree double *metrics = g_malloc0 (s->metric_bytes + sizeof (double));
  g_autoptr (GError) local = NULL;
  LoomMessage message = { "" };
  Push push = { .batch = t->place.batch, .version = version, .code = -1, .wants = trainer_must_end (t) };

  if (!compute (s, &push, metrics, &local))
    {
      push.code = local->domain == LOOM_ERROR ? local->code : LOOM_ERROR_IO;
      g_strlcpy (push.why, local->message, sizeof push.why);
    }
  *failed = push.code >= 0;
  g_byte_array_append (bytes, (const guint8 *)&push, sizeof push);
  g_byte_array_append (bytes, (const guint8 *)metrics, (guint)s->metric_bytes);
  if (!append_slots (s, s->pushed, bytes, error))
    return FALSE;
  return trainer_ok (t->comm->send (t->comm, bytes->data, bytes->len, 0, TAG_PUSH, &message), &message, error);
}

static gboolean
receive_answer (TrainerServer *s, guint8 *bytes, GError **error)
{
  LoomComm *comm = s->t->comm;
  const double timeout = comm->timeout;
  LoomMessage message = { "" };
  LoomStatus status;

  comm->timeout += timeout > 0 ? PATIENCE : 0;
  status = comm->receive (comm, bytes, (gint64)s->answer_bytes, 0, TAG_ANSWER, &message);
  comm->timeout = timeout;
  return trainer_ok (status, &message, error);
}

static gboolean
train (TrainerServer *s, gint64 end, GError **error)
{
  LoomTrainer *t = s->t;
  g_autofree guint8 *bytes = g_malloc (s->answer_bytes);
  gint64 last = end;
  gint64 version = s->version;

  while (t->place.batch < end)
    {
      Answer answer;
      gboolean failed;

      if (!push_batch (s, version, &failed, error))
        return FALSE;
      t->place.step++;
      t->place.batch++;
      if (failed || t->place.batch >= last)
        return TRUE; /* rank 0 answers no rank that expects nothing */
      if (!receive_answer (s, bytes, error))
        return FALSE;
      memcpy (&answer, bytes, sizeof answer);
      if (answer.stop)
        return TRUE;
      if (!set_slots (s, s->pulled, 0, s->pulled->len, bytes + sizeof answer, error))
        return FALSE;
      version = answer.version;
      end = answer.end;
    }
  return TRUE;
}

/* ---- the rank that serves ------------------------------------------------------------ */

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

  for (guint i = 0; i < metrics->n; i++)
    {
      const LoomMetricSpec *spec = s->t->spec->metrics->pdata[i];

      loom_metric_merge (spec->metric, metrics->total + metrics->at[i], &metrics->weight[i], sums + metrics->at[i],
                         weights[i], metrics->size[i]);
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

  of->loss += push->loss * push->share;
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
  return set_slots (s, s->pushed, 0, s->pushed->len, values_of (s, member), error) && update (s, error)
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
      g_autoptr (LoomTensor) sum = slot_like (s, s->pushed->pdata[i], error);

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
  double loss = done->loss, samples = done->samples, lr = t->rates.lr;
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
  if (!append_slots (s, s->pulled, s->answer, error))
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
  if (!trainer_ok (t->comm->await (t->comm, TAG_PUSH, come, &rank, &message), &message, error))
    return FALSE;
  *from = rank - 1;
  g_byte_array_set_size (s->member[*from].push, (guint)s->push_bytes);
  return trainer_ok (
      t->comm->receive (t->comm, s->member[*from].push->data, (gint64)s->push_bytes, rank, TAG_PUSH, &message),
      &message, error);
}

/* FALSE where a rank cannot be reached; *failure: what any of them, or this one, has failed of. */
static gboolean
serve (TrainerServer *s, gint64 last, GError **failure, GError **error)
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

/* ---- a round --------------------------------------------------------------------------- */

static gboolean
broadcast (LoomTrainer *t, void *data, gsize bytes, GError **error)
{
  LoomMessage message = { "" };

  return trainer_ok (t->comm->broadcast (t->comm, data, (gint64)bytes, 0, &message), &message, error);
}

/* All have the place and the weights of rank 0; what it has failed of ends the others, too. */
static gboolean
settle (TrainerServer *s, GError *failure, GError **error)
{
  LoomTrainer *t = s->t;
  Outcome outcome = { .step = t->place.step,
                      .batch = t->place.batch,
                      .loss_sum = t->place.loss_sum,
                      .sample_sum = t->place.sample_sum,
                      .code = failure != NULL ? (failure->domain == LOOM_ERROR ? failure->code : LOOM_ERROR_IO) : -1 };
  g_autofree guint8 *bytes = g_malloc0 (s->metric_bytes + s->answer_bytes);

  if (failure != NULL)
    g_strlcpy (outcome.why, failure->message, sizeof outcome.why);
  if (t->comm->rank == 0)
    {
      g_autoptr (GByteArray) values = g_byte_array_new ();

      trainer_metrics_save (t->place.metrics, (double *)(gpointer)bytes);
      if (!append_slots (s, s->pulled, values, error))
        return FALSE;
      memcpy (bytes + s->metric_bytes, values->data, values->len);
    }
  if (!broadcast (t, &outcome, sizeof outcome, error)
      || !broadcast (t, bytes, s->metric_bytes + s->answer_bytes - sizeof (Answer), error)
      || !broadcast (t, &s->version, sizeof s->version, error))
    return FALSE;
  t->place.step = outcome.step;
  t->place.batch = outcome.batch;
  t->place.loss_sum = outcome.loss_sum;
  t->place.sample_sum = outcome.sample_sum;
  trainer_metrics_load (t->place.metrics, (const double *)(gconstpointer)bytes);
  if (!set_slots (s, s->pulled, 0, s->pulled->len, bytes + s->metric_bytes, error))
    return FALSE;
  if (outcome.code < 0)
    return TRUE;
  /* All leave with one status, of which a launcher takes the first. */
  g_set_error_literal (error, LOOM_ERROR, outcome.code == LOOM_ERROR_NAN ? LOOM_ERROR_NAN : LOOM_ERROR_DIST,
                       outcome.why);
  return FALSE;
}

gboolean
trainer_server_round (LoomTrainer *t, gint64 steps, GError **error)
{
  TrainerServer *s = t->server;
  gint64 end = t->place.batch + MIN (MAX (1, steps), t->steps_per_epoch - t->place.batch);
  GError *failure = NULL;

  prepare (s);
  t->trace.wanted = FALSE; /* there is no step that all take together */
  if (!broadcast (t, &end, sizeof end, error))
    return FALSE;
  if (t->comm->rank > 0)
    return train (s, end, error) && settle (s, NULL, error);
  if (!serve (s, end, &failure, error))
    {
      g_clear_error (&failure);
      return FALSE;
    }
  if (failure != NULL)
    {
      settle (s, failure, NULL);
      g_propagate_error (error, failure);
      return FALSE;
    }
  if (!settle (s, NULL, error))
    return FALSE;
  if (!t->checkpoint_due)
    return TRUE;
  t->checkpoint_due = FALSE;
  return trainer_checkpoint_write (t, NULL, error);
}
