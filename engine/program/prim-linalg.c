/* Linear algebra on batches of square matrices: Cholesky factors, triangular systems, systems, determinants and their
 * derivatives (cofactor).
 *
 * Gradients are solutions of systems again, so second derivatives use the same rules. Sources: Mike Giles, “An extended
 * collection of matrix derivative results” (2008), for systems and determinants; Iain Murray, “Differentiation of the
 * Cholesky decomposition” (2016), for Cholesky factors. */
#include "engine/program/prim-private.h"

static gboolean
is_square (const LoomTensorDesc *a)
{
  return a->rank >= 2 && a->dim[a->rank - 1] == a->dim[a->rank - 2] && loom_dtype_is_float (a->dtype);
}

static gboolean
infer_cholesky (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (!is_square (&in[0]))
    return loom_prim_refuse (why, "needs square matrices of floats");
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

static gboolean
infer_system (guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, char **why)
{
  if (!loom_prim_arity (n_in, 2, why))
    return FALSE;
  if (!is_square (&in[0]) || in[1].rank != in[0].rank || in[1].dtype != in[0].dtype
      || memcmp (in[0].dim, in[1].dim, sizeof in[0].dim[0] * (in[0].rank - 1)) != 0)
    {
      g_autofree char *a = loom_desc_to_string (&in[0]), *b = loom_desc_to_string (&in[1]);

      return loom_prim_refuse (why, "%s and %s do not form a system of equations", a, b);
    }
  out[0] = in[1];
  return TRUE;
}

static gboolean
infer_triangular (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  *n_out = 1;
  return infer_system (n_in, in, out, why);
}

static gboolean
infer_solve (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  *n_out = 3;
  if (!infer_system (n_in, in, out, why))
    return FALSE;
  out[1] = out[2] = in[0];
  out[2].dtype = LOOM_I64;
  out[2].rank--;
  return TRUE;
}

static gboolean
infer_det (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  *n_out = 2;
  if (!infer_cholesky (attrs, n_in, in, out + 1, n_out, why))
    return FALSE;
  *n_out = 2;
  out[0] = in[0];
  out[0].rank -= 2;
  return TRUE;
}

static gboolean
infer_cofactor (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!infer_cholesky (attrs, n_in, in, out, n_out, why))
    return FALSE;
  *n_out = 4;
  out[1] = out[2] = in[0];
  out[2].dtype = LOOM_I64;
  out[2].rank--;
  out[3] = out[2];
  return TRUE;
}

/* ---- helpers ----------------------------------------------------------- */

static LoomValue
transposed (LoomProgram *p, LoomValue a)
{
  int rank = value_desc (p, a)->rank, perm[LOOM_MAX_RANK];

  for (int i = 0; i < rank; i++)
    perm[i] = i;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  return loom_permute (p, a, perm);
}

static LoomValue
triangular_solve (LoomProgram *p, LoomValue a, LoomValue b, const LoomTriangularSolveAttrs *attrs)
{
  return loom_emit (p, loom_prim ("triangular_solve"), attrs, 2, (LoomValue[]){ a, b }, NULL);
}

static LoomValue
line (LoomProgram *p, LoomDType dtype, gint64 n, gboolean down)
{
  LoomIotaTo attrs = { .kernel = { .axis = down ? 0 : 1, .start = 0, .step = 1 }, .dtype = dtype, .to.rank = 2 };

  attrs.to.dim[0] = down ? n : 1;
  attrs.to.dim[1] = down ? 1 : n;
  return loom_emit (p, loom_prim ("iota"), &attrs, 0, NULL, NULL);
}

/* A triangle of a: elements for which (row `keep` column) is true (GE: the lower triangle), the diagonal multiplied by
 * `diagonal`, 0 elsewhere. */
static LoomValue
triangle (LoomProgram *p, LoomValue a, LoomScalarOp keep, double diagonal)
{
  const LoomTensorDesc *d = value_desc (p, a);
  LoomDType dtype = d->dtype;
  gint64 n = d->dim[d->rank - 1];
  LoomValue row = line (p, dtype, n, TRUE), column = line (p, dtype, n, FALSE), zero = loom_const (p, dtype, 0);
  LoomValue kept = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, keep, row, column), a, zero);

  if (diagonal == 1)
    return kept;
  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_EQ, row, column),
                       loom_binary (p, LOOM_SCALAR_MUL, a, loom_const (p, dtype, diagonal)), kept);
}

/* ---- gradients --------------------------------------------------------- */

/* Murray (2016), eq. 8: S = L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, where Φ takes the lower triangle and half of the diagonal; the cotangent
 * of a symmetric matrix is (S + Sᵀ)/2. */
static gboolean
gradient_cholesky (const LoomGradCall *call)
{
  const LoomTriangularSolveAttrs back = { .transpose = TRUE };
  LoomProgram *p = call->p;
  LoomValue l = call->instr->out[0], s;

  s = triangle (p, loom_matmul (p, l, triangle (p, call->grad[0], LOOM_SCALAR_GE, 1), TRUE, FALSE), LOOM_SCALAR_GE,
                0.5);
  s = triangular_solve (p, l, s, &back);
  s = transposed (p, triangular_solve (p, l, transposed (p, s), &back));
  call->in_grad[0] = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_ADD, s, transposed (p, s)),
                                  loom_const (p, value_desc (p, s)->dtype, 0.5));
  return TRUE;
}

/* x = op (A)⁻¹ b: b̄ = op (A)⁻ᵀ x̄ and the cotangent of op (A) is -b̄ xᵀ. */
static LoomValue
gradient_of_matrix (LoomProgram *p, LoomValue b_grad, LoomValue x, gboolean transpose)
{
  LoomValue outer = transpose ? loom_matmul (p, x, b_grad, FALSE, TRUE) : loom_matmul (p, b_grad, x, FALSE, TRUE);

  return loom_unary (p, LOOM_SCALAR_NEG, outer);
}

static gboolean
gradient_triangular (const LoomGradCall *call)
{
  LoomTriangularSolveAttrs at = *(const LoomTriangularSolveAttrs *)call->instr->attrs;
  gboolean transpose = at.transpose;
  LoomProgram *p = call->p;
  LoomScalarOp keep
      = at.unitriangular ? (at.upper ? LOOM_SCALAR_LT : LOOM_SCALAR_GT) : (at.upper ? LOOM_SCALAR_LE : LOOM_SCALAR_GE);
  LoomValue b_grad;

  at.transpose = !transpose;
  b_grad = call->in_grad[1] = triangular_solve (p, call->instr->in[0], call->grad[0], &at);
  if (call->needed[0])
    call->in_grad[0] = triangle (p, gradient_of_matrix (p, b_grad, call->instr->out[0], transpose), keep, 1);
  return TRUE;
}

static gboolean
gradient_solve (const LoomGradCall *call)
{
  const LoomSolveAttrs *at = call->instr->attrs;
  LoomSolveAttrs back = { .transpose = !at->transpose };
  LoomProgram *p = call->p;
  LoomValue in[2] = { call->instr->in[0], call->grad[0] };

  call->in_grad[1] = loom_emit (p, loom_prim ("solve"), &back, 2, in, NULL);
  if (call->needed[0])
    call->in_grad[0] = gradient_of_matrix (p, call->in_grad[1], call->instr->out[0], at->transpose);
  return TRUE;
}

/* One number for each matrix, in a shape that broadcasts against the matrix. */
static LoomValue
for_matrix (LoomProgram *p, LoomValue v, const LoomTensorDesc *a)
{
  LoomTensorDesc d = *a;

  d.dim[a->rank - 1] = d.dim[a->rank - 2] = 1;
  return loom_reshape (p, v, d.rank, d.dim);
}

static LoomValue
cofactors (LoomProgram *p, LoomValue a)
{
  return loom_emit (p, loom_prim ("cofactor"), NULL, 1, &a, NULL);
}

/* Jacobi's formula: Ā = d̄ cof (A), which is det (A) A⁻ᵀ if A has an inverse. */
static gboolean
gradient_det (const LoomGradCall *call)
{
  LoomProgram *p = call->p;
  LoomValue a = call->instr->in[0];
  LoomTensorDesc d = *value_desc (p, a);

  call->in_grad[0] = loom_binary (p, LOOM_SCALAR_MUL, for_matrix (p, call->grad[0], &d), cofactors (p, a));
  return TRUE;
}

/* Let C = cof (A) with cotangent G. For 2 × 2 matrices C is linear, and the gradient is cof (G). For larger ones C =
 * det (A) A⁻ᵀ, and the gradient is (⟨G, C⟩ C - C Gᵀ C) / det (A). */
static gboolean
gradient_cofactor (const LoomGradCall *call)
{
  LoomProgram *p = call->p;
  LoomValue a = call->instr->in[0], c = call->instr->out[0], g = call->grad[0], d, first, second;
  LoomTensorDesc desc = *value_desc (p, a);

  if (desc.dim[desc.rank - 1] < 2)
    return TRUE;
  if (desc.dim[desc.rank - 1] == 2)
    {
      call->in_grad[0] = cofactors (p, g);
      return TRUE;
    }
  d = for_matrix (p, loom_emit (p, loom_prim ("det"), NULL, 1, &a, NULL), &desc);
  first = loom_binary (
      p, LOOM_SCALAR_MUL,
      loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, g, c), 3u << (desc.rank - 2), TRUE), c);
  second = loom_matmul (p, loom_matmul (p, c, g, FALSE, TRUE), c, FALSE, FALSE);
  call->in_grad[0] = loom_binary (p, LOOM_SCALAR_DIV, loom_binary (p, LOOM_SCALAR_SUB, first, second), d);
  return TRUE;
}

/* ---- the primitives ----------------------------------------------------- */

/* Multiplications and additions, in leading order. */
static double
flops_cubic (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  double n = (double)in[0].dim[in[0].rank - 1];

  return (double)loom_desc_count (&in[0]) * n * 2 / 3 + (n_in > 1 ? 2.0 * (double)loom_desc_count (&in[1]) * n : 0);
}

const LoomPrim loom_prim_cholesky = { LOOM_PRIM_ROW ("cholesky", CORE, 1), .doc = "The lower factor L of L Lᵀ = A.",
                                      .precision = LOOM_PRECISION_F32,     .infer = infer_cholesky,
                                      .gradient = gradient_cholesky,       .flops = flops_cubic };

static const char *const triangle_words[] = { "lower", "upper" };
static const LoomAttr triangular_attrs[]
    = { LOOM_ATTR ("", WORD, LoomTriangularSolveAttrs, upper, LOOM_ATTR_WORDS (triangle_words)),
        LOOM_ATTR ("transpose", FLAG, LoomTriangularSolveAttrs, transpose),
        LOOM_ATTR ("unit", FLAG, LoomTriangularSolveAttrs, unitriangular), LOOM_ATTR_LAST };
static const LoomAttr solve_attrs[] = { LOOM_ATTR ("transpose", FLAG, LoomSolveAttrs, transpose), LOOM_ATTR_LAST };

const LoomPrim loom_prim_triangular_solve = { LOOM_PRIM_ROW ("triangular_solve", CORE, 1),
                                              .doc = "X of A X = B, where A is a triangle.",
                                              .precision = LOOM_PRECISION_F32,
                                              LOOM_PRIM_ATTRS (LoomTriangularSolveAttrs, triangular_attrs),
                                              .infer = infer_triangular,
                                              .gradient = gradient_triangular,
                                              .flops = flops_cubic };

const LoomPrim loom_prim_solve = { LOOM_PRIM_ROW ("solve", CORE, 3),
                                   .doc = "X of A X = B.",
                                   .precision = LOOM_PRECISION_F32,
                                   LOOM_PRIM_ATTRS (LoomSolveAttrs, solve_attrs),
                                   .infer = infer_solve,
                                   .gradient = gradient_solve,
                                   .flops = flops_cubic };

const LoomPrim loom_prim_det
    = { LOOM_PRIM_ROW ("det", CORE, 2), .doc = "The determinant.", .precision = LOOM_PRECISION_F32, .infer = infer_det,
        .gradient = gradient_det,       .flops = flops_cubic };

const LoomPrim loom_prim_cofactor
    = { LOOM_PRIM_ROW ("cofactor", CORE, 4), .doc = "The derivatives of the determinant, also for a singular matrix.",
        .precision = LOOM_PRECISION_F32,     .infer = infer_cofactor,
        .gradient = gradient_cofactor,       .flops = flops_cubic };
