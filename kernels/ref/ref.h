/* Private to kernels/ref: the struct of a reference kernel and the table of primitives.
 *
 * A primitive is one const RefPrimitive ref_NAME in the file of its family; ref-list.h has their names (rows.sed). A
 * kernel is only a copy of its spec and a function. Loops for float and double are written once in a file NAME.inc.c,
 * which ref-floats.h includes twice with T and FN defined. */
#ifndef LOOM_REF_H
#define LOOM_REF_H

#include "kernels/backend.h"
#include "kernels/convert.h"
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
  RefWork f32, f64; /* by the type of the first operand, for primitives without choose() */
  /* The function for this spec; NULL if there is none. Called after the checks that all primitives need. */
  RefWork (*choose) (const LoomKernelSpec *spec);
  /* Output o may have the memory of input i for every o below this, if both have the same size: true for loops that
   * read an element before they write it. */
  int n_inplace;
  bool mixed_floats; /* operands may have different floating types */
} RefPrimitive;

/* The first fields of a primitive whose loops have its name. */
#define REF_FLOATS(primitive) .name = #primitive, .f32 = primitive##_f32, .f64 = primitive##_f64

#define REF_PICK(dtype, name) ((dtype) == LOOM_F32 ? name##_f32 : (dtype) == LOOM_F64 ? name##_f64 : (RefWork)NULL)

static inline bool
ref_is_index (const LoomTensorDesc *d)
{
  return d->dtype == LOOM_I64 || d->dtype == LOOM_I32;
}

LoomStatus ref_index_fault (LoomMessage *message, const char *what, int64_t index, int64_t limit);

/* One scalar operation in double or float; used by fused activations. */
double ref_scalar_f64 (LoomScalarOp op, double a, double b, double c, double imm);
float ref_scalar_f32 (LoomScalarOp op, float a, float b, float c, float imm);

#endif
