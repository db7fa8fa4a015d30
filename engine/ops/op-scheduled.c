/* Scheduled value: a number that changes during training and is constant in evaluation.
 *
 * The trainer computes it before each step (engine/recipe) and sets the slot PATH.value, so the plan is unchanged. */
#include "engine/ops/op-private.h"

static const char *const kinds[] = { "linear", "exponential", "inverse_sigmoid", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("kind", ENUM, "linear"), .choices = kinds,
    .doc = "The schedule from start to end: linear, exponential (k to the power of the step) or inverse sigmoid (k / "
           "(k + e^(step / k)))." },
  { LOOM_PARAM ("start", FLOAT, "1"), .doc = "The value at step 0." },
  { LOOM_PARAM ("end", FLOAT, "0"), .doc = "The value that it approaches." },
  { LOOM_PARAM ("steps", INT, "0"), LOOM_RANGE (0, 1e12), .unit = "steps",
    .doc = "The number of training steps of the linear schedule, after which the value is end; 0: all steps of the "
           "training." },
  { LOOM_PARAM ("k", FLOAT, ""), LOOM_RANGE (0, 1e12),
    .doc = "The rate of the schedule: below 1 for exponential (0.999 halves the distance in about 700 steps), 1 or "
           "more for inverse_sigmoid (half of the distance after about k · ln k steps)." },
  { LOOM_PARAM ("evaluation", FLOAT, ""), .doc = "The value in evaluation; if not set, start." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const char *kind = loom_infer_string (ctx, "kind");
  gboolean exponential = g_str_equal (kind, "exponential");
  LoomShape scalar = { 0 };

  if (!g_str_equal (kind, "linear") && !loom_infer_is_set (ctx, "k"))
    loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "k", "kind=\"%s\" needs the rate k, for example k=\"%s\".", kind,
                      exponential ? "0.999" : "200");
  else if (!g_str_equal (kind, "linear")
           && (exponential ? loom_infer_float (ctx, "k") >= 1 : loom_infer_float (ctx, "k") < 1))
    loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "k", "k is %g; kind=\"%s\" takes one %s.", loom_infer_float (ctx, "k"),
                      kind, exponential ? "below 1" : "from 1 on");
  else
    loom_infer_output (ctx, 0, LOOM_F32, &scalar);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_of = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  double start = loom_infer_float (infer_of, "start");

  if (loom_lower_is_training (ctx))
    loom_lower_output (ctx, 0, loom_lower_scalar (ctx, LOOM_SCHEDULED, start));
  else
    loom_lower_output (
        ctx, 0,
        loom_const (p, loom_program_get_float (p),
                    loom_infer_is_set (infer_of, "evaluation") ? loom_infer_float (infer_of, "evaluation") : start));
}

static char *
summary (const LoomInfer *ctx)
{
  return g_strdup_printf ("%s · %g → %g", loom_infer_string (ctx, "kind"), loom_infer_float (ctx, "start"),
                          loom_infer_float (ctx, "end"));
}

static const LoomSample samples[] = {
  { .params = "steps=100" },
  { .params = "kind=inverse_sigmoid k=50 evaluation=0.5" },
  { NULL },
};

const LoomOp loom_op_scheduled = {
  .name = "scheduled",
  .title = "Scheduled value",
  .category = LOOM_CATEGORY_TRAINING,
  .icon = "loom-scheduled-symbolic",
  .synonyms = "teacher forcing scheduled sampling annealing warm-up probability curriculum temperature beta",
  .doc = "Returns a number that changes during training.",
  .details = "It changes from start to end with the training steps, and is the same for every sample of a batch. "
             "Compared with a random number it implements scheduled sampling, in which a decoder reads the target "
             "token with a decreasing probability; it can also weight a term of the loss, or be a temperature. In "
             "evaluation it is the number evaluation.",
  .formula = "y = end + (start − end) · f(step),  f = max(1 − step/steps, 0), kˢᵗᵉᵖ, k / (k + e^(step/k))",
  .reference = "torch.optim.lr_scheduler.LambdaLR, for learning rates",
  .source = "Bengio, Vinyals, Jaitly and Shazeer, “Scheduled sampling for sequence prediction with recurrent neural "
            "networks”, NeurIPS 2015",
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
  .summary = summary,
};
