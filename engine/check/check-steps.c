/* Finds the steps of a piece: the instructions of the program between the claims of its operands and of its results.
 *
 * A plan has as many pieces as instructions, nearly, so what is known of the program's values is kept in tables of the
 * whole plan (CheckPieces.mark and .is_step), in which each search touches and clears its own entries only. */
#include "engine/check/check-piece.h"

#include "engine/core/loom-compare.h"

#include <string.h>

enum
{
  GIVEN = 1,
  NEEDED = 2,
  COMPUTED = 4
};

typedef struct
{
  const CheckPieces *pieces;
  CheckPiece *piece;
  GArray *marked; /* LoomValue: with a mark */
  GArray *open;   /* LoomValue: needed, but their producers are not examined yet */
} Walk;

static LoomValue
numbered (const Walk *w, LoomValue v)
{
  return w->pieces->number[v];
}

static guint
producer_of (const Walk *w, LoomValue v)
{
  return loom_value_info (w->pieces->program, v)->producer;
}

static gboolean
has_mark (const Walk *w, LoomValue v, guint8 mark)
{
  return (w->pieces->mark[v] & mark) != 0;
}

static void
set_mark (Walk *w, LoomValue v, guint8 mark)
{
  if (w->pieces->mark[v] == 0)
    g_array_append_val (w->marked, v);
  w->pieces->mark[v] |= mark;
}

static void
need (Walk *w, LoomValue v)
{
  if (has_mark (w, v, NEEDED))
    return;
  set_mark (w, v, NEEDED);
  g_array_append_val (w->open, v);
}

static void
add_step (Walk *w, guint i)
{
  const LoomInstr *instr = loom_program_instr (w->pieces->program, i);

  w->pieces->is_step[i] = TRUE;
  g_array_append_val (w->piece->steps, i);
  for (guint k = 0; k < instr->n_in; k++)
    if (instr->in[k] != 0)
      need (w, numbered (w, instr->in[k]));
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      set_mark (w, instr->out[k], COMPUTED);
}

/* Adds the instructions that make what is needed and not given. */
static void
walk_back (Walk *w)
{
  while (w->open->len > 0)
    {
      const LoomValue v = g_array_index (w->open, LoomValue, w->open->len - 1);

      g_array_set_size (w->open, w->open->len - 1);
      if (!has_mark (w, v, GIVEN | COMPUTED) && producer_of (w, v) != G_MAXUINT)
        add_step (w, producer_of (w, v));
    }
}

/* ---- operands that follow from the steps' values ----------------------------------------------------------- */

/* An input or a slot that a step reads and the plan's instructions do not. */
static gboolean
is_free (const Walk *w, LoomValue v)
{
  return has_mark (w, v, NEEDED) && producer_of (w, v) == G_MAXUINT;
}

/* The instructions that compute from given and computed values alone. bound: by instruction, whether it depends on a
 * value that is computed and not given, or draws on the same values as a step. */
static void
find_available (const Walk *w, guint end, gboolean *available, gboolean *bound)
{
  const LoomProgram *p = w->pieces->program;
  g_autofree gboolean *there = g_new0 (gboolean, loom_program_n_values (p) + 1);
  g_autofree gboolean *tied = g_new0 (gboolean, loom_program_n_values (p) + 1);

  for (guint m = 0; m < w->marked->len; m++)
    {
      const LoomValue v = g_array_index (w->marked, LoomValue, m);

      there[v] = has_mark (w, v, GIVEN | COMPUTED) || is_free (w, v);
      tied[v] = (has_mark (w, v, COMPUTED) || is_free (w, v)) && !has_mark (w, v, GIVEN) && !w->pieces->constant[v];
    }
  for (guint i = 0; i < end; i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      available[i] = instr->n_in > 0;
      bound[i] = w->pieces->is_step[i];
      for (guint k = 0; k < instr->n_in; k++)
        if (instr->in[k] != 0)
          {
            const LoomValue v = numbered (w, instr->in[k]);

            available[i] = available[i] && (there[v] || w->pieces->constant[v]);
            bound[i] = bound[i] || tied[v];
          }
      for (guint k = 0; k < instr->n_out && available[i]; k++)
        if (instr->out[k] != 0)
          {
            there[instr->out[k]] = TRUE;
            tied[instr->out[k]] = bound[i];
          }
    }
}

static gboolean
is_sum_of_scores (const Walk *w, LoomValue v)
{
  for (guint s = 0; s < w->piece->steps->len; s++)
    {
      const LoomInstr *instr = loom_program_instr (w->pieces->program, g_array_index (w->piece->steps, guint, s));

      if (strcmp (instr->prim->name, "attention_grad") == 0 && numbered (w, instr->in[4]) == v)
        return TRUE;
    }
  return FALSE;
}

/* The given values that may follow from values of the steps, ascending: they are made after the first step, unless a
 * step reads an input or a slot that is not given, or they are sums of attention's scores. (transfer full) */
static GArray *
find_candidates (const Walk *w)
{
  GArray *candidates = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  gboolean reads_free = FALSE;
  guint first = G_MAXUINT;

  for (guint s = 0; s < w->piece->steps->len; s++)
    first = MIN (first, g_array_index (w->piece->steps, guint, s));
  for (guint m = 0; m < w->marked->len && !reads_free; m++)
    reads_free = is_free (w, g_array_index (w->marked, LoomValue, m));
  for (guint g = 0; g < w->piece->given->len; g++)
    {
      const LoomValue v = g_array_index (w->piece->given, LoomValue, g);
      const guint producer = producer_of (w, v);

      if (producer != G_MAXUINT && !has_mark (w, v, COMPUTED)
          && (reads_free || producer > first || is_sum_of_scores (w, v)))
        g_array_append_val (candidates, v);
    }
  g_array_sort (candidates, loom_compare_uints);
  return candidates;
}

/* An operand that follows from values of the steps is computed too, since the plan may use either. The same holds for
 * the sums of attention's scores, which a kernel of the gradient may compute again. */
static void
tie_sources (Walk *w)
{
  g_autoptr (GArray) candidates = find_candidates (w);
  g_autofree gboolean *available = NULL, *bound = NULL, *is_sum = NULL;
  guint end = 0;

  for (guint c = 0; c < candidates->len; c++)
    end = MAX (end, producer_of (w, g_array_index (candidates, LoomValue, c)) + 1);
  if (end == 0)
    return;
  available = g_new0 (gboolean, end);
  bound = g_new0 (gboolean, end);
  is_sum = g_new0 (gboolean, candidates->len);
  find_available (w, end, available, bound);
  for (guint c = 0; c < candidates->len; c++)
    is_sum[c] = is_sum_of_scores (w, g_array_index (candidates, LoomValue, c));
  for (guint c = 0; c < candidates->len; c++)
    {
      const LoomValue v = g_array_index (candidates, LoomValue, c);
      const guint producer = producer_of (w, v);

      if (has_mark (w, v, COMPUTED) || !available[producer] || !(bound[producer] || is_sum[c]))
        continue;
      add_step (w, producer);
      walk_back (w);
    }
}

/* ---- a piece ------------------------------------------------------------------------------------------------- */

static void
give (Walk *w, LoomValue v)
{
  if (has_mark (w, v, GIVEN))
    return;
  set_mark (w, v, GIVEN);
  g_array_append_val (w->piece->given, v);
}

/* Marks the claims of operands as given and those of results as needed. Constants are computed even if they are
 * operands, because the plan may use their numbers elsewhere. */
static void
mark_claims (Walk *w)
{
  const CheckPieces *pieces = w->pieces;
  const CheckPiece *piece = w->piece;

  for (guint i = 0; i < piece->inputs->len + piece->outputs->len; i++)
    {
      const gboolean is_input = i < piece->inputs->len;
      const GArray *of = is_input ? piece->inputs : piece->outputs;
      const GArray *claims = pieces->claims[g_array_index (of, guint, is_input ? i : i - piece->inputs->len)];

      for (guint c = 0; claims != NULL && c < claims->len; c++)
        {
          const LoomValue v = numbered (w, g_array_index (claims, LoomValue, c));

          if (is_input && !pieces->constant[v])
            give (w, v);
          else
            need (w, v);
        }
    }
}

void
check_piece_find_steps (const CheckPieces *pieces, CheckPiece *piece)
{
  g_autoptr (GArray) marked = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  Walk w = { pieces, piece, marked, open };

  mark_claims (&w);
  walk_back (&w);
  tie_sources (&w);
  g_array_sort (piece->steps, loom_compare_uints);
  g_array_sort (marked, loom_compare_uints);
  for (guint m = 0; m < marked->len; m++)
    {
      const LoomValue v = g_array_index (marked, LoomValue, m);

      if (has_mark (&w, v, GIVEN) && !has_mark (&w, v, COMPUTED))
        g_array_append_val (piece->sources, v);
      else if (has_mark (&w, v, NEEDED) && !has_mark (&w, v, COMPUTED))
        g_array_append_val (piece->missing, v);
    }
  for (guint m = 0; m < marked->len; m++)
    pieces->mark[g_array_index (marked, LoomValue, m)] = 0;
  for (guint s = 0; s < piece->steps->len; s++)
    pieces->is_step[g_array_index (piece->steps, guint, s)] = FALSE;
}
