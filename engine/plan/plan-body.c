/* Implements bodies (plan-body.h). An instruction's arguments are found once, so a run only sets the addresses that
 * change and calls kernels. */
#include "engine/plan/plan-body.h"

#include <string.h>

/* ---- addresses ------------------------------------------------------------------ */

guint
plan_body_root (const PlanBody *b, guint value)
{
  return loom_plan_value (b->plan, value)->root;
}

static gboolean
has_bytes_of (const PlanBody *b, guint value, const PlanBodyPort *port)
{
  return value != G_MAXUINT && port->value != G_MAXUINT && plan_body_root (b, value) == plan_body_root (b, port->value);
}

void
plan_body_patch (PlanBody *b, PlanBodyPort *port)
{
  for (PlanBodyCall *call = b->calls; call < b->calls + b->n_calls; call++)
    for (guint k = 0; k < call->instr->n_in + call->instr->n_out; k++)
      if (has_bytes_of (b, call->instr->value[k], port))
        g_ptr_array_add (port->patch, &call->buffers[k]);
}

char *
plan_body_own (const PlanBody *b, guint value)
{
  const LoomPlanValue *v = value != G_MAXUINT ? loom_plan_value (b->plan, value) : NULL;

  if (v != NULL && v->location.kind == LOOM_LOCATION_ARENA)
    return b->arena + v->location.offset;
  if (v != NULL && v->location.kind == LOOM_LOCATION_SETUP)
    return b->once + v->location.offset;
  return NULL;
}

char *
plan_body_output (const PlanBody *b, guint o)
{
  for (guint i = 0; i < b->n_in; i++)
    if (has_bytes_of (b, b->out[o].value, &b->in[i]))
      return b->in[i].at;
  return plan_body_own (b, b->out[o].value);
}

void
plan_body_set (PlanBodyPort *port, void *address)
{
  if (port->at == address)
    return;
  port->at = address;
  for (guint i = 0; i < port->patch->len; i++)
    *(void **)g_ptr_array_index (port->patch, i) = address;
}

/* Sets the addresses of the body's own values, and clears those of all ports. */
static void
place (PlanBody *b, char *arena, char *once, gint64 site)
{
  b->arena = arena;
  b->once = once;
  for (PlanBodyCall *call = b->calls; call < b->calls + b->n_calls; call++)
    {
      guint n = call->instr->n_in + call->instr->n_out;

      for (guint k = 0; k < n; k++)
        call->buffers[k] = plan_body_own (b, call->instr->value[k]);
      call->buffers[n] = call->kernel->scratch_bytes > 0 ? arena + call->instr->scratch : NULL;
      call->buffers[n + 1] = call->kernel->kept_bytes > 0 ? once + call->instr->kept : NULL;
      call->kernel->site = site;
    }
  for (guint k = 0; k < b->n_in + b->n_out; k++)
    b->in[k].at = NULL;
}

static LoomStatus
bind_calls (const PlanBody *b, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (PlanBodyCall *call = b->calls; call < b->calls + b->n_calls && status == LOOM_STATUS_OK; call++)
    if (call->kernel->bind != NULL)
      status = call->kernel->bind (call->kernel, call->buffers, message);
  return status;
}

LoomStatus
plan_schedule_fix (PlanSchedule *s, char *scratch, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  if (scratch == s->scratch && s->base.site == s->site)
    return status;
  s->scratch = scratch;
  s->site = s->base.site;
  for (guint k = 0; k < s->n_bodies && status == LOOM_STATUS_OK; k++)
    {
      PlanBody *b = s->body[k];

      place (b, scratch + b->arena_at, scratch + b->once_at, s->site);
      for (guint i = 0; i < b->n_in; i++)
        if (b->in[i].is_fixed)
          plan_body_set (&b->in[i], scratch + b->in[i].offset);
      status = bind_calls (b, message);
    }
  return status;
}

const LoomPlan *
loom_plan_of_body (const LoomKernel *kernel, guint k)
{
  return ((const PlanSchedule *)kernel)->body[k]->plan;
}

/* ---- execution ---------------------------------------------------------------- */

static LoomStatus
run_calls (const PlanBody *b, LoomStream *stream, guint first, guint end, LoomMessage *message)
{
  for (PlanBodyCall *call = b->calls + first; call < b->calls + end; call++)
    {
      LoomStatus status = call->kernel->run (call->kernel, stream, call->buffers, message);

      if (G_UNLIKELY (status != LOOM_STATUS_OK))
        return status;
    }
  return LOOM_STATUS_OK;
}

LoomStatus
plan_body_prepare (const PlanBody *b, LoomStream *stream, LoomMessage *message)
{
  LoomStatus status = run_calls (b, stream, 0, b->n_setup, message);

  for (PlanBodyCall *call = b->calls; call < b->calls + b->n_calls && status == LOOM_STATUS_OK; call++)
    if (call->kernel->prepare != NULL)
      status = call->kernel->prepare (call->kernel, stream, call->buffers, message);
  return status;
}

LoomStatus
plan_body_run (const PlanBody *b, LoomStream *stream, LoomMessage *message)
{
  return run_calls (b, stream, b->n_setup, b->n_calls, message);
}

LoomStatus
plan_body_copy (const LoomPlanDevice *device, LoomStream *stream, void *to, const void *from, gsize bytes,
                LoomCopyKind kind, LoomMessage *message)
{
  if (bytes == 0)
    return LOOM_STATUS_OK;
  if (!device->info.host_memory)
    return device->backend->copy (device->device, stream, to, from, bytes, kind, message);
  memcpy (to, from, bytes);
  return LOOM_STATUS_OK;
}

/* ---- construction ------------------------------------------------------------- */

static LoomPlan *
plan_on_device (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                LoomProgram *program, guint fixed_inputs, GError **error)
{
  LoomPlanOptions inner = *options;
  LoomPlan *plan;

  inner.device = device->name;
  inner.resident_inputs = TRUE;
  inner.fixed_inputs = fixed_inputs;
  inner.flat_gradients = FALSE;
  inner.on_pass = NULL;
  plan = loom_plan_new (program, devices, &inner, error);
  if (plan == NULL || loom_plan_n_devices (plan) == 1)
    return plan;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE,
               "All nodes inside a loop run on one device, but some of these have the device %s and others %s. Set "
               "the device of the loop's node instead.",
               loom_plan_device (plan, 0)->name, loom_plan_device (plan, 1)->name);
  loom_plan_free (plan);
  return NULL;
}

static void
make_calls (PlanBody *b)
{
  gsize total = 0, at = 0;

  b->n_calls = loom_plan_n_instrs (b->plan);
  b->n_setup = loom_plan_n_setup (b->plan);
  b->calls = g_new0 (PlanBodyCall, b->n_calls + 1);
  for (guint i = 0; i < b->n_calls; i++)
    total += loom_plan_instr (b->plan, i)->n_in + loom_plan_instr (b->plan, i)->n_out + 2;
  b->all_buffers = g_new0 (void *, total + 1);
  for (guint i = 0; i < b->n_calls; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (b->plan, i);

      b->calls[i] = (PlanBodyCall){ instr->kernel, instr, b->all_buffers + at };
      at += instr->n_in + instr->n_out + 2;
    }
}

static void
make_port (PlanBody *b, PlanBodyPort *port, guint value)
{
  port->value = value;
  port->patch = g_ptr_array_new ();
  for (const PlanBodyCall *call = b->calls; call < b->calls + b->n_calls; call++)
    for (guint k = 0; call->kernel->bind != NULL && k < call->instr->n_in + call->instr->n_out; k++)
      port->is_bound = port->is_bound || has_bytes_of (b, call->instr->value[k], port);
}

PlanBody *
plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options, LoomProgram *program,
               guint fixed_inputs, GError **error)
{
  LoomPlan *plan = plan_on_device (devices, device, options, program, fixed_inputs, error);
  LoomPlanMemory memory;
  PlanBody *b;

  if (plan == NULL)
    return NULL;
  b = g_new0 (PlanBody, 1);
  b->program = loom_program_ref (program);
  b->plan = plan;
  b->device = device;
  b->n_in = loom_program_n_inputs (program);
  b->n_out = loom_program_n_outputs (program);
  b->in = g_new0 (PlanBodyPort, b->n_in + b->n_out + 1);
  b->out = b->in + b->n_in;
  loom_plan_memory (plan, 0, &memory);
  b->arena_bytes = memory.arena;
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    b->once_bytes += memory.once[o];
  make_calls (b);
  for (guint i = 0; i < b->n_in; i++)
    {
      make_port (b, &b->in[i], loom_plan_input_value (plan, i));
      plan_body_patch (b, &b->in[i]);
    }
  for (guint o = 0; o < b->n_out; o++)
    make_port (b, &b->out[o], loom_plan_output_value (plan, o));
  return b;
}

static void
body_free (PlanBody *b)
{
  if (b == NULL)
    return;
  for (guint k = 0; k < b->n_in + b->n_out; k++)
    g_ptr_array_unref (b->in[k].patch);
  loom_plan_free (b->plan);
  loom_program_unref (b->program);
  g_free (b->in);
  g_free (b->calls);
  g_free (b->all_buffers);
  g_free (b);
}

void
plan_schedule_init (PlanSchedule *s, const LoomPlanDevice *device, guint most_bodies)
{
  s->device = device;
  s->n_bodies = most_bodies;
  s->body = g_new0 (PlanBody *, most_bodies + 1);
  s->site = -1;
}

void
plan_schedule_clear (PlanSchedule *s)
{
  for (guint k = 0; k < s->n_bodies; k++)
    body_free (s->body[k]);
  g_free (s->body);
  g_free (s->name);
}
