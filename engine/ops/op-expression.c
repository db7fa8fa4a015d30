/* Expression: a formula of the user, element by element. Its free names are the inputs of the node. */
#include "engine/graph/loom-graph.h"
#include "engine/ops/family-formula.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("formula", STRING, "x * sigmoid(x)"),
    .doc = "The formula, such as x * sigmoid(beta * x); every name that is not a function becomes an input." },
  { NULL },
};

static const LoomPortSpec *
inputs (const LoomElement *node)
{
  return loom_op_formula_ports (node, "formula");
}

static gboolean
read_formula (const char *text, LoomFormula *formula, FormulaFault *fault)
{
  g_auto (FormulaScope) scope = { 0 };
  int reg;

  formula_scope_init (&scope);
  loom_op_formula_inputs (text, &scope, formula, 0);
  reg = formula_parse (text, &scope, formula, fault);
  if (reg < 0)
    return FALSE;
  formula->n_out = 1;
  formula->out[0] = (guint8)reg;
  return TRUE;
}

static gboolean
check (const LoomElement *node, LoomOpReport report, gpointer data)
{
  g_auto (FormulaFault) fault = { 0 };
  LoomFormula formula = { 0 };
  const char *text = loom_op_formula_text (node, params);

  if (text == NULL || read_formula (text, &formula, &fault))
    return FALSE;
  loom_op_formula_check_fault (report, data, "formula", &fault);
  return TRUE;
}

static void
infer (LoomInfer *ctx)
{
  g_auto (FormulaFault) fault = { 0 };
  LoomFormula formula = { 0 };
  LoomShape shape;

  if (!read_formula (loom_infer_string (ctx, "formula"), &formula, &fault))
    {
      loom_op_formula_fault (ctx, "formula", &fault);
      return;
    }
  if (loom_op_formula_shape (ctx, &formula, 0, formula.out[0], &shape))
    loom_infer_output (ctx, 0, loom_formula_is_bool (&formula, formula.out[0]) ? LOOM_BOOL : LOOM_F32, &shape);
}

static void
lower (LoomLower *ctx)
{
  g_auto (FormulaFault) fault = { 0 };
  LoomFormula formula = { 0 };
  LoomValue in[LOOM_FORMULA_MAX_IN], out;

  if (!read_formula (loom_infer_string (loom_lower_infer (ctx), "formula"), &formula, &fault))
    g_return_if_reached ();
  loom_op_formula_operands (ctx, &formula, 0, in);
  loom_formula_emit (loom_lower_program (ctx), &formula, loom_op_dtype (ctx, LOOM_F32), in, &out);
  if (!loom_formula_is_bool (&formula, formula.out[0]))
    out = loom_cast (loom_lower_program (ctx), out, loom_op_dtype (ctx, LOOM_F32));
  loom_lower_output (ctx, 0, out);
}

static double
flops (const LoomInfer *ctx)
{
  g_auto (FormulaFault) fault = { 0 };
  LoomFormula formula = { 0 };

  read_formula (loom_infer_string (ctx, "formula"), &formula, &fault);
  return loom_op_output_count (ctx, 0) * formula.n_steps;
}

static char *
summary (const LoomInfer *ctx)
{
  return g_strdup (loom_infer_string (ctx, "formula"));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" } },
  { .params = "formula=x*sigmoid(beta*x)", .inputs = { "f32:B,3", "f32:3" } },
  { .params = "formula=where(a>b,a,2*b)+c", .inputs = { "f32:B,1", "f32:1,3", "f32:" }, .range = "distinct" },
  { .params = "formula=(a>0)+(a>1)*2", .inputs = { "f32:2,3" }, .range = "away0" },
  { .params = "formula=a>b", .inputs = { "f32:2,3", "f32:3" } },
  { .params = "formula=log(x)/x**2-x**y", .inputs = { "f32:B", "f32:B" }, .range = "positive" },
  { .params = "formula=softplus(x)+silu(x)+mish(x)+gelu(x)+erf(x)", .inputs = { "f32:T" } },
  { .params = "formula=n*x", .inputs = { "i64:3", "f32:2,3" }, .range = "class:4" },
  { .params = "formula=2*pi", .inputs = { NULL } },
  { .params = "formula=exp(-x**2)", .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_expression = {
  .name = "expression",
  .title = "Expression",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-expression-symbolic",
  .synonyms = "formula function own",
  .usual = TRUE,
  .doc = "Computes a formula that you type, element by element.",
  .details
  = "Each name in the formula becomes an input. Numbers, pi and e, + - * / // % **, comparisons, and/or/not, “a if c "
    "else b” and functions under PyTorch’s names (exp, log, tanh, sigmoid, relu, gelu, silu, softplus, clamp, where, "
    "min, max …) can be used. The derivative is computed automatically. Integers are converted to floats.",
  .formula = "y = f(x, …)",
  .reference = "functions of torch and torch.nn.functional",
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
