/* Carries state from one run of the program to the next, in slots of the node.
 *
 * A recurrent layer resumes from its last state, attention from the keys and values of earlier positions. A program
 * reads the carried values as constants, so gradients end at the beginning of a run (truncated backpropagation
 * through time). One slot counts the positions read since the beginning for all nodes; at 0 the carried values are
 * ignored. */
#include "engine/ops/loom-context.h"

static LoomValue
carry_place (LoomProgram *p, const LoomCarry *carry)
{
  g_autofree char *name = g_strconcat (carry->prefix, LOOM_CARRY_POSITION, NULL);

  return loom_program_scalar_i64 (p, name, 0);
}

static int
slot_of (LoomProgram *p, const LoomCarry *carry, const char *path, const char *what, LoomDType dtype, int rank,
         const gint64 *dims)
{
  g_autofree char *name = g_strconcat (carry->prefix, path, ".", what, NULL);

  if (carry->nodes != NULL)
    g_hash_table_add (carry->nodes, g_strdup (path));
  return loom_program_slot (p, name, LOOM_SLOT_OPTIMIZER, dtype, rank, dims, NULL, FALSE);
}

LoomValue
loom_carry_begin (LoomProgram *p, const LoomCarry *carry, const char *path, const char *what, LoomValue first)
{
  LoomTensorDesc d = loom_value_info (p, first)->desc;
  gint64 dims[LOOM_MAX_RANK];
  LoomValue is_first;

  for (int i = 0; i < d.rank; i++)
    dims[i] = d.dim[i];
  is_first = loom_binary (p, LOOM_SCALAR_EQ, carry_place (p, carry), loom_const (p, LOOM_I64, 0));
  return loom_ternary (p, LOOM_SCALAR_SELECT, is_first, first,
                       loom_program_read (p, slot_of (p, carry, path, what, d.dtype, d.rank, dims)));
}

void
loom_carry_end (LoomProgram *p, const LoomCarry *carry, const char *path, const char *what, LoomValue next)
{
  LoomTensorDesc d = loom_value_info (p, next)->desc;
  gint64 dims[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    dims[i] = d.dim[i];
  loom_program_commit (p, slot_of (p, carry, path, what, d.dtype, d.rank, dims), next);
}

gboolean
loom_carry_is_requested (const LoomCarry *carry, const LoomInfer *infer)
{
  return carry != NULL && carry->prefix != NULL
         && (carry->all || (loom_op_has_param (infer->op, LOOM_STATEFUL) && loom_infer_bool (infer, LOOM_STATEFUL)));
}

gboolean
loom_lower_carries (const LoomLower *ctx)
{
  return loom_carry_is_requested (ctx->carry, ctx->infer);
}

gint64
loom_lower_carry_capacity (const LoomLower *ctx)
{
  return loom_lower_carries (ctx) ? ctx->carry->capacity : 0;
}

LoomValue
loom_lower_carry_position (LoomLower *ctx)
{
  if (ctx->carry->nodes != NULL)
    g_hash_table_add (ctx->carry->nodes, g_strdup (ctx->infer->path));
  return carry_place (ctx->program, ctx->carry);
}

int
loom_lower_carry_slot (LoomLower *ctx, const char *what, LoomDType dtype, int rank, const gint64 *dims)
{
  return slot_of (ctx->program, ctx->carry, ctx->infer->path, what, dtype, rank, dims);
}

LoomValue
loom_lower_carry_begin (LoomLower *ctx, const char *what, LoomValue first)
{
  return loom_carry_begin (ctx->program, ctx->carry, ctx->infer->path, what, first);
}

void
loom_lower_carry_end (LoomLower *ctx, const char *what, LoomValue next)
{
  loom_carry_end (ctx->program, ctx->carry, ctx->infer->path, what, next);
}
