/* Reduces an element-wise call to what its code depends on: axes are merged if all operands allow it, and each operand
 * and result gets its strides. */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda-source.h"
#include "kernels/shape.h"

static LoomStatus
refuse (LoomMessage *message, LoomStatus status, const char *text)
{
  if (message != NULL)
    snprintf (message->text, sizeof message->text, "%s", text);
  return status;
}

/* Strides of one input along the output's axes, in the order of the output's bytes. */
static bool
broadcast_strides (const LoomTensorDesc *in, const LoomTensorDesc *out, const int *order, int64_t *strides)
{
  static const int nhwc[4] = { 0, 2, 3, 1 };
  int64_t own[LOOM_MAX_RANK] = { 0 }, stride = 1;
  int missing = out->rank - in->rank;

  if (missing < 0)
    return false;
  for (int i = in->rank - 1; i >= 0; i--)
    {
      int axis = in->layout == LOOM_LAYOUT_NHWC && in->rank == 4 ? nhwc[i] : i;

      own[axis] = stride;
      stride *= in->dim[axis];
    }
  for (int i = 0; i < out->rank; i++)
    {
      int axis = order[i] - missing;

      if (axis < 0 || (in->dim[axis] == 1 && out->dim[order[i]] != 1))
        strides[i] = 0;
      else if (in->dim[axis] != out->dim[order[i]])
        return false;
      else
        strides[i] = in->dim[axis] == 1 ? 0 : own[axis];
    }
  return true;
}

static CudaWalk *
walk_at (CudaElementwisePlan *plan, int w)
{
  return w < plan->n_loads ? &plan->load[w] : &plan->store[w - plan->n_loads];
}

/* Drops axes of one element and merges neighbours whose strides agree in every operand and result. */
static void
collapse (CudaElementwisePlan *plan)
{
  const int n = plan->n_loads + plan->n_stores;
  int rank = 0;

  for (int i = 0; i < plan->rank; i++)
    {
      bool merge = rank > 0;

      if (plan->dim[i] == 1)
        continue;
      for (int w = 0; w < n && merge; w++)
        merge = walk_at (plan, w)->stride[rank - 1] == walk_at (plan, w)->stride[i] * plan->dim[i];
      if (merge)
        plan->dim[rank - 1] *= plan->dim[i];
      else
        plan->dim[rank++] = plan->dim[i];
      for (int w = 0; w < n; w++)
        walk_at (plan, w)->stride[rank - 1] = walk_at (plan, w)->stride[i];
    }
  plan->rank = rank;
}

/* TRUE if four neighbours of the computed shape are, in every walk, four neighbours that begin at a multiple of four,
 * or one element. */
static bool
four_at_once (CudaElementwisePlan *plan)
{
  int last = plan->rank - 1;

  if (plan->flat)
    return true;
  if (last < 0 || plan->dim[last] % 4 != 0)
    return false;
  for (int w = 0; w < plan->n_loads + plan->n_stores; w++)
    {
      const CudaWalk *walk = walk_at (plan, w);

      if (walk->stride[last] != 0 && walk->stride[last] != 1)
        return false;
      if (walk->stride[last] == 1 && walk->offset % 4 != 0)
        return false;
      for (int i = 0; i < last && walk->stride[last] == 1; i++)
        if (walk->stride[i] % 4 != 0)
          return false;
    }
  return true;
}

/* A result without parts has the strides of the computed shape. */
static void
walk_without_parts (const CudaElementwisePlan *plan, CudaWalk *walk)
{
  int64_t stride = 1;

  for (int i = plan->rank - 1; i >= 0; i--)
    {
      walk->stride[i] = stride;
      stride *= plan->dim[i];
    }
}

static bool
walk_operands (const LoomKernelSpec *spec, const LoomTensorDesc *shape, const int *order, CudaElementwisePlan *plan)
{
  const LoomElementwiseAttrs *program = spec->attrs;

  for (int k = 0; k < spec->n_in; k++)
    if (!loom_has_parts (program->in_part, program->n_in_parts, k))
      {
        CudaWalk *walk = &plan->load[plan->n_loads++];

        walk->tensor = walk->reg = k;
        if (!broadcast_strides (&spec->in[k], shape, order, walk->stride))
          return false;
      }
  for (int p = 0; p < program->n_in_parts; p++)
    {
      const LoomElementwisePart *part = &program->in_part[p];
      CudaWalk *walk = &plan->load[plan->n_loads++];

      walk->tensor = part->tensor;
      walk->reg = spec->n_in + p;
      if (!loom_part_strides (&spec->in[part->tensor], part, shape, walk->stride, &walk->offset))
        return false;
    }
  return true;
}

static void
walk_results (const LoomKernelSpec *spec, const LoomTensorDesc *shape, CudaElementwisePlan *plan)
{
  const LoomElementwiseAttrs *program = spec->attrs;

  for (int k = 0; k < spec->n_out; k++)
    if (!loom_has_parts (program->out_part, program->n_out_parts, k))
      {
        CudaWalk *walk = &plan->store[plan->n_stores++];

        walk->tensor = k;
        walk->reg = program->out[k];
        walk_without_parts (plan, walk);
      }
  for (int p = 0; p < program->n_out_parts; p++)
    {
      const LoomElementwisePart *part = &program->out_part[p];
      CudaWalk *walk = &plan->store[plan->n_stores++];

      walk->tensor = part->tensor;
      walk->reg = part->reg;
      loom_part_strides (&spec->out[part->tensor], part, shape, walk->stride, &walk->offset);
    }
}

LoomStatus
cuda_elementwise_plan (const LoomKernelSpec *spec, CudaElementwisePlan *plan, LoomMessage *message)
{
  static const int plain_order[LOOM_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  static const int nhwc_order[LOOM_MAX_RANK] = { 0, 2, 3, 1 };
  const LoomElementwiseAttrs *program = spec->attrs;
  const LoomTensorDesc shape = loom_elementwise_shape (spec), *out = &shape;
  const int *order = out->layout == LOOM_LAYOUT_NHWC && out->rank == 4 ? nhwc_order : plain_order;

  if (spec->n_in > LOOM_EW_MAX_IN || spec->n_out < 1 || spec->n_out > LOOM_EW_MAX_OUT || program->n_steps < 0
      || program->n_steps > LOOM_EW_MAX_STEPS)
    return refuse (message, LOOM_STATUS_INVALID, "an element-wise call has too many operands or steps");
  if (program->compute != LOOM_F32 && program->compute != LOOM_F64 && program->compute != LOOM_I64)
    return refuse (message, LOOM_STATUS_INVALID, "an element-wise call computes in f32, f64 or i64 only");

  if (!loom_elementwise_parts_fit (spec))
    return LOOM_STATUS_UNSUPPORTED;

  memset (plan, 0, sizeof *plan);
  plan->program = *program;
  plan->n_in = spec->n_in;
  plan->n_out = spec->n_out;
  plan->rank = out->rank;
  plan->count = loom_desc_count (out);
  for (int i = 0; i < out->rank; i++)
    plan->dim[i] = out->dim[order[i]];
  for (int k = 0; k < spec->n_out; k++)
    {
      plan->out_dtype[k] = spec->out[k].dtype;
      if (spec->out[k].layout != out->layout)
        return LOOM_STATUS_UNSUPPORTED;
      if (loom_has_parts (program->out_part, program->n_out_parts, k))
        continue;
      if (loom_desc_count (&spec->out[k]) != plan->count)
        return refuse (message, LOOM_STATUS_INVALID, "the results of an element-wise call differ in shape");
      if (program->out[k] >= spec->n_in + program->n_in_parts + program->n_steps)
        return refuse (message, LOOM_STATUS_INVALID, "an element-wise call returns a register that nothing sets");
    }
  for (int s = 0; s < program->n_steps && program->compute == LOOM_I64; s++)
    if (!loom_scalar_of_integers (program->step[s].op))
      return LOOM_STATUS_UNSUPPORTED;
  for (int s = 0; s < program->n_steps; s++)
    for (int k = 0; k < loom_scalar_arity (program->step[s].op); k++)
      if (program->step[s].arg[k] >= spec->n_in + program->n_in_parts + s)
        return refuse (message, LOOM_STATUS_INVALID, "an element-wise step reads a register that is set later");
  for (int k = 0; k < spec->n_in; k++)
    plan->in_dtype[k] = spec->in[k].dtype;
  for (int k = 0; k < spec->n_in + spec->n_out; k++)
    {
      int64_t n = loom_desc_count (k < spec->n_in ? &spec->in[k] : &spec->out[k - spec->n_in]);

      plan->largest = n > plan->largest ? n : plan->largest;
    }
  if (!walk_operands (spec, out, order, plan))
    return refuse (message, LOOM_STATUS_INVALID, "the operands of an element-wise call do not broadcast");
  walk_results (spec, out, plan);

  collapse (plan);
  plan->flat = plan->rank <= 1 && program->n_in_parts + program->n_out_parts == 0;
  for (int k = 0; k < plan->n_loads && plan->rank == 1; k++)
    plan->flat = plan->flat && plan->load[k].stride[0] <= 1;
  plan->vector = four_at_once (plan) ? 4 : 1;
  return LOOM_STATUS_OK;
}
