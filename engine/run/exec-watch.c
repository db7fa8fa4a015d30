/* Observed instructions of a step: a trace of their times, names for a profiler, or a search for the instruction that
 * fails.
 *
 * Asynchronous devices measure their own times: an event before and after each instruction on its stream, read when the
 * step is over. So no call waits in between, and the times include neither work of the host nor waits for another
 * device. Communication that overlaps with computation is timed by the module that does it. */
#include "engine/core/loom-env.h"
#include "engine/core/loom-os.h"
#include "engine/run/run-private.h"

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

/* The names in a profiler: "fc1: matmul+bias". */
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

/* The device and the stream on which a row is enqueued. */
static guint
lane_of (const LoomExec *exec, const LoomExecRow *row, LoomStream **stream)
{
  const guint device = row->send != NULL ? row->send->from : row->instr->device;

  *stream = row->send != NULL ? exec->devices[device].arena->sends : row->stream;
  return device;
}

/* Records timers before each row, after each, and after all rows of each device. */
static guint
timer_before (const LoomExec *exec, const LoomExecRow *row)
{
  return 2 * (guint)(row - exec->rows);
}

static guint
timer_last (const LoomExec *exec, guint device)
{
  return 2 * exec->n_rows + device;
}

static guint
device_of_timer (const LoomExec *exec, guint timer)
{
  LoomStream *stream;

  return timer < 2 * exec->n_rows ? lane_of (exec, &exec->rows[timer / 2], &stream) : timer - 2 * exec->n_rows;
}

static void
free_timers (LoomExec *exec)
{
  for (guint i = 0; exec->timers != NULL && i < exec->timers->len; i++)
    {
      const LoomPlanDevice *device = loom_plan_device (exec->plan, device_of_timer (exec, i));

      device->backend->event_free (device->device, exec->timers->pdata[i]);
    }
  g_clear_pointer (&exec->timers, g_ptr_array_unref);
}

void
loom_exec_watch_clear (LoomExec *exec)
{
  free_timers (exec);
  g_clear_pointer (&exec->range_names, g_ptr_array_unref);
}

/* Without timers, because memory is insufficient or the host takes part, devices are synchronised after each row. */
static void
make_timers (LoomExec *exec)
{
  const guint n = loom_plan_n_devices (exec->plan);
  LoomMessage ignored;

  if (exec->timers != NULL || !exec->all_gates_follow)
    return;
  for (guint d = 0; d < n; d++)
    if (loom_plan_device (exec->plan, d)->tools == NULL)
      return;
  exec->timers = g_ptr_array_new ();
  for (guint i = 0; i < 2 * exec->n_rows + n; i++)
    {
      const LoomPlanDevice *device = loom_plan_device (exec->plan, device_of_timer (exec, i));
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
mark (LoomExec *exec, guint timer, guint d, LoomStream *stream)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, d);

  return device->backend->event_record (device->device, exec->timers->pdata[timer], stream, &exec->message);
}

/* Before a row (which: 0) or after it (1), on its own stream. */
static LoomStatus
mark_row (LoomExec *exec, const LoomExecRow *row, guint which)
{
  LoomStream *stream;
  const guint d = lane_of (exec, row, &stream);

  if (exec->spans == NULL || !has_timers (exec))
    return LOOM_STATUS_OK;
  return mark (exec, timer_before (exec, row) + which, d, stream);
}

LoomStatus
loom_exec_watch_start (LoomExec *exec, const LoomExecRow *row)
{
  return mark_row (exec, row, 0);
}

gboolean
loom_exec_watch_begin (LoomExec *exec, const LoomExecRow *row, gint64 *begin, GError **error)
{
  /* A row that waits for others begins after the wait. */
  const LoomStatus status = row->run != NULL ? mark_row (exec, row, 0) : LOOM_STATUS_OK;

  if (status != LOOM_STATUS_OK)
    return loom_exec_status_error (exec, row->instr, status, error);
  if (exec->has_ranges)
    loom_plan_device (exec->plan, 0)->tools->range_push (exec->range_names->pdata[row - exec->rows]);
  *begin = exec->spans != NULL ? loom_nanoseconds () : 0;
  return TRUE;
}

/* Waits for the row, so that a failure belongs to it. */
static gboolean
wait_for (LoomExec *exec, const LoomExecRow *row, LoomStatus *status, GError **error)
{
  LoomStream *stream;
  LoomArena *arena = exec->devices[lane_of (exec, row, &stream)].arena;

  return !loom_arena_sync (arena, &exec->message, status) || loom_exec_poll_fault (exec, G_MAXINT64, error);
}

gboolean
loom_exec_watch_end (LoomExec *exec, const LoomExecRow *row, gint64 begin, LoomStatus *status, GError **error)
{
  LoomExecSpan span = { .instr = row->instr, .begin = begin };

  if (exec->has_ranges)
    loom_plan_device (exec->plan, 0)->tools->range_pop ();
  if (*status == LOOM_STATUS_OK)
    *status = mark_row (exec, row, 1);
  if (*status == LOOM_STATUS_OK && exec->is_blocking && !wait_for (exec, row, status, error))
    return FALSE;
  if (exec->spans == NULL || *status != LOOM_STATUS_OK)
    return TRUE;
  if (!has_timers (exec) && !loom_exec_sync (exec, error))
    return FALSE;
  span.end = loom_nanoseconds ();
  g_array_append_val (exec->spans, span);
  return TRUE;
}

/* Seconds from a timer, or another event, of the device to the end of its step. */
static LoomStatus
seconds_left (LoomExec *exec, guint d, LoomEvent *from, double *left)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, d);

  return device->tools->event_seconds (device->device, from, exec->timers->pdata[timer_last (exec, d)], left,
                                       &exec->message);
}

/* The n spans of communication that overlapped with the computation of a step. On a device an exchange begins after the
 * previous one on its stream; seconds are counted back from `end`, the time of the last timer. */
static void
move_exchanges (LoomExec *exec, guint n, gint64 end)
{
  gint64 over[LOOM_MESH_AXES] = { 0 };

  for (guint i = exec->spans->len - n; i < exec->spans->len; i++)
    {
      LoomExecSpan *span = &g_array_index (exec->spans, LoomExecSpan, i);
      LoomPlanExchange times;
      double since_ready = 0, since_over = 0;

      if (!loom_plan_exchange_times (span->instr, &times))
        continue;
      if (times.ready != NULL)
        {
          if (!has_timers (exec)
              || seconds_left (exec, span->instr->device, times.ready, &since_ready) != LOOM_STATUS_OK
              || seconds_left (exec, span->instr->device, times.over, &since_over) != LOOM_STATUS_OK)
            continue;
          times.end = end - (gint64)(since_over * 1e9);
          times.begin = MIN (MAX (end - (gint64)(since_ready * 1e9), over[span->instr->along]), times.end);
          over[span->instr->along] = times.end;
        }
      span->begin = times.begin;
      span->end = times.end;
    }
  exec->message.text[0] = '\0'; /* exchanges without times of their own have those of their rows */
}

static LoomStatus
place_span (LoomExec *exec, LoomExecRow *row, gint64 end, LoomExecSpan *span)
{
  LoomStream *stream;
  const guint d = lane_of (exec, row, &stream), before = timer_before (exec, row);
  double begin = 0, over = 0;
  LoomStatus status = seconds_left (exec, d, exec->timers->pdata[before], &begin);

  if (status == LOOM_STATUS_OK)
    status = seconds_left (exec, d, exec->timers->pdata[before + 1], &over);
  span->begin = end - (gint64)(begin * 1e9);
  span->end = end - (gint64)(over * 1e9);
  return status;
}

/* Clocks of several devices have no common zero: all devices wait for each other after the step, and the host's time of
 * that event is the common end from which their times are counted back. */
gboolean
loom_exec_watch_step (LoomExec *exec, GError **error)
{
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
  status = loom_exec_join_streams (exec);
  for (guint d = 0; d < loom_plan_n_devices (exec->plan) && status == LOOM_STATUS_OK; d++)
    status = mark (exec, timer_last (exec, d), d, exec->devices[d].arena->stream);
  if (status != LOOM_STATUS_OK)
    return loom_exec_status_error (exec, NULL, status, error);
  if (!loom_exec_sync (exec, error))
    return FALSE;
  end = loom_nanoseconds ();
  for (guint i = 0; i < n; i++)
    {
      LoomExecSpan *span = &g_array_index (exec->spans, LoomExecSpan, exec->spans->len - n + i);

      status = place_span (exec, &exec->rows[setup + i], end, span);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, span->instr, status, error);
    }
  move_exchanges (exec, n, end);
  return TRUE;
}
