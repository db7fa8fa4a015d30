/* The descriptor of NAdam: Adam with Nesterov momentum, as torch.optim.NAdam. */
#include "engine/program/optim-private.h"

/* Indices of hyper-parameters in the table below. */
enum
{
  BETA1 = 1,
  MOMENTUM_DECAY = 5
};

static const LoomHyper hyper[] = {
  LOOM_HYPER_LR_OF (0.002),
  LOOM_HYPER_BETA1,
  LOOM_HYPER_BETA2 (0.999, LOOM_OF_SQUARES),
  LOOM_HYPER_EPS (1e-8),
  LOOM_HYPER_WEIGHT_DECAY (0, LOOM_DECAY_BY_GRADIENT),
  { LOOM_HYPER_NUMBER ("momentum_decay", 0.004, 0, 1e6), .doc = "The decay of the momentum's warm-up to beta1." },
  LOOM_HYPER_FLAG ("decoupled_weight_decay", "If true, weight decay is applied to the weights directly, as in AdamW."),
  LOOM_HYPER_MAXIMIZE,
  { .name = NULL },
};

/* The product of the momentum's values so far. It depends only on the step, so all tensors, groups and devices share
 * it. */
static LoomValue
mu_product (const LoomOptimizerCall *call)
{
  LoomProgram *p = call->p;
  LoomDType dtype = loom_program_get_float (p);
  LoomInit one = { .kind = LOOM_INIT_CONSTANT, .a = 1 };
  int slot = loom_program_slot (p, "optimizer.mu_product.all", LOOM_SLOT_OPTIMIZER, dtype, 0, NULL, &one, FALSE);
  LoomValue old, power, mu, product, good;

  if (loom_program_get_slot (p, (guint)slot)->commit != 0)
    return loom_program_get_slot (p, (guint)slot)->commit;
  old = loom_program_read (p, slot);
  power = loom_binary (p, LOOM_SCALAR_MUL, loom_cast (p, call->step, dtype), loom_optim_scalar (call, MOMENTUM_DECAY));
  mu = loom_binary (p, LOOM_SCALAR_POW, loom_const (p, dtype, 0.96), power);
  mu = loom_binary (p, LOOM_SCALAR_SUB, loom_const (p, dtype, 1),
                    loom_binary (p, LOOM_SCALAR_MUL, loom_const (p, dtype, 0.5), mu));
  product
      = loom_binary (p, LOOM_SCALAR_MUL, old, loom_binary (p, LOOM_SCALAR_MUL, loom_optim_scalar (call, BETA1), mu));
  good = loom_binary (p, LOOM_SCALAR_NE, call->finite, loom_const (p, dtype, 0));
  product = loom_ternary (p, LOOM_SCALAR_SELECT, good, product, old);
  loom_program_commit (p, slot, product);
  return product;
}

static void
emit (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "exp_avg", "exp_avg_sq" };

  loom_optim_emit_step (
      call, (LoomStepAttrs){ .kind = LOOM_STEP_NADAM },
      &(LoomOptimStep){
          .n_states = G_N_ELEMENTS (states), .states = states, .n_extra = 1, .extra = mu_product (call) });
}

const LoomOptimizer loom_optim_nadam = {
  .name = "nadam",
  .title = "NAdam",
  .doc = "Adam with Nesterov momentum that warms up.",
  .reference = "torch.optim.NAdam",
  .hyper = hyper,
  .emit = emit,
};
