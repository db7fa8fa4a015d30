/* Conversions that cost nothing where they are read or written.
 *
 * An element-wise kernel converts as it loads, so a widened copy that such kernels read is taken apart again: each
 * reads the narrow value (bf16, a mask of one byte), and that is what stays in memory until the backward pass. A
 * product accumulates in f32 anyway, so one whose result is only wanted in f32 (the gradient of a weight) writes it so.
 */
#include "engine/plan/plan-private.h"

#include <string.h>

/* The instruction that only converts v from something with fewer bytes, or NULL. */
static WorkInstr *
widening (Work *w, guint v)
{
  int p = work_value (w, v)->producer;
  WorkInstr *instr = p >= 0 ? work_instr (w, (guint)p) : NULL;

  if (instr == NULL || instr->dead || instr->steps == NULL || instr->steps->len != 1
      || g_array_index (instr->steps, WorkStep, 0).op != LOOM_SCALAR_ID
      || loom_dtype_size (work_value (w, work_in (instr, 0))->desc.dtype)
             >= loom_dtype_size (work_value (w, v)->desc.dtype))
    return NULL;
  return instr;
}

static void
absorb (Work *w, WorkInstr *instr, guint k, WorkInstr *cast)
{
  guint v = work_in (instr, k), narrow = work_in (cast, 0);
  WorkStep step = g_array_index (cast->steps, WorkStep, 0);
  gboolean seen = FALSE;

  /* A result of its own: the wide value may live on for another reader. */
  step.result = work_new_value (w, &work_value (w, v)->desc, work_value (w, v));
  for (guint s = 0; s < instr->steps->len; s++)
    for (int a = 0; a < 3; a++)
      if (g_array_index (instr->steps, WorkStep, s).arg[a] == v)
        g_array_index (instr->steps, WorkStep, s).arg[a] = step.result;
  g_array_prepend_val (instr->steps, step);
  for (guint i = 0; i < instr->in->len; i++)
    seen |= work_in (instr, i) == narrow;
  if (seen)
    g_array_remove_index (instr->in, k);
  else
    g_array_index (instr->in, guint, k) = narrow;
}

static void
absorb_widening (Work *w)
{
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (instr->dead || instr->steps == NULL || instr->compute != LOOM_F32)
        continue;
      for (guint k = 0; k < instr->in->len;)
        {
          WorkInstr *cast = widening (w, work_in (instr, k));
          guint n = instr->in->len;

          /* Twice over, as a cast of a cast has it, until the narrowest is reached. */
          if (cast == NULL || cast == instr || instr->steps->len == LOOM_EW_MAX_STEPS
              || cast->device_name != instr->device_name)
            k++;
          else
            {
              absorb (w, instr, k, cast);
              if (instr->in->len == n)
                continue;
            }
        }
    }
}

/* Result o of a product, when all that happens to it is a conversion to f32: the product makes that. */
static void
take_wide_result (Work *w, const WorkReaders *readers, guint index, guint o)
{
  WorkInstr *instr = work_instr (w, index), *reader;
  guint v = work_out (instr, o);
  const WorkValue *value = v != 0 ? work_value (w, v) : NULL;

  if (value == NULL || (value->desc.dtype != LOOM_BF16 && value->desc.dtype != LOOM_F16))
    return;
  reader = work_only_reader (w, readers, v, FALSE, NULL);
  if (reader == NULL || reader->steps == NULL || reader->steps->len != 1
      || g_array_index (reader->steps, WorkStep, 0).op != LOOM_SCALAR_ID
      || work_value (w, work_out (reader, 0))->desc.dtype != LOOM_F32 || reader->device_name != instr->device_name)
    return;
  g_array_index (instr->out, guint, o) = work_out (reader, 0);
  work_value (w, work_out (reader, 0))->producer = (int)index;
  work_value (w, v)->n_uses = 0;
  reader->dead = TRUE;
}

void
work_settle_casts (Work *w)
{
  g_autoptr (WorkReaders) readers = NULL;

  absorb_widening (w);
  work_remove_dead (w);
  work_count_uses (w);
  readers = work_readers_new (w);
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (instr->dead)
        continue;
      if (strcmp (instr->primitive, "conv2d_weight_grad") == 0
          || (strcmp (instr->primitive, "matmul") == 0 && ((LoomMatmulAttrs *)instr->attrs)->act == LOOM_SCALAR_ID))
        for (guint o = 0; o < instr->out->len; o++)
          take_wide_result (w, readers, i, o);
    }
  work_count_uses (w);
}
