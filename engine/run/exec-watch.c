/* Instructions of a step that somebody looks at: a trace with their times, a profiler that is told their names, or a
 * search for the one that fails.
 *
 * Times of a single asynchronous device are its own: an event in front of each instruction and one behind the last,
 * read when the step is over. So nobody waits in between, and no time of the host's is in them. What ranks exchange
 * beside the computation has times of its own, from whoever makes the exchange. */
#include "engine/core/loom-env.h"
#include "engine/run/run-private.h"

#include <time.h>

static gint64
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * G_GINT64_CONSTANT (1000000000) + t.tv_nsec;
}

static gboolean
has_timers (const LoomExec *exec)
{
  return exec->timers != NULL;
}

static void
update (LoomExec *exec)
{
  exec->is_watched = exec->spans != NULL || exec->is_blocking || exec->has_ranges;
}

/* The names that a profiler shows: "fc1: matmul+bias". */
static void
name_ranges (LoomExec *exec)
{
  exec->range_names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < exec->n_rows; i++)
    {
      const LoomPlanInstr *instr = exec->rows[i].instr;
      g_autofree char *purpose = instr->origin == NULL ? loom_plan_purpose (exec->plan, instr) : NULL;

      g_ptr_array_add (exec->range_names,
                       g_strdup_printf ("%s: %s", instr->origin != NULL ? instr->origin : purpose, instr->label));
    }
}

void
loom_exec_watch_init (LoomExec *exec)
{
  const LoomBackendTools *tools = loom_plan_device (exec->plan, 0)->tools;
  const char *blocking = loom_env ("CUDA_LAUNCH_BLOCKING"), *ranges = loom_env ("GRADLOOM_NVTX");

  exec->is_blocking = exec->is_asynchronous && g_strcmp0 (blocking, "1") == 0;
  exec->has_ranges = tools != NULL && tools->range_push != NULL
                     && (ranges != NULL ? g_str_equal (ranges, "1") : tools->has_profiler ());
  if (exec->has_ranges)
    name_ranges (exec);
  update (exec);
}

gboolean
loom_exec_is_blocking (const LoomExec *exec)
{
  return exec->is_blocking;
}

static void
free_timers (LoomExec *exec)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, 0);

  for (guint i = 0; exec->timers != NULL && i < exec->timers->len; i++)
    device->backend->event_free (device->device, exec->timers->pdata[i]);
  g_clear_pointer (&exec->timers, g_ptr_array_unref);
}

void
loom_exec_watch_clear (LoomExec *exec)
{
  free_timers (exec);
  g_clear_pointer (&exec->range_names, g_ptr_array_unref);
}

/* Without them, for want of memory say, the device is waited for instead. */
static void
make_timers (LoomExec *exec)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  LoomMessage ignored;

  if (exec->timers != NULL || !exec->is_asynchronous || loom_plan_n_devices (exec->plan) > 1 || device->tools == NULL)
    return;
  exec->timers = g_ptr_array_new ();
  for (guint i = 0; i <= exec->n_rows; i++)
    {
      LoomEvent *event = NULL;

      if (device->tools->timed_event_new (device->device, &event, &ignored) != LOOM_STATUS_OK)
        {
          free_timers (exec);
          return;
        }
      g_ptr_array_add (exec->timers, event);
    }
}

void
loom_exec_trace (LoomExec *exec, GArray *spans)
{
  exec->spans = spans;
  if (spans != NULL)
    make_timers (exec);
  update (exec);
}

static LoomStatus
mark (LoomExec *exec, guint timer)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, 0);

  return device->backend->event_record (device->device, exec->timers->pdata[timer], exec->devices[0].arena->stream,
                                        &exec->message);
}

gboolean
loom_exec_watch_begin (LoomExec *exec, const LoomExecRow *row, gint64 *begin, GError **error)
{
  const guint at = (guint)(row - exec->rows);
  LoomStatus status = LOOM_STATUS_OK;

  if (exec->spans != NULL && has_timers (exec))
    status = mark (exec, at);
  if (status != LOOM_STATUS_OK)
    return loom_exec_status_error (exec, row->instr, status, error);
  if (exec->has_ranges)
    loom_plan_device (exec->plan, 0)->tools->range_push (exec->range_names->pdata[at]);
  *begin = exec->spans != NULL ? now_ns () : 0;
  return TRUE;
}

/* Waits for the row, so that what failed is its own. */
static gboolean
wait_for (LoomExec *exec, const LoomExecRow *row, LoomStatus *status, GError **error)
{
  LoomArena *arena = exec->devices[row->send != NULL ? row->send->from : row->instr->device].arena;

  return !loom_arena_sync (arena, &exec->message, status) || loom_exec_poll_fault (exec, arena, G_MAXINT64, error);
}

gboolean
loom_exec_watch_end (LoomExec *exec, const LoomExecRow *row, gint64 begin, LoomStatus *status, GError **error)
{
  LoomExecSpan span = { .instr = row->instr, .begin = begin };

  if (exec->has_ranges)
    loom_plan_device (exec->plan, 0)->tools->range_pop ();
  if (*status == LOOM_STATUS_OK && exec->is_blocking && !wait_for (exec, row, status, error))
    return FALSE;
  if (exec->spans == NULL || *status != LOOM_STATUS_OK)
    return TRUE;
  if (!has_timers (exec) && !loom_exec_sync (exec, error))
    return FALSE;
  span.end = now_ns ();
  g_array_append_val (exec->spans, span);
  return TRUE;
}

/* The spans of a step, n of them, of what was exchanged beside the computation. On a device one exchange begins behind
 * the one before it on its stream; seconds lie before `end`, when the last timer was reached. */
static void
move_exchanges (LoomExec *exec, guint n, gint64 end)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  gint64 over[LOOM_MESH_AXES] = { 0 };

  for (guint i = exec->spans->len - n; i < exec->spans->len; i++)
    {
      LoomExecSpan *span = &g_array_index (exec->spans, LoomExecSpan, i);
      LoomPlanExchange times;
      LoomMessage ignored;
      double since_ready = 0, since_over = 0;

      if (!loom_plan_exchange_times (span->instr, &times))
        continue;
      if (times.ready != NULL)
        {
          if (!has_timers (exec)
              || device->tools->event_seconds (device->device, times.ready, exec->timers->pdata[exec->n_rows],
                                               &since_ready, &ignored)
                     != LOOM_STATUS_OK
              || device->tools->event_seconds (device->device, times.over, exec->timers->pdata[exec->n_rows],
                                               &since_over, &ignored)
                     != LOOM_STATUS_OK)
            continue;
          times.end = end - (gint64)(since_over * 1e9);
          times.begin = MIN (MAX (end - (gint64)(since_ready * 1e9), over[span->instr->along]), times.end);
          over[span->instr->along] = times.end;
        }
      span->begin = times.begin;
      span->end = times.end;
    }
}

/* The last event's place in time is that of its end being seen here; the others lie before it. */
gboolean
loom_exec_watch_step (LoomExec *exec, GError **error)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  const guint setup = loom_plan_n_setup (exec->plan), n = exec->n_rows - setup;
  LoomStatus status;
  gint64 end;

  if (exec->spans == NULL || exec->spans->len < n)
    return TRUE;
  if (!has_timers (exec))
    {
      move_exchanges (exec, n, 0);
      return TRUE;
    }
  status = mark (exec, exec->n_rows);
  if (status != LOOM_STATUS_OK)
    return loom_exec_status_error (exec, NULL, status, error);
  if (!loom_exec_sync (exec, error))
    return FALSE;
  end = now_ns ();
  for (guint i = 0; i < n; i++)
    {
      LoomExecSpan *span = &g_array_index (exec->spans, LoomExecSpan, exec->spans->len - n + i);
      double left, own;

      status = device->tools->event_seconds (device->device, exec->timers->pdata[setup + i],
                                             exec->timers->pdata[exec->n_rows], &left, &exec->message);
      if (status == LOOM_STATUS_OK)
        status = device->tools->event_seconds (device->device, exec->timers->pdata[setup + i],
                                               exec->timers->pdata[setup + i + 1], &own, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, span->instr, status, error);
      span->begin = end - (gint64)(left * 1e9);
      span->end = span->begin + (gint64)(own * 1e9);
    }
  move_exchanges (exec, n, end);
  return TRUE;
}
