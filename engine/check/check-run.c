/* Runs the kernels of a piece over poisoned memory.
 *
 * Each root has memory of its own, except that a result which the plan stores over an operand gets a copy of that
 * operand and is passed for both: kernels that work in place do so here too. All bytes that no kernel has written are
 * 0xFF, a NaN in every float type, so reading them shows. A device with its own memory runs its kernels there, and each
 * call's operands and results are copied to and from it. */
#include "engine/check/check-run.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 1024

typedef struct
{
  char *block; /* owned; begins and ends with a guard */
  char *there; /* owned memory of the device with the same contents during a call; NULL: the host's memory */
  const LoomPlanDevice *device; /* NULL: the host */
  gsize bytes;
} Memory;

/* What a piece uses of a device of the plan. */
typedef struct
{
  LoomStream *stream; /* NULL: the only one */
  Memory *scratch;
} Place;

struct _CheckRun
{
  const CheckPieces *pieces;
  const CheckPiece *piece;
  GHashTable *memory; /* root → Memory */
  Place *place;       /* by device */
  gboolean is_bound;
};

static const LoomPlanInstr *
instr_at (const CheckRun *run, guint i)
{
  return loom_plan_instr (run->pieces->plan, g_array_index (run->piece->instrs, guint, i));
}

/* ---- memory ------------------------------------------------------------------------------- */

static void
memory_free (gpointer data)
{
  Memory *m = data;

  if (m->there != NULL)
    m->device->backend->free (m->device->device, m->there);
  free (m->block);
  g_free (m);
}

/* NULL if the device has not enough, or the host, which sets *no_memory. */
static Memory *
memory_new (const LoomPlanDevice *device, gsize bytes, gboolean *no_memory)
{
  Memory *m = g_new0 (Memory, 1);
  LoomMessage ignored;
  void *there = NULL, *block = NULL;

  m->bytes = bytes;
  m->device = device;
  if (posix_memalign (&block, 64, bytes + 2 * GUARD) != 0)
    {
      *no_memory = TRUE;
      g_free (m);
      return NULL;
    }
  m->block = block;
  memset (m->block, 0xff, bytes + 2 * GUARD);
  if (device != NULL && !device->info.host_memory
      && device->backend->alloc (device->device, bytes + 2 * GUARD, &there, &ignored) != LOOM_STATUS_OK)
    {
      memory_free (m);
      return NULL;
    }
  m->there = there;
  return m;
}

static Memory *
memory_of (const CheckRun *run, guint root)
{
  return g_hash_table_lookup (run->memory, GUINT_TO_POINTER (root));
}

static void *
address_of (const Memory *m)
{
  return (m->there != NULL ? m->there : m->block) + GUARD;
}

static gboolean
add_memory (CheckRun *run, guint root, gboolean *no_memory)
{
  const LoomPlan *plan = run->pieces->plan;
  const LoomPlanValue *v = loom_plan_value (plan, root);
  const guint d = v->location.device;
  Memory *m;

  if (memory_of (run, root) != NULL)
    return TRUE;
  m = memory_new (d < loom_plan_n_devices (plan) ? loom_plan_device (plan, d) : NULL, loom_desc_bytes (&v->desc),
                  no_memory);
  if (m != NULL)
    g_hash_table_insert (run->memory, GUINT_TO_POINTER (root), m);
  return m != NULL;
}

/* FALSE: an exchange of ranks, or there is not enough memory. */
static gboolean
add_call (CheckRun *run, const LoomPlanInstr *instr, gboolean *no_memory)
{
  const LoomPlan *plan = run->pieces->plan;
  const LoomPlanDevice *device = loom_plan_device (plan, instr->device);
  Place *place = &run->place[instr->device];
  const gsize scratch = instr->kernel != NULL ? instr->kernel->scratch_bytes : 0;
  LoomMessage ignored;

  if (loom_plan_exchanges (instr))
    return FALSE;
  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    if (instr->value[k] != G_MAXUINT && !add_memory (run, check_operand_root (plan, instr, k), no_memory))
      return FALSE;
  if (!device->info.host_memory && device->backend->stream_new != NULL && place->stream == NULL
      && device->backend->stream_new (device->device, &place->stream, &ignored) != LOOM_STATUS_OK)
    return FALSE;
  if (place->scratch != NULL && place->scratch->bytes < scratch)
    g_clear_pointer (&place->scratch, memory_free);
  if (place->scratch == NULL && scratch > 0)
    place->scratch = memory_new (device, scratch, no_memory);
  return scratch == 0 || place->scratch != NULL;
}

CheckRun *
check_run_new (const CheckPieces *pieces, const CheckPiece *piece, gboolean *no_memory)
{
  CheckRun *run = g_new0 (CheckRun, 1);

  run->pieces = pieces;
  run->piece = piece;
  run->memory = g_hash_table_new_full (NULL, NULL, NULL, memory_free);
  run->place = g_new0 (Place, loom_plan_n_devices (pieces->plan) + 1);
  for (guint i = 0; i < piece->instrs->len; i++)
    if (!add_call (run, instr_at (run, i), no_memory))
      {
        check_run_free (run);
        return NULL;
      }
  return run;
}

void
check_run_free (CheckRun *run)
{
  for (guint d = 0; d < loom_plan_n_devices (run->pieces->plan); d++)
    {
      const LoomPlanDevice *device = loom_plan_device (run->pieces->plan, d);

      g_clear_pointer (&run->place[d].scratch, memory_free);
      if (run->place[d].stream != NULL)
        device->backend->stream_free (device->device, run->place[d].stream);
    }
  g_hash_table_unref (run->memory);
  g_free (run->place);
  g_free (run);
}

/* ---- layouts ---------------------------------------------------------------------------- */

/* Where element i of row-major order is stored. */
static gsize
stored_at (const LoomTensorDesc *d, gint64 i)
{
  gint64 pixels, n, c;

  if (d->layout == LOOM_LAYOUT_PLAIN)
    return (gsize)i;
  pixels = d->dim[2] * d->dim[3];
  n = i / (d->dim[1] * pixels);
  c = i / pixels % d->dim[1];
  return (gsize)((n * pixels + i % pixels) * d->dim[1] + c);
}

void
check_run_set (CheckRun *run, guint root, const LoomTensor *from)
{
  const LoomTensorDesc *d = &loom_plan_value (run->pieces->plan, root)->desc;
  const gsize size = loom_dtype_size (d->dtype);
  char *to = memory_of (run, root)->block + GUARD;

  for (gint64 i = 0; i < from->count; i++)
    memcpy (to + stored_at (d, i) * size, (const char *)from->data + (gsize)i * size, size);
}

LoomTensor *
check_run_get (const CheckRun *run, guint root, const LoomTensorDesc *like)
{
  const LoomTensorDesc *d = &loom_plan_value (run->pieces->plan, root)->desc;
  const gsize size = loom_dtype_size (d->dtype);
  const char *from = memory_of (run, root)->block + GUARD;
  LoomTensor *t = loom_tensor_new (like->dtype, like->rank, like->dim, NULL);

  for (gint64 i = 0; t != NULL && i < t->count; i++)
    memcpy ((char *)t->data + (gsize)i * size, from + stored_at (d, i) * size, size);
  return t;
}

/* ---- running ------------------------------------------------------------------------------ */

/* TRUE if the plan stores a result over an operand. */
static gboolean
shares_bytes (const CheckRun *run, guint result, guint operand)
{
  const LoomLocation *a = &loom_plan_value (run->pieces->plan, result)->location;
  const LoomLocation *b = &loom_plan_value (run->pieces->plan, operand)->location;

  if (a->kind != b->kind || a->device != b->device)
    return FALSE;
  return a->kind == LOOM_LOCATION_SLOT    ? a->index == b->index
         : a->kind == LOOM_LOCATION_ARENA ? a->offset == b->offset
                                          : FALSE;
}

/* Empty values have no bytes to share. */
static void
address_call (CheckRun *run, const LoomPlanInstr *instr, void **buffers)
{
  const LoomPlan *plan = run->pieces->plan;
  const Memory *scratch = run->place[instr->device].scratch;

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    buffers[k]
        = instr->value[k] != G_MAXUINT ? address_of (memory_of (run, check_operand_root (plan, instr, k))) : NULL;
  for (guint o = instr->n_in; o < instr->n_in + instr->n_out; o++)
    for (guint k = 0; k < instr->n_in; k++)
      if (buffers[o] != NULL && buffers[k] != NULL
          && shares_bytes (run, check_operand_root (plan, instr, o), check_operand_root (plan, instr, k)))
        {
          const Memory *from = memory_of (run, check_operand_root (plan, instr, k));
          const Memory *to = memory_of (run, check_operand_root (plan, instr, o));

          if (from == to || from->bytes > to->bytes || from->bytes == 0)
            continue;
          buffers[k] = address_of (to);
          memcpy (to->block + GUARD, from->block + GUARD, from->bytes);
        }
  if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
    buffers[instr->n_in + instr->n_out] = address_of (scratch);
}

/* Memory whose bytes are all alike equals itself one byte further on. */
static gboolean
is_poison (const char *bytes, gsize n)
{
  return (guint8)bytes[0] == 0xff && memcmp (bytes, bytes + 1, n - 1) == 0;
}

/* TRUE if nothing was written before the memory or after its first `bytes`. */
static gboolean
is_intact (const Memory *m, gsize bytes)
{
  return is_poison (m->block, GUARD) && is_poison (m->block + GUARD + bytes, m->bytes - bytes + GUARD);
}

/* FALSE with a sentence if a call wrote outside of what it accesses. */
static gboolean
stayed_inside (const CheckRun *run, const LoomPlanInstr *instr, LoomMessage *message)
{
  const Memory *scratch = run->place[instr->device].scratch;

  if (scratch != NULL && scratch->there == NULL
      && !is_intact (scratch, instr->kernel != NULL ? instr->kernel->scratch_bytes : 0))
    {
      g_snprintf (message->text, sizeof message->text, "it writes outside of its scratch memory");
      return FALSE;
    }
  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    {
      const Memory *m
          = instr->value[k] != G_MAXUINT ? memory_of (run, check_operand_root (run->pieces->plan, instr, k)) : NULL;

      if (m == NULL || is_intact (m, m->bytes))
        continue;
      g_snprintf (message->text, sizeof message->text, "it writes outside of value %u", instr->value[k]);
      return FALSE;
    }
  return TRUE;
}

/* Copies what a call accesses to its device, or back. */
static LoomStatus
copy_call (CheckRun *run, const LoomPlanInstr *instr, LoomCopyKind kind, LoomMessage *message)
{
  const LoomPlanDevice *device = loom_plan_device (run->pieces->plan, instr->device);
  LoomStream *stream = run->place[instr->device].stream;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k <= instr->n_in + instr->n_out && status == LOOM_STATUS_OK; k++)
    {
      const gboolean is_scratch = k == instr->n_in + instr->n_out;
      Memory *m = is_scratch                     ? run->place[instr->device].scratch
                  : instr->value[k] != G_MAXUINT ? memory_of (run, check_operand_root (run->pieces->plan, instr, k))
                                                 : NULL;

      if (m == NULL || m->there == NULL || (is_scratch && kind == LOOM_COPY_DEVICE_TO_HOST))
        continue;
      status = device->backend->copy (device->device, stream, kind == LOOM_COPY_HOST_TO_DEVICE ? m->there : m->block,
                                      kind == LOOM_COPY_HOST_TO_DEVICE ? m->block : m->there, m->bytes + 2 * GUARD,
                                      kind, message);
    }
  return status == LOOM_STATUS_OK && stream != NULL ? device->backend->stream_sync (device->device, stream, message)
                                                    : status;
}

/* What a stream's kernels report in its flag. */
static LoomStatus
take_fault (CheckRun *run, guint d, LoomMessage *message)
{
  const LoomPlanDevice *device = loom_plan_device (run->pieces->plan, d);
  LoomStream *stream = run->place[d].stream;
  LoomDeviceFault fault = { .status = LOOM_STATUS_OK };
  LoomMessage text = { "" }, ignored;

  if (stream == NULL)
    return LOOM_STATUS_OK;
  device->backend->fault_get (device->device, stream, &fault, &text);
  if (fault.status == LOOM_STATUS_OK)
    return LOOM_STATUS_OK;
  *message = text;
  device->backend->fault_clear (device->device, stream, &ignored);
  return fault.status;
}

static LoomStatus
run_kernel (CheckRun *run, const LoomPlanInstr *instr, void *const *buffers, LoomMessage *message)
{
  const LoomPlanDevice *device = loom_plan_device (run->pieces->plan, instr->device);
  LoomStream *stream = run->place[instr->device].stream;
  LoomStatus status = copy_call (run, instr, LOOM_COPY_HOST_TO_DEVICE, message);

  if (status == LOOM_STATUS_OK && stream != NULL)
    status = device->backend->step_begin (device->device, stream, 1, message);
  if (status == LOOM_STATUS_OK && !run->is_bound && instr->kernel->bind != NULL)
    status = instr->kernel->bind (instr->kernel, buffers, message);
  if (status == LOOM_STATUS_OK && instr->kernel->prepare != NULL)
    status = instr->kernel->prepare (instr->kernel, stream, buffers, message);
  if (status == LOOM_STATUS_OK)
    status = instr->kernel->run (instr->kernel, stream, buffers, message);
  if (status == LOOM_STATUS_OK)
    status = copy_call (run, instr, LOOM_COPY_DEVICE_TO_HOST, message);
  return status == LOOM_STATUS_OK ? take_fault (run, instr->device, message) : status;
}

static LoomStatus
run_instr (CheckRun *run, const LoomPlanInstr *instr, LoomMessage *message)
{
  /* No two runs have one number, so a loop binds its body's kernels again, here and later in an executor. */
  static gint site = -1;
  g_autofree void **buffers = g_new0 (void *, instr->n_in + instr->n_out + 2);
  const gsize kept_bytes = instr->kernel != NULL ? instr->kernel->kept_bytes : 0;
  gboolean no_memory = FALSE;
  Memory *scratch = run->place[instr->device].scratch;

  if (scratch != NULL)
    memset (scratch->block, 0xff, scratch->bytes + 2 * GUARD);
  if (instr->kernel == NULL)
    {
      const Memory *from = memory_of (run, check_operand_root (run->pieces->plan, instr, 0));
      const Memory *to = memory_of (run, check_operand_root (run->pieces->plan, instr, 1));

      memcpy (to->block + GUARD, from->block + GUARD,
              loom_desc_bytes (&loom_plan_value (run->pieces->plan, instr->value[0])->desc));
      return LOOM_STATUS_OK;
    }
  address_call (run, instr, buffers);
  instr->kernel->site = g_atomic_int_add (&site, -1);
  /* Only kernels of the host keep anything. */
  Memory *kept = kept_bytes > 0 ? memory_new (NULL, kept_bytes, &no_memory) : NULL;
  if (no_memory)
    return LOOM_STATUS_OUT_OF_MEMORY;
  buffers[instr->n_in + instr->n_out + 1] = kept != NULL ? address_of (kept) : NULL;
  LoomStatus status = run_kernel (run, instr, buffers, message);
  g_clear_pointer (&kept, memory_free);
  return status;
}

LoomStatus
check_run (CheckRun *run, guint *at, LoomMessage *message)
{
  const LoomPlan *plan = run->pieces->plan;

  message->text[0] = '\0';
  for (guint i = 0; i < run->piece->instrs->len; i++)
    {
      const LoomPlanInstr *instr = instr_at (run, i);

      for (guint k = instr->n_in; k < instr->n_in + instr->n_out; k++)
        if (instr->value[k] != G_MAXUINT)
          {
            Memory *m = memory_of (run, check_operand_root (plan, instr, k));

            memset (m->block, 0xff, m->bytes + 2 * GUARD);
          }
    }
  for (guint i = 0; i < run->piece->instrs->len; i++)
    {
      const LoomPlanInstr *instr = instr_at (run, i);
      const LoomStatus status = run_instr (run, instr, message);

      *at = g_array_index (run->piece->instrs, guint, i);
      if (status != LOOM_STATUS_OK || !stayed_inside (run, instr, message))
        return status;
    }
  run->is_bound = TRUE;
  return LOOM_STATUS_OK;
}
