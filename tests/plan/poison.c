/* Implements the poisoning executor, see the header. */
#include "tests/plan/poison.h"

#include <string.h>

#include "engine/plan/plan-private.h"

/* All bits set: NaN in every float type, and an invalid index in an integer one. */
#define POISON 0xff

typedef struct
{
  LoomPlan *plan;
  LoomState *state;
  const void *const *feed;
  char **arena;      /* by device */
  char **once;       /* by device: setup results */
  GPtrArray **dying; /* by instruction: the numbers of the values that are dead after it */
} Run;

static void *
address_of (Run *run, guint value)
{
  const LoomPlanValue *v = value != G_MAXUINT ? loom_plan_value (run->plan, value) : NULL;

  if (v == NULL || v->location.kind == LOOM_LOCATION_NONE)
    return NULL;
  if (v->location.kind == LOOM_LOCATION_ARENA)
    return run->arena[v->location.device] + v->location.offset;
  if (v->location.kind == LOOM_LOCATION_SETUP)
    return run->once[v->location.device] + v->location.offset;
  if (v->location.kind == LOOM_LOCATION_INPUT)
    return (void *)run->feed[v->location.index];
  return loom_state_address (
      run->state, (guint)loom_state_find (
                      run->state, loom_program_get_slot (loom_plan_program (run->plan), v->location.index)->name));
}

/* Copies bytes to, from or within a device, and waits. */
static void
move (Run *run, guint device, void *to, const void *from, gsize bytes, LoomCopyKind kind)
{
  LoomPlanDevice *d = loom_plan_device (run->plan, device);
  LoomMessage message = { "" };

  if (d->info.host_memory)
    memmove (to, from, bytes);
  else if (d->backend->copy (d->device, NULL, to, from, bytes, kind, &message) != LOOM_STATUS_OK
           || d->backend->stream_sync (d->device, NULL, &message) != LOOM_STATUS_OK)
    g_error ("%s: %s", d->name, message.text);
}

static void
poison (Run *run, guint device, void *at, gsize bytes)
{
  g_autofree char *bad = g_malloc (bytes + 1);

  memset (bad, POISON, bytes);
  move (run, device, at, bad, bytes, LOOM_COPY_HOST_TO_DEVICE);
}

/* Copies between two devices, through the host. */
static void
transfer (Run *run, const LoomPlanInstr *instr, void *const *buffers)
{
  const LoomPlanValue *from = loom_plan_value (run->plan, instr->value[0]);
  gsize bytes = loom_desc_bytes (&from->desc);
  g_autofree char *host = g_malloc (bytes + 1);

  move (run, from->location.device, host, buffers[0], bytes, LOOM_COPY_DEVICE_TO_HOST);
  move (run, instr->device, buffers[1], host, bytes, LOOM_COPY_HOST_TO_DEVICE);
}

static gboolean
run_instr (Run *run, guint i, gboolean bind, GError **error)
{
  const LoomPlanInstr *instr = loom_plan_instr (run->plan, i);
  guint n = instr->n_in + instr->n_out;
  g_autofree void **buffers = g_new0 (void *, n + 2);
  g_autofree char *kept = instr->kernel != NULL ? g_malloc0 (instr->kernel->kept_bytes + 64) : NULL;
  LoomKernel *kernel = instr->kernel;
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < n; k++)
    buffers[k] = address_of (run, instr->value[k]);
  if (kernel == NULL)
    {
      transfer (run, instr, buffers);
      return TRUE;
    }
  if (kernel->scratch_bytes > 0)
    buffers[n] = run->arena[instr->device] + instr->scratch;
  buffers[n + 1] = (void *)(((guintptr)kept + 63) & ~(guintptr)63);
  if (bind && kernel->bind != NULL)
    status = kernel->bind (kernel, buffers, &message);
  if (status == LOOM_STATUS_OK && kernel->prepare != NULL)
    status = kernel->prepare (kernel, NULL, buffers, &message);
  if (status == LOOM_STATUS_OK)
    status = kernel->run (kernel, NULL, buffers, &message);
  if (status != LOOM_STATUS_OK)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE, "%s of %s failed over poisoned memory: %s", instr->label,
                   instr->origin, message.text);
      return FALSE;
    }
  if (kernel->scratch_bytes > 0)
    poison (run, instr->device, buffers[n], kernel->scratch_bytes);
  for (guint k = 0; run->dying[i] != NULL && k < run->dying[i]->len; k++)
    {
      guint v = GPOINTER_TO_UINT (g_ptr_array_index (run->dying[i], k));

      poison (run, loom_plan_value (run->plan, v)->location.device, address_of (run, v),
              loom_desc_bytes (&loom_plan_value (run->plan, v)->desc));
    }
  return TRUE;
}

static gboolean
run_step (Run *run, gboolean bind, GError **error)
{
  LoomProgram *p = loom_plan_program (run->plan);
  const GArray *pairs = loom_plan_commit_copies (run->plan);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      guint v = loom_plan_input_value (run->plan, i);

      if (v != G_MAXUINT && loom_plan_value (run->plan, v)->location.kind == LOOM_LOCATION_ARENA)
        move (run, loom_plan_value (run->plan, v)->location.device, address_of (run, v), run->feed[i],
              loom_desc_bytes (&loom_plan_value (run->plan, v)->desc), LOOM_COPY_HOST_TO_DEVICE);
    }
  for (guint i = bind ? 0 : loom_plan_n_setup (run->plan); i < loom_plan_n_instrs (run->plan); i++)
    if (!run_instr (run, i, bind, error))
      return FALSE;
  for (guint i = 0; i + 1 < pairs->len; i += 2)
    {
      guint v = g_array_index (pairs, guint, i), slot = g_array_index (pairs, guint, i + 1);
      guint to = (guint)loom_state_find (run->state, loom_program_get_slot (p, slot)->name);

      move (run, loom_plan_value (run->plan, v)->location.device, loom_state_address (run->state, to),
            address_of (run, v), loom_desc_bytes (&loom_plan_value (run->plan, v)->desc), LOOM_COPY_WITHIN);
    }
  return TRUE;
}

/* A tensor in plain order from bytes in the value's layout. */
static LoomTensor *
fetch (Run *run, guint v)
{
  const LoomTensorDesc *d = &loom_plan_value (run->plan, v)->desc;
  LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);
  g_autofree char *from = g_malloc (t->bytes + 1);
  gsize size = loom_dtype_size (d->dtype);

  if (t->bytes == 0)
    return t;
  if (loom_plan_value (run->plan, v)->location.kind == LOOM_LOCATION_INPUT)
    memcpy (from, address_of (run, v), t->bytes);
  else
    move (run, loom_plan_value (run->plan, v)->location.device, from, address_of (run, v), t->bytes,
          LOOM_COPY_DEVICE_TO_HOST);
  if (d->layout == LOOM_LAYOUT_PLAIN)
    {
      memcpy (t->data, from, t->bytes);
      return t;
    }
  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 pixels = d->dim[2] * d->dim[3], n = i / (d->dim[1] * pixels), c = i / pixels % d->dim[1];

      memcpy ((char *)t->data + (gsize)i * size, from + (gsize)((n * pixels + i % pixels) * d->dim[1] + c) * size,
              size);
    }
  return t;
}

GPtrArray *
poison_run (LoomPlan *plan, LoomState *state, const void *const *feed, guint steps, GError **error)
{
  guint n = loom_plan_n_instrs (plan), n_devices = loom_plan_n_devices (plan);
  Run run = {
    plan, state, feed, g_new0 (char *, n_devices + 1), g_new0 (char *, n_devices + 1), g_new0 (GPtrArray *, n + 1)
  };
  GPtrArray *outputs = NULL;
  gboolean ok = loom_state_add_slots (state, loom_plan_program (plan), error);

  for (guint d = 0; d < n_devices; d++)
    {
      LoomPlanDevice *device = loom_plan_device (plan, d);
      LoomMessage message = { "" };
      LoomPlanMemory memory;

      loom_plan_memory (plan, d, &memory);
      gsize once = 64;

      for (int o = 0; o < LOOM_N_OWNERS; o++)
        once += memory.once[o];
      if (device->backend->alloc (device->device, MAX (64, memory.arena), (void **)&run.arena[d], &message)
              != LOOM_STATUS_OK
          || device->backend->alloc (device->device, once, (void **)&run.once[d], &message) != LOOM_STATUS_OK)
        g_error ("%s: %s", device->name, message.text);
      poison (&run, d, run.arena[d], MAX (64, memory.arena));
    }
  for (guint v = 1; v < loom_plan_n_values (plan); v++)
    {
      const LoomPlanValue *value = loom_plan_value (plan, v);

      if (value->location.kind != LOOM_LOCATION_ARENA || value->last >= n)
        continue;
      if (run.dying[value->last] == NULL)
        run.dying[value->last] = g_ptr_array_new ();
      g_ptr_array_add (run.dying[value->last], GUINT_TO_POINTER (v));
    }
  for (guint step = 0; step < steps && ok; step++)
    ok = run_step (&run, step == 0, error);
  if (ok)
    {
      outputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
      for (guint o = 0; o < loom_program_n_outputs (loom_plan_program (plan)); o++)
        g_ptr_array_add (outputs, fetch (&run, loom_plan_output_value (plan, o)));
    }
  for (guint d = 0; d < n_devices; d++)
    {
      loom_plan_device (plan, d)->backend->free (loom_plan_device (plan, d)->device, run.arena[d]);
      loom_plan_device (plan, d)->backend->free (loom_plan_device (plan, d)->device, run.once[d]);
    }
  for (guint i = 0; i < n; i++)
    g_clear_pointer (&run.dying[i], g_ptr_array_unref);
  g_free (run.arena);
  g_free (run.once);
  g_free (run.dying);
  return outputs;
}

void
poison_append_state (LoomState *state, GPtrArray *results)
{
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (results, loom_state_get (state, name, NULL));
    }
}
