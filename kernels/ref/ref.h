/* Private to kernels/ref: what a reference kernel is made of.
 *
 * A primitive is one const RefPrimitive in the file of its family; ref-backend.c
 * lists them. A kernel is only a copy of its spec and the function that works on
 * it. Loops that exist for float and double stand once in a file NAME.inc.c, which
 * the family file includes twice with T and FN defined. */
#ifndef LOOM_REF_H
#define LOOM_REF_H

#include "kernels/backend.h"
#include "kernels/convert.h"
#include "kernels/primitives.h"
#include "kernels/shape.h"

typedef struct RefKernel RefKernel;

/* b: buffers in…, out… as LoomKernel.run gets them. */
typedef LoomStatus (*RefWork) (const RefKernel *k, void *const *b, LoomMessage *message);

struct RefKernel
{
  LoomKernel base;
  RefWork work;
  const void *attrs;
  int n_in, n_out;
  LoomTensorDesc *in, *out;
};

typedef struct
{
  const char *name;
  size_t attrs_size;
  /* The function for this spec, NULL when there is none. Called after the checks
   * that hold for all. */
  RefWork (*choose) (const LoomKernelSpec *spec);
  /* Output o may lie at input o's address for every o below this, where the two
   * have one size: true of loops that read an element before they write it. */
  int n_inplace;
  bool mixed_floats; /* operands may have different floating types */
} RefPrimitive;

#define REF_PICK(dtype, name) ((dtype) == LOOM_F32 ? name##_f32 : (dtype) == LOOM_F64 ? name##_f64 : (RefWork)NULL)

/* Every primitive: ref_NAME is its table entry. */
#define REF_DECLARE(name) extern const RefPrimitive ref_##name;
LOOM_PRIMITIVES (REF_DECLARE)
#undef REF_DECLARE

LoomStatus ref_index_fault (LoomMessage *message, const char *what, int64_t index, int64_t limit);

/* One scalar operation in double or float; used by fused activations. */
double ref_scalar_f64 (LoomScalarOp op, double a, double b, double c, double imm);
float ref_scalar_f32 (LoomScalarOp op, float a, float b, float c, float imm);

#endif
