/* Linear: y = x Wᵀ + b over the last dimension. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Features in the last dimension [ …, in_features]." },
  { "weight",
    "Ties the weights to another tensor [out_features, in_features], or transposed if weight_layout is in_out.",
    LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_features].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const char *const layouts[] = { "out_in", "in_out", NULL };

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("out_features", INT, "64"), LOOM_RANGE (1, 1e9), .unit = "features",
    .doc = "The size of the last dimension of the output." },
  { LOOM_PARAM ("bias", BOOL, "true"), .doc = "Whether a learnable bias is added." },
  { LOOM_PARAM ("weight_layout", ENUM, "out_in"), .choices = layouts,
    .doc = "The layout of the weights, in files too: [out_features, in_features] as in torch.nn.Linear, or "
           "[in_features, out_features] as in GPT-2, whose published weights can then be loaded unchanged." },
  { LOOM_PARAM ("lora_rank", INT, ""), LOOM_RANGE (1, 1e6), .advanced = TRUE,
    .doc = "Adds lora_alpha / r · (x Aᵀ) Bᵀ with A [r, in_features] and B [out_features, r] of this rank r, and then "
           "only such factors are trained, and the weights that a <group> matches." },
  { LOOM_PARAM ("lora_alpha", FLOAT, "8"), LOOM_RANGE (0, 1e9), .advanced = TRUE,
    .doc = "The factor of that product, with lora_rank." },
  { LOOM_PARAM ("use_dora", BOOL, "false"), .advanced = TRUE,
    .doc = "Whether the rows of W + lora_alpha / r · B A are scaled to trained magnitudes, with lora_rank. Training "
           "begins with the norms of the rows." },
  { NULL },
};

static gboolean
is_in_out (const LoomInfer *ctx)
{
  return g_str_equal (loom_infer_string (ctx, "weight_layout"), "in_out");
}

/* Declares the factors of LoRA (Hu et al. 2022, section 4.1), named and initialised as in PEFT: B is 0, so that
 * training begins with the output of the layer itself. */
static void
infer_lora (LoomInfer *ctx, gint64 in, gint64 out)
{
  const gint64 rank = loom_infer_is_set (ctx, "lora_rank") ? loom_infer_int (ctx, "lora_rank") : 0;

  if (rank == 0 && loom_infer_bool (ctx, "use_dora"))
    loom_infer_fault (ctx, LOOM_ERROR_USAGE, NULL, "use_dora without lora_rank has no effect; set lora_rank.")->is_warning
        = TRUE;
  if (rank == 0)
    return;
  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = LOOM_LORA_A,
                                             .shape = loom_shape (2, (gint64[]){ rank, in }),
                                             .init = loom_init_fan_in (in),
                                             .is_factor = TRUE,
                                             .dtype = LOOM_F32 });
  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = LOOM_LORA_B,
                                             .shape = loom_shape (2, (gint64[]){ out, rank }),
                                             .init = { .kind = LOOM_INIT_ZEROS },
                                             .is_factor = TRUE,
                                             .dtype = LOOM_F32 });
  if (loom_infer_bool (ctx, "use_dora"))
    loom_infer_weight (ctx, &(LoomWeightSpec){ .name = LOOM_LORA_MAGNITUDE,
                                               .shape = loom_shape (1, (gint64[]){ out }),
                                               .init = { .kind = LOOM_INIT_CONSTANT, .a = 1 },
                                               .is_factor = TRUE,
                                               .dtype = LOOM_F32 });
}

/* A rank of four usually means images without a flatten or a permute before, but rows of pixels may be meant. Images
 * that were permuted are an exception (net-roots.c). */
static void
warn_of_images (LoomInfer *ctx, const LoomShape *shape)
{
  LoomShape last = { .rank = 1, .dim = { shape->dim[3] } }, second = { .rank = 1, .dim = { shape->dim[1] } };
  g_autofree char *all = loom_shape_to_string (shape), *one = loom_shape_to_string (&last);
  g_autofree char *channels = loom_shape_to_string (&second);

  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input",
                    "linear works on the last dimension, %s, only; to use all of %s put a flatten before it, to use "
                    "the %s channels at each position, as of patches, a permute with dims 0,2,3,1.",
                    one, all, channels)
      ->is_warning
      = TRUE;
}

/* A column split shards the output features over the ranks, a row split the input features. */
static const LoomWeightSplit out_in_splits[]
    = { { "column", 0, 0, "output features" }, { "row", 1, 0, "input features" }, { NULL } };
static const LoomWeightSplit in_out_splits[]
    = { { "column", 1, 0, "output features" }, { "row", 0, 0, "input features" }, { NULL } };
static const LoomWeightSplit bias_splits[] = { { "column", 0, 0, "output features" }, { NULL } };

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 in, out = loom_infer_int (ctx, "out_features");
  LoomShape shape = x->shape;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "features in a last dimension",
                     "Put a reshape before it.")
      || !loom_op_needs_weight_type (ctx, 0, "input"))
    return;
  if (!loom_op_plain_dim (ctx, x->shape.dim[x->shape.rank - 1], "each input feature", &in))
    return;
  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "weight",
                                             .shape = is_in_out (ctx) ? loom_shape (2, (gint64[]){ in, out })
                                                                      : loom_shape (2, (gint64[]){ out, in }),
                                             .init = loom_init_fan_in (in),
                                             .dtype = LOOM_F32,
                                             .splits = is_in_out (ctx) ? in_out_splits : out_in_splits });
  if (loom_infer_bool (ctx, "bias"))
    loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "bias",
                                               .shape = loom_shape (1, (gint64[]){ out }),
                                               .init = loom_init_fan_in (in),
                                               .dtype = LOOM_F32,
                                               .splits = bias_splits });
  infer_lora (ctx, in, out);
  if (shape.rank == 4)
    warn_of_images (ctx, &shape);
  shape.dim[shape.rank - 1] = loom_dim (out);
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

/* v · lora_alpha / r */
static LoomValue
scale_lora (LoomLower *ctx, LoomValue v)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  const double scale = loom_infer_float (infer, "lora_alpha") / (double)loom_infer_int (infer, "lora_rank");

  return loom_binary (loom_lower_program (ctx), LOOM_SCALAR_MUL, v,
                      loom_const (loom_lower_program (ctx), loom_op_desc (ctx, v).dtype, scale));
}

/* x [rows, in_features], y [rows, out_features] → y + lora_alpha / r · (x Aᵀ) Bᵀ. The small product is scaled. */
static LoomValue
lower_lora (LoomLower *ctx, LoomValue x, LoomValue y)
{
  LoomProgram *p = loom_lower_program (ctx);
  const LoomValue a = loom_lower_weight (ctx, LOOM_LORA_A), b = loom_lower_weight (ctx, LOOM_LORA_B);

  if (a == 0)
    return y;
  return loom_binary (p, LOOM_SCALAR_ADD, y,
                      loom_matmul (p, scale_lora (ctx, loom_matmul (p, x, a, FALSE, TRUE)), b, FALSE, TRUE));
}

/* DoRA (Liu et al. 2024): y [rows, out_features] of the sum of weight and product, times the magnitudes over the norms
 * of the sum's rows. As in PEFT, the norms count as constants in the gradient (section 4.3). */
static LoomValue
lower_magnitudes (LoomLower *ctx, LoomValue weight, LoomValue y)
{
  LoomProgram *p = loom_lower_program (ctx);
  const gboolean turned = is_in_out (loom_lower_infer (ctx));
  const LoomValue a = loom_lower_weight (ctx, LOOM_LORA_A), b = loom_lower_weight (ctx, LOOM_LORA_B);
  LoomValue product = turned ? loom_matmul (p, scale_lora (ctx, a), b, TRUE, TRUE)
                             : loom_matmul (p, b, scale_lora (ctx, a), FALSE, FALSE);
  LoomValue sum = loom_binary (p, LOOM_SCALAR_ADD, weight, product);
  LoomValue squares
      = loom_reduce (p, LOOM_REDUCE_SUM, loom_binary (p, LOOM_SCALAR_MUL, sum, sum), turned ? 1u << 0 : 1u << 1, FALSE);
  LoomValue norms = loom_detach (p, loom_unary (p, LOOM_SCALAR_SQRT, squares));
  const LoomTensorDesc desc = loom_op_desc (ctx, norms);

  /* A row of zeros, whose magnitude is 0, remains one. */
  norms = loom_binary (p, LOOM_SCALAR_MAX, norms, loom_fill (p, desc.dtype, desc.rank, desc.dim, LOOM_DORA_LEAST));
  return loom_binary (p, LOOM_SCALAR_MUL, y,
                      loom_binary (p, LOOM_SCALAR_DIV, loom_lower_weight (ctx, LOOM_LORA_MAGNITUDE), norms));
}

/* Leading dimensions are rows of one matrix: one product, and one for each gradient. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[3] = { loom_lower_input (ctx, 0), loom_lower_weight (ctx, "weight"), loom_lower_weight (ctx, "bias") };
  const LoomValue bias = in[2];
  const gboolean is_scaled = loom_lower_weight (ctx, LOOM_LORA_MAGNITUDE) != 0;
  LoomMatmulAttrs attrs
      = { .trans_b = !is_in_out (loom_lower_infer (ctx)), .has_bias = bias != 0 && !is_scaled, .act = LOOM_SCALAR_ID };
  LoomValue y;
  LoomTensorDesc x = loom_op_desc (ctx, in[0]);
  gint64 features = x.dim[x.rank - 1], rows = 1, dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  for (int i = 0; i + 1 < x.rank; i++)
    rows *= x.dim[i];
  in[0] = loom_reshape (p, in[0], 2, (gint64[]){ rows, features });
  if (is_scaled)
    in[2] = 0;
  y = lower_lora (ctx, in[0], loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, NULL));
  if (is_scaled)
    y = lower_magnitudes (ctx, in[1], y);
  if (is_scaled && bias != 0)
    y = loom_binary (p, LOOM_SCALAR_ADD, y, bias);
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
}

static double
flops (const LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  const double in = (double)x->shape.dim[x->shape.rank - 1].coef, count = loom_op_output_count (ctx, 0);
  const double rank = loom_infer_is_set (ctx, "lora_rank") ? (double)loom_infer_int (ctx, "lora_rank") : 0;

  return 2.0 * count * in + 2.0 * rank * count * (1 + in / (double)loom_infer_int (ctx, "out_features"));
}

static char *
summary (const LoomInfer *ctx)
{
  g_autofree char *lora = loom_infer_is_set (ctx, "lora_rank")
                              ? g_strdup_printf (" · LoRA %" G_GINT64_FORMAT, loom_infer_int (ctx, "lora_rank"))
                              : g_strdup ("");

  return g_strdup_printf ("%" G_GINT64_FORMAT " features%s%s", loom_infer_int (ctx, "out_features"),
                          loom_infer_bool (ctx, "bias") ? "" : " · no bias", lora);
}

static const LoomSample samples[] = {
  { .params = "out_features=5", .inputs = { "f32:B,3" } },
  { .params = "out_features=5 bias=false", .inputs = { "f32:B,3" } },
  { .params = "out_features=5 weight_layout=in_out", .inputs = { "f32:B,3" } },
  { .params = "out_features=2 weight_layout=in_out bias=false", .inputs = { "f32:B,T,3" } },
  { .params = "out_features=2", .inputs = { "f32:B,T,3" } },
  { .params = "out_features=2", .inputs = { "f32:2,1,B,2,3" } },
  { .params = "out_features=1", .inputs = { "f32:1" } },
  { .params = "out_features=5 lora_rank=2 lora_alpha=3", .inputs = { "f32:B,3" } },
  { .params = "out_features=2 lora_rank=1 weight_layout=in_out bias=false", .inputs = { "f32:B,T,3" } },
  { .params = "out_features=5 lora_rank=2 use_dora=true", .inputs = { "f32:B,3" } },
  { .params = "out_features=2 lora_rank=1 use_dora=true weight_layout=in_out", .inputs = { "f32:B,T,3" } },
  { .params = "out_features=4", .inputs = { "f32:0,3" } },
  { .params = "out_features=2", .inputs = { "f32:B,3", "f32:2,3", "f32:2" } },
  { NULL },
};

/* A projection to the number of features of the tensor that the result is combined with. */
static char **
adapt (const LoomType *from, const LoomType *const *siblings, guint n_siblings)
{
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();

  for (guint i = 0; i < n_siblings && loom_dtype_is_float (from->dtype); i++)
    {
      const LoomShape *shape = &siblings[i]->shape;

      if (shape->rank > 0 && loom_dim_is_known (shape->dim[shape->rank - 1]))
        {
          g_autofree char *attributes
              = g_strdup_printf ("out_features=%" G_GINT64_FORMAT, shape->dim[shape->rank - 1].coef);

          g_strv_builder_add (list, attributes);
        }
    }
  return g_strv_builder_end (list);
}

const LoomOp loom_op_linear = {
  .name = "linear",
  .title = "Linear",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-linear-symbolic",
  .synonyms = "dense fully connected fc affine perceptron mlp",
  .usual = TRUE,
  .doc = "Applies an affine map to the last dimension, y = x Wᵀ + b.",
  .details = "Each output feature is a weighted sum of all input features plus a bias; the output is [ …, "
             "out_features]. Several linear layers need activations between them, because two affine maps in sequence "
             "are again one. Images are flattened first; other leading dimensions, such as the sequence, are handled "
             "like the batch. Also called a dense or fully connected layer.",
  .formula = "y = x Wᵀ + b",
  .first = LOOM_FIRST_ROWS,
  .reference = "torch.nn.Linear",
  .source = "Goodfellow, Bengio and Courville, “Deep Learning”, MIT Press 2016, section 6.1",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .adapt = adapt,
  .lower = lower,
  .flops = flops,
  .samples = samples,
  .summary = summary,
};
