/* Decides which values of each iteration are kept for a scan's gradient, and which are recomputed. */
#include "engine/program/scan-private.h"

/* The values that the backward body returns. */
static GArray *
backward_results (ScanGradient *s)
{
  GArray *out = g_array_new (FALSE, FALSE, sizeof (LoomValue));

  for (guint i = 0; i < s->n_in; i++)
    if (s->b.grad[i] != 0 && i < s->attrs.n_carried + s->attrs.n_sequences)
      g_array_append_val (out, s->b.grad[i]);
  for (guint k = 0; k < s->terms->len; k++)
    {
      const ScanTerm *t = &g_array_index (s->terms, ScanTerm, k);

      if (t->n_factors == 0)
        g_array_append_val (out, t->part);
      g_array_append_vals (out, t->factor, t->n_factors);
    }
  return out;
}

guint
scan_find_stacked (const ScanGradient *s, LoomValue v)
{
  for (guint o = 0; o < s->attrs.n_stacked; o++)
    if (body_gradient_output (&s->b, s->attrs.n_carried + o) == v)
      return o;
  return s->attrs.n_stacked;
}

/* A value is recomputed by element-wise instructions if it is at least this many times larger than their operands. */
#define MIN_RECOMPUTE_RATIO 4

/* Computes, for each value of the body, the bytes per iteration that must be kept to have it: 0 for whole operands,
 * sequences and stacked results, those of its operands for an element-wise result. So for the tanh of the sum of a row
 * and a matrix, only the row is kept. recomputed_instrs[] receives the instructions that the backward body repeats. */
static void
find_recomputed (const ScanGradient *s, gboolean *recomputed_instrs)
{
  const LoomProgram *p = s->b.run;
  g_autofree gsize *bytes = g_new0 (gsize, loom_program_n_values (p) + 1);

  for (guint i = 0; i < s->attrs.n_carried; i++)
    bytes[s->b.input[i]] = loom_desc_bytes (value_desc (p, s->b.input[i]));
  for (guint i = 0; i < s->b.n_forward; i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      gsize before = 0, after = 0;

      for (guint k = 0; k < instr->n_in; k++)
        before += bytes[instr->in[k]];
      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0 && scan_find_stacked (s, instr->out[k]) == s->attrs.n_stacked)
          after += bytes[instr->out[k]] = loom_desc_bytes (value_desc (p, instr->out[k]));
      recomputed_instrs[i] = instr->is_recomputed || loom_instr_is_free (p, instr)
                             || ((instr->prim->flags & LOOM_PRIM_ELEMENTWISE) != 0 && after > 0
                                 && before <= after / MIN_RECOMPUTE_RATIO);
      if (recomputed_instrs[i] && instr->out[0] != 0)
        bytes[instr->out[0]] = MIN (before, bytes[instr->out[0]]);
    }
}

void
scan_find_saved (ScanGradient *s)
{
  const LoomProgram *p = s->b.run;
  g_autofree gboolean *wanted = g_new0 (gboolean, loom_program_n_values (p) + 1);
  g_autofree gboolean *keeps = g_new0 (gboolean, s->b.n_forward + 1);
  g_autoptr (GArray) out = backward_results (s);

  find_recomputed (s, keeps);
  for (guint i = 0; i < s->b.n_forward; i++)
    keeps[i] = !keeps[i] && !s->attrs.recompute;
  for (guint k = 0; k < out->len; k++)
    wanted[g_array_index (out, LoomValue, k)] = TRUE;
  body_gradient_find_kept (&s->b, keeps, wanted);
  for (guint i = 0; i < s->n_in; i++)
    s->reads[i] = wanted[s->b.input[i]];
}
