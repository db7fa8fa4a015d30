/* Writes down what the executor (engine/run) does in a step of a plan: operations, lanes, waits, bytes.
 *
 * - Instructions start in the order of the list. A device whose memory is the host's computes on the calling thread, so
 *   all such devices are one lane, and what is enqueued on another device starts after everything that the host has
 *   computed. Another device has a lane for its stream.
 * - Copies between devices that `send` are on their source's send lane, after an event of both devices' streams. Other
 *   copies are made by the host: it reads on the source's lane and then writes on the destination's.
 * - An asynchronous exchange is on an exchange lane, one for each axis of the mesh; those of the host are one thread's.
 * - A step begins on each device when the step before it has ended there: with copies of the inputs, which wait for the
 *   upload. It ends after all copies to and from the device, with commits and then with outputs. */
#include "engine/check/check-private.h"

enum
{
  COMPUTE,
  SEND,
  UPLOAD,
  EXCHANGE,
  N_STREAMS = EXCHANGE + LOOM_MESH_AXES
};

#define NONE G_MAXUINT

typedef struct
{
  CheckTrace *trace;
  guint *lane;   /* by device and stream; NONE: not used yet */
  guint *newest; /* operation by lane */
  guint host;    /* the first device with the host's memory; NONE */
  GArray *sends; /* guint: operations */
  guint *sent_from, *sent_to;
  GPtrArray *arrivals; /* by instruction that waits for exchanges: GArray of operations, or NULL */
} Builder;

/* ---- spaces ------------------------------------------------------------------- */

guint
check_space (const LoomPlan *plan, const LoomLocation *location)
{
  const guint n = loom_plan_n_devices (plan);

  switch (location->kind)
    {
    case LOOM_LOCATION_ARENA:
      return location->device;
    case LOOM_LOCATION_SETUP:
      return n + location->device;
    case LOOM_LOCATION_SLOT:
      return 2 * n + location->index;
    case LOOM_LOCATION_INPUT:
      return 2 * n + loom_program_n_slots (loom_plan_program (plan)) + location->index;
    case LOOM_LOCATION_NONE:
    default:
      return NONE;
    }
}

gsize
check_space_bytes (const LoomPlan *plan, guint space)
{
  const LoomProgram *program = loom_plan_program (plan);
  const guint n = loom_plan_n_devices (plan), n_slots = loom_program_n_slots (program);
  LoomPlanMemory memory;
  gsize bytes = 0;

  if (space < 2 * n)
    {
      loom_plan_memory (plan, space % n, &memory);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        bytes += memory.once[o];
      return space < n ? memory.arena : bytes;
    }
  if (space - 2 * n >= n_slots)
    return loom_desc_bytes (
        &loom_value_info (program, loom_program_get_input (program, space - 2 * n - n_slots)->value)->desc);
  const LoomSlot *slot = loom_program_get_slot (program, space - 2 * n);

  bytes = loom_dtype_size (slot->dtype);
  for (int r = 0; r < slot->rank; r++)
    bytes *= (gsize)slot->dim[r];
  return bytes;
}

/* ---- operations ----------------------------------------------------------------- */

static gboolean
is_host (const Builder *b, guint device)
{
  return loom_plan_device (b->trace->plan, device)->info.host_memory;
}

static guint
lane_of (Builder *b, guint device, guint stream)
{
  guint *lane;

  if (is_host (b, device))
    {
      device = b->host;
      stream = MIN (stream, EXCHANGE);
    }
  lane = &b->lane[device * N_STREAMS + stream];
  if (*lane == NONE)
    *lane = b->trace->n_lanes++;
  return *lane;
}

static CheckOp *
op_at (const Builder *b, guint op)
{
  return &g_array_index (b->trace->ops, CheckOp, op);
}

/* The newest operation waits for another one. */
static void
wait_for (Builder *b, guint other)
{
  CheckOp *op = op_at (b, b->trace->ops->len - 1);

  if (other == NONE)
    return;
  g_array_append_val (b->trace->waits, other);
  op->n_waits++;
}

/* Adds an operation; waits and accesses are added to it until the next one. */
static guint
add (Builder *b, guint instr, guint device, guint stream)
{
  const guint lane = lane_of (b, device, stream), host = b->host != NONE ? lane_of (b, b->host, COMPUTE) : NONE;
  const CheckOp op
      = { .instr = instr, .lane = lane, .first_wait = b->trace->waits->len, .first_access = b->trace->accesses->len };
  const guint at = b->trace->ops->len;

  g_array_append_val (b->trace->ops, op);
  if (host != NONE && host != lane)
    wait_for (b, b->newest[host]);
  b->newest[lane] = at;
  return at;
}

static void
touch (Builder *b, guint space, gsize begin, gsize bytes, guint value, guint named, gboolean is_write)
{
  const CheckAccess access
      = { .space = space, .begin = begin, .end = begin + bytes, .value = value, .named = named, .is_write = is_write };

  if (bytes == 0 || space == NONE)
    return;
  g_array_append_val (b->trace->accesses, access);
  op_at (b, b->trace->ops->len - 1)->n_accesses++;
}

static void
touch_value (Builder *b, guint value, gboolean is_write)
{
  const LoomPlan *plan = b->trace->plan;
  const LoomPlanValue *v;

  if (value == NONE)
    return;
  v = loom_plan_value (plan, value);
  touch (b, check_space (plan, &v->location), v->location.offset, loom_desc_bytes (&v->desc), v->root, value, is_write);
}

/* ---- a step ------------------------------------------------------------------------ */

static void
touch_call (Builder *b, guint i, gboolean reads, gboolean writes)
{
  const LoomPlanInstr *instr = loom_plan_instr (b->trace->plan, i);
  const LoomLocation arena = { .kind = LOOM_LOCATION_ARENA, .device = instr->device };

  for (guint k = 0; reads && k < instr->n_in; k++)
    touch_value (b, check_in (instr, k), FALSE);
  if (writes && instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
    touch (b, check_space (b->trace->plan, &arena), instr->scratch, instr->kernel->scratch_bytes, NONE, NONE, TRUE);
  for (guint o = 0; writes && o < instr->n_out; o++)
    touch_value (b, check_out (instr, o), TRUE);
}

static void
wait_for_sent (Builder *b, const LoomPlanInstr *instr)
{
  for (guint k = 0; k < instr->n_sent; k++)
    if (instr->sent[k] < loom_plan_n_instrs (b->trace->plan))
      wait_for (b, b->trace->op_of[instr->sent[k]]);
}

static guint
newest_of (Builder *b, guint device)
{
  return b->newest[lane_of (b, device, COMPUTE)];
}

static void
add_copy (Builder *b, guint i, const LoomPlanInstr *instr)
{
  const guint from = loom_plan_value (b->trace->plan, check_in (instr, 0))->location.device;
  const guint computed = newest_of (b, from), free = newest_of (b, instr->device);
  guint op = add (b, i, from, instr->is_send ? SEND : COMPUTE);

  wait_for_sent (b, instr);
  b->trace->read_op[i] = op;
  if (instr->is_send)
    {
      wait_for (b, computed);
      wait_for (b, free);
      touch_call (b, i, TRUE, TRUE);
      g_array_append_val (b->sends, op);
      b->sent_from[i] = from;
      b->sent_to[i] = instr->device;
    }
  else
    {
      touch_call (b, i, TRUE, FALSE);
      const guint read = op;

      op = add (b, i, instr->device, COMPUTE);
      wait_for (b, read);
      touch_call (b, i, FALSE, TRUE);
    }
  b->trace->op_of[i] = op;
}

static void
add_instr (Builder *b, guint i)
{
  const LoomPlanInstr *instr = loom_plan_instr (b->trace->plan, i);
  const GArray *arrivals = g_ptr_array_index (b->arrivals, i);

  if (instr->kernel == NULL && instr->n_in > 0 && check_in (instr, 0) != NONE)
    {
      add_copy (b, i, instr);
      return;
    }
  const guint computed = newest_of (b, instr->device);

  b->trace->op_of[i] = b->trace->read_op[i]
      = add (b, i, instr->device, instr->is_async ? EXCHANGE + (guint)instr->along : COMPUTE);
  if (instr->is_async)
    wait_for (b, computed);
  wait_for_sent (b, instr);
  for (guint k = 0; arrivals != NULL && k < arrivals->len; k++)
    wait_for (b, b->trace->op_of[g_array_index (arrivals, guint, k)]);
  touch_call (b, i, TRUE, TRUE);
}

static void
free_array (gpointer array)
{
  if (array != NULL)
    g_array_unref (array);
}

/* The exchanges that each instruction waits for. An exchange can be waited for by later instructions only. */
static void
find_arrivals (Builder *b)
{
  const guint n = loom_plan_n_instrs (b->trace->plan);

  b->arrivals = g_ptr_array_new_with_free_func (free_array);
  g_ptr_array_set_size (b->arrivals, (int)n);
  for (guint i = 0; i < n; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (b->trace->plan, i);
      GArray **of;

      if (!instr->is_async || instr->until <= i || instr->until >= n)
        continue;
      of = (GArray **)&g_ptr_array_index (b->arrivals, instr->until);
      if (*of == NULL)
        *of = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val (*of, i);
    }
}

/* The device's inputs are uploaded to the staging area while the previous step is computed. */
static guint
add_upload (Builder *b, guint device)
{
  const LoomPlan *plan = b->trace->plan;
  const LoomLocation setup = { .kind = LOOM_LOCATION_SETUP, .device = device };
  const LoomPlanArea staging = loom_plan_staging (plan, device);
  guint op;

  if (staging.bytes == 0)
    return NONE;
  op = add (b, NONE, device, UPLOAD);
  wait_for (b, newest_of (b, device));
  for (guint i = 0; i < loom_plan_n_uploads (plan); i++)
    {
      const LoomPlanUpload *upload = loom_plan_upload (plan, i);
      const guint value = loom_plan_input_value (plan, upload->input);

      if (upload->device == device && value != NONE)
        touch (b, check_space (plan, &setup), staging.offset + upload->offset, upload->bytes, check_root (plan, value),
               value, TRUE);
    }
  return op;
}

static void
take_uploads (Builder *b, guint device)
{
  const LoomPlan *plan = b->trace->plan;
  const LoomLocation setup = { .kind = LOOM_LOCATION_SETUP, .device = device };
  const LoomPlanArea staging = loom_plan_staging (plan, device);

  for (guint i = 0; staging.bytes > 0 && i < loom_plan_n_uploads (plan); i++)
    {
      const LoomPlanUpload *upload = loom_plan_upload (plan, i);
      const guint value = loom_plan_input_value (plan, upload->input);

      if (upload->device == device && value != NONE)
        touch (b, check_space (plan, &setup), staging.offset + upload->offset, upload->bytes, check_root (plan, value),
               value, FALSE);
    }
}

static void
take_state (Builder *b, guint device)
{
  const LoomPlan *plan = b->trace->plan;
  LoomProgram *program = loom_plan_program (plan);

  for (guint i = 0; i < loom_program_n_slots (program); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (program, i);
      const LoomLocation at = { .kind = LOOM_LOCATION_SLOT, .index = i };

      if (slot->read != 0 && loom_plan_slot_device (plan, i) == device)
        touch (b, check_space (plan, &at), 0, check_space_bytes (plan, check_space (plan, &at)), slot->read, slot->read,
               TRUE);
    }
}

/* Fixed inputs, and state if it is fixed, are there before setup instructions run. */
static void
begin_setup (Builder *b, guint device)
{
  const LoomPlan *plan = b->trace->plan;

  add (b, NONE, device, COMPUTE);
  for (guint i = loom_plan_fixed_inputs (plan); i < loom_program_n_inputs (loom_plan_program (plan)); i++)
    {
      const guint value = loom_plan_input_value (plan, i);

      if (value != NONE && loom_plan_value (plan, value)->location.device == device)
        touch_value (b, value, TRUE);
    }
  if (loom_plan_has_fixed_weights (plan))
    take_state (b, device);
}

/* Other plans have used the arena; state, inputs and setup results are there. */
static void
begin (Builder *b, guint device)
{
  const LoomPlan *plan = b->trace->plan;
  LoomProgram *program = loom_plan_program (plan);
  const LoomLocation arena = { .kind = LOOM_LOCATION_ARENA, .device = device };
  const guint upload = add_upload (b, device), space = check_space (plan, &arena);

  add (b, NONE, device, COMPUTE);
  wait_for (b, upload);
  touch (b, space, 0, check_space_bytes (plan, space), NONE, NONE, TRUE);
  take_uploads (b, device);
  for (guint i = 0; i < loom_program_n_inputs (program); i++)
    {
      const guint value = loom_plan_input_value (plan, i);

      if (value != NONE && loom_plan_value (plan, value)->location.device == device)
        touch_value (b, value, TRUE);
    }
  take_state (b, device);
}

/* The next step reads the results of setup instructions again. */
static void
keep_setup (Builder *b, guint device)
{
  const LoomPlan *plan = b->trace->plan;

  for (guint i = 0; i < MIN (loom_plan_n_setup (plan), loom_plan_n_instrs (plan)); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      for (guint o = 0; o < instr->n_out; o++)
        {
          const guint value = check_out (instr, o);
          const LoomLocation *at = value != NONE ? &loom_plan_value (plan, value)->location : NULL;

          if (at != NULL && at->kind == LOOM_LOCATION_SETUP && at->device == device)
            touch_value (b, value, FALSE);
        }
    }
}

static void
end (Builder *b, guint device)
{
  const LoomPlan *plan = b->trace->plan;
  const GArray *pairs = loom_plan_commit_copies (plan);

  add (b, NONE, device, COMPUTE);
  for (guint s = 0; s < b->sends->len; s++)
    {
      const guint op = g_array_index (b->sends, guint, s), i = op_at (b, op)->instr;

      if (b->sent_from[i] == device || b->sent_to[i] == device)
        wait_for (b, op);
    }
  for (guint i = 0; i + 1 < pairs->len; i += 2)
    {
      const guint value = g_array_index (pairs, guint, i);
      const LoomLocation slot = { .kind = LOOM_LOCATION_SLOT, .index = g_array_index (pairs, guint, i + 1) };
      const LoomPlanValue *v = loom_plan_value (plan, value);

      if (v->location.device != device)
        continue;
      touch_value (b, value, FALSE);
      touch (b, check_space (plan, &slot), 0, loom_desc_bytes (&v->desc), v->root, value, TRUE);
    }
  for (guint i = 0; i < loom_program_n_outputs (loom_plan_program (plan)); i++)
    {
      const guint value = loom_plan_output_value (plan, i);

      if (value != NONE && loom_plan_value (plan, value)->location.device == device)
        touch_value (b, value, FALSE);
    }
  keep_setup (b, device);
}

CheckTrace *
check_trace_new (const LoomPlan *plan)
{
  const guint n = loom_plan_n_instrs (plan), n_devices = loom_plan_n_devices (plan),
              n_setup = MIN (loom_plan_n_setup (plan), n);
  CheckTrace *trace = g_new0 (CheckTrace, 1);
  Builder b = { .trace = trace, .host = NONE };

  trace->plan = plan;
  trace->n_devices = n_devices;
  trace->n_spaces = 2 * n_devices + loom_program_n_slots (loom_plan_program (plan))
                    + loom_program_n_inputs (loom_plan_program (plan));
  trace->ops = g_array_new (FALSE, FALSE, sizeof (CheckOp));
  trace->waits = g_array_new (FALSE, FALSE, sizeof (guint));
  trace->accesses = g_array_new (FALSE, FALSE, sizeof (CheckAccess));
  trace->op_of = g_new (guint, n + 1);
  trace->read_op = g_new (guint, n + 1);
  b.lane = g_new (guint, n_devices * N_STREAMS + 1);
  b.newest = g_new (guint, n_devices * N_STREAMS + 1);
  b.sent_from = g_new0 (guint, n + 1);
  b.sent_to = g_new0 (guint, n + 1);
  b.sends = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i <= n_devices * N_STREAMS; i++)
    b.lane[i] = b.newest[i] = NONE;
  for (guint i = 0; i <= n; i++)
    trace->op_of[i] = trace->read_op[i] = NONE;
  for (guint d = 0; d < n_devices && b.host == NONE; d++)
    if (is_host (&b, d))
      b.host = d;
  find_arrivals (&b);
  for (guint d = 0; d < n_devices && n_setup > 0; d++)
    begin_setup (&b, d);
  for (guint i = 0; i < n_setup; i++)
    add_instr (&b, i);
  for (guint d = 0; d < n_devices; d++)
    begin (&b, d);
  for (guint i = n_setup; i < n; i++)
    add_instr (&b, i);
  for (guint d = 0; d < n_devices; d++)
    end (&b, d);
  g_free (b.lane);
  g_free (b.newest);
  g_free (b.sent_from);
  g_free (b.sent_to);
  g_array_unref (b.sends);
  g_ptr_array_unref (b.arrivals);
  return trace;
}

void
check_trace_free (CheckTrace *trace)
{
  g_array_unref (trace->ops);
  g_array_unref (trace->waits);
  g_array_unref (trace->accesses);
  g_free (trace->op_of);
  g_free (trace->read_op);
  g_free (trace);
}
