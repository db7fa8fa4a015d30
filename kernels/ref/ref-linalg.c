/* cholesky, triangular_solve, solve, det, cofactor: one matrix of a batch after another (kernels/linalg.inc.h). */
#include "kernels/ref/ref.h"

#include <math.h>

#define T        float
#define FN(name) name##_one_f32
#include "kernels/linalg.inc.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_one_f64
#include "kernels/linalg.inc.h"
#undef T
#undef FN

#define T         float
#define FN(name)  name##_f32
#define ONE(name) name##_one_f32
#include "kernels/ref/ref-linalg.inc.c"
#undef T
#undef FN
#undef ONE
#define T         double
#define FN(name)  name##_f64
#define ONE(name) name##_one_f64
#include "kernels/ref/ref-linalg.inc.c"

static RefWork
choose_cholesky (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, cholesky);
}

static RefWork
choose_triangular (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, triangular_solve);
}

static RefWork
choose_solve (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, solve);
}

static RefWork
choose_det (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, det);
}

static RefWork
choose_cofactor (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->in[0].dtype, cofactor);
}

const RefPrimitive ref_cholesky = { .name = "cholesky", .choose = choose_cholesky };

const RefPrimitive ref_triangular_solve = {
  .name = "triangular_solve",
  .attrs_size = sizeof (LoomTriangularSolveAttrs),
  .choose = choose_triangular,
};

const RefPrimitive ref_solve = {
  .name = "solve",
  .attrs_size = sizeof (LoomSolveAttrs),
  .choose = choose_solve,
};

const RefPrimitive ref_det = { .name = "det", .choose = choose_det };

const RefPrimitive ref_cofactor = { .name = "cofactor", .choose = choose_cofactor };
