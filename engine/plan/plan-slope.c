/* Fuses the derivative of an activation into the epilogue of the product that computes the cotangent: dY·Wᵀ times the
 * derivative is one product if the device has it (kernels/product.h). The derivative's operand is kept for the backward
 * pass anyway, and the unmultiplied cotangent is not written.
 *
 * This runs after element-wise fusion, when a derivative of 16-bit floats is one instruction with its conversions. */
#include "engine/plan/plan-private.h"
#include "kernels/product.h"

/* The step that makes v by this operation, else NULL. */
static const WorkStep *
step_of (const WorkInstr *instr, guint v, LoomScalarOp op)
{
  for (guint s = 0; s < instr->steps->len; s++)
    if (work_step (instr, s)->result == v && work_step (instr, s)->kind == WORK_STEP_SCALAR)
      return work_step (instr, s)->op == op ? work_step (instr, s) : NULL;
  return NULL;
}

/* The operand that v is, directly or converted to f32; 0: none. */
static guint
operand_of (const WorkInstr *instr, guint v)
{
  const WorkStep *widened = step_of (instr, v, LOOM_SCALAR_ID);

  v = widened != NULL ? widened->arg[0] : v;
  for (guint k = 0; k < instr->in->len; k++)
    if (work_in (instr, k) == v)
      return v;
  return 0;
}

/* The step that makes the instruction's result, skipping a conversion to its type. */
static const WorkStep *
last_step (const WorkInstr *instr)
{
  const WorkStep *last = work_step (instr, instr->steps->len - 1);

  for (guint s = 0; last->op == LOOM_SCALAR_ID && s + 1 < instr->steps->len; s++)
    if (work_step (instr, s)->result == last->arg[0])
      return work_step (instr, s);
  return last;
}

/* The operation that multiplies operand g by an activation's derivative at operand z, if the instruction does only
 * that; else ID. */
static LoomScalarOp
slope_of (const WorkInstr *instr, guint *dy, guint *z)
{
  const WorkStep *last = last_step (instr);

  if (instr->in->len != 2 || last->kind != WORK_STEP_SCALAR)
    return LOOM_SCALAR_ID;
  *dy = operand_of (instr, last->arg[0]);
  *z = work_in (instr, work_in (instr, 0) == *dy ? 1 : 0);
  if (*dy == 0 || operand_of (instr, last->arg[1]) != *z)
    return LOOM_SCALAR_ID;
  return last->op == LOOM_SCALAR_RELU_GRAD || last->op == LOOM_SCALAR_GELU_TANH_GRAD ? last->op : LOOM_SCALAR_ID;
}

/* z with v's shape, as a view. */
static guint
seen_as (Work *g, guint z, guint v)
{
  guint seen;

  if (work_same_dims (&work_value (g, z)->desc, &work_value (g, v)->desc))
    return z;
  seen = work_new_value (g, &(LoomTensorDesc){ 0 }, work_value (g, z));
  work_value (g, seen)->desc = work_value (g, v)->desc;
  work_set_alias (g, seen, z);
  return seen;
}

static gboolean
is_alike (Work *g, guint a, guint b)
{
  const LoomTensorDesc *x = &work_value (g, a)->desc, *y = &work_value (g, b)->desc;

  return x->dtype == y->dtype && work_same_dims (x, y);
}

static void
join_slope (Work *g, WorkInstr *product)
{
  LoomMatmulAttrs *attrs = product->attrs;
  guint y = work_out (product, 0), dy, z, dx, in[3] = { work_in (product, 0), work_in (product, 1) };
  WorkInstr *next = work_only_reader (g, y, TRUE);
  LoomScalarOp slope;

  if (attrs->has_bias || attrs->act != LOOM_SCALAR_ID || attrs->slope != LOOM_SCALAR_ID || product->out->len != 1
      || next == NULL || next->steps == NULL || next->out->len != 1 || next->device_name != product->device_name
      || next->pass != product->pass || next->chunk != product->chunk)
    return;
  dx = work_out (next, 0);
  slope = slope_of (next, &dy, &z);
  if (slope == LOOM_SCALAR_ID || work_root (g, dy) != work_root (g, y) || work_root (g, z) == work_root (g, y)
      || !is_alike (g, dy, dx) || !is_alike (g, z, dx)
      || work_value (g, dx)->desc.dtype != work_value (g, y)->desc.dtype || !work_is_ready (g, z, product))
    return;
  in[2] = seen_as (g, z, y);
  attrs->slope = slope;
  if (!work_has_kernel (g, product, 3, in, 1, &y))
    {
      attrs->slope = LOOM_SCALAR_ID;
      return;
    }
  work_add_in (g, product, in[2]);
  g_string_append_printf (product->label, "+slope(%s)", loom_scalar_name (slope));
  work_erase (g, next);
  work_set_alias (g, dx, y);
}

void
work_join_slopes (Work *g)
{
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (work_is (instr, "matmul"))
      join_slope (g, instr);
}
