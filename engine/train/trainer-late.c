/* Steps whose numbers are read one step late, so that a device which works while its caller continues never waits for
 * it: the next step is queued, and then the one before it, which is over by then, is read, counted and told of.
 *
 * The run's place (t->place) is that of the steps that were read, and the state's may be one step further. Whoever
 * wants both to agree (a checkpoint, a command, an evaluation, the end) calls trainer_late_finish() first. A fault
 * closes the gates of all steps on the device, so the one that was queued behind it has written nothing.
 *
 * Several ranks read at once, as before: one that stops for a fault of its own must not leave the others in an exchange
 * of the next step. So do steps of several batches, whose sums are the host's, and optimisers that evaluate the loss
 * themselves. And so does who waits for every instruction, to hear which one has failed. */
#include "engine/train/trainer-private.h"

void
trainer_late_init (LoomTrainer *t, const TrainerPlan *plan)
{
  t->late.is_wanted
      = t->ahead.is_wanted && t->update == NULL && t->comm == NULL && !loom_exec_is_blocking (plan->exec);
}

/* The step of a plan leaves all that is read of it where the next one does not write. */
static gboolean
keeps_all (const LoomTrainer *t, const TrainerPlan *plan)
{
  gboolean all = loom_exec_keeps (plan->exec, plan->loss) && loom_exec_keeps (plan->exec, plan->grad_norm);

  for (guint i = 0; i < t->place.metrics->n; i++)
    all = all && loom_exec_keeps (plan->exec, plan->metric[i]);
  return all;
}

/* What the host says to the step that is so many steps behind the run's place. */
static void
set_numbers (LoomTrainer *t, gint64 ahead)
{
  trainer_set_rates (t, t->place.step + ahead);
  if (t->carry_slot >= 0)
    loom_state_put_scalar_at (t->state, (guint)t->carry_slot, (double)(t->place.batch + ahead));
}

/* The numbers of a step that is over; what observers are told is kept in *told. */
static gboolean
read_step (LoomTrainer *t, TrainerUnread *step, GError **error)
{
  gboolean is_due;

  step->loss = loom_exec_scalar (step->plan->exec, step->plan->loss);
  step->grad_norm = loom_exec_scalar (step->plan->exec, step->plan->grad_norm);
  if (!trainer_metrics_take (t->place.metrics, step->plan, error))
    {
      t->mid_step_failure = TRUE; /* the weights have taken the step, the sums have not */
      return FALSE;
    }
  trainer_count_step (t, step->loss, step->samples);
  if (!trainer_note_step (t, step->loss, step->lr, &is_due, error))
    return FALSE;
  t->late.checkpoint_is_due |= is_due;
  return TRUE;
}

static void
tell (LoomTrainer *t, const TrainerUnread *step)
{
  trainer_tell_step (t, t->place.step, step->loss, step->lr, step->grad_norm);
}

/* The step has failed, and nothing of it was written. */
static gboolean
explain (LoomTrainer *t, const TrainerUnread *step, GError *failure, GError **error)
{
  /* A step behind it may have been told other numbers. */
  set_numbers (t, 0);
  loom_exec_look_at (step->plan->exec, step->number);
  return trainer_explain_failure (t, step->plan, step->batch, failure, error);
}

/* Waits for the step that was not read, and reads it. */
static gboolean
drain (LoomTrainer *t, GError **error)
{
  TrainerUnread step = t->late.unread;
  GError *failure = NULL;

  t->late.unread = (TrainerUnread){ 0 };
  if (step.plan == NULL)
    return TRUE;
  if (!loom_exec_sync (step.plan->exec, &failure))
    return explain (t, &step, failure, error);
  loom_exec_look_at (step.plan->exec, step.number);
  if (!read_step (t, &step, error))
    return FALSE;
  tell (t, &step);
  return TRUE;
}

/* A step could not be queued, or a fault was heard meanwhile, which may be of the one before it. */
static gboolean
fail (LoomTrainer *t, const TrainerUnread *step, GError *failure, GError **error)
{
  gint64 fault = loom_exec_fault_step (step->plan->exec);
  TrainerUnread before = t->late.unread;
  GError *earlier = NULL;

  if (before.plan != NULL && before.number == fault)
    {
      t->late.unread = (TrainerUnread){ 0 };
      return explain (t, &before, failure, error);
    }
  if (drain (t, &earlier))
    return explain (t, step, failure, error);
  g_error_free (failure);
  g_propagate_error (error, earlier);
  return FALSE;
}

gint64
trainer_late_steps (const LoomTrainer *t)
{
  return t->late.unread.plan != NULL;
}

gboolean
trainer_late_step (LoomTrainer *t, GError **error)
{
  TrainerUnread step = { 0 }, before;
  GError *failure = NULL;

  trainer_waits_begin (t);
  step.batch = trainer_ahead_next (t, &failure);
  /* What was queued before is a step of the run, whatever comes behind it. Another plan may need a larger arena. */
  if ((step.batch == NULL || (trainer_late_steps (t) > 0 && t->late.unread.plan->step->batch != step.batch->n))
      && !drain (t, error))
    {
      g_clear_error (&failure);
      return FALSE;
    }
  if (step.batch == NULL)
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  trainer_waits_lap (t, &t->waits.data);
  step.plan = trainer_plan_get (t, step.batch->n, TRUE, error);
  if (step.plan == NULL)
    return FALSE;
  set_numbers (t, trainer_late_steps (t));
  step.lr = t->rates.lr;
  step.samples = (double)step.batch->n;
  trainer_ahead_feed (t, step.plan, step.batch);
  if (!loom_exec_step (step.plan->exec, &failure))
    {
      step.number = loom_exec_step_number (step.plan->exec);
      return fail (t, &step, failure, error);
    }
  step.number = loom_exec_step_number (step.plan->exec);
  trainer_waits_lap (t, &t->waits.compute);
  before = t->late.unread;
  t->late.unread = step;
  if (before.plan != NULL && (!loom_exec_look_at (before.plan->exec, before.number) || !read_step (t, &before, error)))
    return FALSE;
  trainer_ahead_fetch (t, step.plan);
  trainer_waits_lap (t, &t->waits.data);
  trainer_waits_end (t);
  if (before.plan != NULL)
    tell (t, &before);
  return keeps_all (t, step.plan) || drain (t, error);
}

gboolean
trainer_late_finish (LoomTrainer *t, GError **error)
{
  gboolean is_due;

  if (!drain (t, error))
    return FALSE;
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
