/* Slice of a tensor, as start:end:step of Python. */
#include "engine/ops/op-private.h"

#include <glib/gi18n.h>

static const LoomParamSpec params[] = {
  { LOOM_OP_DIMS ("dim"), .def = "0",
    .doc = "The dimension to slice, or several: the other lists then have a number for each of them, or one for all." },
  { LOOM_PARAM ("start", INTS, ""),
    .doc = "The index of the first element; a negative number counts from the end. If not set, from the beginning." },
  { LOOM_PARAM ("end", INTS, ""),
    .doc = "The index after the last element; a negative number counts from the end, a number above the size is the "
           "end. If not set, to the end." },
  { LOOM_PARAM ("step", INTS, "1"), .doc = "The distance between elements; a negative step reverses them." },
  { NULL },
};

typedef struct
{
  guint n;
  gint64 dim[LOOM_MAX_RANK], start[LOOM_MAX_RANK], end[LOOM_MAX_RANK], step[LOOM_MAX_RANK];
  gboolean has_start, has_end;
} Cut;

/* Reads a list with a number for each of the n dimensions; returns its length if that is neither one nor n. */
static guint
read_list (const LoomInfer *ctx, const char *name, guint n, gint64 *values)
{
  guint count = loom_infer_ints (ctx, name, values, LOOM_MAX_RANK);

  for (guint i = 1; count == 1 && i < n; i++)
    values[i] = values[0];
  return count == 1 || count == n ? 0 : count;
}

/* NULL, or the parameter at fault, with the length of its list. */
static const char *
read_cut (const LoomInfer *ctx, Cut *cut, guint *wrong)
{
  cut->n = MIN (loom_infer_ints (ctx, "dim", cut->dim, LOOM_MAX_RANK), LOOM_MAX_RANK);
  cut->has_start = loom_infer_is_set (ctx, "start");
  cut->has_end = loom_infer_is_set (ctx, "end");
  if (cut->has_start && (*wrong = read_list (ctx, "start", cut->n, cut->start)) != 0)
    return "start";
  if (cut->has_end && (*wrong = read_list (ctx, "end", cut->n, cut->end)) != 0)
    return "end";
  return (*wrong = read_list (ctx, "step", cut->n, cut->step)) != 0 ? "step" : NULL;
}

static LoomDim
size_of (const Cut *cut, guint i, LoomDim size, gint64 *first)
{
  return loom_op_slice_size (size, cut->has_start ? &cut->start[i] : NULL, cut->has_end ? &cut->end[i] : NULL,
                             cut->step[i], first);
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = x->shape;
  guint32 seen = 0;
  Cut cut;
  guint wrong;
  const char *name = read_cut (ctx, &cut, &wrong);

  if (name != NULL)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, name, "%s has %u numbers, but dim names %u dimensions.", name, wrong,
                        cut.n);
      return;
    }
  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "a tensor with at least one dimension",
                     "A scalar cannot be sliced."))
    return;
  for (guint i = 0; i < cut.n; i++)
    {
      gint64 first;
      int axis;

      if (!loom_op_axis (ctx, "dim", cut.dim[i], x->shape.rank, &axis))
        return;
      if (seen >> axis & 1 || cut.step[i] == 0)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, seen >> axis & 1 ? "dim" : "step",
                            seen >> axis & 1 ? N_ ("A dimension is named twice.") : N_ ("The step cannot be 0."));
          return;
        }
      seen |= 1u << axis;
      shape.dim[axis] = size_of (&cut, i, x->shape.dim[axis], &first);
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 start[LOOM_MAX_RANK] = { 0 }, step[LOOM_MAX_RANK];
  Cut cut;
  guint wrong;

  read_cut (loom_lower_infer (ctx), &cut, &wrong);
  for (int i = 0; i < d.rank; i++)
    step[i] = 1;
  for (guint i = 0; i < cut.n; i++)
    {
      int axis = loom_op_axis_of (cut.dim[i], d.rank);

      step[axis] = cut.step[i];
      d.dim[axis] = size_of (&cut, i, loom_dim (d.dim[axis]), &start[axis]).coef;
    }
  loom_lower_output (ctx, 0, loom_slice (p, x, start, step, d.dim));
}

static const LoomSample samples[] = {
  { .params = "dim=1 start=1 end=3", .inputs = { "f32:B,4,2" } },
  { .params = "start=-2", .inputs = { "f32:5" } },
  { .params = "dim=1,2 start=0,1 end=3,9 step=2", .inputs = { "f32:B,4,5" } },
  { .params = "dim=-1 step=-1", .inputs = { "f32:B,4" } },
  { .params = "dim=0,1 start=4,-1 end=-9,0 step=-2,-1", .inputs = { "f32:5,3" } },
  { .params = "start=2 end=1", .inputs = { "f32:3,2" } },
  { .params = "start=1", .inputs = { "i64:B" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_slice = {
  .name = "slice",
  .title = "Slice",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-slice-symbolic",
  .synonyms = "crop narrow index",
  .usual = TRUE,
  .doc = "Returns a slice of a tensor.",
  .details = "Selects the elements from start up to, but not including, end, along one or more dimensions. Elements "
             "that are not selected get a gradient of zero.",
  .formula = "y = x[start : end : step]",
  .reference = "torch.Tensor.__getitem__",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
