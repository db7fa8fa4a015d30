/* The primitive `scan`, a loop over a body, for recurrent layers and `scan` of a graph. Its gradient is in
 * scan-gradient.c. */
#include "engine/program/scan-private.h"

/* TRUE if the operand (for a sequence, a row of it) has the type and shape of the body's input i. */
static gboolean
check_operand (const LoomScanAttrs *a, guint i, const LoomTensorDesc *have, char **why)
{
  const LoomTensorDesc *want = value_desc (a->body, loom_program_get_input (a->body, i)->value);
  LoomTensorDesc row = *have;
  gboolean sequence = i >= a->n_carried && i < a->n_carried + a->n_sequences;

  if (sequence && (have->rank != want->rank + 1 || have->dim[0] != a->length))
    {
      g_autofree char *text = loom_desc_to_string (have);

      return loom_prim_refuse (why, "runs %" G_GINT64_FORMAT " times, which sequence %u (%s) has no rows for",
                               a->length, i - a->n_carried, text);
    }
  if (sequence)
    row = loom_desc_make (have->dtype, want->rank, have->dim + 1);
  if (row.dtype != want->dtype || !loom_desc_same_shape (&row, want))
    {
      g_autofree char *given = loom_desc_to_string (&row), *wanted = loom_desc_to_string (want);

      return loom_prim_refuse (why, "passes %s to input %u of its body, which is %s", given, i, wanted);
    }
  return TRUE;
}

static gboolean
infer_scan (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomScanAttrs *a = attrs;
  guint n = loom_program_n_outputs (a->body);

  if (a->length < 1)
    return loom_prim_refuse (why, "needs at least one row");
  if (loom_program_n_slots (a->body) > 0)
    return loom_prim_refuse (why, "has a body with state");
  if (n_in != loom_program_n_inputs (a->body) || n_in < a->n_carried + a->n_sequences
      || n != a->n_carried + a->n_stacked)
    return loom_prim_refuse (why, "has %u operands and %u results, its body %u and %u", n_in,
                             a->n_carried + a->n_stacked, loom_program_n_inputs (a->body), n);
  for (guint i = 0; i < n_in; i++)
    if (!check_operand (a, i, &in[i], why))
      return FALSE;
  for (guint o = 0; o < n; o++)
    {
      const LoomTensorDesc *d = value_desc (a->body, loom_program_get_output (a->body, o)->value);

      if (o < a->n_carried && (d->dtype != in[o].dtype || !loom_desc_same_shape (d, &in[o])))
        return loom_prim_refuse (why, "changes the type of its carried value %u", o);
      if (o >= a->n_carried && d->rank == LOOM_MAX_RANK)
        return loom_prim_refuse (why, "stacks a tensor of %d axes", d->rank);
      out[o] = *d;
      if (o < a->n_carried)
        continue;
      out[o].rank = d->rank + 1;
      out[o].dim[0] = a->length;
      for (int r = 0; r < d->rank; r++)
        out[o].dim[r + 1] = d->dim[r];
    }
  *n_out = n;
  return TRUE;
}

static double
flops_scan (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  const LoomScanAttrs *a = attrs;

  return (double)a->length * loom_program_flops (a->body);
}

/* Bodies are equal only if they are the same program. A node that occurs twice in a graph has two, so its loops are
 * never merged. */
static const LoomAttr scan_attrs[] = { LOOM_ATTR ("length", INT, LoomScanAttrs, length),
                                       LOOM_ATTR ("carried", INT, LoomScanAttrs, n_carried),
                                       LOOM_ATTR ("sequences", INT, LoomScanAttrs, n_sequences),
                                       LOOM_ATTR (NULL, INT, LoomScanAttrs, n_stacked),
                                       LOOM_ATTR ("instructions", PROGRAM, LoomScanAttrs, body),
                                       LOOM_ATTR ("reverse", FLAG, LoomScanAttrs, reverse),
                                       LOOM_ATTR (NULL, FLAG, LoomScanAttrs, recompute),
                                       LOOM_ATTR (NULL, FLAG, LoomScanAttrs, no_hoist),
                                       LOOM_ATTR_LAST };

static LoomProgram **
bodies_of_scan (gpointer attrs, guint *n)
{
  *n = 1;
  return &((LoomScanAttrs *)attrs)->body;
}

const LoomPrim loom_prim_scan
    = { .name = "scan",
        .doc = "Runs a body for each row of its sequences, carrying values from one to the next.",
        .tier = LOOM_TIER_CORE,
        .flags = LOOM_PRIM_LOOP,
        LOOM_PRIM_ATTRS (LoomScanAttrs, scan_attrs),
        .infer = infer_scan,
        .gradient = loom_scan_gradient,
        .flops = flops_scan,
        .precision = LOOM_PRECISION_F32,
        .bodies = bodies_of_scan };
