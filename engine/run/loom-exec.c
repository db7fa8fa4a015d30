/* The plan's executor: addresses are resolved once, then a step is a loop over kernels.
 *
 * Each instruction has a row of buffer addresses. Rows that hold a program input read in place are the only ones that
 * change between steps; loom_exec_feed() patches them through a list made at binding. On a device with capture (CUDA
 * graphs) the second step is recorded and later ones replay it. */
#include "engine/run/loom-exec.h"

#include <math.h>
#include <string.h>


typedef struct
{
  LoomKernel *kernel;
  LoomStatus (*run) (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
  LoomStream *stream;
  void **buffers;
  const LoomPlanInstr *instr;
  gboolean waits; /* for the faults of all other devices: the gate of an update knows those of its own stream alone */
} Row;

typedef struct
{
  void *fed;        /* what the caller gave last */
  GPtrArray *patch; /* void**: places in rows that hold its address */
  void *place;      /* its place in the arena, when it is copied there */
  guint device;
  gsize bytes;
  gboolean used;
} Feed;

typedef struct
{
  void *memory;
  LoomStream *stream;
  LoomEvent *done[2]; /* behind the newest step and the one before it, by the step's last bit */
} Arena;

typedef struct
{
  void *to;
  const void *from;
  gsize bytes;
  guint device;
} CommitCopy;

struct _LoomExec
{
  LoomPlan *plan;
  LoomState *state;
  Arena *arenas; /* by device of the plan */
  Row *rows;
  guint n_rows;
  void **all_buffers;
  Feed *feeds;
  guint n_feeds;
  GArray *commits; /* CommitCopy */
  void *bounce;    /* host memory for copies between two devices that have none */
  void *graph;     /* a captured step */
  guint n_steps;   /* since the graph may be captured */
  gint64 step;     /* counted from 1 */
  guint steps_ago; /* of the fault that was heard of last */
  gboolean may_capture;
};

static void *
address_of (LoomExec *exec, guint value, guint *slot_of_program)
{
  const LoomPlanValue *v;

  if (value == G_MAXUINT)
    return NULL;
  v = loom_plan_value (exec->plan, value);
  switch (v->place.kind)
    {
    case LOOM_PLACE_ARENA:
      return (char *)exec->arenas[v->place.device].memory + v->place.offset;
    case LOOM_PLACE_SLOT:
      return loom_state_address (exec->state, slot_of_program[v->place.index]);
    case LOOM_PLACE_INPUT:
      return exec->feeds[v->place.index].fed;
    case LOOM_PLACE_NONE:
    default:
      return NULL;
    }
}

static gboolean
status_error (LoomExec *exec, const LoomPlanInstr *instr, LoomStatus status, const LoomMessage *message, GError **error)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, instr != NULL ? instr->device : 0);
  g_autofree char *where
      = instr == NULL ? g_strdup_printf ("A step on %s", device->name)
                      : g_strdup_printf ("Node %s (%s on %s)", instr->origin != NULL ? instr->origin : "(none)",
                                         instr->label, device->name);

  loom_plan_device_error (status, where, message->text, error);
  return FALSE;
}

/* ---- faults ----------------------------------------------------------- */

/* Whether the device has told of a fault; the stream is let run out then, for the flag to be cleared. Steps that began
 * meanwhile have written nothing. */
static gboolean
hear (LoomExec *exec, guint d, GError **error)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, d);
  LoomStream *stream = exec->arenas[d].stream;
  LoomMessage message = { "" }, ignored = { "" };
  LoomDeviceFault fault;
  LoomStatus status;

  if (stream == NULL || device->backend->fault_get == NULL)
    return TRUE;
  device->backend->fault_get (device->device, stream, &fault, &message);
  if (fault.status == LOOM_STATUS_OK)
    return TRUE;
  status = device->backend->stream_sync (device->device, stream, &ignored);
  if (status == LOOM_STATUS_OK)
    status = device->backend->fault_clear (device->device, stream, &ignored);
  if (status != LOOM_STATUS_OK)
    return status_error (exec, NULL, status, &ignored, error);
  exec->steps_ago = (guint)(exec->step - fault.step);
  return status_error (exec, exec->rows[fault.site].instr, fault.status, &message, error);
}

static gboolean
begin_step (LoomExec *exec, GError **error)
{
  exec->step++;
  exec->steps_ago = 0;
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomPlanDevice *device = loom_plan_device (exec->plan, d);
      LoomMessage message = { "" };
      LoomStatus status = LOOM_STATUS_OK;

      if (exec->arenas[d].stream != NULL && device->backend->step_begin != NULL)
        status = device->backend->step_begin (device->device, exec->arenas[d].stream, exec->step, &message);
      if (status != LOOM_STATUS_OK)
        return status_error (exec, NULL, status, &message, error);
    }
  return TRUE;
}

/* Waits for the step before this one, which has run while this one was enqueued, and hears what it has to say: so the
 * device is never idle, and the caller learns of a fault one step late at most. */
static gboolean
end_step (LoomExec *exec, GError **error)
{
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomPlanDevice *device = loom_plan_device (exec->plan, d);
      Arena *arena = &exec->arenas[d];
      LoomMessage message = { "" };
      LoomStatus status;

      if (arena->done[0] == NULL)
        continue;
      status = device->backend->event_record (device->device, arena->done[exec->step & 1], arena->stream, &message);
      if (status == LOOM_STATUS_OK && exec->step > 1)
        status = device->backend->event_sync (device->device, arena->done[(exec->step - 1) & 1], &message);
      if (status != LOOM_STATUS_OK)
        return status_error (exec, NULL, status, &message, error);
      if (!hear (exec, d, error))
        return FALSE;
    }
  return TRUE;
}

guint
loom_exec_fault_steps_ago (const LoomExec *exec)
{
  return exec->steps_ago;
}

static gboolean
allocate_arenas (LoomExec *exec, GError **error)
{
  guint n = loom_plan_n_devices (exec->plan);

  exec->arenas = g_new0 (Arena, n);
  for (guint d = 0; d < n; d++)
    {
      LoomPlanDevice *device = loom_plan_device (exec->plan, d);
      LoomPlanMemory memory;
      LoomMessage message = { "" };
      LoomStatus status = LOOM_STATUS_OK;

      loom_plan_memory (exec->plan, d, &memory);
      if (!loom_plan_device_has_room (device, memory.arena, "A step", error))
        return FALSE;
      if (memory.arena > 0)
        status = device->backend->alloc (device->device, memory.arena, &exec->arenas[d].memory, &message);
      if (status == LOOM_STATUS_OK && !device->info.host_memory && device->backend->stream_new != NULL)
        status = device->backend->stream_new (device->device, &exec->arenas[d].stream, &message);
      for (guint i = 0; i < 2 && status == LOOM_STATUS_OK && exec->arenas[d].stream != NULL; i++)
        if (device->backend->event_sync != NULL)
          status = device->backend->event_new (device->device, &exec->arenas[d].done[i], &message);
      if (status == LOOM_STATUS_OUT_OF_MEMORY)
        loom_plan_device_no_room (device, memory.arena, "A step", message.text, error);
      else if (status != LOOM_STATUS_OK)
        loom_plan_device_error (status, device->name, message.text, error);
      if (status != LOOM_STATUS_OK)
        return FALSE;
    }
  return TRUE;
}

static void
make_rows (LoomExec *exec, guint *slot_of_program)
{
  gsize total = 0, at = 0;

  exec->n_rows = loom_plan_n_instrs (exec->plan);
  exec->rows = g_new0 (Row, exec->n_rows + 1);
  for (guint i = 0; i < exec->n_rows; i++)
    total += loom_plan_instr (exec->plan, i)->n_in + loom_plan_instr (exec->plan, i)->n_out + 1;
  exec->all_buffers = g_new0 (void *, total + 1);
  for (guint i = 0; i < exec->n_rows; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (exec->plan, i);
      Row *row = &exec->rows[i];
      guint n = instr->n_in + instr->n_out;

      row->instr = instr;
      row->kernel = instr->kernel;
      row->run = instr->kernel != NULL ? instr->kernel->run : NULL;
      row->stream = exec->arenas[instr->device].stream;
      row->buffers = exec->all_buffers + at;
      row->waits = loom_plan_n_devices (exec->plan) > 1 && g_str_equal (instr->primitive, "update_gate");
      at += n + 1;
      for (guint k = 0; k < n; k++)
        {
          row->buffers[k] = address_of (exec, instr->value[k], slot_of_program);
          if (instr->value[k] != G_MAXUINT
              && loom_plan_value (exec->plan, instr->value[k])->place.kind == LOOM_PLACE_INPUT)
            g_ptr_array_add (exec->feeds[loom_plan_value (exec->plan, instr->value[k])->place.index].patch,
                             &row->buffers[k]);
        }
      if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
        row->buffers[n] = (char *)exec->arenas[instr->device].memory + instr->scratch;
    }
}

static void
make_feeds (LoomExec *exec)
{
  LoomProgram *program = loom_plan_program (exec->plan);

  exec->n_feeds = loom_program_n_inputs (program);
  exec->feeds = g_new0 (Feed, exec->n_feeds + 1);
  for (guint i = 0; i < exec->n_feeds; i++)
    {
      Feed *feed = &exec->feeds[i];
      guint value = loom_plan_input_value (exec->plan, i);

      feed->patch = g_ptr_array_new ();
      if (value == G_MAXUINT)
        continue;
      feed->used = TRUE;
      feed->device = loom_plan_value (exec->plan, value)->place.device;
      feed->bytes = loom_desc_bytes (&loom_plan_value (exec->plan, value)->desc);
      if (loom_plan_value (exec->plan, value)->place.kind == LOOM_PLACE_ARENA)
        feed->place = (char *)exec->arenas[feed->device].memory + loom_plan_value (exec->plan, value)->place.offset;
    }
}

static void
make_commits (LoomExec *exec, guint *slot_of_program)
{
  const GArray *pairs = loom_plan_commit_copies (exec->plan);

  exec->commits = g_array_new (FALSE, TRUE, sizeof (CommitCopy));
  for (guint i = 0; i + 1 < pairs->len; i += 2)
    {
      guint value = g_array_index (pairs, guint, i), slot = g_array_index (pairs, guint, i + 1);
      const LoomPlanValue *v = loom_plan_value (exec->plan, value);
      CommitCopy copy = { .to = loom_state_address (exec->state, slot_of_program[slot]),
                          .from = address_of (exec, value, slot_of_program),
                          .bytes = loom_desc_bytes (&v->desc),
                          .device = v->place.device };

      g_array_append_val (exec->commits, copy);
    }
  /* What is given from outside and kept as it is: its address is only known once it is fed. */
  for (guint i = 0; i < exec->commits->len; i++)
    {
      const LoomPlanValue *v = loom_plan_value (exec->plan, g_array_index (pairs, guint, 2 * i));

      if (v->place.kind == LOOM_PLACE_INPUT)
        g_ptr_array_add (exec->feeds[v->place.index].patch, &g_array_index (exec->commits, CommitCopy, i).from);
    }
}

static gboolean
run_transfer (LoomExec *exec, Row *row, LoomMessage *message, LoomStatus *status)
{
  const LoomPlanValue *from = loom_plan_value (exec->plan, row->instr->value[0]);
  LoomPlanDevice *a = loom_plan_device (exec->plan, from->place.device);
  LoomPlanDevice *b = loom_plan_device (exec->plan, row->instr->device);
  LoomStream *a_stream = exec->arenas[from->place.device].stream;
  gsize bytes = loom_desc_bytes (&from->desc);
  void *host = row->buffers[1];

  *status = LOOM_STATUS_OK;
  if (a->info.host_memory && b->info.host_memory)
    {
      memcpy (row->buffers[1], row->buffers[0], bytes);
      return TRUE;
    }
  if (!a->info.host_memory)
    {
      if (!b->info.host_memory)
        host = exec->bounce;
      *status = a->backend->copy (a->device, a_stream, host, row->buffers[0], bytes, LOOM_COPY_DEVICE_TO_HOST, message);
      if (*status == LOOM_STATUS_OK)
        *status = a->backend->stream_sync (a->device, a_stream, message);
    }
  else
    host = row->buffers[0];
  if (*status == LOOM_STATUS_OK && !b->info.host_memory)
    {
      *status
          = b->backend->copy (b->device, row->stream, row->buffers[1], host, bytes, LOOM_COPY_HOST_TO_DEVICE, message);
      if (*status == LOOM_STATUS_OK && host == exec->bounce)
        *status = b->backend->stream_sync (b->device, row->stream, message);
    }
  return *status == LOOM_STATUS_OK;
}

static gboolean
run_rows (LoomExec *exec, guint first, guint end, GError **error)
{
  LoomMessage message = { "" };

  for (Row *row = exec->rows + first; row < exec->rows + end; row++)
    {
      LoomStatus status;

      if (G_UNLIKELY (row->waits) && !loom_exec_sync (exec, error))
        return FALSE;
      message.text[0] = '\0';
      if (G_LIKELY (row->run != NULL))
        status = row->run (row->kernel, row->stream, row->buffers, &message);
      else
        run_transfer (exec, row, &message, &status);
      if (G_UNLIKELY (status != LOOM_STATUS_OK))
        return status_error (exec, row->instr, status, &message, error);
    }
  return TRUE;
}

static gboolean
bind_kernels (LoomExec *exec, GError **error)
{
  for (guint i = 0; i < exec->n_rows; i++)
    {
      Row *row = &exec->rows[i];
      LoomMessage message = { "" };
      LoomStatus status;

      if (row->kernel != NULL)
        row->kernel->site = i;
      if (row->kernel == NULL || row->kernel->bind == NULL)
        continue;
      status = row->kernel->bind (row->kernel, row->buffers, &message);
      if (status != LOOM_STATUS_OK)
        return status_error (exec, row->instr, status, &message, error);
    }
  return TRUE;
}

static void
prepare_capture (LoomExec *exec)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  const char *wish = g_getenv ("GRADLOOM_CUDA_GRAPHS");

  exec->may_capture = g_strcmp0 (wish, "0") != 0 && loom_plan_n_devices (exec->plan) == 1 && !device->info.host_memory
                      && device->backend->capture_begin != NULL && exec->arenas[0].stream != NULL;
}

LoomExec *
loom_exec_new (LoomPlan *plan, LoomState *state, GError **error)
{
  g_autoptr (LoomExec) exec = g_new0 (LoomExec, 1);
  LoomProgram *program = loom_plan_program (plan);
  g_autofree guint *slot_of_program = g_new (guint, loom_program_n_slots (program) + 1);
  gsize largest = 0;

  exec->plan = plan;
  exec->state = loom_state_ref (state);
  /* The arena first: it is what is too large most often, and asking for it is cheaper than filling weights. */
  if (!allocate_arenas (exec, error) || !loom_state_adopt (state, program, error))
    return NULL;
  for (guint i = 0; i < loom_program_n_slots (program); i++)
    slot_of_program[i] = (guint)loom_state_find (state, loom_program_get_slot (program, i)->name);
  make_feeds (exec);
  make_rows (exec, slot_of_program);
  make_commits (exec, slot_of_program);
  for (guint i = 0; i < exec->n_rows; i++)
    if (exec->rows[i].kernel == NULL)
      largest = MAX (largest, loom_desc_bytes (&loom_plan_value (plan, exec->rows[i].instr->value[0])->desc));
  if (largest > 0)
    exec->bounce = g_malloc (largest);
  if (!bind_kernels (exec, error) || !run_rows (exec, 0, loom_plan_n_setup (plan), error))
    return NULL;
  prepare_capture (exec);
  return g_steal_pointer (&exec);
}

void
loom_exec_free (LoomExec *exec)
{
  if (exec == NULL)
    return;
  for (guint d = 0; exec->arenas != NULL && d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomPlanDevice *device = loom_plan_device (exec->plan, d);

      if (exec->graph != NULL && d == 0)
        device->backend->graph_free (device->device, exec->graph);
      for (guint i = 0; i < 2; i++)
        if (exec->arenas[d].done[i] != NULL)
          device->backend->event_free (device->device, exec->arenas[d].done[i]);
      if (exec->arenas[d].stream != NULL)
        device->backend->stream_free (device->device, exec->arenas[d].stream);
      if (exec->arenas[d].memory != NULL)
        device->backend->free (device->device, exec->arenas[d].memory);
    }
  for (guint i = 0; i < exec->n_feeds; i++)
    g_ptr_array_unref (exec->feeds[i].patch);
  g_free (exec->arenas);
  g_free (exec->rows);
  g_free (exec->all_buffers);
  g_free (exec->feeds);
  g_free (exec->bounce);
  g_clear_pointer (&exec->commits, g_array_unref);
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
  Feed *feed;

  g_return_if_fail (input < exec->n_feeds);

  feed = &exec->feeds[input];
  feed->fed = (void *)data;
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

static gboolean
copy_feeds (LoomExec *exec, GError **error)
{
  for (guint i = 0; i < exec->n_feeds; i++)
    {
      Feed *feed = &exec->feeds[i];
      LoomPlanDevice *device;
      LoomMessage message = { "" };
      LoomStatus status;

      if (feed->place == NULL || feed->bytes == 0)
        continue;
      device = loom_plan_device (exec->plan, feed->device);
      if (device->info.host_memory)
        {
          memcpy (feed->place, feed->fed, feed->bytes);
          continue;
        }
      status = device->backend->copy (device->device, exec->arenas[feed->device].stream, feed->place, feed->fed,
                                      feed->bytes, LOOM_COPY_HOST_TO_DEVICE, &message);
      if (status != LOOM_STATUS_OK)
        return status_error (exec, NULL, status, &message, error);
    }
  return TRUE;
}

static gboolean
run_commits (LoomExec *exec, GError **error)
{
  for (guint i = 0; i < exec->commits->len; i++)
    {
      const CommitCopy *c = &g_array_index (exec->commits, CommitCopy, i);
      LoomPlanDevice *device = loom_plan_device (exec->plan, c->device);
      LoomMessage message = { "" };
      LoomStatus status;

      if (device->info.host_memory)
        {
          memcpy (c->to, c->from, c->bytes);
          continue;
        }
      status = device->backend->copy (device->device, exec->arenas[c->device].stream, c->to, c->from, c->bytes,
                                      LOOM_COPY_WITHIN, &message);
      if (status != LOOM_STATUS_OK)
        return status_error (exec, NULL, status, &message, error);
    }
  return TRUE;
}

/* Records one step as a graph. A device that refuses is asked no more: launching kernel by kernel is slower, not wrong.
 */
static gboolean
capture (LoomExec *exec)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  LoomStream *stream = exec->arenas[0].stream;
  LoomMessage message = { "" };
  void *graph = NULL;
  gboolean ok;

  exec->may_capture = FALSE;
  if (device->backend->capture_begin (device->device, stream, &message) != LOOM_STATUS_OK)
    return FALSE;
  ok = run_rows (exec, loom_plan_n_setup (exec->plan), exec->n_rows, NULL) && run_commits (exec, NULL);
  if (device->backend->capture_end (device->device, stream, &graph, &message) != LOOM_STATUS_OK || !ok)
    {
      if (graph != NULL)
        device->backend->graph_free (device->device, graph);
      return FALSE;
    }
  exec->graph = graph;
  return TRUE;
}

static gboolean
launch (LoomExec *exec, GError **error)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, 0);
  LoomMessage message = { "" };
  LoomStatus status;

  if (exec->graph == NULL && !(exec->may_capture && exec->n_steps >= 1 && capture (exec)))
    return run_rows (exec, loom_plan_n_setup (exec->plan), exec->n_rows, error) && run_commits (exec, error);
  status = device->backend->graph_launch (device->device, exec->graph, exec->arenas[0].stream, &message);
  return status == LOOM_STATUS_OK || status_error (exec, NULL, status, &message, error);
}

gboolean
loom_exec_step (LoomExec *exec, GError **error)
{
  for (guint i = 0; i < exec->n_feeds; i++)
    g_return_val_if_fail (!exec->feeds[i].used || exec->feeds[i].fed != NULL || exec->feeds[i].bytes == 0, FALSE);

  if (!begin_step (exec, error) || !copy_feeds (exec, error) || !launch (exec, error))
    return FALSE;
  exec->n_steps++;
  return end_step (exec, error);
}

gboolean
loom_exec_sync (LoomExec *exec, GError **error)
{
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomPlanDevice *device = loom_plan_device (exec->plan, d);
      LoomMessage message = { "" };
      LoomStatus status = LOOM_STATUS_OK;

      if (!device->info.host_memory && device->backend->stream_sync != NULL)
        status = device->backend->stream_sync (device->device, exec->arenas[d].stream, &message);
      if (status != LOOM_STATUS_OK)
        return status_error (exec, NULL, status, &message, error);
      if (!hear (exec, d, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
loom_exec_run (LoomExec *exec, GError **error)
{
  return loom_exec_step (exec, error) && loom_exec_sync (exec, error);
}

/* ---- outputs ---------------------------------------------------------- */

/* Where output i lies now; NULL only when it is empty. */
static const void *
output_address (LoomExec *exec, guint output, const LoomPlanValue **value)
{
  guint v = loom_plan_output_value (exec->plan, output);
  const LoomPlanValue *info = loom_plan_value (exec->plan, v);

  *value = info;
  if (info->place.kind == LOOM_PLACE_SLOT)
    {
      const LoomSlot *slot = loom_program_get_slot (loom_plan_program (exec->plan), info->place.index);

      return loom_state_address (exec->state, (guint)loom_state_find (exec->state, slot->name));
    }
  return address_of (exec, v, NULL);
}

static gboolean
fetch (LoomExec *exec, const LoomPlanValue *value, const void *from, void *to, GError **error)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, value->place.device);
  LoomStream *stream = exec->arenas[value->place.device].stream;
  gsize bytes = loom_desc_bytes (&value->desc);
  LoomMessage message = { "" };
  LoomStatus status;

  if (bytes == 0)
    return TRUE;
  if (device->info.host_memory || value->place.kind == LOOM_PLACE_INPUT)
    {
      memcpy (to, from, bytes);
      return TRUE;
    }
  status = device->backend->copy (device->device, stream, to, from, bytes, LOOM_COPY_DEVICE_TO_HOST, &message);
  if (status == LOOM_STATUS_OK)
    status = device->backend->stream_sync (device->device, stream, &message);
  return status == LOOM_STATUS_OK || status_error (exec, NULL, status, &message, error);
}

/* [N,H,W,C] bytes into [N,C,H,W] order. */
static void
nhwc_to_plain (const LoomTensorDesc *d, const char *from, char *to)
{
  gsize size = loom_dtype_size (d->dtype);

  for (gint64 n = 0; n < d->dim[0]; n++)
    for (gint64 c = 0; c < d->dim[1]; c++)
      for (gint64 p = 0; p < d->dim[2] * d->dim[3]; p++)
        memcpy (to + (gsize)((n * d->dim[1] + c) * d->dim[2] * d->dim[3] + p) * size,
                from + (gsize)((n * d->dim[2] * d->dim[3] + p) * d->dim[1] + c) * size, size);
}

LoomTensor *
loom_exec_output (LoomExec *exec, guint output, GError **error)
{
  const LoomPlanValue *value;
  const void *from;
  g_autoptr (LoomTensor) t = NULL;
  gint64 dims[LOOM_MAX_RANK];

  g_return_val_if_fail (output < loom_program_n_outputs (loom_plan_program (exec->plan)), NULL);

  from = output_address (exec, output, &value);
  for (int r = 0; r < value->desc.rank; r++)
    dims[r] = value->desc.dim[r];
  t = loom_tensor_new (value->desc.dtype, value->desc.rank, dims, error);
  if (t == NULL || !fetch (exec, value, from, t->data, error))
    return NULL;
  if (value->desc.layout == LOOM_LAYOUT_NHWC)
    {
      g_autoptr (LoomTensor) plain = loom_tensor_new (value->desc.dtype, value->desc.rank, dims, error);

      if (plain == NULL)
        return NULL;
      nhwc_to_plain (&value->desc, t->data, plain->data);
      return g_steal_pointer (&plain);
    }
  return g_steal_pointer (&t);
}

double
loom_exec_scalar (LoomExec *exec, guint output)
{
  const LoomPlanValue *value;
  const void *from = output_address (exec, output, &value);
  union
  {
    double f64;
    float f32;
    gint64 i64;
    gint32 i32;
    guint8 u8;
  } raw = { 0 };

  if (loom_desc_count (&value->desc) != 1 || loom_dtype_size (value->desc.dtype) > sizeof raw
      || !fetch (exec, value, from, &raw, NULL))
    return NAN;
  switch (value->desc.dtype)
    {
    case LOOM_F64:
      return raw.f64;
    case LOOM_F32:
      return raw.f32;
    case LOOM_I64:
      return (double)raw.i64;
    case LOOM_I32:
      return raw.i32;
    default:
      return raw.u8;
    }
}

gboolean
loom_exec_numbers (LoomExec *exec, guint output, guint n, double *to)
{
  const LoomPlanValue *value;
  const void *from = output_address (exec, output, &value);
  LoomDType dtype = value->desc.dtype;

  if (loom_desc_count (&value->desc) != n || value->desc.rank > 3 || (dtype != LOOM_F32 && dtype != LOOM_F64)
      || !fetch (exec, value, from, to, NULL))
    return FALSE;
  /* Widened where they lie, from the last to the first: none is overwritten before it is read. */
  for (guint i = dtype == LOOM_F32 ? n : 0; i-- > 0;)
    {
      float narrow;

      memcpy (&narrow, (const char *)to + i * sizeof narrow, sizeof narrow);
      to[i] = narrow;
    }
  return TRUE;
}

gsize
loom_exec_arena_bytes (const LoomExec *exec)
{
  gsize sum = 0;

  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomPlanMemory memory;

      loom_plan_memory (exec->plan, d, &memory);
      sum += memory.arena;
    }
  return sum;
}
