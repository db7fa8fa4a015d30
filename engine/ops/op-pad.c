/* Pad: adds a border to dimensions, as torch.nn.functional.pad. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const char *const modes[] = { "constant", "reflect", "replicate", "circular", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("pad", INTS, "1,1"),
    .doc = "The padding before and after the last dimension, then the second-to-last, and so on: “1,1,2,2”. A negative "
           "number crops." },
  { LOOM_PARAM ("mode", ENUM, "constant"), .choices = modes,
    .doc = "The padding mode: a constant, a reflection without the edge, the edge repeated, or the opposite end "
           "(circular)." },
  { LOOM_PARAM ("value", FLOAT, "0"), .doc = "The value of constant padding." },
  { NULL },
};

/* The padding before and after each dimension; FALSE if the list is not a list of pairs. */
static gboolean
read_pad (const LoomInfer *ctx, int rank, gint64 *front, gint64 *back)
{
  gint64 list[2 * LOOM_MAX_RANK];
  guint n = loom_infer_ints (ctx, "pad", list, G_N_ELEMENTS (list));

  for (int i = 0; i < rank; i++)
    front[i] = back[i] = 0;
  if (n % 2 != 0 || n > 2 * (guint)rank)
    return FALSE;
  for (guint i = 0; i < n / 2; i++)
    {
      front[rank - 1 - (int)i] = list[2 * i];
      back[rank - 1 - (int)i] = list[2 * i + 1];
    }
  return TRUE;
}

/* FALSE after a fault about dimension i, which has too few elements. */
static gboolean
check_border (LoomInfer *ctx, int i, gint64 size, gint64 front, gint64 back)
{
  const char *mode = loom_infer_string (ctx, "mode");
  gint64 left = size + MIN (front, 0) + MIN (back, 0);

  if (left < 0)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "pad",
                        "Dimension %d of size %" PRId64 " has fewer elements than are removed.", i, size);
      return FALSE;
    }
  if (loom_op_pad_fits (loom_dim (left), front, back, mode))
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "pad",
                    "A %s padding of %" PRId64 " needs a larger size than that of dimension %d, which is %" PRId64 ".",
                    mode, MAX (front, back), i, left);
  return FALSE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = x->shape;
  gint64 front[LOOM_MAX_RANK], back[LOOM_MAX_RANK];

  if (!read_pad (ctx, shape.rank, front, back))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "pad",
                        "pad needs two numbers for each dimension, from the last one on; the input has %d.",
                        shape.rank);
      return;
    }
  for (int i = 0; i < shape.rank; i++)
    {
      if (front[i] == 0 && back[i] == 0)
        continue;
      if (loom_dim_is_known (shape.dim[i]) && !check_border (ctx, i, shape.dim[i].coef, front[i], back[i]))
        return;
      shape.dim[i] = loom_dim_add (shape.dim[i], front[i] + back[i]);
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* Constant padding of all dimensions is one primitive; the other modes pad axis by axis. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  const char *mode = loom_infer_string (infer_ctx, "mode");
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 front[LOOM_MAX_RANK], back[LOOM_MAX_RANK], start[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];

  read_pad (infer_ctx, d.rank, front, back);
  if (g_str_equal (mode, "constant"))
    {
      for (int i = 0; i < d.rank; i++)
        {
          start[i] = MAX (-front[i], 0);
          d.dim[i] += MIN (front[i], 0) + MIN (back[i], 0);
          front[i] = MAX (front[i], 0);
        }
      loom_op_output_dims (ctx, 0, dims);
      x = loom_pad (p, loom_slice (p, x, start, NULL, d.dim), front, NULL, dims, loom_infer_float (infer_ctx, "value"));
    }
  else
    for (int i = d.rank - 1; i >= 0; i--)
      x = loom_op_pad_value (p, x, i, front[i], back[i], mode, 0);
  loom_lower_output (ctx, 0, x);
}

static const LoomSample samples[] = {
  { .params = "pad=1,2", .inputs = { "f32:B,3" } },
  { .params = "pad=1,0,0,2 value=-1.5", .inputs = { "f32:B,3,2" } },
  { .params = "pad=-1,2,1,-1", .inputs = { "f32:3,4" } },
  { .params = "pad=1,2 mode=reflect", .inputs = { "f32:B,3" } },
  { .params = "pad=2,1,1,0 mode=replicate", .inputs = { "f32:B,2,3" } },
  { .params = "pad=3,1,0,2 mode=circular", .inputs = { "f32:B,2,3" } },
  { .params = "pad=-1,2,1,1 mode=reflect", .inputs = { "f32:2,3,4" } },
  { .params = "pad=0,0", .inputs = { "f32:2" } },
  { .params = "pad=1,1", .inputs = { "f32:0" } },
  { NULL },
};

const LoomOp loom_op_pad = {
  .name = "pad",
  .title = "Pad",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-pad-symbolic",
  .doc = "Pads dimensions, or crops them.",
  .details = "Padding is given from the last dimension on, so for images width comes first. Zero padding darkens the "
             "border of an image; reflection or replication avoids that.",
  .formula = "1 2 3 → 0 1 2 3 0",
  .reference = "torch.nn.functional.pad",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
