/* Runs the exchanges of all ranks of one process together, each rank in a thread, and compares their results.
 *
 * The rule "order" proves that the ranks make the same exchanges. Their kernels pack small values, send them in one
 * call and unpack them, which shows only if it is done. Operands are small integers, which are added without rounding
 * in each type, and others for each rank, operand and element. */
#include "engine/check/check-private.h"
#include "engine/core/loom-tensor.h"

#include <string.h>

/* Of all ranks: larger exchanges have nothing that smaller ones have not. */
#define MAX_ELEMENTS 4e6
#define MAX_RANKS    64

/* One rank's part of an exchange. */
typedef struct
{
  const LoomPlan *plan;
  guint instr;
  GPtrArray *tensors; /* LoomTensor: operands, then results */
  void **buffers;
  LoomStatus status;
  LoomMessage message;
} Part;

/* The parts of all ranks. */
typedef struct
{
  Part *part;
  guint n;
} Exchange;

static const LoomPlanInstr *
instr_of (const Part *part)
{
  return loom_plan_instr (part->plan, part->instr);
}

static const LoomTensor *
operand (const Exchange *e, guint rank, guint k)
{
  return e->part[rank].tensors->pdata[k];
}

/* ---- what the results are ------------------------------------------------------------------- */

static double
reduce (const Exchange *e, LoomReduceOp op, guint k, gint64 i)
{
  double sum = loom_tensor_get (operand (e, 0, k), i);

  for (guint r = 1; r < e->n; r++)
    {
      const double x = loom_tensor_get (operand (e, r, k), i);

      sum = op == LOOM_REDUCE_MAX    ? MAX (sum, x)
            : op == LOOM_REDUCE_MIN  ? MIN (sum, x)
            : op == LOOM_REDUCE_PROD ? sum * x
                                     : sum + x;
    }
  return sum;
}

/* Element i of what the ranks' shards, of `total` items of `width` elements, are together. */
static double
join (const Exchange *e, guint k, gint64 total, gint64 width, gint64 i)
{
  for (guint r = 0; r < e->n; r++)
    {
      const LoomCommShard shard = loom_comm_shard (total, (int)r, (int)e->n);

      if (i / width < shard.first + shard.count)
        return loom_tensor_get (operand (e, r, k), i - shard.first * width);
    }
  g_return_val_if_reached (0);
}

static double
expect (const Exchange *e, guint rank, guint k, gint64 i)
{
  const LoomPlanInstr *instr = instr_of (&e->part[rank]);
  const void *attrs = instr->spec->attrs;

  if (check_is (instr, "reduce_scatter"))
    return reduce (e, ((const LoomReduceScatterAttrs *)attrs)->op, k,
                   loom_comm_shard (operand (e, rank, k)->count, (int)rank, (int)e->n).first + i);
  if (check_is (instr, "unshard"))
    return join (e, k, loom_desc_count (&instr->spec->out[k]), 1, i);
  if (check_is (instr, "all_gather"))
    {
      const gint64 samples = ((const LoomAllGatherTo *)attrs)->samples;

      return join (e, 0, samples, loom_desc_count (&instr->spec->out[0]) / samples, i);
    }
  if (check_is (instr, "broadcast"))
    return loom_tensor_get (operand (e, (guint)((const LoomTransferAttrs *)attrs)->rank, 0), i);
  return reduce (e, ((const LoomAllReduceAttrs *)attrs)->op, k, i);
}

/* ---- running ---------------------------------------------------------------------------------- */

static void
fill (LoomTensor *t, guint rank, guint k)
{
  const gboolean is_signed = t->dtype != LOOM_U8 && t->dtype != LOOM_BOOL;

  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, is_signed ? (double)((i * 7 + k * 5 + rank * 3) % 13) - 6 : (double)((i + rank) % 2));
}

/* FALSE: the host has not enough memory. */
static gboolean
part_init (Part *part, const LoomPlan *plan, guint instr_index, guint rank)
{
  const LoomPlanInstr *instr = loom_plan_instr (plan, instr_index);

  part->plan = plan;
  part->instr = instr_index;
  part->tensors = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  part->buffers = g_new0 (void *, instr->n_in + instr->n_out + 1);
  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    {
      const LoomTensorDesc *d = k < instr->n_in ? &instr->spec->in[k] : &instr->spec->out[k - instr->n_in];
      LoomTensor *t = loom_tensor_new (d->dtype, d->rank, d->dim, NULL);

      if (t == NULL)
        return FALSE;
      if (k < instr->n_in)
        fill (t, rank, k);
      else
        memset (t->data, 0xff, t->bytes);
      part->buffers[k] = t->data;
      g_ptr_array_add (part->tensors, t);
    }
  if (instr->kernel->scratch_bytes > 0)
    part->buffers[instr->n_in + instr->n_out] = g_malloc (instr->kernel->scratch_bytes);
  return TRUE;
}

static void
part_clear (Part *part)
{
  const LoomPlanInstr *instr = instr_of (part);

  g_free (part->buffers[instr->n_in + instr->n_out]);
  g_free (part->buffers);
  g_ptr_array_unref (part->tensors);
}

static gpointer
run_part (gpointer data)
{
  Part *part = data;
  const LoomPlanInstr *instr = instr_of (part);

  part->status = instr->kernel->run (instr->kernel, NULL, part->buffers, &part->message);
  if (part->status == LOOM_STATUS_OK && instr->is_async)
    {
      LoomKernel *wait = loom_plan_instr (part->plan, instr->until)->kernel;

      part->status = wait->run (wait, NULL, NULL, &part->message);
    }
  return NULL;
}

static void
compare (const Exchange *e, guint rank, LoomCheckReport *report)
{
  const Part *part = &e->part[rank];
  const LoomPlanInstr *instr = instr_of (part);
  g_autofree char *name = check_name_instr (part->plan, part->instr);

  if (part->status != LOOM_STATUS_OK)
    {
      check_fault (report, LOOM_CHECK_MEANING, part->instr, G_MAXUINT, "%s fails: %s", name, part->message.text);
      return;
    }
  for (guint k = 0; k < instr->n_out; k++)
    {
      const LoomTensor *made = part->tensors->pdata[instr->n_in + k];

      for (gint64 i = 0; i < made->count; i++)
        if (loom_tensor_get (made, i) != expect (e, rank, k, i))
          {
            check_fault (report, LOOM_CHECK_MEANING, part->instr, instr->value[instr->n_in + k],
                         "rank %u, %s makes %g for element %" G_GINT64_FORMAT
                         " of result %u, and the ranks' operands make %g",
                         rank, name, loom_tensor_get (made, i), i, k, expect (e, rank, k, i));
            return;
          }
    }
}

static void
run_exchange (Exchange *e, LoomCheckReport *report)
{
  g_autofree GThread **thread = g_new0 (GThread *, e->n);

  for (guint r = 0; r < e->n; r++)
    thread[r] = g_thread_new ("rank", run_part, &e->part[r]);
  for (guint r = 0; r < e->n; r++)
    g_thread_join (thread[r]);
  for (guint r = 0; r < e->n; r++)
    compare (e, r, report);
  report->n_exchanges++;
}

/* ---- which exchanges ---------------------------------------------------------------------------- */

/* The next collective along an axis from instruction i on; transfers between two ranks pass bytes on as they are. */
static guint
next_collective (const LoomPlan *plan, guint i, LoomMeshAxis along)
{
  for (; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (loom_plan_exchanges (instr) && !instr->is_wait && instr->spec != NULL && instr->along == along
          && loom_plan_device (plan, instr->device)->info.host_memory && !check_is (instr, "send")
          && !check_is (instr, "receive"))
        return i;
    }
  return G_MAXUINT;
}

static double
elements_of (const LoomPlanInstr *instr)
{
  double sum = 0;

  for (guint k = 0; k < instr->n_in + instr->n_out; k++)
    sum += (double)loom_desc_count (k < instr->n_in ? &instr->spec->in[k] : &instr->spec->out[k - instr->n_in]);
  return sum;
}

gboolean
loom_check_exchanges (const LoomPlan *const *plan, guint n, LoomCheckReport *report)
{
  const LoomMesh *mesh = loom_plan_mesh (plan[0]);
  const guint before = report->faults->len;
  g_autofree Part *part = g_new0 (Part, n);
  g_autofree guint *at = g_new0 (guint, n);
  int along = 0;

  while (mesh != NULL && along < LOOM_MESH_AXES && mesh->size[along] != (int)n)
    along++;
  /* The lines of a mesh of several axes are connected only by ranks that run. */
  if (mesh == NULL || along == LOOM_MESH_AXES || n > MAX_RANKS)
    return TRUE;
  for (;;)
    {
      Exchange e = { part, n };

      for (guint r = 0; r < n; r++)
        at[r] = next_collective (plan[r], at[r], (LoomMeshAxis)along);
      for (guint r = 0; r < n; r++)
        if (at[r] == G_MAXUINT)
          return report->faults->len == before;
      if (elements_of (loom_plan_instr (plan[0], at[0])) * n <= MAX_ELEMENTS)
        {
          gboolean fits = TRUE;

          for (guint r = 0; r < n; r++)
            fits = part_init (&part[r], plan[r], at[r], r) && fits;
          if (fits)
            run_exchange (&e, report);
          else if (report->no_memory == NULL)
            report->no_memory = check_name_instr (plan[0], at[0]);
          for (guint r = 0; r < n; r++)
            part_clear (&part[r]);
        }
      for (guint r = 0; r < n; r++)
        at[r]++;
    }
}
