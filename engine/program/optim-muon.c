/* The descriptor of Muon: momentum whose matrices are made orthogonal by Newton–Schulz iterations (Jordan et al. 2024,
 * kellerjordan.github.io/posts/muon), as torch.optim.Muon.
 *
 * torch.optim.Muon takes matrices only. Here the other weights, and groups with adamw="true" (embeddings and heads, as
 * the authors advise), take AdamW's step with the same learning rate and weight decay. A step needs whole matrices, so
 * it is emitted as ordinary instructions; if ranks have shards, gradients are gathered one matrix at a time. */
#include "engine/program/optim-private.h"
#include "engine/program/prim-private.h"

#include <math.h>

static const char *const adjustments[] = { "original", "match_rms_adamw", "spectral_unclamped", NULL };

/* Indices of hyper-parameters in the table below. */
enum
{
  LR,
  WEIGHT_DECAY,
  MOMENTUM,
  NESTEROV,
  NS_A,
  NS_B,
  NS_C,
  EPS,
  NS_STEPS,
  ADJUST_LR_FN,
  BETA1,
  BETA2,
  ADAMW
};

static const LoomHyper hyper[] = {
  [LR] = LOOM_HYPER_LR,
  [WEIGHT_DECAY]
  = LOOM_HYPER_WEIGHT_DECAY (0.1, "The weights shrink by lr times this at each step, apart from the gradient."),
  [MOMENTUM] = { LOOM_HYPER_NUMBER ("momentum", 0.95, 0, 1), .doc = "The decay of the running mean of gradients." },
  [NESTEROV] = { LOOM_HYPER_NUMBER ("nesterov", 1, 0, 1), .is_bool = TRUE, .doc = "If true, uses Nesterov momentum." },
#define NS(name_, start, power)                                                                                        \
  {                                                                                                                    \
    .name = name_, .value = start, LOOM_RANGE (-1e6, 1e6), .is_fixed = TRUE, .list = "ns_coefficients",                \
    .doc = "The coefficient of X" power " in an iteration X ← a X + b (X Xᵀ) X + c (X Xᵀ)² X."                  \
  }
  [NS_A] = NS ("ns_a", 3.4445, ""),
  [NS_B] = NS ("ns_b", -4.7750, " to the third power"),
  [NS_C] = NS ("ns_c", 2.0315, " to the fifth power"),
#undef NS
  [EPS] = { LOOM_HYPER_NUMBER ("eps", 1e-7, 0, 1), .is_fixed = TRUE,
            .doc = "The least norm by which a matrix is divided before the iterations." },
  [NS_STEPS] = { LOOM_HYPER_NUMBER ("ns_steps", 5, 1, 99), .is_fixed = TRUE, .is_integer = TRUE,
                 .doc = "The number of Newton–Schulz iterations." },
  [ADJUST_LR_FN]
  = { .name = "adjust_lr_fn",
      .value = 0,
      .is_fixed = TRUE,
      .choices = adjustments,
      .doc = "The factor of lr for a matrix [A,B]: √max(1, A/B), 0.2 √max(A, B) to match AdamW's steps, or √(A/B)." },
  [BETA1] = LOOM_HYPER_BETA1,
  [BETA2] = LOOM_HYPER_BETA2 (0.999, LOOM_OF_SQUARES),
  [ADAMW] = LOOM_HYPER_FLAG ("adamw", "If true, AdamW's step is taken for matrices, too: for embeddings and heads."),
  { .name = NULL },
};

#define CALC(op, a, b) loom_binary (p, LOOM_SCALAR_##op, a, b)

static double
adjustment (int kind, gint64 a, gint64 b)
{
  const double ratio = (double)a / (double)b;
  const double factors[] = { sqrt (MAX (1, ratio)), 0.2 * sqrt ((double)MAX (a, b)), sqrt (ratio) };

  return factors[kind];
}

/* a + w (b − a), from the nearer end as torch.lerp does; at: the value of w at the start. */
static LoomValue
lerp (LoomProgram *p, LoomValue a, LoomValue b, LoomValue w, double at)
{
  LoomValue way = CALC (SUB, b, a), rest = CALC (SUB, loom_const (p, value_desc (p, w)->dtype, 1), w);

  return at < 0.5 ? CALC (ADD, a, CALC (MUL, w, way)) : CALC (SUB, b, CALC (MUL, way, rest));
}

/* x with bf16's mantissa. PyTorch iterates in bf16, and products of such numbers are exact in f32. */
static LoomValue
rounded (const LoomOptimizerCall *call, LoomValue x)
{
  LoomProgram *p = call->p;

  return loom_cast (p, loom_cast (p, loom_optim_sum (call, x), LOOM_BF16), value_desc (p, x)->dtype);
}

/* The nearly orthogonal factor of x [A,B]; the smaller of both sizes is that of the products. */
static LoomValue
orthogonal (const LoomOptimizerCall *call, LoomValue x)
{
  LoomProgram *p = call->p;
  const LoomTensorDesc d = *value_desc (p, x);
  const gboolean is_tall = d.dim[0] > d.dim[1];
  LoomValue a = loom_const (p, d.dtype, call->hyper[NS_A]), b = loom_const (p, d.dtype, call->hyper[NS_B]);
  LoomValue c = loom_const (p, d.dtype, call->hyper[NS_C]), norm;

  x = rounded (call, x);
  if (is_tall)
    x = loom_permute (p, x, (const int[]){ 1, 0 });
  norm = CALC (MAX, rounded (call, loom_optim_norm (p, x)), loom_const (p, d.dtype, call->hyper[EPS]));
  x = rounded (call, CALC (DIV, x, norm));
  for (int k = 0; k < (int)call->hyper[NS_STEPS]; k++)
    {
      LoomValue gram = rounded (call, loom_matmul (p, x, x, FALSE, TRUE));
      LoomValue cubes = CALC (MUL, c, loom_matmul (p, gram, gram, FALSE, FALSE));

      cubes = rounded (call, CALC (ADD, CALC (MUL, b, gram), cubes));
      x = rounded (call, CALC (ADD, CALC (MUL, a, x), loom_matmul (p, cubes, x, FALSE, FALSE)));
    }
  return is_tall ? loom_permute (p, x, (const int[]){ 1, 0 }) : x;
}

static void
emit_matrix (const LoomOptimizerCall *call, guint i)
{
  LoomProgram *p = call->p;
  LoomValue old = loom_program_read (p, call->slot[i]), grad = loom_optim_gradient (call, i), next;
  const LoomTensorDesc d = *value_desc (p, old);
  const double start = call->hyper[MOMENTUM];
  const int buffer = loom_optim_state (call, "momentum_buffer", i, d.rank, d.dim, 0);
  LoomValue lr = loom_cast (p, loom_optim_scalar (call, LR), d.dtype), one = loom_const (p, d.dtype, 1);
  LoomValue momentum = loom_cast (p, loom_optim_scalar (call, MOMENTUM), d.dtype);
  LoomValue decay = loom_cast (p, loom_optim_scalar (call, WEIGHT_DECAY), d.dtype);
  LoomValue mean = lerp (p, loom_program_read (p, buffer), grad, CALC (SUB, one, momentum), 1 - start);

  loom_optim_commit (call, buffer, mean);
  next = orthogonal (call, call->hyper[NESTEROV] != 0 ? lerp (p, grad, mean, momentum, start) : mean);
  old = CALC (MUL, old, CALC (SUB, one, CALC (MUL, lr, decay)));
  lr = CALC (MUL, lr, loom_const (p, d.dtype, adjustment ((int)call->hyper[ADJUST_LR_FN], d.dim[0], d.dim[1])));
  loom_optim_commit (call, call->slot[i], CALC (SUB, old, CALC (MUL, next, lr)));
}

static void
emit_adamw (const LoomOptimizerCall *call)
{
  static const char *const states[] = { "exp_avg", "exp_avg_sq" };
  const LoomAdamAttrs attrs = { .n = (int)call->n, .decoupled = TRUE };
  const LoomValue scalar[]
      = { loom_optim_scalar (call, LR), loom_optim_scalar (call, BETA1), loom_optim_scalar (call, BETA2),
          loom_const (call->p, loom_program_get_float (call->p), 1e-8), loom_optim_scalar (call, WEIGHT_DECAY) };

  loom_optim_emit (call, &(LoomOptimStep){ .prim = "adam_step",
                                           .attrs = &attrs,
                                           .n_states = G_N_ELEMENTS (states),
                                           .states = states,
                                           .scalar = scalar,
                                           .n_scalars = G_N_ELEMENTS (scalar) });
}

static void
emit (const LoomOptimizerCall *call)
{
  g_autofree int *slot = g_new0 (int, call->n);
  g_autofree LoomValue *grad = g_new0 (LoomValue, call->n);
  LoomOptimizerCall others = *call;

  others.n = 0;
  others.slot = slot;
  others.grad = grad;
  for (guint i = 0; i < call->n; i++)
    if (loom_program_get_slot (call->p, (guint)call->slot[i])->rank == 2 && call->hyper[ADAMW] == 0)
      emit_matrix (call, i);
    else
      {
        slot[others.n] = call->slot[i];
        grad[others.n++] = call->grad[i];
      }
  if (others.n > 0)
    emit_adamw (&others);
}

const LoomOptimizer loom_optim_muon = {
  .name = "muon",
  .title = "Muon",
  .doc = "Momentum with orthogonal steps for matrices, as hidden layers have; AdamW for all other weights.",
  .reference = "torch.optim.Muon",
  .hyper = hyper,
  .emit = emit,
};
