/* Finds the steps of a piece: the instructions of the program between the claims of its operands and of its results. */
#include "engine/check/check-piece.h"

#include <string.h>

/* What is known of the program's values while the steps are collected, by number. */
typedef struct
{
  const CheckPieces *pieces;
  const CheckPiece *piece;
  gboolean *needed, *computed;
  gboolean *is_step; /* by instruction */
} Walk;

static LoomValue
numbered (const Walk *w, LoomValue v)
{
  return w->pieces->number[v];
}

static gboolean
is_wanted (const Walk *w, const LoomInstr *instr)
{
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0 && numbered (w, instr->out[k]) == instr->out[k] && w->needed[instr->out[k]]
        && !w->piece->is_given[instr->out[k]])
      return TRUE;
  return FALSE;
}

static void
add_step (Walk *w, guint i)
{
  const LoomInstr *instr = loom_program_instr (w->pieces->program, i);

  w->is_step[i] = TRUE;
  for (guint k = 0; k < instr->n_in; k++)
    if (instr->in[k] != 0)
      w->needed[numbered (w, instr->in[k])] = TRUE;
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      w->computed[instr->out[k]] = TRUE;
}

/* Adds the instructions that make what is needed and not given. */
static void
walk_back (Walk *w, guint end)
{
  for (guint i = end; i-- > 0;)
    if (!w->is_step[i] && is_wanted (w, loom_program_instr (w->pieces->program, i)))
      add_step (w, i);
}

/* The instructions that compute from given and computed values alone. bound: by instruction, whether it depends on a
 * value that is computed and not given, or draws on the same values as a step. */
static void
find_available (const Walk *w, guint end, gboolean *available, gboolean *bound)
{
  const LoomProgram *p = w->pieces->program;
  g_autofree gboolean *there = g_new0 (gboolean, loom_program_n_values (p) + 1);
  g_autofree gboolean *tied = g_new0 (gboolean, loom_program_n_values (p) + 1);

  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const gboolean is_free = w->needed[v] && loom_value_info (p, v)->producer == G_MAXUINT;

      there[v] = w->piece->is_given[v] || w->computed[v] || w->pieces->constant[v] || is_free;
      tied[v] = (w->computed[v] || is_free) && !w->piece->is_given[v] && !w->pieces->constant[v];
    }
  for (guint i = 0; i < end; i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      available[i] = instr->n_in > 0;
      bound[i] = w->is_step[i];
      for (guint k = 0; k < instr->n_in; k++)
        if (instr->in[k] != 0)
          {
            available[i] = available[i] && there[numbered (w, instr->in[k])];
            bound[i] = bound[i] || tied[numbered (w, instr->in[k])];
          }
      for (guint k = 0; k < instr->n_out && available[i]; k++)
        if (instr->out[k] != 0)
          {
            there[instr->out[k]] = TRUE;
            tied[instr->out[k]] = bound[i];
          }
    }
}

/* An operand that follows from values of the steps is computed too, since the plan may use either. The same holds for
 * the sums of attention's scores, which a kernel of the gradient may compute again. */
static void
tie_sources (Walk *w)
{
  const LoomProgram *p = w->pieces->program;
  const guint n = loom_program_n_instrs (p);
  g_autofree gboolean *available = g_new0 (gboolean, n + 1), *bound = g_new0 (gboolean, n + 1);
  g_autofree gboolean *is_sum = g_new0 (gboolean, loom_program_n_values (p) + 1);
  guint end = 0;

  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    if (w->piece->is_given[v] && !w->computed[v] && loom_value_info (p, v)->producer != G_MAXUINT)
      end = MAX (end, loom_value_info (p, v)->producer + 1);
  find_available (w, end, available, bound);
  for (guint i = 0; i < n; i++)
    if (w->is_step[i] && strcmp (loom_program_instr (p, i)->prim->name, "attention_grad") == 0)
      is_sum[numbered (w, loom_program_instr (p, i)->in[4])] = TRUE;
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const guint producer = loom_value_info (p, v)->producer;

      if (!w->piece->is_given[v] || w->computed[v] || producer == G_MAXUINT || !available[producer]
          || !(bound[producer] || is_sum[v]))
        continue;
      add_step (w, producer);
      walk_back (w, producer);
    }
}

/* Marks the claims of operands as given and those of results as needed. Constants are computed even if they are
 * operands, because the plan may use their numbers elsewhere. Returns the position after the last producer. */
static guint
mark_claims (Walk *w, CheckPiece *piece)
{
  const CheckPieces *pieces = w->pieces;
  guint end = 0;

  for (guint i = 0; i < piece->inputs->len + piece->outputs->len; i++)
    {
      const gboolean is_input = i < piece->inputs->len;
      const GArray *of = is_input ? piece->inputs : piece->outputs;
      const GArray *claims = pieces->claims[g_array_index (of, guint, is_input ? i : i - piece->inputs->len)];

      for (guint c = 0; claims != NULL && c < claims->len; c++)
        {
          const LoomValue v = numbered (w, g_array_index (claims, LoomValue, c));
          const guint producer = loom_value_info (pieces->program, v)->producer;

          if (is_input && !pieces->constant[v])
            {
              piece->is_given[v] = TRUE;
              continue;
            }
          w->needed[v] = TRUE;
          end = MAX (end, producer != G_MAXUINT ? producer + 1 : 0);
        }
    }
  return end;
}

void
check_piece_find_steps (const CheckPieces *pieces, CheckPiece *piece)
{
  const LoomProgram *p = pieces->program;
  const guint n = loom_program_n_values (p);
  g_autofree gboolean *needed = g_new0 (gboolean, n + 1), *computed = g_new0 (gboolean, n + 1);
  g_autofree gboolean *is_step = g_new0 (gboolean, loom_program_n_instrs (p) + 1);
  Walk w = { pieces, piece, needed, computed, is_step };

  walk_back (&w, mark_claims (&w, piece));
  tie_sources (&w);
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    if (is_step[i])
      g_array_append_val (piece->steps, i);
  for (LoomValue v = 1; v <= n; v++)
    if (piece->is_given[v] && !computed[v])
      g_array_append_val (piece->sources, v);
    else if (needed[v] && !computed[v])
      g_array_append_val (piece->missing, v);
}
