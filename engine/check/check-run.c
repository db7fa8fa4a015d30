/* Runs the kernels of a piece over poisoned memory.
 *
 * Each root has memory of its own, except that a result which the plan stores over an operand gets a copy of that
 * operand and is passed for both: kernels that work in place do so here too. All bytes that no kernel has written are
 * 0xFF, a NaN in every float type, so reading them shows. */
#include "engine/check/check-run.h"

#include <string.h>

#define GUARD 64

typedef struct
{
  char *block; /* owned; begins and ends with a guard */
  gsize bytes;
} Memory;

struct _CheckRun
{
  const CheckPieces *pieces;
  const CheckPiece *piece;
  GHashTable *memory; /* root → Memory */
  char *scratch;
  gsize scratch_bytes;
  gboolean is_bound;
};

static const LoomPlanInstr *
instr_at (const CheckRun *run, guint i)
{
  return loom_plan_instr (run->pieces->plan, g_array_index (run->piece->instrs, guint, i));
}

static void
memory_free (gpointer data)
{
  Memory *m = data;

  g_aligned_free (m->block);
  g_free (m);
}

static Memory *
memory_of (const CheckRun *run, guint root)
{
  Memory *m = g_hash_table_lookup (run->memory, GUINT_TO_POINTER (root));

  if (m != NULL)
    return m;
  m = g_new0 (Memory, 1);
  m->bytes = loom_desc_bytes (&loom_plan_value (run->pieces->plan, root)->desc);
  m->block = g_aligned_alloc (1, m->bytes + 2 * GUARD, GUARD);
  memset (m->block, 0xff, m->bytes + 2 * GUARD);
  g_hash_table_insert (run->memory, GUINT_TO_POINTER (root), m);
  return m;
}

static gboolean
is_on_host (const CheckPieces *pieces, guint root)
{
  const LoomLocation *at = &loom_plan_value (pieces->plan, root)->location;

  return at->device >= loom_plan_n_devices (pieces->plan)
         || loom_plan_device (pieces->plan, at->device)->info.host_memory;
}

static gboolean
can_run (const CheckPieces *pieces, const LoomPlanInstr *instr)
{
  if (loom_plan_exchanges (instr) || !loom_plan_device (pieces->plan, instr->device)->info.host_memory)
    return FALSE;
  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    if (instr->value[k] != G_MAXUINT && !is_on_host (pieces, check_operand_root (pieces->plan, instr, k)))
      return FALSE;
  return TRUE;
}

CheckRun *
check_run_new (const CheckPieces *pieces, const CheckPiece *piece)
{
  CheckRun *run;
  gsize scratch = 0;

  for (guint i = 0; i < piece->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (pieces->plan, g_array_index (piece->instrs, guint, i));

      if (!can_run (pieces, instr))
        return NULL;
      scratch = MAX (scratch, instr->kernel != NULL ? instr->kernel->scratch_bytes : 0);
    }
  run = g_new0 (CheckRun, 1);
  run->pieces = pieces;
  run->piece = piece;
  run->memory = g_hash_table_new_full (NULL, NULL, NULL, memory_free);
  run->scratch_bytes = scratch;
  run->scratch = g_aligned_alloc (1, scratch + GUARD, GUARD);
  return run;
}

void
check_run_free (CheckRun *run)
{
  g_hash_table_unref (run->memory);
  g_aligned_free (run->scratch);
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

  for (gint64 i = 0; i < t->count; i++)
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
address_call (CheckRun *run, const LoomPlanInstr *instr, void **buffers, gboolean copies)
{
  const LoomPlan *plan = run->pieces->plan;

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    buffers[k]
        = instr->value[k] != G_MAXUINT ? memory_of (run, check_operand_root (plan, instr, k))->block + GUARD : NULL;
  for (guint o = instr->n_in; o < instr->n_in + instr->n_out; o++)
    for (guint k = 0; k < instr->n_in; k++)
      if (buffers[o] != NULL && buffers[k] != NULL
          && shares_bytes (run, check_operand_root (plan, instr, o), check_operand_root (plan, instr, k)))
        {
          const Memory *from = memory_of (run, check_operand_root (plan, instr, k));
          const Memory *to = memory_of (run, check_operand_root (plan, instr, o));

          if (from->bytes == 0 || from->bytes > to->bytes)
            continue;
          if (copies)
            memcpy (to->block + GUARD, from->block + GUARD, from->bytes);
          buffers[k] = to->block + GUARD;
        }
  buffers[instr->n_in + instr->n_out] = instr->kernel != NULL && instr->kernel->scratch_bytes > 0 ? run->scratch : NULL;
}

static gboolean
is_intact (const Memory *m)
{
  for (gsize i = 0; i < GUARD; i++)
    if ((guint8)m->block[i] != 0xff || (guint8)m->block[GUARD + m->bytes + i] != 0xff)
      return FALSE;
  return TRUE;
}

static LoomStatus
run_instr (CheckRun *run, const LoomPlanInstr *instr, LoomMessage *message)
{
  /* No two runs have one number, so a loop binds its body's kernels again, here and later in an executor. */
  static gint site = -1;
  g_autofree void **buffers = g_new0 (void *, instr->n_in + instr->n_out + 1);
  LoomStatus status = LOOM_STATUS_OK;

  address_call (run, instr, buffers, TRUE);
  if (instr->kernel == NULL)
    {
      memcpy (buffers[1], buffers[0], loom_desc_bytes (&loom_plan_value (run->pieces->plan, instr->value[0])->desc));
      return LOOM_STATUS_OK;
    }
  if (run->scratch_bytes > 0)
    memset (run->scratch, 0xff, run->scratch_bytes);
  instr->kernel->site = g_atomic_int_add (&site, -1);
  if (!run->is_bound && instr->kernel->bind != NULL)
    status = instr->kernel->bind (instr->kernel, buffers, message);
  return status == LOOM_STATUS_OK ? instr->kernel->run (instr->kernel, NULL, buffers, message) : status;
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
      if (status != LOOM_STATUS_OK)
        return status;
      for (guint k = 0; k < instr->n_in + instr->n_out; k++)
        if (instr->value[k] != G_MAXUINT && !is_intact (memory_of (run, check_operand_root (plan, instr, k))))
          {
            g_snprintf (message->text, sizeof message->text, "it writes outside of value %u", instr->value[k]);
            return LOOM_STATUS_OK;
          }
    }
  run->is_bound = TRUE;
  return LOOM_STATUS_OK;
}
