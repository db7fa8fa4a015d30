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

const RefPrimitive ref_cholesky = { REF_FLOATS (cholesky) };
const RefPrimitive ref_triangular_solve
    = { REF_FLOATS (triangular_solve), .attrs_size = sizeof (LoomTriangularSolveAttrs) };
const RefPrimitive ref_solve = { REF_FLOATS (solve), .attrs_size = sizeof (LoomSolveAttrs) };
const RefPrimitive ref_det = { REF_FLOATS (det) };
const RefPrimitive ref_cofactor = { REF_FLOATS (cofactor) };
