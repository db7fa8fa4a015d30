/* The primitives of the update region: statistics over all gradients (grad_stats), the gate that ends a step whose loss
 * or gradients are not finite (update_gate), and the optimizers' steps over many tensors at once. SGD also has a step
 * with an undo log (sgd_step_logged, undo_step).
 *
 * A program ends with them, so they have no gradient. Their results overwrite operands. */
#include "engine/program/partition-sharding.h"

#include "kernels/optim.h"

static gboolean
infer_grad_stats (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  const LoomGradStatsAttrs *a = attrs;

  if (!loom_prim_arity (n_in, a->n, why) || n_in == 0)
    return n_in == 0 ? loom_prim_refuse (why, "needs a gradient") : FALSE;
  out[0] = out[1] = loom_desc_make (in[0].dtype, 0, NULL);
  *n_out = 2;
  return TRUE;
}

/* The attributes of grad_stats and undo_step. */
static const LoomAttr count_attrs[] = { LOOM_ATTR ("n", INT, LoomGradStatsAttrs, n), LOOM_ATTR_LAST };
G_STATIC_ASSERT (sizeof (LoomUndoAttrs) == sizeof (LoomGradStatsAttrs));

static double
flops_per_operand (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  double sum = 0;

  for (guint i = 0; i < n_in; i++)
    sum += 2.0 * (double)loom_desc_count (&in[i]);
  return sum;
}

const LoomPrim loom_prim_grad_stats = { LOOM_PRIM_ROW ("grad_stats", CORE, 2),
                                        .doc = "Sum of squares of all gradients, and whether all are finite.",
                                        .purpose = "The norm of the gradients",
                                        LOOM_PRIM_ATTRS (LoomGradStatsAttrs, count_attrs),
                                        .sharding = loom_shard_grad_stats,
                                        .infer = infer_grad_stats,
                                        .flops = flops_per_operand };

static gboolean
infer_gate (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 2, why))
    return FALSE;
  if (in[0].rank != 0 || in[1].rank != 0 || in[0].dtype != in[1].dtype || !loom_dtype_is_float (in[0].dtype))
    return loom_prim_refuse (why, "both operands must be float scalars of one type");
  out[0] = out[1] = in[0];
  *n_out = 2;
  return TRUE;
}

const LoomPrim loom_prim_update_gate
    = { LOOM_PRIM_ROW ("update_gate", CORE, 2),
        .doc = "Whether a step may write: its numbers are finite, and no fault was raised.",
        .purpose = "The check of loss and gradients", .flags = LOOM_PRIM_GATE, .infer = infer_gate };

/* Operands: lists of n tensors each (p, g and `states` further ones), then the scalars. Results: p and the states. */
static gboolean
infer_step (int n, guint states, guint scalars, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
            char **why)
{
  guint lists = 2 + states;
  guint k = 0;

  if (!loom_prim_arity (n_in, lists * n + scalars, why))
    return FALSE;
  for (guint list = 0; list < lists; list++)
    {
      for (int i = 0; i < n; i++)
        {
          if (!loom_desc_same_shape (&in[i], &in[list * n + i]))
            return loom_prim_refuse (why, "parameter %d and its gradient or state differ in shape", i);
          if (list != 1)
            out[k++] = in[list * n + i];
        }
    }
  for (guint i = lists * n; i < n_in; i++)
    {
      if (in[i].rank != 0)
        return loom_prim_refuse (why, "operand %u must be a scalar", i);
    }
  if (in[n_in - 1].dtype != LOOM_I64)
    return loom_prim_refuse (why, "the step must be i64");
  *n_out = k;
  return TRUE;
}

/* The operand that a result overwrites: results are p and the states in order, operands have the gradients after p. The
 * attributes of every step begin with n. */
static guint
updates_list (const void *attrs, guint result)
{
  guint n = (guint) * (const int *)attrs;

  return result < n ? result : result + n;
}

static gboolean
infer_sgd (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomSgdAttrs *a = attrs;

  return infer_step (a->n, a->momentum ? 1 : 0, 7, n_in, in, out, n_out, why);
}

static const LoomAttr sgd_attrs[]
    = { LOOM_ATTR ("n", INT, LoomSgdAttrs, n), LOOM_ATTR ("momentum", FLAG, LoomSgdAttrs, momentum),
        LOOM_ATTR ("nesterov", FLAG, LoomSgdAttrs, nesterov), LOOM_ATTR ("maximize", FLAG, LoomSgdAttrs, maximize),
        LOOM_ATTR_LAST };

const LoomPrim loom_prim_sgd_step = { .name = "sgd_step",
                                      .doc = "Stochastic gradient descent on many tensors.",
                                      .tier = LOOM_TIER_CORE,
                                      LOOM_PRIM_ATTRS (LoomSgdAttrs, sgd_attrs),
                                      .sharding = loom_shard_step,
                                      .infer = infer_sgd,
                                      .flops = flops_per_operand,
                                      .updates = updates_list };

/* Operands: p and g of n tensors each, three scalars. Results: the new p in p's memory, the old p in g's memory, and
 * grad_stats of g. */
static gboolean
infer_sgd_logged (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  const LoomSgdLoggedAttrs *a = attrs;
  guint n = (guint)a->n;

  if (!loom_prim_arity (n_in, 2 * n + 3, why))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!loom_desc_same_shape (&in[i], &in[n + i]) || in[i].dtype != in[n + i].dtype)
      return loom_prim_refuse (why, "parameter %u and its gradient differ in shape or type", i);
  for (guint i = 2 * n; i < n_in; i++)
    if (in[i].rank != 0)
      return loom_prim_refuse (why, "operand %u must be a scalar", i);
  for (guint i = 0; i < 2 * n; i++)
    out[i] = in[i];
  out[2 * n] = out[2 * n + 1] = loom_desc_make (in[0].dtype, 0, NULL);
  *n_out = 2 * n + 2;
  return TRUE;
}

static const LoomAttr sgd_logged_attrs[]
    = { LOOM_ATTR ("n", INT, LoomSgdLoggedAttrs, n), LOOM_ATTR ("maximize", FLAG, LoomSgdLoggedAttrs, maximize),
        LOOM_ATTR_LAST };

/* The first results overwrite weights and gradients; the statistics have their own memory. */
static guint
updates_both (const void *attrs, guint result)
{
  const LoomSgdLoggedAttrs *a = attrs;

  return result < 2 * (guint)a->n ? result : LOOM_UPDATES_NOTHING;
}

const LoomPrim loom_prim_sgd_step_logged
    = { .name = "sgd_step_logged",
        .doc = "Stochastic gradient descent that reads each gradient once and keeps the old weight in its memory.",
        .purpose = "The optimizer's step",
        .tier = LOOM_TIER_CORE,
        LOOM_PRIM_ATTRS (LoomSgdLoggedAttrs, sgd_logged_attrs),
        .infer = infer_sgd_logged,
        .flops = flops_per_operand,
        .updates = updates_both };

static gboolean
infer_undo (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomUndoAttrs *a = attrs;
  guint n = (guint)a->n;

  if (!loom_prim_arity (n_in, 2 * n + 1, why))
    return FALSE;
  if (in[2 * n].rank != 0)
    return loom_prim_refuse (why, "operand %u must be a scalar", 2 * n);
  for (guint i = 0; i < n; i++)
    {
      if (!loom_desc_same_shape (&in[i], &in[n + i]) || in[i].dtype != in[n + i].dtype)
        return loom_prim_refuse (why, "parameter %u and its old value differ in shape or type", i);
      out[i] = in[i];
    }
  *n_out = n;
  return TRUE;
}

static guint
updates_first (const void *attrs, guint result)
{
  return result;
}

const LoomPrim loom_prim_undo_step = { .name = "undo_step",
                                       .doc = "Restores the old weights if a gradient is not finite.",
                                       .purpose = "The optimizer's step",
                                       .tier = LOOM_TIER_CORE,
                                       LOOM_PRIM_ATTRS (LoomUndoAttrs, count_attrs),
                                       .infer = infer_undo,
                                       .updates = updates_first };

static gboolean
infer_adam (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomAdamAttrs *a = attrs;

  return infer_step (a->n, a->amsgrad ? 3 : 2, 8, n_in, in, out, n_out, why);
}

static const LoomAttr adam_attrs[]
    = { LOOM_ATTR ("n", INT, LoomAdamAttrs, n), LOOM_ATTR ("decoupled", FLAG, LoomAdamAttrs, decoupled),
        LOOM_ATTR ("amsgrad", FLAG, LoomAdamAttrs, amsgrad), LOOM_ATTR ("maximize", FLAG, LoomAdamAttrs, maximize),
        LOOM_ATTR_LAST };

const LoomPrim loom_prim_adam_step = { .name = "adam_step",
                                       .doc = "Adam or AdamW on many tensors.",
                                       .tier = LOOM_TIER_CORE,
                                       LOOM_PRIM_ATTRS (LoomAdamAttrs, adam_attrs),
                                       .sharding = loom_shard_step,
                                       .infer = infer_adam,
                                       .flops = flops_per_operand,
                                       .updates = updates_list };

static gboolean
infer_other (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomStepAttrs *a = attrs;

  return infer_step (a->n, (guint)loom_step_states (a), (guint)loom_step_scalars (a) + 3, n_in, in, out, n_out, why);
}

static const LoomAttr step_attrs[] = { LOOM_ATTR ("n", INT, LoomStepAttrs, n),
                                       LOOM_ATTR (NULL, INT, LoomStepAttrs, kind),
                                       LOOM_ATTR ("momentum", FLAG, LoomStepAttrs, momentum),
                                       LOOM_ATTR ("centered", FLAG, LoomStepAttrs, centered),
                                       LOOM_ATTR ("decoupled", FLAG, LoomStepAttrs, decoupled),
                                       LOOM_ATTR ("maximize", FLAG, LoomStepAttrs, maximize),
                                       LOOM_ATTR_LAST };

#define STEP(name_, scalars)                                                                                           \
  const LoomPrim loom_prim_##name_##_step = { .name = #name_ "_step",                                                  \
                                              .doc = "A step of " #name_ " on many tensors.",                          \
                                              .tier = LOOM_TIER_CORE,                                                  \
                                              .attrs_size = sizeof (LoomStepAttrs),                                    \
                                              .sharding = loom_shard_step_by_kind,                                     \
                                              .infer = infer_other,                                                    \
                                              .attrs = step_attrs,                                                     \
                                              .flops = flops_per_operand,                                              \
                                              .updates = updates_list };
LOOM_STEPS (STEP)
