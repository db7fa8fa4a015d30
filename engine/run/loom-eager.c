/* The eager executor: one primitive at a time, every value a tensor of its own.
 *
 * It is the "dynamic graph" of the lectures and the oracle for plans: no fusion, no shared memory, plain layout. It
 * runs where memory is the host's; state of another device is copied here for the walk. Kernels are kept between walks,
 * tensors are not. */
#include "engine/run/loom-exec.h"

#include <string.h>

struct _LoomEager
{
  LoomProgram *program;
  LoomState *state;
  LoomDevices *devices;
  LoomPlanDevice *device;
  LoomKernel **kernels; /* by instruction */
  LoomTensor **values;  /* by value; of the last walk */
  const void **fed;
  void *scratch;
  gsize scratch_bytes;
};

LoomEager *
loom_eager_new (LoomProgram *program, LoomState *state, LoomDevices *devices, const char *device, GError **error)
{
  LoomPlanDevice *d = loom_devices_get (devices, device, error);
  LoomEager *eager;

  if (!loom_program_is_countable (program, error))
    return NULL;
  if (d != NULL && !d->info.host_memory)
    d = loom_devices_get (devices, "cpu", error);
  if (d == NULL || !loom_state_adopt (state, program, error))
    return NULL;
  eager = g_new0 (LoomEager, 1);
  eager->program = loom_program_ref (program);
  eager->state = loom_state_ref (state);
  eager->devices = loom_devices_ref (devices);
  eager->device = d;
  eager->kernels = g_new0 (LoomKernel *, loom_program_n_instrs (program) + 1);
  eager->values = g_new0 (LoomTensor *, loom_program_n_values (program) + 1);
  eager->fed = g_new0 (const void *, loom_program_n_inputs (program) + 1);
  return eager;
}

static void
clear_values (LoomEager *eager)
{
  for (guint v = 0; v <= loom_program_n_values (eager->program); v++)
    g_clear_pointer (&eager->values[v], loom_tensor_unref);
}

void
loom_eager_free (LoomEager *eager)
{
  if (eager == NULL)
    return;
  clear_values (eager);
  for (guint i = 0; i < loom_program_n_instrs (eager->program); i++)
    if (eager->kernels[i] != NULL)
      eager->kernels[i]->free (eager->kernels[i]);
  g_free (eager->kernels);
  g_free (eager->values);
  g_free (eager->fed);
  g_aligned_free (eager->scratch);
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

static LoomTensor *
new_tensor (const LoomTensorDesc *d, GError **error)
{
  gint64 dims[LOOM_MAX_RANK];

  for (int r = 0; r < d->rank; r++)
    dims[r] = d->dim[r];
  return loom_tensor_new (d->dtype, d->rank, dims, error);
}

static gboolean
load_sources (LoomEager *eager, GError **error)
{
  for (guint v = 1; v <= loom_program_n_values (eager->program); v++)
    {
      const LoomValueInfo *info = loom_value_info (eager->program, v);

      if (info->slot >= 0)
        eager->values[v]
            = loom_state_get (eager->state, loom_program_get_slot (eager->program, (guint)info->slot)->name, error);
      else if (info->input >= 0)
        {
          eager->values[v] = new_tensor (&info->desc, error);
          if (eager->values[v] != NULL && eager->values[v]->bytes > 0)
            {
              g_return_val_if_fail (eager->fed[info->input] != NULL, FALSE);
              memcpy (eager->values[v]->data, eager->fed[info->input], eager->values[v]->bytes);
            }
        }
      else
        continue;
      if (eager->values[v] == NULL)
        return FALSE;
    }
  return TRUE;
}

/* How an error calls an instruction. (transfer full) */
static char *
place_of (const LoomEager *eager, const LoomInstr *instr)
{
  if (instr->origin != NULL)
    return g_strdup_printf ("Node %s", instr->origin);
  return loom_program_purpose (eager->program, instr->prim, instr->region, instr->n_out, instr->out);
}

static LoomKernel *
make_kernel (LoomEager *eager, const LoomInstr *instr, GError **error)
{
  LoomElementwiseAttrs elementwise;
  const guint n_in = loom_instr_n_operands (instr);
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, n_in + 1);
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->n_out + 1);
  LoomKernelSpec spec = { .n_in = (int)n_in, .n_out = (int)instr->n_out, .in = in, .out = out };
  LoomKernel *kernel = NULL;
  LoomMessage message = { "" };

  loom_plan_spec_of_instr (eager->program, instr, &spec.primitive, &spec.attrs, &elementwise);
  for (guint k = 0; k < n_in; k++)
    if (instr->in[k] != 0)
      in[k] = loom_value_info (eager->program, instr->in[k])->desc;
    else
      in[k].dtype = LOOM_N_DTYPES;
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      out[k] = loom_value_info (eager->program, instr->out[k])->desc;
    else
      out[k].dtype = LOOM_N_DTYPES;
  if (loom_plan_kernel_new (eager->device, &spec, &kernel, NULL, &message) != LOOM_STATUS_OK)
    {
      g_autofree char *place = place_of (eager, instr);

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_NO_KERNEL, "%s: the device %s cannot compute %s%s%s.", place,
                   eager->device->name, instr->prim->name, message.text[0] != '\0' ? ": " : "", message.text);
      return NULL;
    }
  return kernel;
}

static gboolean
run_instr (LoomEager *eager, guint index, GError **error)
{
  const LoomInstr *instr = loom_program_instr (eager->program, index);
  const guint n_in = loom_instr_n_operands (instr);
  g_autofree void **buffers = g_new0 (void *, n_in + instr->n_out + 1);
  LoomMessage message = { "" };
  LoomStatus status;
  LoomKernel *kernel;

  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      {
        LoomTensor *t = new_tensor (&loom_value_info (eager->program, instr->out[k])->desc, error);

        if (t == NULL)
          return FALSE;
        eager->values[instr->out[k]] = t;
        buffers[n_in + k] = t->data;
        if (instr->prim->updates != NULL && t->bytes > 0)
          memcpy (t->data, eager->values[instr->in[instr->prim->updates (instr->attrs, k)]]->data, t->bytes);
      }
  if (instr->prim->view == LOOM_VIEW_ALWAYS)
    {
      LoomTensor *t = eager->values[instr->out[0]];

      if (t->bytes > 0)
        memcpy (t->data, eager->values[instr->in[0]]->data, t->bytes);
      return TRUE;
    }
  if (eager->kernels[index] == NULL)
    eager->kernels[index] = make_kernel (eager, instr, error);
  kernel = eager->kernels[index];
  if (kernel == NULL)
    return FALSE;
  for (guint k = 0; k < n_in; k++)
    if (instr->in[k] != 0)
      buffers[k] = eager->values[instr->in[k]]->data;
  for (guint k = 0; instr->prim->updates != NULL && k < instr->n_out; k++)
    buffers[instr->prim->updates (instr->attrs, k)] = buffers[n_in + k];
  if (kernel->scratch_bytes > eager->scratch_bytes)
    {
      g_aligned_free (eager->scratch);
      eager->scratch = g_aligned_alloc (1, kernel->scratch_bytes, 64);
      eager->scratch_bytes = kernel->scratch_bytes;
    }
  buffers[n_in + instr->n_out] = kernel->scratch_bytes > 0 ? eager->scratch : NULL;
  status = kernel->bind != NULL ? kernel->bind (kernel, buffers, &message) : LOOM_STATUS_OK;
  if (status == LOOM_STATUS_OK)
    status = kernel->run (kernel, NULL, buffers, &message);
  if (status != LOOM_STATUS_OK)
    {
      g_autofree char *place = place_of (eager, instr);
      g_autofree char *where = g_strdup_printf ("%s (%s on %s)", place, instr->prim->name, eager->device->name);

      loom_plan_device_error (status, where, message.text, error);
      return FALSE;
    }
  return TRUE;
}

static gboolean
commit_slots (LoomEager *eager, GError **error)
{
  for (guint s = 0; s < loom_program_n_slots (eager->program); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (eager->program, s);

      if (slot->commit != 0 && eager->values[slot->commit] != NULL
          && !loom_state_set (eager->state, slot->name, eager->values[slot->commit], error))
        return FALSE;
    }
  return TRUE;
}

gboolean
loom_eager_run (LoomEager *eager, gboolean commit, LoomEagerVisit visit, gpointer data, GError **error)
{
  clear_values (eager);
  if (!load_sources (eager, error))
    return FALSE;
  for (guint i = 0; i < loom_program_n_instrs (eager->program); i++)
    {
      const LoomInstr *instr = loom_program_instr (eager->program, i);
      g_autofree LoomTensor **results = NULL;

      if (!run_instr (eager, i, error))
        return FALSE;
      if (visit == NULL)
        continue;
      results = g_new0 (LoomTensor *, instr->n_out + 1);
      for (guint k = 0; k < instr->n_out; k++)
        results[k] = instr->out[k] != 0 ? eager->values[instr->out[k]] : NULL;
      if (!visit (instr, i, results, data))
        return TRUE;
    }
  return !commit || commit_slots (eager, error);
}

LoomTensor *
loom_eager_output (LoomEager *eager, guint output, GError **error)
{
  const LoomProgramOutput *o = loom_program_get_output (eager->program, output);

  if (eager->values[o->value] == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s has not been computed.", o->name);
      return NULL;
    }
  return loom_tensor_ref (eager->values[o->value]);
}
