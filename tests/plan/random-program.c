/* Emits random instructions over the values so far. */
#include "tests/plan/random-program.h"

#include "engine/program/loom-prim.h"

typedef struct
{
  LoomProgram *p;
  GRand *rand;
  GArray *values; /* LoomValue */
} Gen;

static LoomValue
any (Gen *g)
{
  return g_array_index (g->values, LoomValue, g_rand_int_range (g->rand, 0, (gint32)g->values->len));
}

static const LoomTensorDesc *
desc (Gen *g, LoomValue v)
{
  return &loom_value_info (g->p, v)->desc;
}

static gboolean
broadcasts (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  for (int i = 1; i <= MIN (a->rank, b->rank); i++)
    if (a->dim[a->rank - i] != b->dim[b->rank - i] && a->dim[a->rank - i] != 1 && b->dim[b->rank - i] != 1)
      return FALSE;
  return TRUE;
}

static LoomValue
emit_unary (Gen *g, LoomValue a)
{
  static const LoomScalarOp ops[] = { LOOM_SCALAR_TANH, LOOM_SCALAR_SIGMOID, LOOM_SCALAR_RELU, LOOM_SCALAR_NEG,
                                      LOOM_SCALAR_ABS,  LOOM_SCALAR_GELU,    LOOM_SCALAR_SIN };

  return loom_unary (g->p, ops[g_rand_int_range (g->rand, 0, G_N_ELEMENTS (ops))], a);
}

static LoomValue
emit_binary (Gen *g, LoomValue a)
{
  static const LoomScalarOp ops[]
      = { LOOM_SCALAR_ADD, LOOM_SCALAR_SUB, LOOM_SCALAR_MUL, LOOM_SCALAR_MAX, LOOM_SCALAR_MIN, LOOM_SCALAR_RELU_GRAD };
  LoomValue b = any (g);

  if (!broadcasts (desc (g, a), desc (g, b)))
    return 0;
  return loom_binary (g->p, ops[g_rand_int_range (g->rand, 0, G_N_ELEMENTS (ops))], a, b);
}

static LoomValue
emit_matmul (Gen *g, LoomValue a)
{
  const LoomTensorDesc *d = desc (g, a);

  if (d->rank != 2)
    return 0;
  for (int attempt = 0; attempt < 8; attempt++)
    {
      LoomValue b = any (g);

      if (desc (g, b)->rank != 2)
        continue;
      if (desc (g, b)->dim[0] == d->dim[1])
        return loom_matmul (g->p, a, b, FALSE, FALSE);
      if (desc (g, b)->dim[1] == d->dim[1])
        return g_rand_boolean (g->rand) ? loom_matmul (g->p, a, b, FALSE, TRUE)
                                        : loom_matmul (g->p, a, loom_permute (g->p, b, (int[]){ 1, 0 }), FALSE, FALSE);
    }
  return 0;
}

static LoomValue
emit_shape (Gen *g, LoomValue a)
{
  const LoomTensorDesc *d = desc (g, a);
  gint64 count = loom_desc_count (d);

  if (g_rand_boolean (g->rand))
    return loom_reshape (g->p, a, 1, &count);
  if (d->rank == 2)
    return loom_permute (g->p, a, (int[]){ 1, 0 });
  return 0;
}

static LoomValue
emit_reduce (Gen *g, LoomValue a)
{
  const LoomTensorDesc *d = desc (g, a);

  if (d->rank == 0)
    return 0;
  return loom_reduce (g->p, g_rand_boolean (g->rand) ? LOOM_REDUCE_SUM : LOOM_REDUCE_MAX, a,
                      1u << g_rand_int_range (g->rand, 0, d->rank), g_rand_boolean (g->rand));
}

static LoomValue
emit_constant (Gen *g, LoomValue a)
{
  LoomValue c = loom_const (g->p, loom_program_get_float (g->p), g_rand_double_range (g->rand, -1, 1));

  return loom_binary (g->p, LOOM_SCALAR_ADD, a, loom_unary (g->p, LOOM_SCALAR_TANH, c));
}

LoomProgram *
random_program_new (guint32 seed, guint n, LoomDType dtype)
{
  static LoomValue (*const emitters[]) (Gen *, LoomValue)
      = { emit_unary, emit_binary, emit_binary, emit_matmul, emit_shape, emit_reduce, emit_constant };
  Gen g = { loom_program_new (), g_rand_new_with_seed (seed), g_array_new (FALSE, FALSE, sizeof (LoomValue)) };
  gint64 dims[2] = { g_rand_int_range (g.rand, 1, 6), g_rand_int_range (g.rand, 1, 6) };
  LoomInit init = { LOOM_INIT_UNIFORM, -1, 1, NULL };
  LoomValue v;
  int slot;

  loom_program_set_float (g.p, dtype);
  v = loom_program_input (g.p, "x", dtype, 2, dims);
  g_array_append_val (g.values, v);
  v = loom_program_input (g.p, "z", dtype, 1, dims + 1);
  g_array_append_val (g.values, v);
  slot = loom_program_slot (g.p, "w", LOOM_SLOT_BUFFER, dtype, 2, dims, &init, FALSE);
  v = loom_program_read (g.p, slot);
  g_array_append_val (g.values, v);
  loom_program_commit (g.p, slot, loom_binary (g.p, LOOM_SCALAR_MUL, v, loom_const (g.p, dtype, 0.5)));
  for (guint i = 0; i < n; i++)
    {
      v = emitters[g_rand_int_range (g.rand, 0, G_N_ELEMENTS (emitters))](&g, any (&g));
      if (v != 0)
        g_array_append_val (g.values, v);
    }
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *name = g_strdup_printf ("out%u", i);

      loom_program_output (g.p, name, i == 0 ? g_array_index (g.values, LoomValue, g.values->len - 1) : any (&g));
    }
  g_rand_free (g.rand);
  g_array_unref (g.values);
  return g.p;
}
