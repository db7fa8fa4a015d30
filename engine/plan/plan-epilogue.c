/* Fuses the bias and the activation after a product or a convolution into its epilogue.
 *
 * The time of a small network's step is proportional to the number of kernels, that of a large one to the memory
 * traffic of element-wise kernels; fusion reduces both. It runs after differentiation, so a value that the backward
 * pass reads has a second reader and is not fused away. */
#include "engine/plan/plan-private.h"

/* TRUE if v holds one number per output column (of a product) or channel (of a convolution): n elements on the given
 * axis counted from the end, 1 elsewhere. */
static gboolean
is_bias_shape (const LoomTensorDesc *d, gint64 n, int axis_from_end)
{
  if (d->rank <= axis_from_end)
    return FALSE;
  for (int i = 0; i < d->rank; i++)
    if (d->dim[i] != (i == d->rank - 1 - axis_from_end ? n : 1))
      return FALSE;
  return TRUE;
}

/* Gives the result of `consumer` to `instr` and erases the consumer. */
static void
take_result (PlanGraph *g, PlanNode *instr, PlanNode *consumer)
{
  graph_set_out (g, instr, 0, node_out (consumer, 0));
  g_string_append_printf (instr->label, "+%s", consumer->label->str);
  graph_erase (g, consumer);
}

/* After a 16-bit float only activations that commute with rounding are fused, so that a product has the same bits with
 * its activation and without: the backward pass may recompute it without. */
static gboolean
is_epilogue_activation (LoomScalarOp op, LoomDType dtype)
{
  if (dtype == LOOM_BF16 || dtype == LOOM_F16)
    return op == LOOM_SCALAR_RELU;
  return op == LOOM_SCALAR_RELU || op == LOOM_SCALAR_SIGMOID || op == LOOM_SCALAR_TANH || op == LOOM_SCALAR_GELU
         || op == LOOM_SCALAR_GELU_TANH;
}

/* v as a vector of n numbers, the shape in which kernels take a bias. */
static guint
as_vector (PlanGraph *g, guint v, gint64 n)
{
  LoomTensorDesc vector = { .dtype = graph_value (g, v)->desc.dtype, .rank = 1, .dim = { n } };
  guint flat;

  if (graph_value (g, v)->desc.rank == 1)
    return v;
  flat = graph_new_value (g, &vector, graph_value (g, v));
  graph_set_alias (g, flat, v);
  return flat;
}

/* TRUE if the device has the instruction with its current attributes, a bias (0: its own or none) and the result of its
 * reader. */
static gboolean
has_fused_kernel (PlanGraph *g, const PlanNode *instr, guint bias, guint result)
{
  guint in[3] = { node_in (instr, 0), node_in (instr, 1),
                  bias != 0            ? bias
                  : instr->in->len > 2 ? node_in (instr, 2)
                                       : 0 };

  return graph_has_kernel (g, instr, in[2] != 0 ? 3 : 2, in, 1, &result);
}

/* Fuses the only reader of the instruction into it: a bias first, then an activation. channels: the axis of the bias,
 * counted from the end. */
static void
fuse_epilogue (PlanGraph *g, PlanNode *instr, int channels, bool *has_bias, LoomScalarOp *act)
{
  while (*act == LOOM_SCALAR_ID)
    {
      guint v = node_out (instr, 0), other;
      PlanNode *next = graph_only_reader (g, v, TRUE);
      const LoomTensorDesc *d = &graph_value (g, v)->desc;
      gint64 n = d->dim[d->rank - 1 - channels];
      const PlanStep *step;

      if (next == NULL || next->steps == NULL || next->steps->len != 1 || next->device_name != instr->device_name)
        return;
      step = node_step (next, 0);
      if (!plan_same_dims (&graph_value (g, node_out (next, 0))->desc, d)
          || graph_value (g, node_out (next, 0))->desc.dtype != d->dtype)
        return;
      if (loom_scalar_arity (step->op) == 1 && step->arg[0] == v && is_epilogue_activation (step->op, d->dtype))
        {
          *act = step->op;
          if (has_fused_kernel (g, instr, 0, node_out (next, 0)))
            take_result (g, instr, next);
          else
            *act = LOOM_SCALAR_ID;
          return;
        }
      if (*has_bias || step->op != LOOM_SCALAR_ADD || (step->arg[0] != v && step->arg[1] != v))
        return;
      other = step->arg[0] == v ? step->arg[1] : step->arg[0];
      if (graph_value (g, other)->is_uniform || graph_value (g, other)->desc.dtype != d->dtype
          || !is_bias_shape (&graph_value (g, other)->desc, n, channels) || !graph_is_ready (g, other, instr))
        return;
      other = as_vector (g, other, n);
      *has_bias = true;
      if (!has_fused_kernel (g, instr, other, node_out (next, 0)))
        {
          *has_bias = false;
          return;
        }
      while (instr->in->len > 2) /* operand 2 may be an absent bias */
        graph_drop_in (g, instr, 2);
      graph_add_in (g, instr, other);
      take_result (g, instr, next);
    }
}

void
pass_fuse_epilogues (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "matmul"))
      {
        LoomMatmulAttrs *attrs = instr->attrs;

        fuse_epilogue (g, instr, 0, &attrs->has_bias, &attrs->act);
      }
    else if (node_is (instr, "conv2d"))
      {
        LoomConv2dAttrs *attrs = instr->attrs;

        fuse_epilogue (g, instr, 2, &attrs->has_bias, &attrs->act);
      }
}
