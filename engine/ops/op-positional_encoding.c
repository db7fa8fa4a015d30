/* Positional encodings: sinusoidal (Vaswani et al. 2017, section 3.5), learned, and rotary (Su et al., "RoFormer",
 * 2021). */
#include "engine/ops/op-private.h"

#include <inttypes.h>
#include <math.h>

static const char *const kinds[] = { "sinusoidal", "learned", "rotary", NULL };

static const LoomPortSpec inputs[] = {
  { "input", "The sequence [ …, T, E]." },
  { "weight", "Ties the learned encodings to another tensor [max_len, E].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("kind", ENUM, "sinusoidal"), .choices = kinds,
    .doc = "The kind of encoding: sinusoidal (sines and cosines are added), learned (a trained vector is added for "
           "each position) or rotary (pairs of features are rotated)." },
  { LOOM_PARAM ("max_len", INT, "1024"), LOOM_RANGE (1, 1e7), .unit = "places",
    .doc = "The number of positions with learned encodings." },
  { LOOM_PARAM ("base", FLOAT, "10000"), LOOM_RANGE (1, 1e9),
    .doc = "The base of the frequencies: the longest wavelength is about 2π · base positions.", .advanced = TRUE },
  { NULL },
};

static gboolean
has_kind (const LoomInfer *ctx, const char *kind)
{
  return g_strcmp0 (loom_infer_string (ctx, "kind"), kind) == 0;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 features, longest = loom_infer_int (ctx, "max_len");
  LoomDim places;

  if (!loom_op_needs_float (ctx, 0, "input", "adds to its input")
      || !loom_op_rank (ctx, 0, "input", 2, LOOM_SHAPE_MAX_RANK, "positions with features in the last two dimensions",
                        "Put an unsqueeze before it."))
    return;
  places = x->shape.dim[x->shape.rank - 2];
  if (!loom_op_plain_dim (ctx, x->shape.dim[x->shape.rank - 1], "each place", &features))
    return;
  if (has_kind (ctx, "rotary") && features % 2 != 0)
    {
      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "input",
          "A rotary encoding rotates pairs of features, so their number must be even; here are %" PRId64 ".", features);
      return;
    }
  if (has_kind (ctx, "learned"))
    {
      if (!loom_op_needs_weight_type (ctx, 0, "input"))
        return;
      if (loom_dim_is_known (places) && places.coef > longest)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "max_len",
                            "The input has %" PRId64 " positions, but there are encodings for %" PRId64
                            ". Set max_len.",
                            places.coef, longest);
          return;
        }
      loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "weight",
                                                 .shape = loom_shape (2, (gint64[]){ longest, features }),
                                                 .init = { LOOM_INIT_NORMAL, 0, 0.02 },
                                                 .dtype = LOOM_F32 });
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

/* The angles position·base^(-2i/E) of each position and pair i of features: [T, pairs]. */
static LoomValue
angles (LoomLower *ctx, LoomDType dtype, gint64 places, gint64 pairs, gint64 features, double base)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue place = loom_op_iota_along (p, dtype, 2, 0, places, 0, 1);
  LoomValue pair = loom_op_iota_along (p, dtype, 2, 1, pairs, 0, -2 * log (base) / (double)features);

  if (loom_lower_carries (ctx))
    place = loom_binary (p, LOOM_SCALAR_ADD, place, loom_cast (p, loom_lower_carry_position (ctx), dtype));
  return loom_binary (p, LOOM_SCALAR_MUL, place, loom_unary (p, LOOM_SCALAR_EXP, pair));
}

/* The learned rows of these positions; they continue after those of earlier runs if positions are carried. */
static LoomValue
rows (LoomLower *ctx, gint64 places)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue weight = loom_lower_weight (ctx, "weight"), place;

  if (!loom_lower_carries (ctx))
    return loom_op_slice_axis (p, weight, 0, 0, places, 1);
  place = loom_binary (p, LOOM_SCALAR_ADD, loom_op_iota_along (p, LOOM_I64, 1, 0, places, 0, 1),
                       loom_lower_carry_position (ctx));
  return loom_emit (p, loom_prim ("gather_rows"), NULL, 2, (LoomValue[]){ weight, place }, NULL);
}

/* a and b [ …, n ] as the even and the odd elements of [ …, 2n ]. */
static LoomValue
interleaved (LoomProgram *p, LoomValue a, LoomValue b, int rank, const gint64 *dims)
{
  gint64 column[LOOM_MAX_RANK], wide[LOOM_MAX_RANK];

  for (int i = 0; i < rank; i++)
    column[i] = wide[i] = dims[i];
  column[rank] = 1;
  wide[rank - 1] = 2 * dims[rank - 1];
  a = loom_reshape (p, a, rank + 1, column);
  b = loom_reshape (p, b, rank + 1, column);
  return loom_reshape (p, loom_concat (p, 2, (LoomValue[]){ a, b }, rank), rank, wide);
}

/* Each pair of features (2i, 2i + 1) rotated by its angle. */
static LoomValue
rotated (LoomProgram *p, LoomValue x, LoomValue sine, LoomValue cosine, int rank, const gint64 *dims)
{
  gint64 half[LOOM_MAX_RANK];
  int axis = rank - 1;
  LoomValue even = loom_op_slice_axis (p, x, axis, 0, dims[axis] / 2, 2),
            odd = loom_op_slice_axis (p, x, axis, 1, dims[axis] / 2, 2);
  LoomValue first = loom_binary (p, LOOM_SCALAR_SUB, loom_binary (p, LOOM_SCALAR_MUL, even, cosine),
                                 loom_binary (p, LOOM_SCALAR_MUL, odd, sine));
  LoomValue second = loom_binary (p, LOOM_SCALAR_ADD, loom_binary (p, LOOM_SCALAR_MUL, even, sine),
                                  loom_binary (p, LOOM_SCALAR_MUL, odd, cosine));

  for (int i = 0; i < rank; i++)
    half[i] = i == axis ? dims[i] / 2 : dims[i];
  return interleaved (p, first, second, rank, half);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), turn, sine, cosine, added;
  LoomDType dtype = loom_op_desc (ctx, x).dtype;
  gint64 dims[LOOM_MAX_RANK], places, features, pairs;
  int rank = loom_op_output_dims (ctx, 0, dims);

  places = dims[rank - 2];
  features = dims[rank - 1];
  if (has_kind (infer, "learned"))
    {
      if (places > loom_infer_int (infer, "max_len"))
        {
          loom_lower_fail (ctx,
                           g_error_new (LOOM_ERROR, LOOM_ERROR_SHAPE,
                                        "The input has %" G_GINT64_FORMAT
                                        " positions, but there are encodings for %" G_GINT64_FORMAT ". Set max_len.",
                                        places, loom_infer_int (infer, "max_len")));
          return;
        }
      loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_ADD, x, rows (ctx, places)));
      return;
    }
  pairs = (features + 1) / 2;
  turn = angles (ctx, dtype, places, pairs, features, loom_infer_float (infer, "base"));
  sine = loom_unary (p, LOOM_SCALAR_SIN, turn);
  cosine = loom_unary (p, LOOM_SCALAR_COS, turn);
  if (has_kind (infer, "rotary"))
    {
      loom_lower_output (ctx, 0, rotated (p, x, sine, cosine, rank, dims));
      return;
    }
  added = interleaved (p, sine, cosine, 2, (gint64[]){ places, pairs });
  if (2 * pairs > features)
    added = loom_op_slice_axis (p, added, 1, 0, features, 1);
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_ADD, x, added));
}

static char *
summary (const LoomInfer *ctx)
{
  return g_strdup (loom_infer_string (ctx, "kind"));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,T,6" } },
  { .inputs = { "f32:T,5" } },
  { .inputs = { "f32:B,T,4" }, .params = "kind=learned max_len=8" },
  { .inputs = { "f32:B,2,T,6" }, .params = "kind=rotary base=100" },
  { .inputs = { "f32:0,3,4" }, .params = "kind=rotary" },
  { NULL },
};

const LoomOp loom_op_positional_encoding = {
  .name = "positional_encoding",
  .title = "Positional encoding",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-positional-encoding-symbolic",
  .synonyms = "position embedding rope rotary sinusoidal transformer",
  .doc = "Encodes the position of each element of a sequence.",
  .details = "Attention itself does not depend on the order of its keys. Sinusoidal adds sines and cosines of "
             "different wavelengths, learned adds a trained vector for each position, and rotary rotates pairs of "
             "features of queries and keys, so that their dot products depend on the relative position.",
  .formula = "y₂ᵢ = x₂ᵢ + sin(t / base^(2i/E)),  y₂ᵢ₊₁ = x₂ᵢ₊₁ + cos(t / base^(2i/E))",
  .reference = "torchtune.modules.RotaryPositionalEmbeddings, for rotary",
  .source = "Vaswani et al., “Attention Is All You Need”, NeurIPS 2017, section 3.5; Su et al., “RoFormer: Enhanced "
            "Transformer with Rotary Position Embedding”, 2021",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
  .summary = summary,
};
