/* Custom function: forward and backward formulas of the user, like a torch.autograd.Function.
 *
 * The forward formulas become plain primitives, followed by custom_gradient, which replaces their gradient with the
 * backward formulas. Names of the forward pass that the backward formulas use are kept for them, like
 * save_for_backward of PyTorch. */
#include "engine/graph/loom-graph.h"
#include "engine/ops/family-formula.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("forward", STRING, "y = exp(x)"),
    .doc = "The forward statements, separated by semicolons. The last one is the result; names without a value are "
           "inputs." },
  { LOOM_PARAM ("backward", STRING, "x = grad * y"),
    .doc = "The gradient of each input, from grad (the gradient of the result), the inputs and the names of the "
           "forward pass." },
  { NULL },
};

static const LoomPortSpec *
inputs (const LoomElement *node)
{
  return loom_op_formula_ports (node, "forward");
}

typedef struct
{
  LoomFormula forward; /* out: the result, then all other names that have a value, in order */
  LoomCustomGradientAttrs gradient;
} Function;

/* A mistake and the parameter that contains it. */
static gboolean
read_forward (const char *text, Function *f, FormulaScope *in, FormulaScope *all, FormulaFault *fault)
{
  guint n_in;

  loom_op_formula_inputs (text, in, &f->forward, 0);
  loom_op_formula_inputs (text, all, &f->forward, 0);
  n_in = f->forward.n_in;
  if (formula_scope_find (in, "grad") >= 0)
    {
      fault->message = g_strdup ("“grad” exists only in the backward formulas, where it is the gradient of the result. "
                                 "Give the input another name.");
      return FALSE;
    }
  if (!formula_parse_statements (text, all, NULL, NULL, &f->forward, fault))
    return FALSE;
  /* The gradient and the result take a register each. */
  if (all->names->len + 1 > LOOM_FORMULA_MAX_IN)
    {
      fault->message = g_strdup_printf ("There are %u names, and a custom function may have %d.", all->names->len,
                                        LOOM_FORMULA_MAX_IN - 1);
      return FALSE;
    }
  f->forward.out[0] = g_array_index (all->registers, guint8, all->names->len - 1);
  f->forward.n_out = 1;
  for (guint i = n_in; i + 1 < all->names->len; i++)
    f->forward.out[f->forward.n_out++] = g_array_index (all->registers, guint8, i);
  return TRUE;
}

static gboolean
read_backward (const char *text, Function *f, const FormulaScope *in, const FormulaScope *all, FormulaFault *fault)
{
  LoomFormula *b = &f->gradient.backward;
  g_auto (FormulaScope) scope = { 0 }, targets = { 0 };
  const char *result = all->names->pdata[all->names->len - 1];
  g_autofree char *grad = g_strdup_printf ("grad_%s", result);

  formula_scope_init (&scope);
  formula_scope_init (&targets);
  formula_scope_add (&scope, "grad", 0);
  formula_scope_add (&scope, grad, 0);
  for (guint i = 0; i < all->names->len; i++)
    formula_scope_add (&scope, all->names->pdata[i], (guint8)(1 + i));
  b->n_in = 1 + all->names->len;
  f->gradient.n_inputs = b->n_out = in->names->len;
  if (!formula_parse_statements (text, &scope, in, &targets, b, fault))
    return FALSE;
  for (guint i = 0; i < in->names->len; i++)
    {
      const char *name = in->names->pdata[i];
      int reg = formula_scope_find (&targets, name);

      if (reg < 0)
        {
          fault->message
              = g_strdup_printf ("The backward formulas do not define the gradient of the input “%s”.", name);
          fault->fix = g_strdup_printf ("Add “; %s = 0” if no gradient flows there.", name);
          fault->text = g_strdup_printf ("%s; %s = 0", text, name);
          return FALSE;
        }
      b->out[i] = (guint8)reg;
    }
  return TRUE;
}

static gboolean
read_function (const char *forward, const char *backward, Function *f, FormulaFault *fault, const char **parameter)
{
  g_auto (FormulaScope) in = { 0 }, all = { 0 };

  formula_scope_init (&in);
  formula_scope_init (&all);
  *parameter = "forward";
  if (!read_forward (forward, f, &in, &all, fault))
    return FALSE;
  *parameter = "backward";
  return read_backward (backward, f, &in, &all, fault);
}

static gboolean
read_node (const LoomInfer *ctx, Function *f, FormulaFault *fault, const char **parameter)
{
  return read_function (loom_infer_string (ctx, "forward"), loom_infer_string (ctx, "backward"), f, fault, parameter);
}

static gboolean
check (const LoomElement *node, LoomOpReport report, gpointer data)
{
  g_auto (FormulaFault) fault = { 0 };
  Function f = { 0 };
  const char *forward = loom_op_formula_text (node, params), *backward = loom_op_formula_text (node, params + 1);
  const char *parameter;

  if (forward == NULL || backward == NULL || read_function (forward, backward, &f, &fault, &parameter))
    return FALSE;
  loom_op_formula_check_fault (report, data, parameter, &fault);
  return TRUE;
}

static void
infer (LoomInfer *ctx)
{
  g_auto (FormulaFault) fault = { 0 };
  Function f = { 0 };
  LoomShape shape;
  const char *parameter;

  if (!read_node (ctx, &f, &fault, &parameter))
    {
      loom_op_formula_fault (ctx, parameter, &fault);
      return;
    }
  if (loom_op_formula_shape (ctx, &f.forward, 0, f.forward.out[0], &shape))
    loom_infer_output (ctx, 0, LOOM_F32, &shape);
}

static void
lower (LoomLower *ctx)
{
  g_auto (FormulaFault) fault = { 0 };
  Function f = { 0 };
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, LOOM_F32);
  LoomValue in[LOOM_FORMULA_MAX_IN], out[LOOM_FORMULA_MAX_OUT], operand[2 * LOOM_FORMULA_MAX_IN];
  const char *parameter;
  guint n = 0;

  if (!read_node (loom_lower_infer (ctx), &f, &fault, &parameter))
    g_return_if_reached ();
  loom_op_formula_operands (ctx, &f.forward, 0, in);
  loom_formula_emit (p, &f.forward, dtype, in, out);
  for (guint k = 0; k < f.forward.n_out; k++)
    out[k] = loom_cast (p, out[k], dtype);
  operand[n++] = out[0];
  for (guint k = 0; k < f.forward.n_in; k++)
    operand[n++] = in[k];
  for (guint k = 1; k < f.forward.n_out; k++)
    operand[n++] = out[k];
  loom_lower_output (ctx, 0, loom_emit (p, loom_prim ("custom_gradient"), &f.gradient, n, operand, NULL));
}

static double
flops (const LoomInfer *ctx)
{
  g_auto (FormulaFault) fault = { 0 };
  Function f = { 0 };
  const char *parameter;

  read_node (ctx, &f, &fault, &parameter);
  return loom_op_output_count (ctx, 0) * f.forward.n_steps;
}

static char *
summary (const LoomInfer *ctx)
{
  return g_strdup (loom_infer_string (ctx, "forward"));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" } },
  { .params = "forward=t=exp(x);s=1+t;y=log(s) backward=x=grad*t/s", .inputs = { "f32:B,3" } },
  { .params = "forward=y=a*b+c backward=a=grad_y*b;b=grad_y*a;c=grad_y", .inputs = { "f32:B,3", "f32:3", "f32:B,1" } },
  { .params = "forward=y=x*x*x backward=q=x*x;x=3*grad*q", .inputs = { "f32:0" } },
  { .params = "forward=y=k*x backward=x=grad*k;k=0", .inputs = { "i64:3", "f32:2,3" }, .range = "class:4" },
  { NULL },
};

const LoomOp loom_op_custom_function = {
  .name = "custom_function",
  .title = "Custom function",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-custom_function-symbolic",
  .synonyms = "autograd formula own backward",
  .doc = "Computes a formula whose gradient you define.",
  .details = "Values named in the forward formulas can be used in the backward formulas: for y = exp(x) the gradient "
             "is grad * y. The gradient may differ from the true derivative on purpose, as in a straight-through "
             "estimator. “gradloom check --gradcheck” compares it with finite differences.",
  .formula = "y = f(x), ∂L/∂x = b(∂L/∂y, x, y)",
  .reference = "torch.autograd.Function",
  .inputs = loom_op_formula_fresh,
  .dynamic_inputs = inputs,
  .check = check,
  .more = formula_functions,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
  .summary = summary,
};
