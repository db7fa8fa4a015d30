/* Steps whose numbers are read one step late, so that a device which works while its caller continues never waits for
 * it: the next step is queued, and then the one before it, which is over by then, is read, counted and told of.
 *
 * The run's place (t->place) is that of the steps that were read, and the state's may be one step further. Whoever
 * wants both to agree (a checkpoint, a command, an evaluation, the end) calls trainer_late_finish() first. A fault
 * closes the gates of all steps on the device, so the one that was queued behind it has written nothing.
 *
 * A step of several batches is as many runs of one executor and a run of another one, the update; each is queued before
 * the one in front of it is read. What a batch commits (running statistics) has to be put back where a later one fails,
 * and is fetched from the device before the first: a step with such slots begins when the one before it was read.
 *
 * Ranks stay together: what they hear of a step that all of them exchange in, they hear at the same place, when the
 * next is on its way on all of them (loom_exec_end()), so that none is left alone in an exchange. They agree by the
 * host before each step, and read what is queued where one of them asks for something. Where one of them has to read at
 * once, all do, or it would stop before an exchange that the others are in. */
#include "engine/train/trainer-private.h"

/* What is queued leaves all that is read of it where the next does not write. plan: NULL is the update. */
static gboolean
keeps_all (const LoomTrainer *t, const TrainerPlan *plan)
{
  gboolean all;

  if (plan == NULL)
    return loom_exec_keeps_output (t->update, t->update_norm);
  all = trainer_loss_keeps (plan) && (t->update != NULL || loom_exec_keeps_output (plan->exec, plan->grad_norm));
  for (guint i = 0; i < t->place.metrics->n; i++)
    all = all && loom_exec_keeps_output (plan->exec, plan->metric[i]);
  if ((t->look.on & TRAINER_LOOK_LOSSES) != 0 && plan->own >= 0)
    all = all && loom_exec_keeps_output (plan->exec, (guint)plan->own);
  return all;
}

/* Every step is read at once by
 * - an optimiser that evaluates the loss itself (t->ahead has nothing): it chooses the next point by this one's;
 * - a device that has done its work when a call returns, or a plan that a host device takes part in (likewise): nothing
 *   goes on meanwhile;
 * - ranks of a parameter server: the server needs each gradient before it sends the weights of the next step;
 * - CUDA_LAUNCH_BLOCKING=1, which means waiting for every instruction, to hear which one has failed;
 * - ranks of which one has results that the next step writes over, such as a metric that is too large to come down with
 *   the others: they hear of faults when they read. A single process drains such a step itself.
 * One step is, where it is traced (trainer_late_takes()): its spans are there when its events are, and a step behind it
 * would be in them. */
void
trainer_late_init (LoomTrainer *t, const TrainerPlan *plan)
{
  t->late.is_wanted = t->ahead.is_wanted && t->server == NULL && !loom_exec_is_blocking (plan->exec)
                      && (t->comm == NULL || (keeps_all (t, plan) && (t->update == NULL || keeps_all (t, NULL))));
}

gboolean
trainer_late_agree (LoomTrainer *t, GError **error)
{
  gint64 at_once = !t->late.is_wanted, any = at_once;
  LoomMessage message = { "" };

  if (t->comm != NULL && t->server == NULL
      && !trainer_ok (t->comm->all_reduce (t->comm, &at_once, &any, 1, LOOM_I64, LOOM_REDUCE_MAX, &message), &message,
                      error))
    return FALSE;
  t->late.is_wanted = any == 0;
  return TRUE;
}

gboolean
trainer_late_takes (LoomTrainer *t)
{
  return t->late.is_wanted && !trainer_trace_is_due (t, t->place.step + trainer_late_steps (t) + 1);
}

/* What the host says to a batch of the step that is so many steps behind the run's place. */
static void
set_numbers (LoomTrainer *t, const TrainerUnread *item, gint64 ahead)
{
  if (item->part == 0)
    trainer_set_rates (t, t->place.step + ahead);
  trainer_set_part (t, t->place.step + ahead, t->place.batch + ahead, item->part, item->share);
}

/* A batch of a step; what the metrics were before the first is kept. */
static gboolean
read_part (LoomTrainer *t, TrainerUnread *item, GError **error)
{
  if (!t->link_told)
    trainer_tell_link (t, item->plan);
  if (t->rollback != NULL && !t->late.is_saved)
    {
      if (!trainer_rollback_save (t, error))
        return FALSE;
      t->late.is_saved = TRUE;
    }
  if (t->look.on & TRAINER_LOOK_LOSSES)
    trainer_look_batch (t, item->plan, item->part, item->share);
  trainer_loss_add (&t->loss, item->plan, item->share, item->part == 0);
  t->late.value = trainer_loss_value (&t->loss, item->plan, 1);
  if (trainer_metrics_take (t->place.metrics, item->plan, error)
      && trainer_metrics_take (trainer_recent_metrics (&t->recent), item->plan, error))
    return TRUE;
  t->mid_step_failure = TRUE; /* the weights may have taken the step, the sums have not */
  return FALSE;
}

/* The numbers of what is over. Behind the last of a step, the step is counted; what observers are told is kept in
 * *item. */
static gboolean
read_item (LoomTrainer *t, TrainerUnread *item, GError **error)
{
  gboolean is_due;

  if (item->plan != NULL && !read_part (t, item, error))
    return FALSE;
  if (item->plan != NULL && t->update != NULL)
    return TRUE;
  item->loss = t->late.value;
  item->grad_norm = loom_exec_scalar (item->exec, item->plan != NULL ? item->plan->grad_norm : t->update_norm);
  t->late.is_saved = FALSE;
  trainer_count_step (t, item->loss, item->samples);
  if (!trainer_note_step (t, item->loss, item->lr, &is_due, error)
      || (t->look.on != 0 && !trainer_look_step (t, item->loss, error)))
    return FALSE;
  /* Of ranks all finish what is queued for it, and where each has a part they write together. */
  if (is_due && t->comm != NULL)
    t->checkpoint_due = t->comm->rank == 0;
  else
    t->late.checkpoint_is_due |= is_due;
  return TRUE;
}

static void
tell (LoomTrainer *t, const TrainerUnread *item)
{
  if (item->plan == NULL || t->update == NULL)
    trainer_tell_step (t, t->place.step, item->loss, item->lr, item->grad_norm);
}

/* A run of an executor has failed, and nothing of its step was written. */
static gboolean
explain (LoomTrainer *t, const TrainerUnread *item, GError *failure, GError **error)
{
  if (item->plan == NULL)
    return trainer_explain_update (t, failure, error);
  /* A step behind it may have been told other numbers. */
  set_numbers (t, item, 0);
  loom_exec_select_step (item->exec, item->number);
  return trainer_explain_failure (t, item->plan, item->batch, failure, error);
}

/* Waits for what was not read, and reads it. */
static gboolean
drain (LoomTrainer *t, GError **error)
{
  TrainerUnread item = t->late.unread;
  GError *failure = NULL;

  t->late.unread = (TrainerUnread){ 0 };
  if (item.exec == NULL)
    return TRUE;
  if (!loom_exec_sync (item.exec, &failure))
    return explain (t, &item, failure, error);
  loom_exec_select_step (item.exec, item.number);
  if (!read_item (t, &item, error))
    return FALSE;
  tell (t, &item);
  return TRUE;
}

/* Something could not be queued, or a fault was heard meanwhile, which may be of what was queued before. */
static gboolean
fail (LoomTrainer *t, const TrainerUnread *item, GError *failure, GError **error)
{
  gint64 fault = loom_exec_fault_step (item->exec);
  TrainerUnread before = t->late.unread;
  GError *earlier = NULL;

  if (before.exec != NULL && before.number == fault)
    {
      t->late.unread = (TrainerUnread){ 0 };
      return explain (t, &before, failure, error);
    }
  if (drain (t, &earlier))
    return explain (t, item, failure, error);
  g_error_free (failure);
  g_propagate_error (error, earlier);
  return FALSE;
}

/* Queues a run, and reads the one before it. */
static gboolean
queue (LoomTrainer *t, TrainerUnread *item, GError **error)
{
  TrainerUnread before = t->late.unread;
  GError *failure = NULL;
  gboolean ok;

  /* An update may have fewer devices than the batches in front of it. */
  if (before.exec != NULL && !loom_exec_reports_faults_of (item->exec, before.exec) && !drain (t, error))
    return FALSE;
  ok = loom_exec_step (item->exec, &failure);
  item->number = loom_exec_step_number (item->exec);
  if (!ok)
    return fail (t, item, failure, error);
  trainer_waits_lap (t, &t->waits.compute);
  before = t->late.unread;
  t->late.unread = *item;
  if (before.exec != NULL && (!loom_exec_select_step (before.exec, before.number) || !read_item (t, &before, error)))
    return FALSE;
  if (item->plan != NULL)
    {
      trainer_ahead_fetch (t, item->plan);
      trainer_waits_lap (t, &t->waits.data);
    }
  if (before.exec != NULL)
    tell (t, &before);
  return keeps_all (t, item->plan) || drain (t, error);
}

/* The next batch, as a part of a step with `all` samples. */
static gboolean
queue_part (LoomTrainer *t, TrainerUnread *item, double all, GError **error)
{
  const TrainerPlan *before = t->late.unread.plan;
  GError *failure = NULL;

  item->batch = trainer_ahead_next (t, &failure);
  /* What was queued before is a part of the run, whatever comes behind it. Another plan may need a larger arena. */
  if ((item->batch == NULL || !trainer_plan_exists (t, item->batch->n)
       || (before != NULL && before->step->batch != item->batch->n))
      && !drain (t, error))
    {
      g_clear_error (&failure);
      return FALSE;
    }
  if (item->batch == NULL)
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  trainer_waits_lap (t, &t->waits.data);
  item->plan = trainer_plan_get (t, item->batch->n, TRUE, error);
  if (item->plan == NULL)
    return FALSE;
  item->exec = item->plan->exec;
  item->share = (double)item->batch->n / all;
  set_numbers (t, item, item->part == 0 ? trainer_late_steps (t) : 0);
  item->lr = t->rates.lr;
  trainer_ahead_feed (t, item->plan, item->batch);
  return queue (t, item, error);
}

gint64
trainer_late_steps (const LoomTrainer *t)
{
  return t->late.unread.exec != NULL;
}

static gboolean
step (LoomTrainer *t, GError **error)
{
  TrainerUnread item = { 0 };
  double all, samples = 0;

  trainer_waits_begin (t);
  /* What the step's first batch writes is fetched before it. */
  if (t->rollback != NULL && trainer_rollback_has_slots (t->rollback))
    {
      if (!drain (t, error) || !trainer_rollback_save (t, error))
        return FALSE;
      t->late.is_saved = TRUE;
      trainer_waits_lap (t, &t->waits.compute);
    }
  all = trainer_step_samples (t, t->place.batch + trainer_late_steps (t));
  for (; samples < all; item.part++)
    {
      item.samples = all;
      if (!queue_part (t, &item, all, error))
        return FALSE;
      samples += (double)item.batch->n;
    }
  if (t->update != NULL)
    {
      TrainerUnread update = { .exec = t->update, .lr = item.lr, .samples = all };

      if (!queue (t, &update, error))
        return FALSE;
    }
  trainer_waits_end (t);
  return TRUE;
}

/* A step of which a part has failed leaves nothing behind. */
static gboolean
undo (LoomTrainer *t)
{
  if (t->late.is_saved)
    trainer_rollback_restore (t);
  t->late.is_saved = FALSE;
  return FALSE;
}

gboolean
trainer_late_step (LoomTrainer *t, GError **error)
{
  return step (t, error) || undo (t);
}

gboolean
trainer_late_finish (LoomTrainer *t, GError **error)
{
  gboolean is_due;

  if (!drain (t, error))
    return undo (t);
  is_due = t->late.checkpoint_is_due;
  t->late.checkpoint_is_due = FALSE;
  return !is_due || trainer_checkpoint_write (t, NULL, error);
}

void
trainer_late_drop (LoomTrainer *t)
{
  t->mid_step_failure |= trainer_late_steps (t) > 0; /* the state may be a step ahead of the place */
  t->late = (TrainerLate){ .is_wanted = t->late.is_wanted };
}
