/* Builds the networks of each kind. Each shows one idea of a first course, fits on one screen and learns within a
 * minute on two cores; sizes are meant to be changed. */
#include "engine/template/template-private.h"

#define CHARACTERS 64 /* features of a character, and channels of the convolutions over them */
#define WINDOW     8  /* the receptive field of a causal convolution, in characters */

gint64
loom_template_count (const LoomType *type)
{
  gint64 count = 1;

  for (int d = 1; d < type->shape.rank; d++)
    {
      if (!loom_dim_is_known (type->shape.dim[d]))
        return 0;
      count *= type->shape.dim[d].coef;
    }
  return count;
}

static gint64
size_of (const LoomType *type, int d)
{
  return type->shape.dim[d].coef;
}

static const char *
chain_linear (LoomTemplateMaker *maker, const char *id, gint64 features)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, features);

  return loom_template_chain (maker, id, "linear", "out_features", text, NULL);
}

/* Integers are cast, and each sample is flattened. */
static void
chain_row (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  if (!loom_dtype_is_float (shape->x->dtype))
    loom_template_chain (maker, "numbers", "cast", "dtype", "f32", NULL);
  if (shape->x->shape.rank == 1)
    loom_template_chain (maker, "row", "unsqueeze", "dim", "1", NULL);
  else if (shape->x->shape.rank > 2)
    loom_template_chain (maker, "flat", "flatten", NULL);
}

static gboolean
suits_rows (const LoomTemplateShape *shape)
{
  return !loom_template_has_boxes (shape->info) && shape->task != LOOM_TASK_POSITIONS
         && loom_template_count (shape->x) > 0;
}

static void
build_mlp (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  chain_row (maker, shape);
  chain_linear (maker, "hidden", loom_template_count (shape->x) > 64 ? 128 : 32);
  loom_template_chain (maker, "act", "relu", NULL);
  chain_linear (maker, shape->task == LOOM_TASK_CLASSES ? "scores" : "answer", shape->n_out);
}

static void
build_linear (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  chain_row (maker, shape);
  chain_linear (maker, shape->task == LOOM_TASK_CLASSES ? "scores" : "answer", shape->n_out);
}

static gboolean
suits_images (const LoomTemplateShape *shape)
{
  return suits_rows (shape) && shape->x->shape.rank == 4 && loom_dtype_is_float (shape->x->dtype)
         && size_of (shape->x, 2) >= 8 && size_of (shape->x, 3) >= 8 && shape->task != LOOM_TASK_NONE;
}

/* Two blocks of convolution and pooling. */
static void
build_conv (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  static const char *const channels[] = { "16", "32" };

  for (guint i = 0; i < G_N_ELEMENTS (channels); i++)
    {
      loom_template_chain (maker, "conv", "conv2d", "out_channels", channels[i], "kernel_size", "3", "padding", "1",
                           NULL);
      loom_template_chain (maker, "act", "relu", NULL);
      loom_template_chain (maker, "pool", "max_pool2d", "kernel_size", "2", NULL);
    }
  loom_template_chain (maker, "flat", "flatten", NULL);
  chain_linear (maker, "hidden", 64);
  loom_template_chain (maker, "act", "relu", NULL);
  chain_linear (maker, shape->task == LOOM_TASK_CLASSES ? "scores" : "answer", shape->n_out);
}

static gboolean
suits_tokens (const LoomTemplateShape *shape)
{
  return shape->task == LOOM_TASK_POSITIONS && loom_dtype_is_float (shape->x->dtype) && shape->x->shape.rank == 3
         && loom_dim_equal (shape->x->shape.dim[1], shape->y->shape.dim[1]);
}

/* Vaswani et al., "Attention is all you need", 2017, section 3.2.1, with one head of 16 features. */
static void
build_attention (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  g_autofree char *from = g_strdup (maker->last);
  const char *const names[] = { "q", "k", "v" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      loom_template_set_end (maker, from);
      loom_template_chain (maker, names[i], "linear", "out_features", "16", "bias", "false", NULL);
    }
  loom_template_set_end (maker, "k");
  loom_template_chain (maker, "k_t", "transpose", "dim0", "1", "dim1", "2", NULL);
  loom_template_node (maker, "likeness", "matmul", NULL);
  loom_template_wire (maker, "q", "likeness.input");
  loom_template_wire (maker, "k_t", "likeness.other");
  loom_template_set_end (maker, "likeness");
  loom_template_chain (maker, "scaled", "expression", "formula", "x / 4", NULL);
  loom_template_chain (maker, "attention", "softmax", "dim", "-1", NULL);
  loom_template_node (maker, "mixed", "matmul", NULL);
  loom_template_wire (maker, "attention", "mixed.input");
  loom_template_wire (maker, "v", "mixed.other");
  loom_template_set_end (maker, "mixed");
  chain_linear (maker, "head", shape->n_out);
  loom_template_chain (maker, "scores", "transpose", "dim0", "1", "dim1", "2", NULL);
}

static gboolean
suits_text (const LoomTemplateShape *shape)
{
  return shape->info->n_ports == 2 && shape->task == LOOM_TASK_POSITIONS && !loom_dtype_is_float (shape->x->dtype)
         && shape->x->shape.rank == 2 && loom_dim_equal (shape->x->shape.dim[1], shape->y->shape.dim[1]);
}

/* Causal convolutions (van den Oord et al., "WaveNet", 2016, section 2.1): padding on the left only, so that no
 * position reads later ones. */
static void
build_characters (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  g_autofree char *symbols = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_symbols);
  g_autofree char *classes = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_out);
  g_autofree char *features = g_strdup_printf ("%d", CHARACTERS), *window = g_strdup_printf ("%d", WINDOW);
  g_autofree char *before = g_strdup_printf ("%d,0", WINDOW - 1);

  loom_template_chain (maker, "symbols", "embedding", "num_embeddings", symbols, "embedding_dim", features, NULL);
  loom_template_chain (maker, "channels", "transpose", "dim0", "1", "dim1", "2", NULL);
  for (int i = 0; i < 2; i++)
    {
      loom_template_chain (maker, "before", "pad", "pad", before, NULL);
      loom_template_chain (maker, "conv", "conv1d", "out_channels", features, "kernel_size", window, NULL);
      loom_template_chain (maker, "act", "relu", NULL);
    }
  loom_template_chain (maker, "scores", "conv1d", "out_channels", classes, "kernel_size", "1", NULL);
}

/* A gated recurrent unit (Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014) with an
 * output at each position. */
static void
build_recurrent (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  g_autofree char *symbols = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_symbols);

  loom_template_chain (maker, "symbols", "embedding", "num_embeddings", symbols, "embedding_dim", "32", NULL);
  loom_template_chain (maker, "memory", "gru", "hidden_size", "128", "batch_first", "true", NULL);
  chain_linear (maker, "head", shape->n_out);
  loom_template_chain (maker, "scores", "transpose", "dim0", "1", "dim1", "2", NULL);
}

/* Ports of a translation: source tokens, their number, target tokens shifted by one, and target tokens. */
enum
{
  SOURCE,
  LENGTH,
  SHIFTED,
  TARGET,
  N_TRANSLATION
};

static gboolean
suits_translation (const LoomTemplateShape *shape)
{
  const LoomDatasetPort *port = shape->info->port;

  return shape->task == LOOM_TASK_POSITIONS && shape->info->n_ports == N_TRANSLATION
         && port[SOURCE].type.dtype == LOOM_I64 && port[SOURCE].type.shape.rank == 2
         && port[LENGTH].type.dtype == LOOM_I64 && port[LENGTH].type.shape.rank == 1
         && port[SHIFTED].type.dtype == LOOM_I64 && port[SHIFTED].type.shape.rank == 2
         && loom_dim_equal (port[SHIFTED].type.shape.dim[1], port[TARGET].type.shape.dim[1]);
}

/* The final state of the encoder is the initial state of the decoder (Sutskever, Vinyals and Le, "Sequence to
 * sequence learning with neural networks", 2014). */
static void
build_translation (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  const LoomDatasetPort *port = shape->info->port;
  g_autofree char *symbols = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_symbols);
  g_autofree char *lengths = g_strdup_printf ("data.%s", port[LENGTH].name);
  g_autofree char *shifted = g_strdup_printf ("data.%s", port[SHIFTED].name);

  loom_template_chain (maker, "source", "embedding", "num_embeddings", symbols, "embedding_dim", "32", NULL);
  loom_template_chain (maker, "encoder", "gru", "hidden_size", "128", "batch_first", "true", NULL);
  loom_template_wire (maker, lengths, "encoder.lengths");
  loom_template_set_end (maker, shifted);
  loom_template_chain (maker, "target", "embedding", "num_embeddings", symbols, "embedding_dim", "32", NULL);
  loom_template_chain (maker, "decoder", "gru", "hidden_size", "128", "batch_first", "true", NULL);
  loom_template_wire (maker, "encoder.h_n", "decoder.h_0");
  chain_linear (maker, "head", shape->n_out);
  loom_template_chain (maker, "scores", "transpose", "dim0", "1", "dim1", "2", NULL);
}

/* An image and a sentence about it: images, target tokens shifted by one, and target tokens. */
static gboolean
suits_captions (const LoomTemplateShape *shape)
{
  const LoomDatasetPort *port = shape->info->port;

  return shape->task == LOOM_TASK_POSITIONS && shape->info->n_ports == 3 && loom_dtype_is_float (port[0].type.dtype)
         && port[0].type.shape.rank == 4 && size_of (&port[0].type, 2) >= 8 && size_of (&port[0].type, 3) >= 8
         && port[1].type.dtype == LOOM_I64 && port[1].type.shape.rank == 2
         && loom_dim_equal (port[1].type.shape.dim[1], port[2].type.shape.dim[1]);
}

/* The output of the convolutions is the initial state of the decoder (Vinyals et al., "Show and tell", 2015). */
static void
build_captions (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  static const char *const channels[] = { "16", "32" };
  g_autofree char *symbols = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_out);
  g_autofree char *shifted = g_strdup_printf ("data.%s", shape->info->port[1].name);

  for (guint i = 0; i < G_N_ELEMENTS (channels); i++)
    {
      loom_template_chain (maker, "conv", "conv2d", "out_channels", channels[i], "kernel_size", "3", "padding", "1",
                           NULL);
      loom_template_chain (maker, "act", "relu", NULL);
      loom_template_chain (maker, "pool", "max_pool2d", "kernel_size", "2", NULL);
    }
  loom_template_chain (maker, "flat", "flatten", NULL);
  chain_linear (maker, "seen", 128);
  loom_template_chain (maker, "state", "unsqueeze", "dim", "0", NULL);
  loom_template_set_end (maker, shifted);
  loom_template_chain (maker, "words", "embedding", "num_embeddings", symbols, "embedding_dim", "32", NULL);
  loom_template_chain (maker, "decoder", "gru", "hidden_size", "128", "batch_first", "true", NULL);
  loom_template_wire (maker, "state", "decoder.h_0");
  chain_linear (maker, "head", shape->n_out);
  loom_template_chain (maker, "scores", "transpose", "dim0", "1", "dim1", "2", NULL);
}

/* A class for each pixel; two poolings halve the sides. */
static gboolean
suits_pixels (const LoomTemplateShape *shape)
{
  return shape->task == LOOM_TASK_POSITIONS && shape->x->shape.rank == 4 && shape->y->shape.rank == 3
         && size_of (shape->x, 2) % 4 == 0 && size_of (shape->x, 3) % 4 == 0;
}

void
loom_template_chain_convolutions (LoomTemplateMaker *maker, const char *channels)
{
  for (guint i = 0; i < 2; i++)
    {
      loom_template_chain (maker, "conv", "conv2d", "out_channels", channels, "kernel_size", "3", "padding", "1",
                           "bias", "false", NULL);
      loom_template_chain (maker, "norm", "batch_norm2d", NULL);
      loom_template_chain (maker, "act", "relu", NULL);
    }
}

/* A small U-Net (Ronneberger, Fischer and Brox, "U-Net: convolutional networks for biomedical image segmentation",
 * 2015), whose convolutions keep the size. */
static void
build_unet (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  static const char *const channels[] = { "16", "32" };
  g_autofree char *classes = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_out);
  char *level[G_N_ELEMENTS (channels)];

  for (guint i = 0; i < G_N_ELEMENTS (channels); i++)
    {
      loom_template_chain_convolutions (maker, channels[i]);
      level[i] = g_strdup (maker->last);
      loom_template_chain (maker, "pool", "max_pool2d", "kernel_size", "2", NULL);
    }
  loom_template_chain_convolutions (maker, "64");
  for (guint i = G_N_ELEMENTS (channels); i-- > 0;)
    {
      g_autofree char *first = NULL, *second = NULL;
      const char *up = loom_template_chain (maker, "up", "conv_transpose2d", "out_channels", channels[i], "kernel_size",
                                            "2", "stride", "2", NULL);
      const char *join = loom_template_node (maker, "join", "concat", "dim", "1", NULL);

      first = g_strconcat (join, ".0", NULL);
      second = g_strconcat (join, ".1", NULL);
      loom_template_wire (maker, level[i], first);
      loom_template_wire (maker, up, second);
      loom_template_set_end (maker, join);
      loom_template_chain_convolutions (maker, channels[i]);
      g_free (level[i]);
    }
  loom_template_chain (maker, "scores", "conv2d", "out_channels", classes, "kernel_size", "1", NULL);
}

static gboolean
suits_positions (const LoomTemplateShape *shape)
{
  return suits_tokens (shape) || suits_text (shape);
}

/* Each position separately: a baseline. */
static void
build_alone (LoomTemplateMaker *maker, const LoomTemplateShape *shape)
{
  g_autofree char *symbols = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_symbols);

  if (suits_text (shape))
    loom_template_chain (maker, "symbols", "embedding", "num_embeddings", symbols, "embedding_dim", "64", NULL);
  chain_linear (maker, "hidden", 64);
  loom_template_chain (maker, "act", "relu", NULL);
  chain_linear (maker, "head", shape->n_out);
  loom_template_chain (maker, "scores", "transpose", "dim0", "1", "dim1", "2", NULL);
}

const LoomTemplateBuilder loom_template_builders[] = {
  { .kind = { "mlp", "Two linear layers", "A multilayer perceptron: one hidden layer with a ReLU." },
    .suits = suits_rows,
    .build = build_mlp,
    .lr = 0.01 },
  { .kind = { "conv", "Convolutions", "Two convolutions with pooling, then two linear layers." },
    .suits = suits_images,
    .build = build_conv,
    .lr = 0.002 },
  { .kind = { "linear", "One linear layer", "A linear model: the baseline for all other networks." },
    .suits = suits_rows,
    .build = build_linear,
    .lr = 0.01 },
  { .kind = { "attention", "Self-attention", "Self-attention with one head, built from operators." },
    .suits = suits_tokens,
    .build = build_attention,
    .lr = 0.005 },
  { .kind = { "characters", "Causal convolutions",
              "A convolutional network in which each position reads the fifteen symbols before it and predicts the "
              "next one." },
    .suits = suits_text,
    .build = build_characters,
    .lr = 0.003 },
  { .kind = { "recurrent", "Recurrent", "A recurrent network (GRU) with an output at each position." },
    .suits = suits_text,
    .build = build_recurrent,
    .lr = 0.003 },
  { .kind = { "translation", "Encoder and decoder",
              "A sequence-to-sequence network: one GRU reads the source, another one writes the target." },
    .suits = suits_translation,
    .build = build_translation,
    .lr = 0.003 },
  { .kind = { "unet", "U-Net", "A class for every pixel: convolutions that reduce a picture, and enlarge it again." },
    .suits = suits_pixels,
    .build = build_unet,
    .lr = 0.002 },
  { .kind = { "detector", "Detector", "Boxes of objects: a map of their centres, and their sizes at these." },
    .suits = loom_template_suits_detector,
    .build = loom_template_build_detector,
    .lr = 0.004,
    .has_loss = TRUE },
  { .kind
    = { "captions", "Image captioning", "A convolutional encoder and a GRU decoder, which writes one word at a time." },
    .suits = suits_captions,
    .build = build_captions,
    .lr = 0.002 },
  { .kind
    = { "alone", "Each position separately", "Reads one symbol at a time: the baseline for networks with a memory." },
    .suits = suits_positions,
    .build = build_alone,
    .lr = 0.005 },
  { .kind = { NULL } },
};
