/* Parameter: a tensor that is trained. */
#include "engine/ops/op-private.h"

static const char *const inits[] = { "normal", "uniform", "zeros", "ones", "constant", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("shape", SHAPE, "1"), .doc = "The shape, of plain numbers; empty for a scalar." },
  { LOOM_PARAM ("init", ENUM, "normal"), .choices = inits, .doc = "The kind of initial values." },
  { LOOM_PARAM ("mean", FLOAT, "0"), .doc = "The mean of normal initial values.", .advanced = TRUE },
  { LOOM_PARAM ("std", FLOAT, "1"), LOOM_RANGE (0, 1e30), .doc = "The standard deviation of normal initial values." },
  { LOOM_PARAM ("low", FLOAT, "0"), .doc = "The lower bound of uniform initial values.", .advanced = TRUE },
  { LOOM_PARAM ("high", FLOAT, "1"), .doc = "The upper bound of uniform initial values.", .advanced = TRUE },
  { LOOM_PARAM ("value", FLOAT, "0"), .doc = "The number of constant initial values.", .advanced = TRUE },
  { LOOM_PARAM ("dtype", DTYPE, "f32"),
    .doc = "The type of the elements. Integers and bool make it a buffer, which is not trained.", .advanced = TRUE },
  { NULL },
};

static LoomInit
init_of (const LoomInfer *ctx)
{
  const char *kind = loom_infer_string (ctx, "init");

  if (g_str_equal (kind, "normal"))
    return (LoomInit){ LOOM_INIT_NORMAL, loom_infer_float (ctx, "mean"), loom_infer_float (ctx, "std"), NULL };
  if (g_str_equal (kind, "uniform"))
    return (LoomInit){ LOOM_INIT_UNIFORM, loom_infer_float (ctx, "low"), loom_infer_float (ctx, "high"), NULL };
  if (g_str_equal (kind, "zeros"))
    return (LoomInit){ .kind = LOOM_INIT_ZEROS };
  return (LoomInit){ LOOM_INIT_CONSTANT, g_str_equal (kind, "ones") ? 1 : loom_infer_float (ctx, "value"), 0, NULL };
}

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_shape (ctx, "shape");
  LoomDType dtype = loom_infer_dtype (ctx, "dtype");

  if (!loom_shape_is_concrete (&shape))
    {
      g_autofree char *text = loom_shape_to_string (&shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "shape",
                        "The sizes of a parameter must be plain numbers; here they are %s.", text);
      return;
    }
  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "out",
                                             .shape = shape,
                                             .init = init_of (ctx),
                                             .is_buffer = !loom_dtype_is_float (dtype),
                                             .dtype = dtype,
                                             .bare_name = TRUE });
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  loom_lower_output (ctx, 0, loom_lower_weight (ctx, "out"));
}

/* "= 2", "= 0.25, 0.25", "3×4 · all 0.25", "3×4 · normal 0 ± 1", "5 · -0.5 to 0.5". */
static char *
summary (const LoomInfer *ctx)
{
  const LoomShape shape = loom_infer_shape (ctx, "shape");
  const LoomInit init = init_of (ctx);
  const double count = loom_op_output_count (ctx, 0);
  g_autoptr (GString) sizes = g_string_new (NULL);

  for (guint i = 0; i < shape.rank; i++)
    g_string_append_printf (sizes, "%s%" G_GINT64_FORMAT, i > 0 ? "×" : "", (gint64)shape.dim[i].coef);
  if (shape.rank > 0)
    g_string_append (sizes, " · ");
  if (init.kind == LOOM_INIT_NORMAL)
    return g_strdup_printf ("%snormal %.6g ± %.6g", sizes->str, init.a, init.b);
  if (init.kind == LOOM_INIT_UNIFORM)
    return g_strdup_printf ("%s%.6g to %.6g", sizes->str, init.a, init.b);
  const double value = init.kind == LOOM_INIT_CONSTANT ? init.a : 0;
  if (count < 1 || count > 4)
    return g_strdup_printf ("%sall %.6g", sizes->str, value);
  g_string_printf (sizes, "= %.6g", value);
  for (int i = 1; i < count; i++)
    g_string_append_printf (sizes, ", %.6g", value);
  return g_string_free (g_steal_pointer (&sizes), FALSE);
}

static const LoomSample samples[] = {
  { .params = "shape=3,4" },
  { .params = "shape=5 init=uniform low=-0.5 high=0.5" },
  { .params = "shape=1 init=ones" },
  { .params = "shape=2,0 init=zeros" },
  { .params = "shape=2 init=constant value=0.25" },
  { NULL },
};

const LoomOp loom_op_parameter = {
  .name = "parameter",
  .role = LOOM_ROLE_PARAMETER,
  .title = "Parameter",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-parameter-symbolic",
  .synonyms = "weight variable learnable",
  .usual = TRUE,
  .doc = "Declares a tensor that is trained.",
  .details = "Layers have their own weights; a parameter is a separate weight, to build a layer from plain operators "
             "or to share a weight between two layers. Its initial values are random or constant.",
  .formula = "y = θ",
  .reference = "torch.nn.Parameter",
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .summary = summary,
  .samples = samples,
};
