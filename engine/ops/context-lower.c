/* Implements the functions that lower() may call; see loom-context.h. */
#include "engine/ops/loom-context.h"

#include <string.h>

#include "engine/core/loom-hash.h"

LoomProgram *
loom_lower_program (LoomLower *ctx)
{
  return ctx->program;
}

const LoomInfer *
loom_lower_infer (const LoomLower *ctx)
{
  return ctx->infer;
}

gboolean
loom_lower_is_training (const LoomLower *ctx)
{
  return ctx->training;
}

gboolean
loom_lower_is_recomputed (const LoomLower *ctx)
{
  return ctx->is_recomputed;
}

gboolean
loom_lower_is_direct (const LoomLower *ctx)
{
  return ctx->direct;
}

gboolean
loom_lower_has_effects (const LoomLower *ctx)
{
  return ctx->effects;
}

/* ---- inputs and state ------------------------------------------------------ */

LoomValue
loom_lower_input (LoomLower *ctx, guint i)
{
  return i < ctx->infer->n_inputs ? ctx->input[i] : 0;
}

int
loom_lower_input_slot (LoomLower *ctx, guint i)
{
  return loom_value_info (ctx->program, loom_lower_input (ctx, i))->slot;
}

LoomValue
loom_lower_weight (LoomLower *ctx, const char *name)
{
  const LoomDeclared *declared = loom_infer_find_declared (ctx->infer, name);
  LoomDType dtype;

  if (declared == NULL)
    return 0;
  if (declared->input < 0)
    return loom_program_read (ctx->program, ctx->slot (ctx, declared));
  /* A tied weight is cast to the type of the other weights. */
  dtype = declared->spec.dtype == LOOM_F32 ? loom_program_get_float (ctx->program) : declared->spec.dtype;
  return loom_cast (ctx->program, loom_lower_input (ctx, (guint)declared->input), dtype);
}

void
loom_lower_commit (LoomLower *ctx, const char *name, LoomValue value)
{
  const LoomDeclared *declared = loom_infer_find_declared (ctx->infer, name);

  g_return_if_fail (declared != NULL && declared->spec.is_buffer);

  loom_program_commit (ctx->program, ctx->slot (ctx, declared), value);
}

LoomValue
loom_lower_scalar (LoomLower *ctx, const char *name, double initial)
{
  g_autofree char *slot = g_strconcat (ctx->infer->path, ".", name, NULL);

  return loom_program_scalar (ctx->program, slot, initial);
}

LoomValue
loom_lower_hyper (LoomLower *ctx, const char *name)
{
  return loom_lower_scalar (ctx, name, loom_infer_float (ctx->infer, name));
}

/* ---- random numbers --------------------------------------------------------- */

/* Each path has a stream of random numbers of its own, which does not depend on the device or the time. The streams
 * of one node differ by an odd constant, that of the golden ratio. */
guint64
loom_lower_random_from (LoomLower *ctx, guint which, LoomValue *seed, LoomValue *step)
{
  *seed = loom_program_scalar_i64 (ctx->program, "seed", (gint64)ctx->seed);
  *step = loom_program_scalar_i64 (ctx->program, ctx->rng_step, 0);
  return loom_hash_name (ctx->infer->path) + which * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
}

static LoomValue
draw (LoomLower *ctx, LoomRandomKind kind, LoomDType dtype, guint which, int rank, const gint64 *dims)
{
  LoomValue in[2];
  LoomRandomTo attrs
      = { .kernel = { kind, loom_lower_random_from (ctx, which, &in[0], &in[1]) }, .dtype = dtype, .to.rank = rank };

  for (int i = 0; i < rank; i++)
    attrs.to.dim[i] = dims[i];
  return loom_emit (ctx->program, loom_prim ("random"), &attrs, 2, in, NULL);
}

LoomValue
loom_lower_random (LoomLower *ctx, LoomRandomKind kind, guint which, int rank, const gint64 *dims)
{
  return draw (ctx, kind, loom_program_get_float (ctx->program), which, rank, dims);
}

LoomValue
loom_lower_random_int (LoomLower *ctx, guint which, int rank, const gint64 *dims)
{
  return draw (ctx, LOOM_RANDOM_UNIFORM, LOOM_I64, which, rank, dims);
}

/* ---- results ----------------------------------------------------------------- */

static gboolean
is_input_value (const LoomLower *ctx, LoomValue value)
{
  for (guint k = 0; k < ctx->infer->n_inputs; k++)
    if (ctx->input[k] == value)
      return TRUE;
  return FALSE;
}

/* Copies the value under a new number. If an output that must be kept were its input (dropout in evaluation, a
 * permutation that changes nothing), the gradient of one would include the other uses of the other. */
static LoomValue
copy_value (LoomProgram *p, LoomValue value)
{
  const LoomTensorDesc *desc = &loom_value_info (p, value)->desc;
  LoomDims to = { .rank = desc->rank };

  memcpy (to.dim, desc->dim, sizeof to.dim);
  return loom_emit (p, loom_prim ("reshape"), &to, 1, &value, NULL);
}

void
loom_lower_output (LoomLower *ctx, guint i, LoomValue value)
{
  g_return_if_fail (i < ctx->infer->n_outputs && value != 0);

  if (ctx->must_copy[i] && is_input_value (ctx, value))
    value = copy_value (ctx->program, value);
  ctx->output[i] = value;
}

void
loom_lower_fail (LoomLower *ctx, GError *error)
{
  if (ctx->error == NULL)
    ctx->error = error;
  else
    g_error_free (error);
}
