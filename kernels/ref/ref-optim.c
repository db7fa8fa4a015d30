/* grad_stats and the steps of SGD and Adam, with the formulas of kernels/optim-formulas.h. */
#include "kernels/ref/ref.h"

#include "kernels/optim.h"

#define sqrt_f32 sqrtf
#define sqrt_f64 sqrt

#define REF_LOOPS "kernels/ref/ref-optim.inc.c"
#include "kernels/ref/ref-floats.h"

static RefWork
choose_stats (const LoomKernelSpec *spec)
{
  return REF_PICK (spec->out[0].dtype, grad_stats);
}

static RefWork
choose_sgd (const LoomKernelSpec *spec)
{
  const LoomSgdAttrs *a = spec->attrs;
  int lists = a->momentum ? 3 : 2;

  if (spec->n_in != lists * a->n + 7 || spec->n_out != (lists - 1) * a->n)
    return NULL;
  return REF_PICK (spec->in[spec->n_in - 2].dtype, sgd_step);
}

static RefWork
choose_sgd_logged (const LoomKernelSpec *spec)
{
  const LoomSgdLoggedAttrs *a = spec->attrs;

  if (spec->n_in != 2 * a->n + 3 || spec->n_out != 2 * a->n + 2)
    return NULL;
  return REF_PICK (spec->in[0].dtype, sgd_step_logged);
}

static RefWork
choose_undo (const LoomKernelSpec *spec)
{
  const LoomUndoAttrs *a = spec->attrs;

  if (spec->n_in != 2 * a->n + 1 || spec->n_out != a->n)
    return NULL;
  return REF_PICK (spec->in[0].dtype, undo_step);
}

static RefWork
choose_adam (const LoomKernelSpec *spec)
{
  const LoomAdamAttrs *a = spec->attrs;
  int lists = a->amsgrad ? 5 : 4;

  if (spec->n_in != lists * a->n + 8 || spec->n_out != (lists - 1) * a->n)
    return NULL;
  return REF_PICK (spec->in[spec->n_in - 2].dtype, adam_step);
}

const RefPrimitive ref_grad_stats
    = { .name = "grad_stats", .attrs_size = sizeof (LoomGradStatsAttrs), .choose = choose_stats };
const RefPrimitive ref_sgd_step = { .name = "sgd_step", .attrs_size = sizeof (LoomSgdAttrs), .choose = choose_sgd };
const RefPrimitive ref_sgd_step_logged
    = { .name = "sgd_step_logged", .attrs_size = sizeof (LoomSgdLoggedAttrs), .choose = choose_sgd_logged };
const RefPrimitive ref_undo_step = { .name = "undo_step", .attrs_size = sizeof (LoomUndoAttrs), .choose = choose_undo };
const RefPrimitive ref_adam_step = { .name = "adam_step", .attrs_size = sizeof (LoomAdamAttrs), .choose = choose_adam };
