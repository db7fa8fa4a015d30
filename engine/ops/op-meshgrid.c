/* Meshgrid: the coordinates of all points of a grid. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "0", "The coordinates along one dimension; as many as are wired.", LOOM_PORT_VARIADIC },
  { NULL },
};

static const LoomPortSpec usual[] = {
  { "0", "The first coordinate of each point." },
  { "1", "The second coordinate of each point." },
  { NULL },
};

static const char *const orders[] = { "ij", "xy", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("indexing", ENUM, "ij"), .choices = orders,
    .doc = "ij: the first input runs along rows (matrix indexing); xy: along columns (Cartesian indexing)." },
  { NULL },
};

static const LoomPortSpec *
grids (const LoomInfer *ctx)
{
  return loom_op_numbered_ports (loom_infer_n_inputs (ctx));
}

/* The dimension along which input i runs. */
static int
axis_of (const LoomInfer *ctx, guint i)
{
  return i < 2 && g_str_equal (loom_infer_string (ctx, "indexing"), "xy") && loom_infer_n_inputs (ctx) > 1 ? 1 - (int)i
                                                                                                           : (int)i;
}

static void
infer (LoomInfer *ctx)
{
  guint n = loom_infer_n_inputs (ctx);
  LoomShape shape = { .rank = (int)n };

  if (n > LOOM_SHAPE_MAX_RANK)
    {
      loom_infer_fault (ctx, LOOM_ERROR_PORT, NULL, "A grid can have at most %d dimensions.", LOOM_SHAPE_MAX_RANK);
      return;
    }
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *port = g_strdup_printf ("%u", i);

      if (!loom_op_rank (ctx, i, port, 0, 1, "a tensor with one dimension", "Put a flatten before it."))
        return;
      shape.dim[axis_of (ctx, i)] = loom_shape_count (&loom_infer_input (ctx, i)->shape);
    }
  for (guint i = 0; i < n; i++)
    loom_infer_output (ctx, i, loom_infer_input (ctx, i)->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);

  for (guint i = 0; i < loom_infer_n_inputs (loom_lower_infer (ctx)); i++)
    {
      gint64 dims[LOOM_MAX_RANK], own[LOOM_MAX_RANK];
      int rank = loom_op_output_dims (ctx, i, dims), axis = axis_of (loom_lower_infer (ctx), i);

      for (int d = 0; d < rank; d++)
        own[d] = d == axis ? dims[d] : 1;
      loom_lower_output (ctx, i,
                         loom_expand_to (p, loom_reshape (p, loom_lower_input (ctx, i), rank, own), rank, dims));
    }
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3", "f32:B" } },
  { .params = "indexing=xy", .inputs = { "f32:3", "f32:2", "f32:4" } },
  { .inputs = { "f32:3" } },
  { .inputs = { "f32:", "f32:2" } },
  { NULL },
};

const LoomOp loom_op_meshgrid = {
  .name = "meshgrid",
  .title = "Meshgrid",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-expand-symbolic",
  .doc = "Returns the coordinates of all points of a grid.",
  .details = "For each input, which holds the coordinates along one dimension, it returns a tensor with that "
             "coordinate at each point of the grid. For example, to evaluate a network at all points of a plane.",
  .formula = "y₀[i, j] = aᵢ, y₁[i, j] = bⱼ",
  .reference = "torch.meshgrid",
  .inputs = inputs,
  .outputs = usual,
  .dynamic_outputs = grids,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
