/* Cast: converts a tensor to another type. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("dtype", DTYPE, "f32"),
    .doc = "The new type; f32 is the float type that the program computes in." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  loom_infer_output (ctx, 0, loom_infer_dtype (ctx, "dtype"), &loom_infer_input (ctx, 0)->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_dtype (loom_lower_infer (ctx), "dtype"));

  loom_lower_output (ctx, 0, loom_cast (loom_lower_program (ctx), loom_lower_input (ctx, 0), dtype));
}

static const LoomSample samples[] = {
  { .params = "dtype=f32", .inputs = { "i64:B,3" }, .range = "class:5" },
  { .params = "dtype=i64", .inputs = { "f32:B,3" } },
  { .params = "dtype=bool", .inputs = { "f32:2" } },
  { .params = "dtype=f32", .inputs = { "f32:B,3" } },
  { .params = "dtype=u8", .inputs = { "bool:" } },
  { .params = "dtype=f32", .inputs = { "bool:0,2" } },
  { NULL },
};

static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  return loom_dtype_is_float (from->dtype) ? g_strdupv ((char *[]){ "dtype=i64", NULL })
                                           : g_strdupv ((char *[]){ "dtype=f32", "dtype=i64", NULL });
}

const LoomOp loom_op_cast = {
  .name = "cast",
  .title = "Cast",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-cast-symbolic",
  .synonyms = "convert astype to float int type",
  .doc = "Converts a tensor to another type.",
  .details = "Class indices become floats, a comparison becomes zeros and ones. A float that becomes an integer loses "
             "its fraction and its gradient. Other libraries call it astype, or convert.",
  .formula = "y = (type) x",
  .reference = "torch.Tensor.to",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .adapt = adapt,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
