/* The plan's executor: addresses are resolved once, then a step is a loop over kernels.
 *
 * Each instruction has a row of buffer addresses. Only rows with a program input that is read in place change between
 * steps; loom_exec_feed() patches them through a list made once. If the arena, which other executors share, has moved,
 * addresses are resolved and kernels bound again before the next step. On a device with capture (CUDA graphs) the
 * second step after that is captured, and later steps replay it. */
#include "engine/run/run-private.h"

#include "engine/run/loom-eager.h"

#include <string.h>

/* NULL for an absent value. */
static void *
address_of (LoomExec *exec, guint value)
{
  const LoomPlanValue *v;
  const LoomSlot *slot;

  if (value == G_MAXUINT)
    return NULL;
  v = loom_plan_value (exec->plan, value);
  switch (v->location.kind)
    {
    case LOOM_LOCATION_ARENA:
      return (char *)exec->devices[v->location.device].arena->memory + v->location.offset;
    case LOOM_LOCATION_SETUP:
      return (char *)exec->devices[v->location.device].once + v->location.offset;
    case LOOM_LOCATION_SLOT:
      slot = loom_program_get_slot (loom_plan_program (exec->plan), v->location.index);
      return loom_state_address (exec->state, (guint)loom_state_find (exec->state, slot->name));
    case LOOM_LOCATION_INPUT:
      return exec->feeds[v->location.index].fed;
    case LOOM_LOCATION_NONE:
    default:
      return NULL;
    }
}

/* ---- memory and addresses ----------------------------------------------- */

/* Memory for the results of setup instructions: other plans use the arena between two steps of this one. */
static gboolean
allocate_once (LoomExecDevice *of, const LoomPlanMemory *memory, GError **error)
{
  LoomPlanDevice *device = of->arena->device;
  LoomMessage message = { "" };
  LoomStatus status;
  gsize bytes = 0;

  for (int o = 0; o < LOOM_N_OWNERS; o++)
    bytes += memory->once[o];
  if (bytes == 0)
    return TRUE;
  if (!loom_plan_device_fits (device, bytes, "What a plan makes once", error))
    return FALSE;
  status = device->backend->alloc (device->device, bytes, &of->once, &message);
  if (status == LOOM_STATUS_OUT_OF_MEMORY)
    loom_plan_device_out_of_memory (device, bytes, "What a plan makes once", message.text, error);
  else if (status != LOOM_STATUS_OK)
    loom_plan_device_error (status, device->name, message.text, error);
  if (status != LOOM_STATUS_OK)
    return FALSE;
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    of->arena->once[o] += memory->once[o];
  return TRUE;
}

static gboolean
allocate (LoomExec *exec, GError **error)
{
  guint n = loom_plan_n_devices (exec->plan);

  exec->devices = g_new0 (LoomExecDevice, n);
  for (guint d = 0; d < n; d++)
    {
      LoomExecDevice *of = &exec->devices[d];
      LoomPlanMemory memory;

      loom_plan_memory (exec->plan, d, &memory);
      of->arena = loom_state_arena (exec->state, loom_plan_device (exec->plan, d), error);
      if (of->arena == NULL || !loom_arena_reserve (of->arena, &memory, error) || !allocate_once (of, &memory, error))
        return FALSE;
    }
  return TRUE;
}

static void
make_feeds (LoomExec *exec)
{
  LoomProgram *program = loom_plan_program (exec->plan);

  exec->n_feeds = loom_program_n_inputs (program);
  exec->feeds = g_new0 (LoomExecFeed, exec->n_feeds + 1);
  for (guint i = 0; i < exec->n_feeds; i++)
    {
      LoomExecFeed *feed = &exec->feeds[i];
      guint value = loom_plan_input_value (exec->plan, i);

      feed->patch = g_ptr_array_new ();
      if (value == G_MAXUINT)
        continue;
      feed->used = TRUE;
      feed->device = loom_plan_value (exec->plan, value)->location.device;
      feed->bytes = loom_desc_bytes (&loom_plan_value (exec->plan, value)->desc);
    }
}

/* If the value is read from memory of the caller, `at` is patched whenever the input has another address. */
static void
patch (LoomExec *exec, guint value, gpointer at)
{
  const LoomPlanValue *v = value != G_MAXUINT ? loom_plan_value (exec->plan, value) : NULL;

  if (v != NULL && v->location.kind == LOOM_LOCATION_INPUT)
    g_ptr_array_add (exec->feeds[v->location.index].patch, at);
}

static void
make_rows (LoomExec *exec)
{
  gboolean several = loom_plan_n_devices (exec->plan) > 1;
  gsize total = 0, at = 0;
  gint64 sites;

  exec->n_rows = loom_plan_n_instrs (exec->plan);
  exec->rows = g_new0 (LoomExecRow, exec->n_rows + 1);
  sites = loom_state_add_sites (exec->state, exec, exec->n_rows);
  for (guint i = 0; i < exec->n_rows; i++)
    total += loom_plan_instr (exec->plan, i)->n_in + loom_plan_instr (exec->plan, i)->n_out + 2;
  exec->all_buffers = g_new0 (void *, total + 1);
  for (guint i = 0; i < exec->n_rows; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (exec->plan, i);
      LoomExecRow *row = &exec->rows[i];
      guint n = instr->n_in + instr->n_out;

      row->instr = instr;
      exec->exchanges |= loom_plan_exchanges (instr);
      row->kernel = instr->kernel;
      row->run
          = instr->kernel != NULL && !(several && instr->is_gate) && instr->n_sent == 0 ? instr->kernel->run : NULL;
      row->stream = exec->devices[instr->device].arena->stream;
      row->buffers = exec->all_buffers + at;
      at += n + 2;
      if (row->kernel != NULL)
        row->kernel->site = sites + i;
      for (guint k = 0; k < n; k++)
        patch (exec, instr->value[k], &row->buffers[k]);
    }
}

static void
make_commits (LoomExec *exec)
{
  const GArray *pairs = loom_plan_commit_copies (exec->plan);

  exec->commits = g_array_new (FALSE, TRUE, sizeof (LoomExecCommit));
  for (guint i = 0; i + 1 < pairs->len; i += 2)
    {
      guint value = g_array_index (pairs, guint, i), slot = g_array_index (pairs, guint, i + 1);
      const LoomPlanValue *v = loom_plan_value (exec->plan, value);
      const char *name = loom_program_get_slot (loom_plan_program (exec->plan), slot)->name;
      LoomExecCommit copy = { .to = loom_state_address (exec->state, (guint)loom_state_find (exec->state, name)),
                              .bytes = loom_desc_bytes (&v->desc),
                              .device = v->location.device,
                              .value = value };

      g_array_append_val (exec->commits, copy);
    }
  for (guint i = 0; i < exec->commits->len; i++)
    {
      LoomExecCommit *commit = &g_array_index (exec->commits, LoomExecCommit, i);

      patch (exec, commit->value, &commit->from);
    }
}

static void
make_outputs (LoomExec *exec)
{
  guint n = loom_program_n_outputs (loom_plan_program (exec->plan));

  exec->outputs = g_new0 (LoomExecOutput, n + 1);
  for (guint i = 0; i < n; i++)
    exec->outputs[i].value = loom_plan_value (exec->plan, loom_plan_output_value (exec->plan, i));
}

/* Resolves every address and binds the kernels. A captured step contains the old addresses and is dropped. */
static gboolean
bind (LoomExec *exec, GError **error)
{
  LoomPlanDevice *first = loom_plan_device (exec->plan, 0);

  if (exec->graph != NULL)
    first->backend->graph_free (first->device, exec->graph);
  exec->graph = NULL;
  exec->n_steps = 0;
  exec->may_capture = loom_exec_may_capture (exec);
  for (guint i = 0; i < exec->n_rows; i++)
    {
      LoomExecRow *row = &exec->rows[i];
      guint n = row->instr->n_in + row->instr->n_out;
      LoomStatus status = LOOM_STATUS_OK;

      for (guint k = 0; k < n; k++)
        row->buffers[k] = address_of (exec, row->instr->value[k]);
      if (row->kernel != NULL && row->kernel->scratch_bytes > 0)
        row->buffers[n] = (char *)exec->devices[row->instr->device].arena->memory + row->instr->scratch;
      if (row->kernel != NULL && row->kernel->kept_bytes > 0)
        row->buffers[n + 1] = (char *)exec->devices[row->instr->device].once + row->instr->kept;
      if (row->kernel != NULL && row->kernel->is_launched_alone)
        exec->may_capture = FALSE;
      if (row->kernel != NULL && row->kernel->bind != NULL)
        status = row->kernel->bind (row->kernel, row->buffers, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, row->instr, status, error);
    }
  for (guint i = 0; i < exec->n_feeds; i++)
    {
      guint value = loom_plan_input_value (exec->plan, i);

      if (value != G_MAXUINT && loom_plan_value (exec->plan, value)->location.kind == LOOM_LOCATION_ARENA)
        exec->feeds[i].place = address_of (exec, value);
    }
  for (guint i = 0; i < exec->commits->len; i++)
    {
      LoomExecCommit *commit = &g_array_index (exec->commits, LoomExecCommit, i);

      commit->from = address_of (exec, commit->value);
    }
  for (guint i = 0; i < loom_program_n_outputs (loom_plan_program (exec->plan)); i++)
    exec->outputs[i].at = address_of (exec, loom_plan_output_value (exec->plan, i));
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    exec->devices[d].moves = exec->devices[d].arena->moves;
  return TRUE;
}

/* Binds again after another executor needed a larger arena. All steps have ended, since the old memory was freed. */
static gboolean
rebind_moved (LoomExec *exec, GError **error)
{
  gboolean moved = FALSE;

  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      if (!loom_arena_reacquire (exec->devices[d].arena, error))
        return FALSE;
      moved |= exec->devices[d].moves != exec->devices[d].arena->moves;
    }
  return !moved || bind (exec, error);
}

static LoomStatus
run_transfer (LoomExec *exec, const LoomExecRow *row)
{
  const LoomPlanValue *from = loom_plan_value (exec->plan, row->instr->value[0]);
  LoomPlanDevice *a = loom_plan_device (exec->plan, from->location.device);
  LoomPlanDevice *b = loom_plan_device (exec->plan, row->instr->device);
  LoomStream *a_stream = exec->devices[from->location.device].arena->stream;
  gsize bytes = loom_desc_bytes (&from->desc);
  LoomMessage *message = &exec->message;
  void *host = row->buffers[1];
  LoomStatus status = LOOM_STATUS_OK;

  if (a->info.host_memory && b->info.host_memory)
    {
      memcpy (row->buffers[1], row->buffers[0], bytes);
      return LOOM_STATUS_OK;
    }
  if (!a->info.host_memory)
    {
      if (!b->info.host_memory)
        host = exec->bounce;
      status = a->backend->copy (a->device, a_stream, host, row->buffers[0], bytes, LOOM_COPY_DEVICE_TO_HOST, message);
      if (status == LOOM_STATUS_OK)
        status = a->backend->stream_sync (a->device, a_stream, message);
    }
  else
    host = row->buffers[0];
  if (status == LOOM_STATUS_OK && !b->info.host_memory)
    {
      status
          = b->backend->copy (b->device, row->stream, row->buffers[1], host, bytes, LOOM_COPY_HOST_TO_DEVICE, message);
      if (status == LOOM_STATUS_OK && host == exec->bounce)
        status = b->backend->stream_sync (b->device, row->stream, message);
    }
  return status;
}

/* TRUE for a row that is more than a call: a copy, a wait for copies, or a gate, which closes for faults of its own
 * stream and must close for those of the other devices; if it is not notified of them, the host waits. */
static gboolean
run_special (LoomExec *exec, const LoomExecRow *row, LoomStatus *status, GError **error)
{
  const gboolean is_gate = row->instr->is_gate && loom_plan_n_devices (exec->plan) > 1;
  const gboolean gates_follow_all = exec->devices[row->instr->device].gates_follow_all;

  if (is_gate && !gates_follow_all && !loom_exec_sync (exec, error))
    return FALSE;
  *status = loom_exec_await_sent (exec, row);
  if (*status == LOOM_STATUS_OK && is_gate && gates_follow_all)
    *status = loom_exec_wait_for_others (exec, row->instr->device);
  if (*status == LOOM_STATUS_OK && G_UNLIKELY (exec->is_watched))
    *status = loom_exec_watch_start (exec, row);
  if (*status != LOOM_STATUS_OK)
    return TRUE;
  if (row->send != NULL)
    *status = loom_exec_send (exec, row);
  else if (row->kernel == NULL)
    *status = run_transfer (exec, row);
  else
    *status = row->kernel->run (row->kernel, row->stream, row->buffers, &exec->message);
  return TRUE;
}

static gboolean
run_rows (LoomExec *exec, guint first, guint end, GError **error)
{
  for (LoomExecRow *row = exec->rows + first; row < exec->rows + end; row++)
    {
      gint64 begin = 0;
      LoomStatus status;

      if (G_UNLIKELY (exec->is_watched) && !loom_exec_watch_begin (exec, row, &begin, error))
        return FALSE;
      if (G_LIKELY (row->run != NULL))
        status = row->run (row->kernel, row->stream, row->buffers, &exec->message);
      else if (!run_special (exec, row, &status, error))
        return FALSE;
      if (G_UNLIKELY (exec->is_watched) && !loom_exec_watch_end (exec, row, begin, &status, error))
        return FALSE;
      if (G_UNLIKELY (status != LOOM_STATUS_OK))
        return loom_exec_status_error (exec, row->instr, status, error);
    }
  return TRUE;
}

/* Computes setup results, and lets kernels pack fixed operands. */
static gboolean
prepare (LoomExec *exec, GError **error)
{
  if (!run_rows (exec, 0, loom_plan_n_setup (exec->plan), error))
    return FALSE;
  for (LoomExecRow *row = exec->rows; row < exec->rows + exec->n_rows; row++)
    {
      LoomStatus status = LOOM_STATUS_OK;

      if (row->kernel != NULL && row->kernel->prepare != NULL)
        status = row->kernel->prepare (row->kernel, row->stream, row->buffers, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, row->instr, status, error);
    }
  return loom_exec_sync (exec, error);
}

LoomExec *
loom_exec_new (LoomPlan *plan, LoomState *state, GError **error)
{
  g_autoptr (LoomExec) exec = g_new0 (LoomExec, 1);
  LoomProgram *program = loom_plan_program (plan);
  gsize largest = 0;

  exec->plan = plan;
  exec->state = loom_state_ref (state);
  /* The arena first: it is the most likely to fail, and cheaper than initialising weights. */
  if (!allocate (exec, error) || !loom_state_add_slots (state, program, error))
    return NULL;
  make_feeds (exec);
  make_rows (exec);
  make_commits (exec);
  make_outputs (exec);
  for (guint i = 0; i < exec->n_rows; i++)
    if (exec->rows[i].kernel == NULL && !exec->rows[i].instr->is_send)
      largest = MAX (largest, loom_desc_bytes (&loom_plan_value (plan, exec->rows[i].instr->value[0])->desc));
  if (largest > 0)
    exec->bounce = g_malloc (largest);
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      exec->devices[d].arena->user = exec;
      exec->is_asynchronous |= exec->devices[d].arena->stream != NULL;
      if (!loom_exec_transit_new (exec, d, error))
        return NULL;
    }
  if (!loom_exec_sends_new (exec, error))
    return NULL;
  loom_exec_find_ahead (exec);
  loom_exec_watch_init (exec);
  /* Faults of constant data in setup instructions are reported here, as on synchronous devices. */
  if (!bind (exec, error) || !prepare (exec, error))
    return NULL;
  return g_steal_pointer (&exec);
}

static void
free_device (LoomExec *exec, guint d)
{
  LoomExecDevice *of = &exec->devices[d];
  LoomPlanDevice *device = loom_plan_device (exec->plan, d);
  LoomPlanMemory memory;
  LoomMessage ignored;
  LoomStatus status;

  if (of->arena == NULL)
    return;
  /* The plan's kernels and their data are freed next; on a lost device no work is left. An unreported fault points into
   * those kernels, and belongs to no later step. */
  if (loom_arena_sync (of->arena, NULL, &status) && of->arena->stream != NULL && of->arena->user == exec)
    device->backend->fault_clear (device->device, of->arena->stream, &ignored);
  if (d == 0 && exec->graph != NULL)
    device->backend->graph_free (device->device, exec->graph);
  if (of->arena->user == exec)
    of->arena->user = NULL;
  loom_exec_transit_free (exec, d);
  if (of->once == NULL)
    return;
  device->backend->free (device->device, of->once);
  loom_plan_memory (exec->plan, d, &memory);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    of->arena->once[o] -= memory.once[o];
}

void
loom_exec_free (LoomExec *exec)
{
  if (exec == NULL)
    return;
  loom_plan_drain (exec->plan);
  loom_exec_sends_settle (exec);
  for (guint d = 0; exec->devices != NULL && d < loom_plan_n_devices (exec->plan); d++)
    free_device (exec, d);
  loom_exec_watch_clear (exec);
  loom_exec_sends_free (exec);
  for (guint i = 0; i < exec->n_feeds; i++)
    g_ptr_array_unref (exec->feeds[i].patch);
  loom_state_remove_sites (exec->state, exec);
  g_clear_pointer (&exec->eager, loom_eager_free);
  g_free (exec->devices);
  g_free (exec->rows);
  g_free (exec->all_buffers);
  g_free (exec->feeds);
  g_free (exec->bounce);
  g_clear_pointer (&exec->commits, g_array_unref);
  g_free (exec->outputs);
  loom_plan_free (exec->plan);
  loom_state_unref (exec->state);
  g_free (exec);
}

LoomPlan *
loom_exec_plan (const LoomExec *exec)
{
  return exec->plan;
}

void
loom_exec_feed (LoomExec *exec, guint input, const void *data)
{
  LoomExecFeed *feed;

  g_return_if_fail (input < exec->n_feeds);

  feed = &exec->feeds[input];
  feed->fed = (void *)data;
  if (feed->used)
    exec->devices[feed->device].transit.is_up = FALSE;
  for (guint i = 0; i < feed->patch->len; i++)
    *(void **)g_ptr_array_index (feed->patch, i) = (void *)data;
}

int
loom_exec_find_input (const LoomExec *exec, const char *name)
{
  LoomProgram *program = loom_plan_program (exec->plan);

  for (guint i = 0; i < loom_program_n_inputs (program); i++)
    if (strcmp (loom_program_get_input (program, i)->name, name) == 0)
      return (int)i;
  return -1;
}

int
loom_exec_find_output (const LoomExec *exec, const char *name)
{
  LoomProgram *program = loom_plan_program (exec->plan);

  for (guint i = 0; i < loom_program_n_outputs (program); i++)
    if (strcmp (loom_program_get_output (program, i)->name, name) == 0)
      return (int)i;
  return -1;
}

/* Copies values that are stored elsewhere to the state, after all copies of the step. */
static gboolean
run_commits (LoomExec *exec, GError **error)
{
  LoomStatus sent = loom_exec_end_sends (exec);

  if (sent != LOOM_STATUS_OK)
    return loom_exec_status_error (exec, NULL, sent, error);
  for (guint i = 0; i < exec->commits->len; i++)
    {
      const LoomExecCommit *c = &g_array_index (exec->commits, LoomExecCommit, i);
      LoomPlanDevice *device = loom_plan_device (exec->plan, c->device);
      LoomStatus status;

      if (device->info.host_memory)
        {
          memcpy (c->to, c->from, c->bytes);
          continue;
        }
      status = device->backend->copy (device->device, exec->devices[c->device].arena->stream, c->to, c->from, c->bytes,
                                      LOOM_COPY_WITHIN, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
    }
  return TRUE;
}

/* Captures one step as a graph over the streams of all devices. After a failure no further capture is tried, since
 * launching kernel by kernel computes the same numbers, only slower. */
static gboolean
capture (LoomExec *exec)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  LoomStream *stream = exec->devices[0].arena->stream;
  LoomMessage ignored;
  void *graph = NULL;
  gboolean ok;

  exec->may_capture = FALSE;
  /* Known once a step has run: the first exchange determines how ranks exchange. */
  if (loom_plan_syncs_host (exec->plan))
    return FALSE;
  if (device->backend->capture_begin (device->device, stream, &ignored) != LOOM_STATUS_OK)
    return FALSE;
  ok = loom_exec_release_others (exec, 0) == LOOM_STATUS_OK
       && run_rows (exec, loom_plan_n_setup (exec->plan), exec->n_rows, NULL) && run_commits (exec, NULL)
       && loom_exec_wait_for_others (exec, 0) == LOOM_STATUS_OK;
  if (device->backend->capture_end (device->device, stream, &graph, &ignored) != LOOM_STATUS_OK || !ok)
    {
      if (graph != NULL)
        device->backend->graph_free (device->device, graph);
      exec->message.text[0] = '\0';
      exec->is_between = FALSE;
      return FALSE;
    }
  exec->graph = graph;
  return TRUE;
}

/* No device begins while another is still in the previous step: its faults would close the gates of that step on the
 * other devices after its own gate has opened. */
static gboolean
launch (LoomExec *exec, GError **error)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  LoomStatus status;

  if (exec->spans != NULL || (exec->graph == NULL && !(exec->may_capture && exec->n_steps >= 1 && capture (exec))))
    {
      status = loom_exec_join_streams (exec);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
      exec->is_enqueuing = TRUE;
      return run_rows (exec, loom_plan_n_setup (exec->plan), exec->n_rows, error) && run_commits (exec, error)
             && loom_exec_watch_step (exec, error);
    }
  status = loom_exec_wait_for_others (exec, 0);
  if (status == LOOM_STATUS_OK)
    status
        = device->backend->graph_launch (device->device, exec->graph, exec->devices[0].arena->stream, &exec->message);
  exec->is_enqueuing = status == LOOM_STATUS_OK;
  if (status == LOOM_STATUS_OK)
    status = loom_exec_release_others (exec, 0);
  return status == LOOM_STATUS_OK || loom_exec_status_error (exec, NULL, status, error);
}

static gboolean
step (LoomExec *exec, GError **error)
{
  gboolean ok;

  for (guint i = 0; i < exec->n_feeds; i++)
    g_return_val_if_fail (!exec->feeds[i].used || exec->feeds[i].fed != NULL || exec->feeds[i].bytes == 0, FALSE);

  exec->message.text[0] = '\0';
  exec->fault_step = 0;
  exec->is_between = FALSE;
  ok = rebind_moved (exec, error) && loom_exec_begin (exec, error) && loom_exec_take_feeds (exec, error)
       && launch (exec, error);
  if (ok)
    exec->n_steps++;
  else
    loom_exec_sends_settle (exec);
  ok = ok && (!exec->is_asynchronous || (loom_exec_fetch_results (exec, error) && loom_exec_end (exec, error)));
  exec->is_enqueuing = FALSE;
  return ok;
}

gboolean
loom_exec_step (LoomExec *exec, GError **error)
{
  gboolean ok;

  if (G_UNLIKELY (exec->eager != NULL))
    return loom_exec_eager_step (exec, error);
  if (G_LIKELY (!exec->has_ranges))
    return step (exec, error);
  loom_plan_device (exec->plan, 0)->tools->range_push ("step");
  ok = step (exec, error);
  loom_plan_device (exec->plan, 0)->tools->range_pop ();
  return ok;
}

gboolean
loom_exec_run (LoomExec *exec, GError **error)
{
  return loom_exec_step (exec, error) && loom_exec_sync (exec, error);
}
