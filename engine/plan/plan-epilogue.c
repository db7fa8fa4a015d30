/* Fuses the bias and the activation after a product or a convolution into its epilogue.
 *
 * A step of a small network is bound by the number of kernels, a large one by the memory traffic of element-wise work;
 * this reduces both. Fusion runs after differentiation, so a value that the backward pass reads has a second use and is
 * not fused away. */
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

/* Gives `instr` the result of its reader, which is erased. */
static void
take_result (Work *g, WorkInstr *instr, WorkInstr *consumer)
{
  work_set_out (g, instr, 0, work_out (consumer, 0));
  g_string_append_printf (instr->label, "+%s", consumer->label->str);
  work_erase (g, consumer);
}

/* After a 16-bit float only activations that commute with rounding are fused, so that a product has the same bits with
 * its activation and without: the backward pass may recompute it. */
static gboolean
is_epilogue_activation (LoomScalarOp op, LoomDType dtype)
{
  if (dtype == LOOM_BF16 || dtype == LOOM_F16)
    return op == LOOM_SCALAR_RELU;
  return op == LOOM_SCALAR_RELU || op == LOOM_SCALAR_SIGMOID || op == LOOM_SCALAR_TANH || op == LOOM_SCALAR_GELU
         || op == LOOM_SCALAR_GELU_TANH;
}

/* Kernels take the bias as a vector. */
static guint
as_vector (Work *g, guint v, gint64 n)
{
  LoomTensorDesc vector = { .dtype = work_value (g, v)->desc.dtype, .rank = 1, .dim = { n } };
  guint flat;

  if (work_value (g, v)->desc.rank == 1)
    return v;
  flat = work_new_value (g, &vector, work_value (g, v));
  work_set_alias (g, flat, v);
  return flat;
}

/* TRUE if the device has the instruction with its current attributes, a bias (0: its own or none) and the result of its
 * reader. */
static gboolean
has_joined (Work *g, const WorkInstr *instr, guint bias, guint result)
{
  guint in[3] = { work_in (instr, 0), work_in (instr, 1),
                  bias != 0            ? bias
                  : instr->in->len > 2 ? work_in (instr, 2)
                                       : 0 };

  return work_has_kernel (g, instr, in[2] != 0 ? 3 : 2, in, 1, &result);
}

/* Fuses the reader of the instruction, a bias first and then an activation. channels: the bias's axis, counted from the
 * end. */
static void
fuse_epilogue (Work *g, WorkInstr *instr, int channels, bool *has_bias, LoomScalarOp *act)
{
  while (*act == LOOM_SCALAR_ID)
    {
      guint v = work_out (instr, 0), other;
      WorkInstr *next = work_only_reader (g, v, TRUE);
      const LoomTensorDesc *d = &work_value (g, v)->desc;
      gint64 n = d->dim[d->rank - 1 - channels];
      const WorkStep *step;

      if (next == NULL || next->steps == NULL || next->steps->len != 1 || next->device_name != instr->device_name)
        return;
      step = work_step (next, 0);
      if (!work_same_dims (&work_value (g, work_out (next, 0))->desc, d)
          || work_value (g, work_out (next, 0))->desc.dtype != d->dtype)
        return;
      if (loom_scalar_arity (step->op) == 1 && step->arg[0] == v && is_epilogue_activation (step->op, d->dtype))
        {
          *act = step->op;
          if (has_joined (g, instr, 0, work_out (next, 0)))
            take_result (g, instr, next);
          else
            *act = LOOM_SCALAR_ID;
          return;
        }
      if (*has_bias || step->op != LOOM_SCALAR_ADD || (step->arg[0] != v && step->arg[1] != v))
        return;
      other = step->arg[0] == v ? step->arg[1] : step->arg[0];
      if (work_value (g, other)->is_uniform || work_value (g, other)->desc.dtype != d->dtype
          || !is_bias_shape (&work_value (g, other)->desc, n, channels) || !work_is_ready (g, other, instr))
        return;
      other = as_vector (g, other, n);
      *has_bias = true;
      if (!has_joined (g, instr, other, work_out (next, 0)))
        {
          *has_bias = false;
          return;
        }
      while (instr->in->len > 2) /* an absent bias may occupy operand 2 already */
        work_drop_in (g, instr, 2);
      work_add_in (g, instr, other);
      take_result (g, instr, next);
    }
}

void
work_fuse_epilogues (Work *g)
{
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (work_is (instr, "matmul"))
      {
        LoomMatmulAttrs *attrs = instr->attrs;

        fuse_epilogue (g, instr, 0, &attrs->has_bias, &attrs->act);
      }
    else if (work_is (instr, "conv2d"))
      {
        LoomConv2dAttrs *attrs = instr->attrs;

        fuse_epilogue (g, instr, 2, &attrs->has_bias, &attrs->act);
      }
}
