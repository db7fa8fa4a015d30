/* reduce and argreduce: each output element visits its own inputs.
 *
 * Sums are in double (i64 in i64), so that f32 results are as accurate as possible. */
#include "kernels/ref/ref.h"

#include <math.h>

#define T        float
#define WIDE     double
#define FN(name) name##_f32
#include "kernels/ref/ref-reduce.inc.c"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "kernels/ref/ref-reduce.inc.c"
#undef T
#undef FN
#undef WIDE
#define T        int64_t
#define WIDE     int64_t
#define FN(name) name##_i64
#include "kernels/ref/ref-reduce.inc.c"

static RefWork
choose_reduce (const LoomKernelSpec *spec)
{
  if (spec->in[0].dtype != spec->out[0].dtype)
    return NULL;
  return spec->in[0].dtype == LOOM_I64 ? reduce_i64 : REF_PICK (spec->in[0].dtype, reduce);
}

static RefWork
choose_argreduce (const LoomKernelSpec *spec)
{
  if (spec->out[0].dtype != LOOM_I64)
    return NULL;
  return spec->in[0].dtype == LOOM_I64 ? argreduce_i64 : REF_PICK (spec->in[0].dtype, argreduce);
}

const RefPrimitive ref_reduce = { .name = "reduce", .attrs_size = sizeof (LoomReduceAttrs), .choose = choose_reduce };
const RefPrimitive ref_argreduce
    = { .name = "argreduce", .attrs_size = sizeof (LoomArgReduceAttrs), .choose = choose_argreduce };
