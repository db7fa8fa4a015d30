/* Splits a loss into its terms (loom-loss-terms.h) and appends their sums to the program.
 *
 * The loss is followed back through linear instructions (sums, factors common to all batches) to divisions by a count.
 * The linear instructions are repeated for the dividend of each division, so that the program computes the sum of each
 * term without its division. The program still computes the original loss. */
#include "engine/program/loom-loss-terms.h"

#include "engine/program/partition-sharding.h"

#define MAX_COMPARED 4096 /* at most this many instructions are compared; larger counts are taken to differ */

typedef struct
{
  LoomProgram *p;
  gboolean *of_batch;   /* by value: it differs between batches */
  gboolean *of_weights; /* by value: it has a gradient with respect to trainable weights */
  gboolean *reached;    /* by value: the loss is linear in it */
  GArray **found;       /* by value: its terms; NULL: not computed yet */
} Terms;

typedef enum
{
  LEAF,    /* not linear in any sum with a count */
  COUNTED, /* operand 0 is a sum, operand 1 a count */
  LINEAR,  /* in the operands that linear_operands() returns */
} Kind;

static const LoomInstr *
maker (const Terms *t, LoomValue v)
{
  guint i = loom_value_info (t->p, v)->producer;

  return i != G_MAXUINT ? loom_program_instr (t->p, i) : NULL;
}

static gboolean
draws (const LoomInstr *instr)
{
  return (instr->prim->flags & LOOM_PRIM_RANDOM) != 0
         || (instr->prim->draws != NULL && instr->prim->draws (instr->attrs));
}

static void
mark (Terms *t)
{
  for (guint i = 0; i < loom_program_n_inputs (t->p); i++)
    t->of_batch[loom_program_get_input (t->p, i)->value] = TRUE;
  for (guint i = 0; i < loom_program_n_slots (t->p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (t->p, i);

      t->of_weights[slot->read] = slot->kind == LOOM_SLOT_PARAMETER && slot->trainable;
    }
  for (guint i = 0; i < loom_program_n_instrs (t->p); i++)
    {
      const LoomInstr *instr = loom_program_instr (t->p, i);
      gboolean batch = draws (instr), weights = FALSE;

      for (guint k = 0; k < instr->n_in; k++)
        {
          batch = batch || (instr->in[k] != 0 && t->of_batch[instr->in[k]]);
          weights = weights || (instr->in[k] != 0 && t->of_weights[instr->in[k]]);
        }
      for (guint o = 0; o < instr->n_out; o++)
        {
          t->of_batch[instr->out[o]] = batch;
          t->of_weights[instr->out[o]] = weights && !instr->prim->gradient_is_zero;
        }
    }
}

static gboolean
is_number (const Terms *t, LoomValue v)
{
  return loom_desc_count (&loom_value_info (t->p, v)->desc) == 1;
}

static gboolean
passes (const LoomInstr *instr)
{
  return (instr->prim->flags & LOOM_PRIM_CONVERTS) != 0 || instr->prim->sharding == loom_shard_reshape;
}

/* TRUE for a sum over all elements, in any type and any shape of one element. */
static gboolean
is_sum (const Terms *t, LoomValue v)
{
  const LoomInstr *instr = maker (t, v);

  while (instr != NULL && is_number (t, v) && passes (instr))
    {
      v = instr->in[0];
      instr = maker (t, v);
    }
  return instr != NULL && is_number (t, v) && instr->prim->sharding == loom_shard_reduce
         && ((const LoomReduceAttrs *)instr->attrs)->op == LOOM_REDUCE_SUM;
}

static Kind
classify (const Terms *t, const LoomInstr *instr)
{
  LoomScalarOp op;

  if (instr == NULL || instr->n_out != 1 || !is_number (t, instr->out[0]))
    return LEAF;
  if (passes (instr))
    return LINEAR;
  if ((instr->prim->flags & LOOM_PRIM_ELEMENTWISE) == 0)
    return LEAF;
  op = instr->prim->scalar;
  if (op == LOOM_SCALAR_DIV && t->of_batch[instr->in[1]])
    return is_sum (t, instr->in[0]) && is_sum (t, instr->in[1]) && !t->of_weights[instr->in[1]] ? COUNTED : LEAF;
  return op == LOOM_SCALAR_NEG || op == LOOM_SCALAR_ADD || op == LOOM_SCALAR_SUB || op == LOOM_SCALAR_DIV
                 || (op == LOOM_SCALAR_MUL && !(t->of_batch[instr->in[0]] && t->of_batch[instr->in[1]]))
             ? LINEAR
             : LEAF;
}

/* The operands of a LINEAR instruction that vary between batches, a bit each. */
static guint
linear_operands (const Terms *t, const LoomInstr *instr)
{
  if (instr->n_in == 1 || instr->prim->scalar == LOOM_SCALAR_DIV)
    return 1;
  if (instr->prim->scalar == LOOM_SCALAR_MUL)
    return t->of_batch[instr->in[1]] ? 2 : 1;
  return 3;
}

/* Marks the values in which the loss is linear. Not recursive, since sums may be long. TRUE if a division by a count is
 * among them. */
static gboolean
reach (const Terms *t, LoomValue loss)
{
  gboolean has_count = FALSE;

  t->reached[loss] = TRUE;
  for (guint i = loom_program_n_instrs (t->p); i-- > 0;)
    {
      const LoomInstr *instr = loom_program_instr (t->p, i);
      Kind kind;

      if (instr->n_out != 1 || !t->reached[instr->out[0]])
        continue;
      kind = classify (t, instr);
      has_count = has_count || kind == COUNTED;
      for (guint k = 0; kind == LINEAR && k < instr->n_in; k++)
        if ((linear_operands (t, instr) >> k & 1) != 0)
          t->reached[instr->in[k]] = TRUE;
    }
  return has_count;
}

/* TRUE if both values are computed in the same way, as the counts of two losses with the same targets are. */
static gboolean
same (const Terms *t, LoomValue a, LoomValue b, int *left)
{
  const LoomInstr *x = a != 0 ? maker (t, a) : NULL, *y = b != 0 ? maker (t, b) : NULL;

  if (a == b)
    return TRUE;
  if (--*left < 0 || x == NULL || y == NULL || x->prim != y->prim || x->n_in != y->n_in || draws (x)
      || loom_value_info (t->p, a)->result != loom_value_info (t->p, b)->result
      || !loom_prim_same_attrs (x->prim, x->attrs, y->attrs))
    return FALSE;
  for (guint k = 0; k < x->n_in; k++)
    if (!same (t, x->in[k], y->in[k], left))
      return FALSE;
  return TRUE;
}

static void
add (const Terms *t, GArray *terms, LoomLossTerm term)
{
  for (guint k = 0; k < terms->len; k++)
    {
      LoomLossTerm *other = &g_array_index (terms, LoomLossTerm, k);
      int left = MAX_COMPARED;

      if ((term.count == 0) != (other->count == 0) || !same (t, term.count, other->count, &left))
        continue;
      other->sum = loom_binary (t->p, LOOM_SCALAR_ADD, other->sum, term.sum);
      return;
    }
  g_array_append_val (terms, term);
}

/* The terms of v; their sums have v's type and shape. Owned by t, since several values may need them. */
static GArray *
terms_of (const Terms *t, LoomValue v)
{
  if (t->found[v] == NULL)
    {
      t->found[v] = g_array_new (FALSE, TRUE, sizeof (LoomLossTerm));
      add (t, t->found[v], (LoomLossTerm){ .sum = v });
    }
  return t->found[v];
}

/* Finds the terms of an instruction's result, given those of its operands, unless the result is a term itself. `instr`
 * is a copy, because the program may reallocate its instructions as it grows. */
static void
split (const Terms *t, LoomInstr instr)
{
  const Kind kind = classify (t, &instr);
  const guint linear = kind == LINEAR ? linear_operands (t, &instr) : 0;
  GArray *terms;

  if (kind == LEAF)
    return;
  terms = t->found[instr.out[0]] = g_array_new (FALSE, TRUE, sizeof (LoomLossTerm));
  if (kind == COUNTED)
    add (t, terms, (LoomLossTerm){ .sum = instr.in[0], .count = instr.in[1] });
  for (guint k = 0; k < instr.n_in; k++)
    {
      const GArray *of = (linear >> k & 1) != 0 ? terms_of (t, instr.in[k]) : NULL;

      for (guint i = 0; of != NULL && i < of->len; i++)
        {
          LoomLossTerm term = g_array_index (of, LoomLossTerm, i);
          LoomValue in[2] = { instr.in[0], instr.n_in > 1 ? instr.in[1] : 0 };
          const gboolean adds = instr.n_in > 1 && linear == 3;

          in[k] = term.sum;
          if (!adds)
            term.sum = loom_emit (t->p, instr.prim, instr.attrs, instr.n_in, in, NULL);
          else if (k == 1 && instr.prim->scalar == LOOM_SCALAR_SUB)
            term.sum = loom_unary (t->p, LOOM_SCALAR_NEG, term.sum);
          add (t, terms, term);
        }
    }
}

GArray *
loom_loss_terms_new (LoomProgram *p, LoomValue loss)
{
  const guint n = loom_program_n_values (p) + 1, n_instrs = loom_program_n_instrs (p);
  g_autofree gboolean *of_batch = g_new0 (gboolean, n), *of_weights = g_new0 (gboolean, n);
  g_autofree gboolean *reached = g_new0 (gboolean, n);
  g_autofree GArray **found = g_new0 (GArray *, n);
  Terms t = { .p = p, .of_batch = of_batch, .of_weights = of_weights, .reached = reached, .found = found };
  GArray *terms;

  mark (&t);
  if (!reach (&t, loss))
    return NULL;
  for (guint i = 0; i < n_instrs; i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if (instr->n_out == 1 && reached[instr->out[0]])
        split (&t, *instr);
    }
  terms = g_array_ref (terms_of (&t, loss));
  for (guint v = 0; v < n; v++)
    g_clear_pointer (&found[v], g_array_unref);
  for (guint k = 0; k < terms->len; k++)
    {
      LoomLossTerm *term = &g_array_index (terms, LoomLossTerm, k);

      term->sum = loom_reshape (p, term->sum, 0, NULL);
      if (term->count != 0)
        term->count = loom_reshape (p, term->count, 0, NULL);
    }
  return terms;
}
