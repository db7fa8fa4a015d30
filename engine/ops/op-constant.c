/* Constant: numbers that are written in the graph. */
#include "engine/ops/loom-context.h"
#include "engine/ops/loom-table.h"
#include "engine/ops/op-private.h"
#include "engine/program/loom-slot-names.h"

/* An attribute holds numbers that a person types; larger tables belong in a file. */
#define MAX_VALUES 4096

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("value", FLOATS, ""), .fresh = "1",
    .doc = "One number for all elements, or all of them in row-major order: “1,0,0,1”." },
  { LOOM_PARAM ("shape", SHAPE, ""),
    .doc = "The sizes of the dimensions; if not set, a scalar or a tensor with one dimension." },
  { LOOM_PARAM ("dtype", DTYPE, "f32"), .doc = "The type of the elements.", .advanced = TRUE },
  { LOOM_PARAM ("data", STRING, ""),
    .doc = "All elements of a table that is too long for value, of which an import makes a node: base64 of the zlib "
           "stream of the elements, row by row, little endian.",
    .advanced = TRUE },
  { NULL },
};

static void
infer_table (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_shape (ctx, "shape");
  gint64 count = loom_dim_value (loom_shape_count (&shape), NULL);
  LoomDType dtype = loom_infer_dtype (ctx, "dtype");
  g_autofree double *values = count > 0 && count <= LOOM_TABLE_MAX_COUNT ? g_try_new (double, count) : NULL;

  if (values == NULL || !loom_table_decode (loom_infer_string (ctx, "data"), dtype, (gsize)count, values))
    {
      g_autofree char *text = loom_shape_to_string (&shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "data", "It is not the zlib stream of %s elements of %s, as base64.",
                        text, loom_dtype_name (dtype));
      return;
    }
  loom_infer_output (ctx, 0, dtype, &shape);
}

static void
infer (LoomInfer *ctx)
{
  double first;
  guint n = loom_infer_floats (ctx, "value", &first, 1);
  LoomShape shape = loom_infer_shape (ctx, "shape");
  LoomDim count;

  if (loom_infer_is_set (ctx, "data"))
    {
      infer_table (ctx);
      return;
    }
  if (n == 0 || n > MAX_VALUES)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "value", "A constant has 1 to %d numbers; for more use an input.",
                        MAX_VALUES);
      return;
    }
  if (!loom_infer_is_set (ctx, "shape") && n > 1)
    shape = loom_shape (1, (gint64[]){ n });
  count = loom_shape_count (&shape);
  if (n > 1 && !loom_dim_compatible (count, loom_dim (n)))
    {
      g_autofree char *text = loom_shape_to_string (&shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "value", "%u numbers do not fill %s. Give one, or one for each element.",
                        n, text);
      return;
    }
  loom_infer_output (ctx, 0, loom_infer_dtype (ctx, "dtype"), &shape);
}

/* The number of the n numbers that continue the arithmetic progression of the first two. */
static guint
run_length (const double *values, guint n, gboolean may_count)
{
  double step = n > 1 ? values[1] - values[0] : 0;
  guint length = 1;

  if (step != 0 && !may_count)
    return 1;
  while (length < n && values[length] == values[0] + (double)length * step)
    length++;
  /* Two numbers are always a progression, but the numbers after the first may be a longer one. */
  return length == 2 && step != 0 ? 1 : length;
}

static void
lower_table (LoomLower *ctx, LoomDType dtype, int rank, const gint64 *dims)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  gsize count = (gsize)loom_op_output_count (infer_ctx, 0);
  g_autofree double *values = g_new (double, count);
  g_autofree char *name = g_strconcat (LOOM_SLOT_TABLE, infer_ctx->path, NULL);
  const LoomInit init = { .kind = LOOM_INIT_DATA, .data = values };

  if (loom_table_decode (loom_infer_string (infer_ctx, "data"), loom_infer_dtype (infer_ctx, "dtype"), count, values))
    loom_lower_output (
        ctx, 0,
        loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_OPTIMIZER, dtype, rank, dims, &init, FALSE)));
}

/* A list becomes concatenated runs of equal or evenly spaced numbers. A program needs no literal of its own, and a
 * table of positions 0, 1, 2 … is one counter. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_dtype (infer_ctx, "dtype"));
  double first;
  guint n = loom_infer_floats (infer_ctx, "value", &first, 1), n_parts = 0;
  g_autofree double *values = g_new (double, n);
  g_autofree LoomValue *part = g_new (LoomValue, n);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  if (loom_infer_is_set (infer_ctx, "data"))
    {
      lower_table (ctx, dtype, rank, dims);
      return;
    }
  if (n == 1)
    {
      loom_lower_output (ctx, 0, loom_fill (p, dtype, rank, dims, first));
      return;
    }
  loom_infer_floats (infer_ctx, "value", values, n);
  for (guint i = 0, length; i < n; i += length)
    {
      length = run_length (values + i, n - i, dtype == LOOM_F64 || dtype == LOOM_F32 || dtype == LOOM_I64);
      part[n_parts++] = length > 1 && values[i + 1] != values[i]
                            ? loom_op_iota_along (p, dtype, 1, 0, length, values[i], values[i + 1] - values[i])
                            : loom_fill (p, dtype, 1, (gint64[]){ length }, values[i]);
    }
  loom_lower_output (ctx, 0, loom_reshape (p, loom_concat (p, n_parts, part, 0), rank, dims));
}

static const LoomSample samples[] = {
  { .params = "value=2.5" },
  { .params = "value=1,0,0,1 shape=2,2" },
  { .params = "value=1,2,3" },
  { .params = "value=0,1,2,3,3,5,1,1,1" },
  { .params = "value=1,0,1 dtype=bool" },
  { .params = "value=0 shape=B,3" },
  { .params = "value=3 shape=2 dtype=i64" },
  { NULL },
};

const LoomOp loom_op_constant = {
  .name = "constant",
  .title = "Constant",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-constant-symbolic",
  .usual = TRUE,
  .doc = "Returns a tensor of constants.",
  .details = "For factors, masks and small tables that belong to the design of the network. It is never trained; a "
             "tensor that is trained is a parameter.",
  .formula = "y = c",
  .reference = "torch.full",
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
