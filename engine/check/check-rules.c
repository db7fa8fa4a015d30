/* The structural rules, for pieces of one instruction:
 *
 * - a copy of bytes or elements whose result claims what its operand claims,
 * - a call of the program's primitive with its attributes and operands,
 * - a product or a convolution with a bias and an activation, which are the program's next steps,
 * - an element-wise call, each of whose steps is a step of the program on the same values,
 * - an exchange of ranks with the program's attributes and operands, or a wait for one. */
#include "engine/check/check-rules.h"
#include "engine/check/check-private.h"

#include <string.h>

typedef struct
{
  const CheckPieces *pieces;
  const CheckPiece *piece;
  const LoomPlanInstr *instr;
} Rule;

static const LoomInstr *
step_at (const Rule *r, guint s)
{
  return loom_program_instr (r->pieces->program, g_array_index (r->piece->steps, guint, s));
}

/* TRUE if operand or result k claims v, in any shape. */
static gboolean
claims (const Rule *r, guint k, LoomValue v)
{
  const GArray *of;

  if (r->instr->value[k] == G_MAXUINT || v == 0)
    return (r->instr->value[k] == G_MAXUINT) == (v == 0);
  of = r->pieces->claims[check_operand_root (r->pieces->plan, r->instr, k)];
  for (guint c = 0; of != NULL && c < of->len; c++)
    if (r->pieces->number[g_array_index (of, LoomValue, c)] == r->pieces->number[v])
      return TRUE;
  return FALSE;
}

static gboolean
is_operand (const Rule *r, guint k, LoomValue v)
{
  const LoomKernelSpec *spec = r->instr->spec;
  const LoomTensorDesc *seen = k < r->instr->n_in ? &spec->in[k] : &spec->out[k - r->instr->n_in];

  return claims (r, k, v) && (v == 0 || check_same_type (seen, &loom_value_info (r->pieces->program, v)->desc));
}

/* TRUE if result o is v, and all that it claims has v's bytes. */
static gboolean
is_result (const Rule *r, guint o, LoomValue v)
{
  const guint k = r->instr->n_in + o;
  const GArray *of;

  if (!is_operand (r, k, v))
    return FALSE;
  of = r->pieces->claims[check_operand_root (r->pieces->plan, r->instr, k)];
  for (guint c = 0; c < of->len; c++)
    if (check_program_root (r->pieces, g_array_index (of, LoomValue, c)) != check_program_root (r->pieces, v))
      return FALSE;
  return TRUE;
}

/* Two exchanges are never the same call, but a call of the plan has the attributes of the instruction. */
static gboolean
same_attrs (const LoomInstr *step, const LoomKernelSpec *spec)
{
  return step->prim->attrs == NULL || loom_attrs_equal (step->prim->attrs, step->attrs, spec->attrs);
}

/* ---- copies ------------------------------------------------------------------------ */

static gboolean
is_copy (const Rule *r)
{
  const GArray *made = r->pieces->claims[check_operand_root (r->pieces->plan, r->instr, 1)];

  for (guint c = 0; made != NULL && c < made->len; c++)
    if (!claims (r, 0, g_array_index (made, LoomValue, c)))
      return FALSE;
  return made != NULL;
}

/* ---- the same call -------------------------------------------------------------------- */

static gboolean
has_results (const Rule *r, const LoomInstr *step)
{
  for (guint o = 0; o < r->instr->n_out; o++)
    if (r->instr->value[r->instr->n_in + o] != G_MAXUINT
        && (o >= step->n_out || step->out[o] == 0 || !is_result (r, o, step->out[o])))
      return FALSE;
  return TRUE;
}

/* The step, if all others are views; else NULL. */
static const LoomInstr *
only_step (const Rule *r)
{
  const LoomInstr *only = NULL;

  for (guint s = 0; s < r->piece->steps->len; s++)
    {
      const LoomInstr *step = step_at (r, s);

      if (step->out[0] != 0 && check_program_root (r->pieces, step->out[0]) != r->pieces->number[step->out[0]])
        continue;
      if (only != NULL)
        return NULL;
      only = step;
    }
  return only;
}

static gboolean
is_same_call (const Rule *r)
{
  const LoomInstr *step = only_step (r);

  if (step == NULL || strcmp (r->instr->spec->primitive, step->prim->name) != 0 || !same_attrs (step, r->instr->spec)
      || r->instr->n_in != loom_instr_n_operands (step))
    return FALSE;
  for (guint k = 0; k < r->instr->n_in; k++)
    if (!is_operand (r, k, step->in[k]))
      return FALSE;
  return has_results (r, step);
}

/* ---- epilogues ---------------------------------------------------------------------------- */

/* The step that computes this scalar operation of v, and its other operand; NULL: there is none. */
static const LoomInstr *
find_scalar (const Rule *r, LoomScalarOp op, LoomValue v, LoomValue *other)
{
  const LoomValue number = r->pieces->number[v];

  for (guint s = 0; s < r->piece->steps->len; s++)
    {
      const LoomInstr *step = step_at (r, s);

      if (!(step->prim->flags & LOOM_PRIM_ELEMENTWISE) || step->prim->scalar != op)
        continue;
      for (guint k = 0; k < step->n_in; k++)
        if (r->pieces->number[step->in[k]] == number)
          {
            *other = step->n_in > 1 ? step->in[1 - k] : 0;
            return step;
          }
    }
  return NULL;
}

/* A bias has one number for each element of this axis, counted from the end, and 1 elsewhere. */
static gboolean
is_bias (const Rule *r, LoomValue v, const LoomTensorDesc *result, int from_end)
{
  const LoomTensorDesc *d = &loom_value_info (r->pieces->program, v)->desc;

  for (int i = 0; i < d->rank; i++)
    if (d->dim[i] != (i == d->rank - 1 - from_end ? result->dim[result->rank - 1 - from_end] : 1))
      return FALSE;
  return d->rank > from_end;
}

/* TRUE if a permute only swaps the last two axes. */
static gboolean
is_transpose (const LoomInstr *step, int rank)
{
  const LoomPermuteAttrs *p = step->attrs;

  if (strcmp (step->prim->name, "permute") != 0 || rank < 2)
    return FALSE;
  for (int i = 0; i < rank; i++)
    if (p->perm[i] != (i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i))
      return FALSE;
  return TRUE;
}

/* The operand that the call reads as operand k of the product: that one, or what a step transposes to it, which flips
 * *is_transposed; 0: neither. *n counts the steps that are used. */
static LoomValue
product_operand (const Rule *r, const LoomInstr *product, guint k, gboolean *is_transposed, guint *n)
{
  const LoomProgram *p = r->pieces->program;
  const LoomValue v = r->pieces->number[product->in[k]];
  const LoomValueInfo *info = loom_value_info (p, v);

  if (is_operand (r, k, v))
    return v;
  for (guint s = 0; s < r->piece->steps->len; s++)
    if (g_array_index (r->piece->steps, guint, s) == info->producer
        && is_transpose (loom_program_instr (p, info->producer), info->desc.rank)
        && is_operand (r, k, loom_program_instr (p, info->producer)->in[0]))
      {
        *is_transposed = !*is_transposed;
        ++*n;
        return loom_program_instr (p, info->producer)->in[0];
      }
  return 0;
}

/* The product, then a bias unless it has one, then an activation; n: the steps used before, with the product. */
static gboolean
has_epilogue (const Rule *r, const LoomInstr *product, gboolean adds_bias, LoomScalarOp act, int from_end, guint n)
{
  const LoomInstr *last = product;
  LoomValue other = 0;

  if (adds_bias)
    {
      last = find_scalar (r, LOOM_SCALAR_ADD, last->out[0], &other);
      if (last == NULL || !claims (r, 2, other) || !is_bias (r, other, &r->instr->spec->out[0], from_end))
        return FALSE;
    }
  if (act != LOOM_SCALAR_ID)
    last = find_scalar (r, act, last->out[0], &other);
  return last != NULL && r->piece->steps->len == n + adds_bias + (act != LOOM_SCALAR_ID)
         && is_result (r, 0, last->out[0]);
}

static const LoomInstr *
find_product (const Rule *r)
{
  for (guint s = 0; s < r->piece->steps->len; s++)
    if (strcmp (step_at (r, s)->prim->name, r->instr->spec->primitive) == 0)
      return step_at (r, s);
  return NULL;
}

/* The bias of the program's own product is the call's third operand. */
static gboolean
has_own_bias (const Rule *r, const LoomInstr *product)
{
  return product->n_in > 2 && is_operand (r, 2, product->in[2]);
}

static gboolean
is_matmul_with_epilogue (const Rule *r, const LoomInstr *product)
{
  const LoomMatmulAttrs *made = r->instr->spec->attrs, *meant = product->attrs;
  gboolean trans[2] = { meant->trans_a, meant->trans_b };
  guint n = 1;

  for (guint k = 0; k < 2; k++)
    if (product_operand (r, product, k, &trans[k], &n) == 0)
      return FALSE;
  return made->trans_a == trans[0] && made->trans_b == trans[1] && made->derivative == LOOM_SCALAR_ID && !made->sum_b
         && (!meant->has_bias || has_own_bias (r, product)) && meant->act == LOOM_SCALAR_ID
         && r->instr->n_in == (made->has_bias ? 3 : 2)
         && has_epilogue (r, product, made->has_bias && !meant->has_bias, made->act, 0, n);
}

static gboolean
is_convolution_with_epilogue (const Rule *r, const LoomInstr *product)
{
  const LoomConv2dTo *meant = product->attrs;
  LoomConv2dTo made = *(const LoomConv2dTo *)r->instr->spec->attrs;
  const gboolean has_bias = made.kernel.has_bias;
  const LoomScalarOp act = made.kernel.act;

  made.kernel.has_bias = meant->kernel.has_bias;
  made.kernel.act = LOOM_SCALAR_ID;
  return loom_prim_same_attrs (product->prim, &made, meant) && is_operand (r, 0, product->in[0])
         && is_operand (r, 1, product->in[1]) && (!meant->kernel.has_bias || has_own_bias (r, product))
         && r->instr->n_in == (has_bias ? 3 : 2)
         && has_epilogue (r, product, has_bias && !meant->kernel.has_bias, act, 2, 1);
}

static gboolean
is_product_with_epilogue (const Rule *r)
{
  const LoomInstr *product = find_product (r);

  if (product == NULL || r->instr->n_out != 1)
    return FALSE;
  if (strcmp (product->prim->name, "matmul") == 0)
    return is_matmul_with_epilogue (r, product);
  return strcmp (product->prim->name, "conv2d") == 0 && is_convolution_with_epilogue (r, product);
}

/* ---- element-wise calls -------------------------------------------------------------------- */

/* What a register holds: a value of the program, or a number. */
typedef struct
{
  LoomValue v; /* 0: a number, or unknown */
  gboolean is_number;
  double number;
} Register;

static gboolean
is_register (const Rule *r, const Register *reg, LoomValue v)
{
  double number;

  if (!reg->is_number)
    return reg->v != 0 && r->pieces->number[reg->v] == r->pieces->number[v];
  return loom_value_is_fill (r->pieces->program, v, &number) && number == reg->number;
}

/* The step of the program that computes this step; an identity is a conversion. */
static LoomValue
find_step (const Rule *r, const LoomElementwiseStep *step, const Register *reg)
{
  for (guint s = 0; s < r->piece->steps->len; s++)
    {
      const LoomInstr *instr = step_at (r, s);
      const LoomDType made = loom_value_info (r->pieces->program, instr->out[0])->desc.dtype;
      gboolean same
          = step->op == LOOM_SCALAR_ID
                ? (instr->prim->flags & LOOM_PRIM_CONVERTS) != 0 && instr->prim->view != LOOM_VIEW_ALWAYS
                      && ((made != LOOM_F16 && made != LOOM_BF16) || step->round == made || step->round == LOOM_F64)
                : (instr->prim->flags & LOOM_PRIM_ELEMENTWISE) != 0 && instr->prim->scalar == step->op;

      for (int k = 0; k < loom_scalar_arity (step->op) && same; k++)
        same = is_register (r, &reg[step->arg[k]], instr->in[k]);
      if (same)
        return instr->out[0];
    }
  return 0;
}

static gboolean
is_same_elementwise (const Rule *r)
{
  const LoomElementwiseAttrs *a = r->instr->spec->attrs;
  Register reg[LOOM_EW_MAX_IN + LOOM_EW_MAX_STEPS] = { { 0 } };

  if (strcmp (r->instr->spec->primitive, "elementwise") != 0 || a->n_in_parts > 0 || a->n_out_parts > 0
      || r->instr->n_in > LOOM_EW_MAX_IN)
    return FALSE;
  for (guint k = 0; k < r->instr->n_in; k++)
    {
      const GArray *of = r->pieces->claims[check_operand_root (r->pieces->plan, r->instr, k)];

      for (guint c = 0; of != NULL && c < of->len && reg[k].v == 0; c++)
        if (is_operand (r, k, g_array_index (of, LoomValue, c)))
          reg[k].v = g_array_index (of, LoomValue, c);
    }
  for (int s = 0; s < a->n_steps; s++)
    {
      Register *made = &reg[r->instr->n_in + (guint)s];

      made->is_number = a->step[s].op == LOOM_SCALAR_CONST;
      made->number = a->step[s].imm;
      made->v = made->is_number ? 0 : find_step (r, &a->step[s], reg);
    }
  for (guint o = 0; o < r->instr->n_out; o++)
    if (reg[a->out[o]].v == 0 || !is_result (r, o, reg[a->out[o]].v))
      return FALSE;
  return TRUE;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/* A transfer to another rank makes no value, so the piece has no steps: the program must have it with this operand. */
static gboolean
is_same_effect (const Rule *r)
{
  const LoomProgram *p = r->pieces->program;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if ((instr->prim->flags & LOOM_PRIM_SIDE_EFFECT) != 0
          && strcmp (instr->prim->name, r->instr->spec->primitive) == 0 && same_attrs (instr, r->instr->spec)
          && loom_instr_n_operands (instr) == r->instr->n_in && (instr->n_in == 0 || claims (r, 0, instr->in[0])))
        return TRUE;
    }
  return FALSE;
}

gboolean
check_rule_holds (const CheckPieces *pieces, const CheckPiece *piece)
{
  Rule r = { pieces, piece, NULL };

  if (piece->instrs->len != 1)
    return FALSE;
  r.instr = loom_plan_instr (pieces->plan, g_array_index (piece->instrs, guint, 0));
  if (r.instr->is_wait)
    return TRUE;
  if (r.instr->kernel == NULL)
    return r.instr->n_in == 1 && r.instr->n_out == 1 && is_copy (&r);
  if (r.instr->spec == NULL)
    return FALSE;
  if (piece->steps->len == 0)
    return is_same_effect (&r) || (strcmp (r.instr->spec->primitive, "copy") == 0 && is_copy (&r));
  return is_same_call (&r) || is_product_with_epilogue (&r) || is_same_elementwise (&r);
}
