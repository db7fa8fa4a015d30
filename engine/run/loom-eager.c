/* The eager executor: one primitive at a time, every value in memory of its own. No fusion, no shared memory, plain
 * layout. Kernels are kept, values are not. An in-place instruction gets a copy of its operand, so that no value ever
 * changes and stepping back only frees values. */
#include "engine/run/eager-private.h"

#include "engine/core/loom-refuse.h"

typedef struct
{
  LoomPlanDevice *device;
  void *memory;
  gsize bytes;
} Scratch;

/* ---- kernels --------------------------------------------------------------- */

/* The kernel of an instruction that no back end implements. */
static LoomKernel *
make_own (LoomEager *eager, const LoomInstr *instr, LoomPlanDevice *device, GError **error)
{
  const LoomPlanOptions plain = { .no_fusion = TRUE, .no_reuse = TRUE, .no_layout = TRUE };
  g_autofree LoomTensorDesc *desc = g_new0 (LoomTensorDesc, instr->n_in + instr->n_out + 1);

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    {
      LoomValue v = k < instr->n_in ? instr->in[k] : instr->out[k - instr->n_in];

      if (v != 0)
        desc[k] = *eager_desc_of (eager, v);
      else
        desc[k].dtype = LOOM_N_DTYPES;
    }
  return loom_plan_internal_kernel_new (eager->devices, device, &plain, instr->prim, instr->attrs, instr->n_in,
                                        instr->n_out, desc, error);
}

static LoomKernel *
make_kernel (LoomEager *eager, const LoomInstr *instr, LoomPlanDevice *device, GError **error)
{
  LoomElementwiseAttrs elementwise;
  const guint n_in = loom_instr_n_operands (instr);
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, n_in + 1);
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->n_out + 1);
  LoomKernelSpec spec = { .n_in = (int)n_in,
                          .n_out = (int)instr->n_out,
                          .in = in,
                          .out = out,
                          .tf32 = loom_plan_rounds_to_tf32 (eager->program, instr->prim) };
  g_autofree char *place = NULL;
  LoomKernel *kernel = NULL;
  LoomStatus status;

  if (loom_plan_is_internal (instr->prim))
    return make_own (eager, instr, device, error);
  loom_plan_spec_of_instr (eager->program, instr, &spec.primitive, &spec.attrs, &elementwise);
  for (guint k = 0; k < n_in; k++)
    if (instr->in[k] != 0)
      in[k] = *eager_desc_of (eager, instr->in[k]);
    else
      in[k].dtype = LOOM_N_DTYPES;
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      out[k] = *eager_desc_of (eager, instr->out[k]);
    else
      out[k].dtype = LOOM_N_DTYPES;
  status = loom_plan_kernel_new (device, &spec, &kernel, NULL, &eager->message);
  if (status == LOOM_STATUS_OK)
    {
      kernel->site = -1; /* its faults are read before another kernel runs */
      return kernel;
    }
  if (status != LOOM_STATUS_UNSUPPORTED)
    {
      eager_failed (eager, instr, device, status, error);
      return NULL;
    }
  place = eager_instr_name (eager, instr);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_NO_KERNEL, "%s: the device %s cannot compute %s%s%s. Use another device.",
               place, device->name, instr->prim->name, eager->message.text[0] != '\0' ? ": " : "", eager->message.text);
  eager->message.text[0] = '\0';
  return NULL;
}

/* Returns workspace of the size of the largest kernel so far. */
static gboolean
scratch_for (LoomEager *eager, LoomPlanDevice *device, gsize bytes, void **memory, GError **error)
{
  Scratch *s = NULL;

  *memory = NULL;
  if (bytes == 0)
    return TRUE;
  for (guint i = 0; i < eager->scratch->len && s == NULL; i++)
    if (((Scratch *)eager->scratch->pdata[i])->device == device)
      s = eager->scratch->pdata[i];
  if (s == NULL)
    {
      s = g_new0 (Scratch, 1);
      s->device = device;
      g_ptr_array_add (eager->scratch, s);
    }
  if (bytes > s->bytes)
    {
      if (s->memory != NULL)
        device->backend->free (device->device, s->memory);
      s->memory = NULL;
      s->bytes = 0;
      if (!eager_allocate (eager, device, bytes, &s->memory, error))
        return FALSE;
      s->bytes = bytes;
    }
  *memory = s->memory;
  return TRUE;
}

/* Waits for the work of an asynchronous device, and reads its faults. */
static LoomStatus
wait_for (LoomEager *eager, LoomPlanDevice *device)
{
  const LoomBackend *b = device->backend;
  LoomStream *stream = eager_stream_of (eager, device);
  LoomDeviceFault fault;
  LoomMessage ignored;
  LoomStatus status;

  if (stream == NULL)
    return LOOM_STATUS_OK;
  status = b->stream_sync (device->device, stream, &eager->message);
  if (status != LOOM_STATUS_OK)
    return status;
  b->fault_get (device->device, stream, &fault, &eager->message);
  if (fault.status == LOOM_STATUS_OK)
    return LOOM_STATUS_OK;
  status = b->fault_clear (device->device, stream, &ignored);
  return status == LOOM_STATUS_OK ? fault.status : status;
}

/* ---- one instruction ------------------------------------------------------- */

/* LOOM_UPDATES_NOTHING if the result has memory of its own. */
static guint
updated_operand (const LoomInstr *instr, guint result)
{
  return instr->prim->updates != NULL ? instr->prim->updates (instr->attrs, result) : LOOM_UPDATES_NOTHING;
}

/* The addresses of a call: operands, results, scratch. A result that updates an operand in place begins as a copy of
 * it. */
static gboolean
address_call (LoomEager *eager, const LoomInstr *instr, LoomPlanDevice *device, void **buffers, GPtrArray *borrowed,
              GError **error)
{
  const guint n_in = loom_instr_n_operands (instr);

  for (guint k = 0; k < instr->n_out; k++)
    {
      if (instr->out[k] == 0)
        continue;
      if (!eager_make_value (eager, instr->out[k], device, error))
        return FALSE;
      buffers[n_in + k] = eager_address_of (&eager->values[instr->out[k]]);
      if (updated_operand (instr, k) != LOOM_UPDATES_NOTHING
          && !eager_copy_value (eager, instr->in[updated_operand (instr, k)], device, buffers[n_in + k], error))
        return FALSE;
    }
  for (guint k = 0; k < n_in; k++)
    if (instr->in[k] != 0 && !eager_operand (eager, instr->in[k], device, borrowed, &buffers[k], error))
      return FALSE;
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0 && updated_operand (instr, k) != LOOM_UPDATES_NOTHING)
      buffers[updated_operand (instr, k)] = buffers[n_in + k];
  return TRUE;
}

static gboolean
run_instr (LoomEager *eager, guint index, GPtrArray *borrowed, GError **error)
{
  const LoomInstr *instr = loom_program_instr (eager->program, index);
  LoomPlanDevice *device = eager->place[index];
  const guint n = loom_instr_n_operands (instr) + instr->n_out;
  g_autofree void **buffers = g_new0 (void *, n + 1);
  LoomKernel *kernel;
  LoomStatus status;

  if (instr->prim->view == LOOM_VIEW_ALWAYS)
    return eager_make_value (eager, instr->out[0], device, error)
           && eager_copy_value (eager, instr->in[0], device, eager_address_of (&eager->values[instr->out[0]]), error);
  if (eager->kernels[index] == NULL)
    eager->kernels[index] = make_kernel (eager, instr, device, error);
  kernel = eager->kernels[index];
  if (kernel == NULL || !address_call (eager, instr, device, buffers, borrowed, error)
      || !scratch_for (eager, device, kernel->scratch_bytes, &buffers[n], error))
    return FALSE;
  status = kernel->bind != NULL ? kernel->bind (kernel, buffers, &eager->message) : LOOM_STATUS_OK;
  if (status == LOOM_STATUS_OK)
    status = kernel->run (kernel, eager_stream_of (eager, device), buffers, &eager->message);
  if (status == LOOM_STATUS_OK)
    status = wait_for (eager, device);
  return status == LOOM_STATUS_OK || eager_failed (eager, instr, device, status, error);
}

/* ---- the walk -------------------------------------------------------------- */

LoomEager *
loom_eager_new (LoomProgram *program, LoomState *state, LoomDevices *devices, const char *device, GError **error)
{
  g_autoptr (LoomEager) eager = NULL;
  guint n = loom_program_n_instrs (program);

  if (!loom_program_is_countable (program, error))
    return NULL;
  eager = g_new0 (LoomEager, 1);
  eager->program = loom_program_ref (program);
  eager->state = loom_state_ref (state);
  eager->devices = loom_devices_ref (devices);
  eager->place = g_new0 (LoomPlanDevice *, n + 1);
  eager->kernels = g_new0 (LoomKernel *, n + 1);
  eager->values = g_new0 (EagerValue, loom_program_n_values (program) + 1);
  eager->fed = g_new0 (const void *, loom_program_n_inputs (program) + 1);
  eager->scratch = g_ptr_array_new_with_free_func (g_free);
  eager->device = loom_devices_get (devices, device, error);
  if (eager->device == NULL || !loom_state_add_slots (state, program, error))
    return NULL;
  for (guint i = 0; i < n; i++)
    {
      LoomArena *arena;

      eager->place[i] = eager_device_named (eager, loom_program_instr (program, i)->device, error);
      arena = eager->place[i] != NULL ? loom_state_arena (state, eager->place[i], error) : NULL;
      if (arena == NULL)
        return NULL;
    }
  return g_steal_pointer (&eager);
}

LoomEager *
loom_eager_new_inside (LoomEager *around, guint index, LoomProgram *body, GError **error)
{
  return loom_eager_new (body, around->state, around->devices, around->place[index]->name, error);
}

LoomProgram *
loom_eager_program (const LoomEager *eager)
{
  return eager->program;
}

void
loom_eager_free (LoomEager *eager)
{
  if (eager == NULL)
    return;
  eager_clear_values (eager);
  for (guint i = 0; i < loom_program_n_instrs (eager->program); i++)
    if (eager->kernels[i] != NULL)
      eager->kernels[i]->free (eager->kernels[i]);
  for (guint i = 0; i < eager->scratch->len; i++)
    {
      const Scratch *s = eager->scratch->pdata[i];

      if (s->memory != NULL)
        s->device->backend->free (s->device->device, s->memory);
    }
  g_ptr_array_unref (eager->scratch);
  g_free (eager->place);
  g_free (eager->kernels);
  g_free (eager->values);
  g_free (eager->fed);
  loom_state_unref (eager->state);
  loom_devices_unref (eager->devices);
  loom_program_unref (eager->program);
  g_free (eager);
}

void
loom_eager_feed (LoomEager *eager, guint input, const void *data)
{
  g_return_if_fail (input < loom_program_n_inputs (eager->program));

  eager->fed[input] = data;
}

gboolean
loom_eager_begin (LoomEager *eager, GError **error)
{
  eager_clear_values (eager);
  eager->at = 0;
  eager->has_begun = FALSE;
  for (LoomValue v = 1; v <= loom_program_n_values (eager->program); v++)
    {
      const LoomValueInfo *info = loom_value_info (eager->program, v);

      if ((info->slot >= 0 || info->input >= 0) && !eager_load_source (eager, v, error))
        return FALSE;
    }
  eager->has_begun = TRUE;
  return TRUE;
}

guint
loom_eager_at (const LoomEager *eager)
{
  return eager->at;
}

static void
forget_results (LoomEager *eager, guint index)
{
  const LoomInstr *instr = loom_program_instr (eager->program, index);

  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      eager_clear_value (&eager->values[instr->out[k]]);
}

gboolean
loom_eager_step (LoomEager *eager, GError **error)
{
  g_autoptr (GPtrArray) borrowed = NULL;
  LoomPlanDevice *device;
  gboolean ok;

  g_return_val_if_fail (eager->has_begun, FALSE);
  g_return_val_if_fail (eager->at < loom_program_n_instrs (eager->program), FALSE);

  borrowed = g_ptr_array_new ();
  device = eager->place[eager->at];
  ok = run_instr (eager, eager->at, borrowed, error);
  for (guint i = 0; i < borrowed->len; i++)
    device->backend->free (device->device, borrowed->pdata[i]);
  if (ok)
    eager->at++;
  else
    forget_results (eager, eager->at);
  return ok;
}

void
loom_eager_back_to (LoomEager *eager, guint at)
{
  g_return_if_fail (at <= eager->at);

  while (eager->at > at)
    forget_results (eager, --eager->at);
}

gboolean
loom_eager_has_value (const LoomEager *eager, LoomValue v)
{
  return eager->values[v].device != NULL;
}

LoomTensor *
loom_eager_value (LoomEager *eager, LoomValue v, GError **error)
{
  LoomTensor *t;

  g_return_val_if_fail (v > 0 && v <= loom_program_n_values (eager->program), NULL);

  if (eager->values[v].device == NULL)
    {
      const LoomValueInfo *info = loom_value_info (eager->program, v);

      return loom_refuse_null (error, LOOM_ERROR_DATA,
                               "The value of %s has not been computed yet: the next instruction is %u of %u.",
                               info->origin != NULL ? info->origin : "this instruction", eager->at + 1,
                               loom_program_n_instrs (eager->program));
    }
  t = eager_host_value (eager, v, error);
  return t != NULL ? loom_tensor_ref (t) : NULL;
}

LoomTensor *
loom_eager_port (LoomEager *eager, const char *port, GError **error)
{
  LoomValue v = loom_program_find_port (eager->program, port);

  if (v != 0)
    return loom_eager_value (eager, v, error);
  return loom_refuse_null (error, LOOM_ERROR_PORT,
                           "The program has no value for the port “%s”, because no requested port needs it.", port);
}

LoomTensor *
loom_eager_output (LoomEager *eager, guint output, GError **error)
{
  return loom_eager_value (eager, loom_program_get_output (eager->program, output)->value, error);
}

gboolean
loom_eager_commit (LoomEager *eager, GError **error)
{
  g_return_val_if_fail (eager->has_begun && eager->at == loom_program_n_instrs (eager->program), FALSE);

  for (guint s = 0; s < loom_program_n_slots (eager->program); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (eager->program, s);
      LoomTensor *next;

      if (slot->commit == 0)
        continue;
      next = eager_host_value (eager, slot->commit, error);
      if (next == NULL || !loom_state_set (eager->state, slot->name, next, error))
        return FALSE;
    }
  return TRUE;
}

/* Passes the results of the instruction that has just run to visit. */
static gboolean
show (LoomEager *eager, guint index, LoomEagerVisit visit, gpointer data, gboolean *goes_on, GError **error)
{
  const LoomInstr *instr = loom_program_instr (eager->program, index);
  g_autofree LoomTensor **results = g_new0 (LoomTensor *, instr->n_out + 1);

  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      {
        results[k] = eager_host_value (eager, instr->out[k], error);
        if (results[k] == NULL)
          return FALSE;
      }
  *goes_on = visit (instr, index, results, data);
  return TRUE;
}

gboolean
loom_eager_run (LoomEager *eager, gboolean commit, LoomEagerVisit visit, gpointer data, GError **error)
{
  if (!loom_eager_begin (eager, error))
    return FALSE;
  while (eager->at < loom_program_n_instrs (eager->program))
    {
      gboolean goes_on = TRUE;

      if (!loom_eager_step (eager, error)
          || (visit != NULL && !show (eager, eager->at - 1, visit, data, &goes_on, error)))
        return FALSE;
      if (!goes_on)
        return TRUE;
    }
  return !commit || loom_eager_commit (eager, error);
}
