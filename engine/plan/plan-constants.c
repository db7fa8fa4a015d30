/* Folds constants: finds values whose elements are all one number that is known at planning. Element-wise instructions
 * take the number as an immediate; if a kernel needs the bytes, one fill writes them. */
#include "engine/core/loom-tensor.h"
#include "engine/plan/plan-private.h"

#include <math.h>

/* x as a fill stores it in an integer type, or in 16 bits, where each result of an operation is rounded. Literals are
 * in f32 (loom_const). */
static double
as_stored (double x, LoomDType dtype)
{
  switch (dtype)
    {
    case LOOM_BF16:
      return loom_bfloat_to_float (loom_bfloat_from_float ((float)x));
    case LOOM_F16:
      return loom_half_to_float (loom_half_from_float ((float)x));
    case LOOM_BOOL:
      return x != 0;
    case LOOM_U8:
      return (guint8)(gint64)x;
    case LOOM_I32:
      return (gint32)(gint64)x;
    case LOOM_I64:
      return trunc (x);
    default:
      return x;
    }
}

/* Marks results whose elements are all one number. */
static void
find_uniform (PlanGraph *g, const PlanNode *instr)
{
  PlanValue *out = graph_value (g, node_out (instr, 0));

  if (instr->out->len != 1)
    return;
  if (instr->steps != NULL && loom_dtype_is_float (out->desc.dtype))
    {
      const PlanStep *step = node_step (instr, 0);
      double x[3] = { 0 };

      for (int i = 0; i < loom_scalar_arity (step->op); i++)
        {
          const PlanValue *arg = graph_value (g, step->arg[i]);

          if (!arg->is_uniform)
            return;
          x[i] = arg->uniform;
        }
      out->is_uniform = TRUE;
      out->uniform = as_stored (loom_scalar_value (step->op, x[0], x[1], x[2], step->imm), out->desc.dtype);
    }
  else if (instr->steps == NULL && instr->prim->constant != NULL)
    {
      out->is_uniform = TRUE;
      out->uniform = as_stored (instr->prim->constant (instr->attrs), out->desc.dtype);
    }
  else if (instr->steps == NULL && (instr->prim->flags & LOOM_PRIM_REARRANGES) && loom_dtype_is_float (out->desc.dtype))
    {
      const PlanValue *in = graph_value (g, node_in (instr, 0));

      out->is_uniform = in->is_uniform;
      out->uniform = in->uniform;
    }
}

/* Replaces the computation of a uniform value by one fill. */
static void
make_fill (PlanGraph *g, PlanNode *instr)
{
  const PlanValue *out = graph_value (g, node_out (instr, 0));
  LoomFillTo fill = { .kernel.value = out->uniform, .dtype = out->desc.dtype, .to.rank = out->desc.rank };

  for (int r = 0; r < out->desc.rank; r++)
    fill.to.dim[r] = out->desc.dim[r];
  while (instr->in->len > 0)
    graph_drop_in (g, instr, instr->in->len - 1);
  instr->prim = loom_prim ("fill");
  g_free (instr->attrs);
  instr->attrs = g_memdup2 (&fill, sizeof fill);
  g_clear_pointer (&instr->steps, g_array_unref);
  g_string_assign (instr->label, "fill");
}

/* Replaces uniform operands with immediates. Every back end has these scalar operations, so no device is queried. */
static void
inline_operands (PlanGraph *g, PlanNode *instr)
{
  for (guint s = 0; s < instr->steps->len; s++)
    for (int k = 0; k < loom_scalar_arity (node_step (instr, s)->op); k++)
      {
        guint v = node_step (instr, s)->arg[k];
        PlanStep constant = { .op = LOOM_SCALAR_CONST };

        if (!graph_value (g, v)->is_uniform)
          continue;
        constant.imm = graph_value (g, v)->uniform;
        constant.result = graph_value_like (g, v);
        node_step (instr, s)->arg[k] = constant.result;
        g_array_insert_val (instr->steps, s, constant);
        s++;
        for (guint x = 0; x < instr->in->len;)
          if (node_in (instr, x) == v)
            graph_drop_in (g, instr, x);
          else
            x++;
      }
}

void
pass_fold_constants (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      find_uniform (g, instr);
      if (instr->out->len == 1 && graph_value (g, node_out (instr, 0))->is_uniform)
        {
          if (instr->steps != NULL || instr->prim->constant == NULL)
            make_fill (g, instr);
        }
      else if (instr->steps != NULL)
        inline_operands (g, instr);
    }
}
