/* One piece: what it reads and makes, and larger pieces around it. */
#include "engine/check/check-piece.h"
#include "engine/core/loom-compare.h"
#include "engine/check/check-private.h"

/* TRUE if the caller, a slot, or an instruction that is not one of these reads a value; NULL: any instruction. */
static gboolean
is_needed_outside (const CheckPieces *pieces, guint root, GHashTable *here)
{
  const GArray *readers = pieces->readers[root];

  if (pieces->is_kept[root])
    return TRUE;
  for (guint i = 0; readers != NULL && i < readers->len; i++)
    if (here == NULL || !g_hash_table_contains (here, GUINT_TO_POINTER (g_array_index (readers, guint, i))))
      return TRUE;
  return FALSE;
}

static void
find_operands (const CheckPieces *pieces, CheckPiece *piece, gboolean is_grown)
{
  const LoomPlan *plan = pieces->plan;
  g_autoptr (GHashTable) made = g_hash_table_new (NULL, NULL), read = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) here = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < piece->instrs->len; i++)
    g_hash_table_add (here, GUINT_TO_POINTER (g_array_index (piece->instrs, guint, i)));
  for (guint i = 0; i < piece->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, g_array_index (piece->instrs, guint, i));

      for (guint k = instr->n_in; k < instr->n_in + instr->n_out; k++)
        {
          guint root = check_operand_root (plan, instr, k);

          if (root == G_MAXUINT || !g_hash_table_add (made, GUINT_TO_POINTER (root)) || pieces->claims[root] == NULL
              || !is_needed_outside (pieces, root, is_grown ? here : NULL))
            continue;
          g_array_append_val (piece->outputs, root);
        }
    }
  for (guint i = 0; i < piece->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, g_array_index (piece->instrs, guint, i));

      for (guint k = 0; k < instr->n_in; k++)
        {
          guint root = check_operand_root (plan, instr, k);

          if (root == G_MAXUINT || g_hash_table_contains (made, GUINT_TO_POINTER (root))
              || !g_hash_table_add (read, GUINT_TO_POINTER (root)))
            continue;
          g_array_append_val (piece->inputs, root);
        }
    }
}

CheckPiece *
check_piece_new (const CheckPieces *pieces, const GArray *instrs, gboolean is_grown)
{
  CheckPiece *piece = g_new0 (CheckPiece, 1);

  piece->of = pieces;
  piece->instrs = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_vals (piece->instrs, instrs->data, instrs->len);
  piece->inputs = g_array_new (FALSE, FALSE, sizeof (guint));
  piece->outputs = g_array_new (FALSE, FALSE, sizeof (guint));
  piece->steps = g_array_new (FALSE, FALSE, sizeof (guint));
  piece->sources = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  piece->missing = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  piece->given = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  find_operands (pieces, piece, is_grown);
  check_piece_find_steps (pieces, piece);
  return piece;
}

void
check_piece_free (CheckPiece *piece)
{
  g_array_unref (piece->instrs);
  g_array_unref (piece->inputs);
  g_array_unref (piece->outputs);
  g_array_unref (piece->steps);
  g_array_unref (piece->sources);
  g_array_unref (piece->missing);
  g_array_unref (piece->given);
  g_free (piece);
}

gboolean
check_piece_is_given (const CheckPiece *piece, LoomValue v)
{
  for (guint i = 0; i < piece->given->len; i++)
    if (g_array_index (piece->given, LoomValue, i) == v)
      return TRUE;
  return FALSE;
}

/* ---- larger pieces ----------------------------------------------------------------------------------------- */

/* The instructions of the marked pieces and of this one; NULL if none are new. */
static GArray *
join (const CheckPieces *pieces, const CheckPiece *piece, GHashTable *others)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GHashTable) here = g_hash_table_new (NULL, NULL);
  GHashTableIter each;
  gpointer other;

  for (guint i = 0; i < piece->instrs->len; i++)
    g_hash_table_add (here, GUINT_TO_POINTER (g_array_index (piece->instrs, guint, i)));
  g_array_append_vals (all, piece->instrs->data, piece->instrs->len);
  g_hash_table_iter_init (&each, others);
  while (g_hash_table_iter_next (&each, &other, NULL))
    {
      const GArray *instrs = pieces->pieces->pdata[GPOINTER_TO_UINT (other)];

      for (guint i = 0; i < instrs->len; i++)
        if (g_hash_table_add (here, GUINT_TO_POINTER (g_array_index (instrs, guint, i))))
          g_array_append_val (all, g_array_index (instrs, guint, i));
    }
  if (all->len == piece->instrs->len)
    g_clear_pointer (&all, g_array_unref);
  else
    g_array_sort (all, loom_compare_uints);
  return all;
}

/* TRUE if the steps of `piece` and `other` have one in common, so that both compute from the same values. */
static gboolean
has_common_steps (const CheckPiece *piece, const CheckPiece *other)
{
  guint a = 0, b = 0;

  while (a < piece->steps->len && b < other->steps->len)
    {
      const guint x = g_array_index (piece->steps, guint, a), y = g_array_index (other->steps, guint, b);

      if (x == y)
        return TRUE;
      a += x < y;
      b += y < x;
    }
  return FALSE;
}

GArray *
check_piece_with_producers (const CheckPieces *pieces, const CheckPiece *piece, gboolean related_only)
{
  g_autoptr (GHashTable) all = g_hash_table_new (NULL, NULL), related = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < piece->inputs->len; i++)
    {
      const guint producer = pieces->producer[g_array_index (piece->inputs, guint, i)];
      const guint of = producer != G_MAXUINT ? pieces->piece_of[producer] : G_MAXUINT;

      if (of == G_MAXUINT || !g_hash_table_add (all, GUINT_TO_POINTER (of)))
        continue;
      {
        g_autoptr (CheckPiece) other = check_piece_new (pieces, pieces->pieces->pdata[of], FALSE);

        if (has_common_steps (piece, other))
          g_hash_table_add (related, GUINT_TO_POINTER (of));
      }
    }
  return join (pieces, piece, related_only ? related : all);
}

/* A step of an optimizer, whose states and scales hide what differs in its gradients. */
static gboolean
is_update (const LoomPlanInstr *instr)
{
  const LoomPrim *prim = check_prim (instr);

  return prim != NULL && prim->updates != NULL;
}

GArray *
check_piece_with_readers (const CheckPieces *pieces, const CheckPiece *piece, guint root)
{
  g_autoptr (GHashTable) all = g_hash_table_new (NULL, NULL);
  const GArray *readers = pieces->readers[root];

  if (pieces->is_kept[root] || readers == NULL)
    return NULL;
  for (guint i = 0; i < readers->len; i++)
    if (is_update (loom_plan_instr (pieces->plan, g_array_index (readers, guint, i))))
      return NULL;
  for (guint i = 0; i < readers->len; i++)
    g_hash_table_add (all, GUINT_TO_POINTER (pieces->piece_of[g_array_index (readers, guint, i)]));
  return join (pieces, piece, all);
}

double
check_piece_operations (const CheckPieces *pieces, const CheckPiece *piece, double *depth)
{
  double sum = 0;

  *depth = 1;
  for (guint s = 0; s < piece->steps->len; s++)
    {
      const LoomInstr *instr = loom_program_instr (pieces->program, g_array_index (piece->steps, guint, s));
      g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, instr->n_in + 1);
      g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->n_out + 1);
      double moved = 0, made = 0, flops;

      for (guint k = 0; k < instr->n_in; k++)
        if (instr->in[k] != 0)
          {
            in[k] = loom_value_info (pieces->program, instr->in[k])->desc;
            moved += (double)loom_desc_count (&in[k]);
          }
      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0)
          {
            out[k] = loom_value_info (pieces->program, instr->out[k])->desc;
            made += (double)loom_desc_count (&out[k]);
          }
      flops = instr->prim->flops != NULL ? instr->prim->flops (instr->attrs, instr->n_in, in, out) : 0;
      *depth = MAX (*depth, MAX (flops, moved) / MAX (made, 1));
      sum += MAX (flops, moved + made);
    }
  return sum;
}

static double
elements_of (const CheckPieces *pieces, const GArray *values)
{
  double sum = 0;

  for (guint i = 0; i < values->len; i++)
    sum += (double)loom_desc_count (&loom_value_info (pieces->program, g_array_index (values, LoomValue, i))->desc);
  return sum;
}

double
check_piece_elements (const CheckPieces *pieces, const CheckPiece *piece)
{
  double sum = elements_of (pieces, piece->sources) + elements_of (pieces, piece->missing);

  for (guint s = 0; s < piece->steps->len; s++)
    {
      const LoomInstr *instr = loom_program_instr (pieces->program, g_array_index (piece->steps, guint, s));

      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0)
          sum += (double)loom_desc_count (&loom_value_info (pieces->program, instr->out[k])->desc);
    }
  return sum;
}
