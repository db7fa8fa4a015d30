/* Shares the ports, types and operands of the operators that read a formula; see family-formula.h. */
#include "engine/ops/family-formula.h"

#include "engine/graph/loom-expr.h"
#include "engine/graph/loom-graph.h"

const LoomPortSpec loom_op_formula_fresh[] = { { "x", "The value of a name in the formula." }, { NULL } };

const LoomPortSpec *
loom_op_formula_ports (const LoomElement *node, const char *parameter)
{
  const char *text = loom_element_get (node, parameter);

  return text != NULL ? formula_ports (text) : loom_op_formula_fresh;
}

void
loom_op_formula_inputs (const char *text, FormulaScope *scope, LoomFormula *formula, guint first)
{
  g_autoptr (GPtrArray) names = formula_free_names (text);
  guint n = MIN (names->len, LOOM_FORMULA_MAX_IN - first);

  for (guint i = 0; i < n; i++)
    formula_scope_add (scope, names->pdata[i], (guint8)(first + i));
  formula->n_in = first + n;
}

const char *
loom_op_formula_text (const LoomElement *node, const LoomParamSpec *param)
{
  const char *text = loom_element_get (node, param->name);

  if (text == NULL)
    return param->def;
  return loom_expr_is (text) ? NULL : text;
}

static void
set_fix (LoomFault *f, const char *parameter, const FormulaFault *fault)
{
  if (fault->fix != NULL)
    loom_fault_set_fix (f, parameter, fault->text, "%s", fault->fix);
}

void
loom_op_formula_check_fault (LoomOpReport report, gpointer data, const char *parameter, const FormulaFault *fault)
{
  set_fix (report (data, parameter, fault->message), parameter, fault);
}

void
loom_op_formula_fault (LoomInfer *ctx, const char *parameter, const FormulaFault *fault)
{
  set_fix (loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, parameter, "%s", fault->message), parameter, fault);
}

gboolean
loom_op_formula_shape (LoomInfer *ctx, const LoomFormula *formula, guint first, guint reg, LoomShape *shape)
{
  g_autofree LoomShape *of = g_new0 (LoomShape, formula->n_in + formula->n_steps + 1);

  for (guint i = first; i < formula->n_in && i - first < loom_infer_n_inputs (ctx); i++)
    of[i] = loom_infer_input (ctx, i - first)->shape;
  for (guint k = 0; k < formula->n_steps; k++)
    {
      const LoomElementwiseStep *step = formula->step + k;
      LoomShape *to = of + formula->n_in + k;

      for (int i = 0; i < loom_scalar_arity (step->op); i++)
        {
          LoomShape sum = *to;

          if (!loom_shape_broadcast (&sum, of + step->arg[i], to))
            {
              g_autofree char *a = loom_shape_to_string (&sum), *b = loom_shape_to_string (of + step->arg[i]);

              loom_infer_fault (ctx, LOOM_ERROR_SHAPE, NULL,
                                "The formula combines %s and %s (%s), which do not broadcast: counted from the right, "
                                "each pair of sizes must be equal or one of them 1.",
                                a, b, loom_scalar_name (step->op));
              return FALSE;
            }
        }
    }
  *shape = of[reg];
  return TRUE;
}

void
loom_op_formula_operands (LoomLower *ctx, const LoomFormula *formula, guint first, LoomValue *in)
{
  LoomProgram *p = loom_lower_program (ctx);

  for (guint i = first; i < formula->n_in; i++)
    {
      in[i] = loom_lower_input (ctx, i - first);
      if (!loom_dtype_is_float (loom_op_desc (ctx, in[i]).dtype))
        in[i] = loom_cast (p, in[i], loom_op_dtype (ctx, LOOM_F32));
    }
}
