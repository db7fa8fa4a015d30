/* Mixed precision: the pass of autocast. It converts a forward program so that its large products use 16-bit floats
 * (bf16, f16), while parameters, statistics and losses stay f32 (Micikevicius et al., "Mixed Precision Training",
 * 2018). The lists follow torch.autocast on a CPU. Each primitive's rule is its LoomPrecision. Loss scaling for f16 is
 * in program-loss-scale.c.
 *
 * The pass runs before differentiation, so gradients flow back through the same casts and reach the parameters in f32.
 * A parameter with several readers is cast once. An element-wise formula that rounds at most once uses its operands'
 * 16-bit type. A longer one is computed in f32 and cast back, so that its gradient is also computed in f32 and rounded
 * at the end. The planner fuses these casts into element-wise kernels, where they cost nothing. */
#include "engine/program/program-body.h"

typedef struct
{
  LoomRewrite r;
  LoomDType dtype;
  GHashTable *dtype_of; /* borrowed, may be NULL */
  GHashTable *casts;    /* (value of the new program, type) → its cast */
  /* By value of the old program: it does not depend on data (a constant, a mask), so its type does not affect the
   * type of results. */
  gboolean *weak;
} Pass;

static gboolean
is_reduced (LoomDType dtype)
{
  return dtype == LOOM_F16 || dtype == LOOM_BF16;
}

static LoomDType
type_of (Pass *pass, LoomValue v)
{
  return v == 0 ? LOOM_N_DTYPES : value_desc (pass->r.to, v)->dtype;
}

/* Returns v in another float type; each cast is emitted once. The cast of a slot's value belongs to no node, because a
 * weight's copy serves all its readers, so no scope recomputes it. */
static LoomValue
in_type (Pass *pass, LoomValue v, LoomDType dtype)
{
  LoomProgram *to = pass->r.to;
  const LoomValueInfo *info = loom_value_info (to, v);
  gpointer key = GUINT_TO_POINTER (v * LOOM_N_DTYPES + dtype);
  LoomValue cast = GPOINTER_TO_UINT (g_hash_table_lookup (pass->casts, key));
  const char *origin, *device;

  if (info->desc.dtype == dtype)
    return v;
  if (cast != 0)
    return cast;
  loom_program_get_origin (to, &origin, &device);
  loom_program_set_origin (to, info->slot >= 0 ? NULL : info->origin, info->device);
  cast = loom_cast (to, v, dtype);
  loom_program_set_origin (to, origin, device);
  g_hash_table_insert (pass->casts, key, GUINT_TO_POINTER (cast));
  return cast;
}

/* The 16-bit type in which the instruction's node computes, or F32. */
static LoomDType
requested_dtype (Pass *pass, const LoomInstr *instr)
{
  guint own = 0;

  if (pass->dtype_of != NULL && instr->origin != NULL)
    own = GPOINTER_TO_UINT (g_hash_table_lookup (pass->dtype_of, instr->origin));
  return own != 0 ? (LoomDType)(own - 1) : pass->dtype;
}

static void
widen (Pass *pass, guint n, LoomValue *in, guint from)
{
  for (guint k = from; k < n; k++)
    if (is_reduced (type_of (pass, in[k])))
      in[k] = in_type (pass, in[k], LOOM_F32);
}

/* The common 16-bit type of the operands that depend on data; F32 if there are none, if they differ, or if one is
 * f32. */
static LoomDType
followed_type (Pass *pass, const LoomInstr *instr, const LoomValue *in)
{
  LoomDType followed = LOOM_N_DTYPES;

  for (guint k = 0; k < instr->n_in; k++)
    {
      LoomDType dtype = type_of (pass, in[k]);

      if (in[k] == 0 || !loom_dtype_is_float (dtype) || pass->weak[instr->in[k]])
        continue;
      if (followed != LOOM_N_DTYPES && followed != dtype)
        return LOOM_F32;
      followed = dtype;
    }
  return followed != LOOM_N_DTYPES && is_reduced (followed) ? followed : LOOM_F32;
}

/* Casts operands by the primitive's rule; returns the type of a float result, or LOOM_N_DTYPES to leave it
 * unchanged. */
static LoomDType
settle_operands (Pass *pass, const LoomInstr *instr, LoomValue *in)
{
  const LoomPrecision rule = instr->prim->precision;
  LoomDType type = requested_dtype (pass, instr), followed;
  gboolean uniform = TRUE;

  if (rule == LOOM_PRECISION_F32 || !is_reduced (type))
    {
      widen (pass, instr->n_in, in, 0);
      return LOOM_N_DTYPES;
    }
  if (rule == LOOM_PRECISION_LOW)
    {
      for (guint k = 0; k < instr->n_in; k++)
        if (in[k] != 0 && loom_dtype_is_float (type_of (pass, in[k]))
            && (k < 2 || value_desc (pass->r.to, in[k])->rank == value_desc (pass->r.to, in[0])->rank))
          in[k] = in_type (pass, in[k], type);
      return LOOM_N_DTYPES;
    }
  if (rule == LOOM_PRECISION_NORM)
    {
      widen (pass, instr->n_in, in, 1);
      return LOOM_N_DTYPES;
    }
  followed = followed_type (pass, instr, in);
  for (guint k = 0; k < instr->n_in; k++)
    uniform
        = uniform && (in[k] == 0 || type_of (pass, in[k]) == followed || !loom_dtype_is_float (type_of (pass, in[k])));
  if (uniform && (rule == LOOM_PRECISION_ROUNDS_ONCE || !(instr->prim->flags & LOOM_PRIM_ELEMENTWISE)))
    return LOOM_N_DTYPES;
  widen (pass, instr->n_in, in, 0);
  return is_reduced (followed) && (instr->prim->flags & LOOM_PRIM_ELEMENTWISE) ? followed : LOOM_N_DTYPES;
}

static LoomProgram *autocast (const LoomProgram *p, LoomDType dtype, GHashTable *dtype_of, const LoomDType *types,
                              LoomValue *in, guint n, LoomValue *values);

typedef struct
{
  Pass *pass;
  const LoomValue *in; /* operands of a loop in the new program; NULL: all have the types of the body's inputs */
} LoopContext;

/* The body in mixed precision. Its results keep their types, because a carried value must have the same type before and
 * after an iteration; 16-bit inputs are read as such. */
static LoomProgram *
autocast_body (LoomProgram *body, gpointer data)
{
  const LoopContext *around = data;
  Pass *pass = around->pass;
  guint n_in = loom_program_n_inputs (body), n_out = loom_program_n_outputs (body);
  g_autofree LoomValue *in = g_new0 (LoomValue, n_in + 1), *out = g_new0 (LoomValue, n_out + 1);
  g_autofree LoomDType *types = g_new0 (LoomDType, n_in + 1);
  LoomProgram *cast, *cut;

  for (guint i = 0; i < n_in; i++)
    types[i] = around->in != NULL ? type_of (pass, around->in[i])
                                  : value_desc (body, loom_program_get_input (body, i)->value)->dtype;
  for (guint o = 0; o < n_out; o++)
    out[o] = loom_program_get_output (body, o)->value;
  cast = autocast (body, pass->dtype, pass->dtype_of, types, in, n_out, out);
  for (guint o = 0; o < n_out; o++)
    out[o] = loom_cast (cast, out[o], value_desc (body, loom_program_get_output (body, o)->value)->dtype);
  cut = loom_program_extract (cast, n_in, in, n_out, out);
  loom_program_unref (cast);
  return cut;
}

static void
copy_instr (Pass *pass, const LoomInstr *instr)
{
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);
  gboolean weak = TRUE, is_loop = (instr->prim->flags & LOOM_PRIM_LOOP) != 0;
  LoomDType result = LOOM_N_DTYPES;

  for (guint k = 0; k < instr->n_in; k++)
    {
      in[k] = loom_rewrite_value (&pass->r, instr->in[k]);
      weak = weak && (in[k] == 0 || pass->weak[instr->in[k]] || !loom_dtype_is_float (type_of (pass, in[k])));
    }
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      pass->weak[instr->out[k]] = weak;
  loom_rewrite_set_origin (&pass->r, instr);
  if (is_loop)
    widen (pass, ((const LoomScanAttrs *)instr->attrs)->n_carried, in, 0);
  else
    result = settle_operands (pass, instr, in);
  /* Operands of bodies that are chosen by data are f32, because each body exists for several numbers of rows. */
  if (loom_prim_has_bodies (instr->prim))
    {
      loom_rewrite_bodies (&pass->r, instr, in, autocast_body, &(LoopContext){ pass, is_loop ? in : NULL });
      return;
    }
  loom_emit (pass->r.to, instr->prim, instr->attrs, instr->n_in, in, out);
  if (result != LOOM_N_DTYPES && loom_dtype_is_float (type_of (pass, out[0])))
    out[0] = in_type (pass, out[0], result);
  loom_rewrite_results (&pass->r, instr, out);
}

/* types: the types of inputs; an input whose type differs from p's is a new input. NULL: those of p. in: receives the
 * inputs. */
static LoomProgram *
autocast (const LoomProgram *p, LoomDType dtype, GHashTable *dtype_of, const LoomDType *types, LoomValue *in, guint n,
          LoomValue *values)
{
  Pass pass = { .dtype = dtype, .dtype_of = dtype_of };

  loom_rewrite_begin (&pass.r, p, "mixed precision", "Converts large products of the forward pass to 16-bit floats.");
  pass.casts = g_hash_table_new (NULL, NULL);
  pass.weak = g_new0 (gboolean, loom_program_n_values (p) + 1);
  for (guint i = 0; types != NULL && i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p, i);
      const LoomTensorDesc *d = value_desc (p, input->value);

      in[i] = loom_rewrite_value (&pass.r, input->value);
      if (types[i] != d->dtype)
        in[i] = loom_program_input (pass.r.to, input->name, types[i], d->rank, d->dim);
      g_array_index (pass.r.map, LoomValue, input->value) = in[i];
    }
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const LoomValueInfo *info = loom_value_info (p, v);

      pass.weak[v] = info->slot >= 0 && loom_program_get_slot (p, (guint)info->slot)->kind == LOOM_SLOT_SCALAR;
    }
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    copy_instr (&pass, loom_program_instr (p, i));
  /* Values for callers (a loss, the statistics of a metric) are f32. */
  for (guint i = 0; i < n; i++)
    {
      values[i] = loom_rewrite_value (&pass.r, values[i]);
      if (values[i] != 0 && is_reduced (type_of (&pass, values[i])))
        values[i] = in_type (&pass, values[i], LOOM_F32);
    }
  g_free (pass.weak);
  g_hash_table_unref (pass.casts);
  return loom_rewrite_end (&pass.r);
}

LoomProgram *
loom_program_autocast (const LoomProgram *p, LoomDType dtype, GHashTable *dtype_of, guint n, LoomValue *values)
{
  return autocast (p, dtype, dtype_of, NULL, NULL, n, values);
}
