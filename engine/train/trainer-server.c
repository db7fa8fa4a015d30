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
#include "engine/train/trainer-server-private.h"

#include <string.h>

/* Seconds by which a rank waits longer for its answer than rank 0 does for pushes: only that one knows who has not
 * come. */
#define PATIENCE 3

/* What all ranks know behind a round. */
typedef struct
{
  gint64 step, batch;
  double loss_sum, sample_sum;
  gint32 code;
  char why[WHY_BYTES];
} Outcome;

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
                   t->comm->size < 2 ? "strategy=\"server\" needs a rank that serves and a rank that trains. Start "
                                       "two or more with --ranks."
                                     : "--trace records a step that all ranks take together; with strategy=\"server\" "
                                       "each rank takes its own steps. Leave --trace out.");
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

gboolean
trainer_server_append (TrainerServer *s, const GPtrArray *names, GByteArray *to, GError **error)
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

LoomTensor *
trainer_server_slot (TrainerServer *s, const char *name, GError **error)
{
  LoomTensorDesc desc;

  loom_state_slot (s->t->state, (guint)loom_state_find (s->t->state, name), NULL, NULL, &desc);
  return loom_tensor_new (desc.dtype, desc.rank, desc.dim, error);
}

/* Slots number first to end of names become what stands at `from`. */
gboolean
trainer_server_set (TrainerServer *s, const GPtrArray *names, guint first, guint end, const guint8 *from,
                    GError **error)
{
  for (guint i = first; i < end; i++)
    {
      g_autoptr (LoomTensor) value = trainer_server_slot (s, names->pdata[i], error);

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
  push->weight = plan->step->n_terms == 1 ? loom_exec_scalar (plan->exec, plan->term_count[0]) : push->share;
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
  if (!trainer_server_append (s, s->pushed, bytes, error))
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
      if (!trainer_server_set (s, s->pulled, 0, s->pulled->len, bytes + sizeof answer, error))
        return FALSE;
      version = answer.version;
      end = answer.end;
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
      if (!trainer_server_append (s, s->pulled, values, error))
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
  if (!trainer_server_set (s, s->pulled, 0, s->pulled->len, bytes + s->metric_bytes, error))
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
  if (!trainer_server_serve (s, end, &failure, error))
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
