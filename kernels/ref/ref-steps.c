/* The optimisers of kernels/optim.h in plain loops: one loop for all, with the formula from a table. */
#include "kernels/ref/ref.h"

#include "kernels/optim.h"

typedef void (*Rates) (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r);
typedef double (*Trust) (const LoomStepRates *r, double weight, double measured);

#define sqrt_f32 sqrtf
#define sqrt_f64 sqrt

#define REF_LOOPS "kernels/ref/ref-steps.inc.c"
#include "kernels/ref/ref-floats.h"

static RefWork
choose_step (const LoomKernelSpec *spec)
{
  const LoomStepAttrs *a = spec->attrs;
  int states = loom_step_states (a), scalars = loom_step_scalars (a);

  if (spec->n_in != (2 + states) * a->n + scalars + 3 || spec->n_out != (1 + states) * a->n)
    return NULL;
  return REF_PICK (spec->in[spec->n_in - 2].dtype, optim_step);
}

#define STEP(name_, scalars)                                                                                           \
  const RefPrimitive ref_##name_##_step                                                                                \
      = { .name = #name_ "_step", .attrs_size = sizeof (LoomStepAttrs), .choose = choose_step };
LOOM_STEPS (STEP)
