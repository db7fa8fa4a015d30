/* Connectionist temporal classification, as torch.nn.functional.ctc_loss (Graves et al. 2006).
 *
 * A target of S labels is extended by blanks to 2·S + 1 states: blank, first label, blank, … The forward variable α of
 * a state is the logarithm of the probability of all alignments that end there, and one loop over the steps computes
 * α of all states: from the same state, the state before, and, between different labels, the label before. */
#include "engine/ops/op-private.h"

#include <inttypes.h>
#include <math.h>

static const LoomPortSpec inputs[] = {
  { "log_probs", "Logarithms of the probabilities of the classes [steps, batch, classes], as log_softmax returns them.",
    LOOM_PORT_PREDICTION },
  { "targets", "The labels of each sample, without blanks [batch, labels]; those after its length are not read.",
    LOOM_PORT_TARGET },
  { "input_lengths", "The number of valid steps of each sample, i64 [batch]; if not wired, all.", LOOM_PORT_OPTIONAL },
  { "target_lengths", "The number of labels of each sample, i64 [batch]; if not wired, all.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("blank", INT, "0"), LOOM_RANGE (0, 1e9), .doc = "The class that stands for no label." },
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("zero_infinity", BOOL, "false"),
    .doc = "Whether the loss of a sample with fewer steps than its labels need is 0 instead of infinite.",
    .advanced = TRUE },
  { NULL },
};

/* log 0: finite, so that differences of two are not NaN. */
#define LOG_ZERO -1e30
/* Losses above it are those of impossible alignments. */
#define IMPOSSIBLE 1e29

static gboolean
check_lengths (LoomInfer *ctx, guint i, const char *port, LoomDim batch)
{
  const LoomType *have = loom_infer_input (ctx, i);
  LoomShape want = { .rank = 1, .dim = { batch } };
  g_autofree char *given = NULL;

  if (have == NULL)
    return TRUE;
  if (!loom_op_needs_int (ctx, i, port))
    return FALSE;
  if (loom_shape_compatible (&have->shape, &want))
    return TRUE;
  given = loom_shape_to_string (&have->shape);
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "%s is one integer for each sample, but got %s.", port, given);
  return FALSE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *targets = loom_infer_input (ctx, 1);
  gint64 blank = loom_infer_int (ctx, "blank");
  LoomShape each = { .rank = 1 };

  if (!loom_op_rank (ctx, 0, "log_probs", 3, 3, "logarithms of probabilities, steps × batch × classes",
                     "Put a permute before it.")
      || !loom_op_needs_float (ctx, 0, "log_probs", NULL)
      || !loom_op_rank (ctx, 1, "targets", 2, 2, "labels, batch × labels", "Put a reshape before it.")
      || !loom_op_needs_int (ctx, 1, "targets"))
    return;
  each.dim[0] = x->shape.dim[1];
  if (!loom_dim_compatible (targets->shape.dim[0], each.dim[0]))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "targets",
                        "The second dimension of log_probs counts samples, as the "
                        "first of targets does, but they differ.");
      return;
    }
  if (loom_dim_is_known (x->shape.dim[0]) && x->shape.dim[0].coef == 0)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "log_probs", "ctc_loss needs at least one step.");
  else if (loom_dim_is_known (x->shape.dim[2]) && blank >= x->shape.dim[2].coef)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "blank", "There is no class %" PRId64 " among %" PRId64 " classes.", blank,
                      x->shape.dim[2].coef);
  else if (check_lengths (ctx, 2, "input_lengths", each.dim[0])
           && check_lengths (ctx, 3, "target_lengths", each.dim[0]))
    loom_op_infer_loss (ctx, x->dtype, &each);
}

/* ---- lowering ------------------------------------------------------------------ */

typedef struct
{
  gint64 steps, batch, states;
  LoomDType dtype;
} Sizes;

/* log (eᵃ + eᵇ + eᶜ) without overflow; c may be 0. The derivative of the maximum cancels. */
static LoomValue
log_sum (LoomProgram *p, LoomValue a, LoomValue b, LoomValue c)
{
  LoomValue most = loom_binary (p, LOOM_SCALAR_MAX, a, b), sum;

  if (c != 0)
    most = loom_binary (p, LOOM_SCALAR_MAX, most, c);
  most = loom_detach (p, most);
  sum = loom_binary (p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, a, most)),
                     loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, b, most)));
  if (c != 0)
    sum = loom_binary (p, LOOM_SCALAR_ADD, sum,
                       loom_unary (p, LOOM_SCALAR_EXP, loom_binary (p, LOOM_SCALAR_SUB, c, most)));
  return loom_binary (p, LOOM_SCALAR_ADD, most, loom_unary (p, LOOM_SCALAR_LOG, sum));
}

/* v [batch, states] with `by` states of log 0 before it and as many removed at the end. */
static LoomValue
shifted (LoomProgram *p, LoomValue v, gint64 by)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;

  if (by >= d.dim[1])
    return loom_fill (p, d.dtype, 2, d.dim, LOG_ZERO);
  v = loom_slice (p, v, (gint64[]){ 0, 0 }, (gint64[]){ 1, 1 }, (gint64[]){ d.dim[0], d.dim[1] - by });
  return loom_pad (p, v, (gint64[]){ 0, by }, (gint64[]){ 1, 1 }, d.dim, LOG_ZERO);
}

/* One step. Carried: α [batch, states]. Sequences: log-probabilities of the states, and the index of the step. Whole:
 * 0 or log 0 for each state that the label before it leads to, and the samples' numbers of steps. */
static LoomProgram *
body_new (LoomLower *ctx, const Sizes *s)
{
  LoomProgram *p = loom_program_new (), *outer = loom_lower_program (ctx);
  const gint64 dims[2] = { s->batch, s->states }, column[2] = { s->batch, 1 };
  const char *origin, *device;
  LoomValue alpha, emitted, step, skip, lengths, next;

  loom_program_get_origin (outer, &origin, &device);
  loom_program_set_float (p, loom_program_get_float (outer));
  loom_program_set_tf32 (p, loom_program_get_tf32 (outer));
  loom_program_set_origin (p, origin, device);
  alpha = loom_program_input (p, "alpha", s->dtype, 2, dims);
  emitted = loom_program_input (p, "log_probs", s->dtype, 2, dims);
  step = loom_program_input (p, "step", LOOM_I64, 0, NULL);
  skip = loom_program_input (p, "skip", s->dtype, 2, dims);
  lengths = loom_program_input (p, "input_lengths", LOOM_I64, 2, column);
  next = log_sum (p, alpha, shifted (p, alpha, 1), loom_binary (p, LOOM_SCALAR_ADD, shifted (p, alpha, 2), skip));
  next = loom_binary (p, LOOM_SCALAR_ADD, next, emitted);
  loom_program_output (
      p, "alpha", loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_LT, step, lengths), next, alpha));
  return p;
}

/* The classes of the states, [batch, states]: blank, label, blank, … */
static LoomValue
states_of (LoomProgram *p, LoomValue targets, gint64 labels, gint64 blank, const Sizes *s)
{
  return loom_pad (p, loom_reshape (p, targets, 2, (gint64[]){ s->batch, labels }), (gint64[]){ 0, 1 },
                   (gint64[]){ 1, 2 }, (gint64[]){ s->batch, s->states }, (double)blank);
}

/* 0 for a label that differs from the label before it, else log 0: only between such labels is the blank optional. */
static LoomValue
skips_of (LoomProgram *p, LoomValue states, const Sizes *s, gint64 blank)
{
  LoomValue before, differs;
  const gint64 dims[2] = { s->batch, s->states };

  if (s->states < 3)
    return loom_fill (p, s->dtype, 2, dims, LOG_ZERO);
  before = loom_slice (p, states, (gint64[]){ 0, 0 }, (gint64[]){ 1, 1 }, (gint64[]){ s->batch, s->states - 2 });
  before = loom_pad (p, before, (gint64[]){ 0, 2 }, (gint64[]){ 1, 1 }, dims, (double)blank);
  differs = loom_binary (p, LOOM_SCALAR_AND, loom_binary (p, LOOM_SCALAR_NE, states, before),
                         loom_binary (p, LOOM_SCALAR_NE, states, loom_const (p, LOOM_I64, (double)blank)));
  return loom_ternary (p, LOOM_SCALAR_SELECT, differs, loom_const (p, s->dtype, 0), loom_const (p, s->dtype, LOG_ZERO));
}

static LoomValue
lengths_of (LoomLower *ctx, guint port, gint64 batch, gint64 all)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue v = loom_lower_input (ctx, port);
  const gint64 column[2] = { batch, 1 };

  if (v == 0)
    return loom_fill (p, LOOM_I64, 2, column, (double)all);
  v = loom_cast (p, v, LOOM_I64);
  v = loom_require (p, v,
                    loom_binary (p, LOOM_SCALAR_AND, loom_binary (p, LOOM_SCALAR_GE, v, loom_const (p, LOOM_I64, 0)),
                                 loom_binary (p, LOOM_SCALAR_LE, v, loom_const (p, LOOM_I64, (double)all))),
                    port == 2 ? "an input length is not between 0 and the number of steps"
                              : "a target length is not between 0 and the number of labels");
  return loom_reshape (p, v, 2, column);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx), *body;
  LoomValue x = loom_op_loss_input (ctx, 0), targets = loom_cast (p, loom_lower_input (ctx, 1), LOOM_I64);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 labels = loom_op_desc (ctx, targets).dim[1], blank = loom_infer_int (infer_ctx, "blank");
  Sizes s = { .steps = d.dim[0], .batch = d.dim[1], .states = 2 * labels + 1, .dtype = d.dtype };
  LoomValue input_lengths = lengths_of (ctx, 2, s.batch, s.steps), counts = lengths_of (ctx, 3, s.batch, labels);
  LoomScanAttrs attrs
      = { .length = s.steps, .n_carried = 1, .n_sequences = 2, .recompute = loom_lower_is_recomputed (ctx) };
  LoomValue states, index, in[5], alpha, last, before, loss, infinite;

  /* Labels after a sample's length may be anything; they are read as blanks. */
  targets = loom_ternary (p, LOOM_SCALAR_SELECT,
                          loom_binary (p, LOOM_SCALAR_LT, loom_op_iota_along (p, LOOM_I64, 2, 1, labels, 0, 1), counts),
                          targets, loom_const (p, LOOM_I64, (double)blank));
  states = states_of (p, targets, labels, blank, &s);
  index = loom_reshape (p, states, 3, (gint64[]){ 1, s.batch, s.states });
  index = loom_expand_to (p, index, 3, (gint64[]){ s.steps, s.batch, s.states });
  in[1] = loom_binary (p, LOOM_SCALAR_MAX, loom_gather (p, x, index, 2), loom_const (p, s.dtype, LOG_ZERO));
  in[2] = loom_op_iota_along (p, LOOM_I64, 1, 0, s.steps, 0, 1);
  in[3] = skips_of (p, states, &s, blank);
  in[4] = input_lengths;
  /* Before the first step all of the probability is on a state before the first, which state 0 takes by 0 and state 1
   * by the shift. */
  in[0] = loom_pad (p, loom_fill (p, s.dtype, 2, (gint64[]){ s.batch, 1 }, 0), (gint64[]){ 0, 0 }, (gint64[]){ 1, 1 },
                    (gint64[]){ s.batch, s.states }, LOG_ZERO);
  body = attrs.body = body_new (ctx, &s);
  alpha = loom_emit (p, loom_prim ("scan"), &attrs, 5, in, NULL);
  loom_program_unref (body);
  /* An alignment ends in the last label or in the blank after it. */
  index = loom_binary (p, LOOM_SCALAR_MUL, counts, loom_const (p, LOOM_I64, 2));
  last = loom_gather (p, alpha, index, 1);
  before = loom_binary (p, LOOM_SCALAR_MAX, loom_binary (p, LOOM_SCALAR_SUB, index, loom_const (p, LOOM_I64, 1)),
                        loom_const (p, LOOM_I64, 0));
  before = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GT, counts, loom_const (p, LOOM_I64, 0)),
                         loom_gather (p, alpha, before, 1), loom_const (p, s.dtype, LOG_ZERO));
  loss = loom_unary (p, LOOM_SCALAR_NEG, log_sum (p, last, before, 0));
  infinite = loom_binary (p, LOOM_SCALAR_GT, loss, loom_const (p, s.dtype, IMPOSSIBLE));
  loss = loom_ternary (p, LOOM_SCALAR_SELECT, infinite,
                       loom_const (p, s.dtype, loom_infer_bool (infer_ctx, "zero_infinity") ? 0 : INFINITY), loss);
  /* As in PyTorch, the mean over samples is of losses divided by their number of labels. */
  if (g_str_equal (loom_infer_string (infer_ctx, "reduction"), "mean"))
    loss = loom_binary (p, LOOM_SCALAR_DIV, loss,
                        loom_cast (p, loom_binary (p, LOOM_SCALAR_MAX, counts, loom_const (p, LOOM_I64, 1)), s.dtype));
  loom_op_output_loss (ctx, loom_reshape (p, loss, 1, &s.batch));
}

static double
flops (const LoomInfer *ctx)
{
  const LoomShape *x = &loom_infer_input (ctx, 0)->shape;

  return (double)x->dim[0].coef * (double)x->dim[1].coef
         * (2.0 * (double)loom_infer_input (ctx, 1)->shape.dim[1].coef + 1) * 12;
}

static const LoomSample samples[] = {
  { .inputs = { "f32:T,B,4", "i64:B,2" }, .range = "class:4" },
  { .params = "reduction=sum blank=3 zero_infinity=true",
    .inputs = { "f32:6,2,4", "i64:2,2", "i64:2", "i64:2" },
    .range = "class:3" },
  { .params = "reduction=none zero_infinity=true", .inputs = { "f32:3,2,3", "i64:2,4" }, .range = "class:3" },
  { .params = "reduction=none", .inputs = { "f32:4,1,3", "i64:1,1" }, .range = "class:3" },
  { NULL },
};

const LoomOp loom_op_ctc_loss = {
  .name = "ctc_loss",
  .title = "CTC loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-cross-entropy-symbolic",
  .synonyms = "connectionist temporal classification speech handwriting",
  .doc = "Computes the negative log-probability of a label sequence, summed over all its alignments to the steps.",
  .details
  = "For speech and handwriting: the network predicts a class or a blank at each step, and the loss needs no positions "
    "of the labels. Repeated classes without a blank between them count as one label. A sample with fewer steps than "
    "labels, plus one for each repeated label, has an infinite loss.",
  .formula = "L = −ln Σ over alignments of Π pₜ(label at t)",
  .reference = "torch.nn.CTCLoss",
  .source = "Graves, Fernández, Gomez and Schmidhuber, “Connectionist Temporal Classification”, ICML 2006",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
