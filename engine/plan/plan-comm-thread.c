/* Implements a plan's communication thread: a queue of jobs, a lock and two conditions. */
#include "engine/plan/plan-comm-thread.h"
#include "engine/core/loom-os.h"

struct _PlanCommThread
{
  gatomicrefcount refs;
  GThread *thread;
  GMutex lock;
  GCond posted, done;
  GQueue jobs;
  gboolean ends;
};

static gpointer
run_thread (gpointer data)
{
  PlanCommThread *lane = data;

  g_mutex_lock (&lane->lock);
  for (;;)
    {
      PlanCommJob *job = g_queue_pop_head (&lane->jobs);

      if (job == NULL && lane->ends)
        break;
      if (job == NULL)
        {
          g_cond_wait (&lane->posted, &lane->lock);
          continue;
        }
      g_mutex_unlock (&lane->lock);
      job->begin = loom_nanoseconds ();
      job->status = job->run (job->data, &job->message);
      job->end = loom_nanoseconds ();
      g_mutex_lock (&lane->lock);
      job->done = TRUE;
      g_cond_broadcast (&lane->done);
    }
  g_mutex_unlock (&lane->lock);
  return NULL;
}

PlanCommThread *
plan_comm_thread_new (void)
{
  PlanCommThread *lane = g_new0 (PlanCommThread, 1);

  g_atomic_ref_count_init (&lane->refs);
  g_mutex_init (&lane->lock);
  g_cond_init (&lane->posted);
  g_cond_init (&lane->done);
  g_queue_init (&lane->jobs);
  lane->thread = g_thread_new ("communication", run_thread, lane);
  return lane;
}

PlanCommThread *
plan_comm_thread_ref (PlanCommThread *lane)
{
  g_atomic_ref_count_inc (&lane->refs);
  return lane;
}

void
plan_comm_thread_unref (PlanCommThread *lane)
{
  if (lane == NULL || !g_atomic_ref_count_dec (&lane->refs))
    return;
  g_mutex_lock (&lane->lock);
  lane->ends = TRUE;
  g_cond_signal (&lane->posted);
  g_mutex_unlock (&lane->lock);
  g_thread_join (lane->thread);
  g_mutex_clear (&lane->lock);
  g_cond_clear (&lane->posted);
  g_cond_clear (&lane->done);
  g_free (lane);
}

void
plan_comm_thread_post (PlanCommThread *lane, PlanCommJob *job)
{
  g_mutex_lock (&lane->lock);
  job->is_pending = TRUE;
  job->done = FALSE;
  job->message.text[0] = '\0';
  g_queue_push_tail (&lane->jobs, job);
  g_cond_signal (&lane->posted);
  g_mutex_unlock (&lane->lock);
}

LoomStatus
plan_comm_thread_wait (PlanCommThread *lane, PlanCommJob *job, LoomMessage *message)
{
  if (!job->is_pending)
    return LOOM_STATUS_OK;
  g_mutex_lock (&lane->lock);
  while (!job->done)
    g_cond_wait (&lane->done, &lane->lock);
  g_mutex_unlock (&lane->lock);
  job->is_pending = FALSE;
  if (job->status != LOOM_STATUS_OK && message != NULL)
    *message = job->message;
  return job->status;
}
