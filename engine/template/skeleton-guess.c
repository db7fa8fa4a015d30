/* Guesses a layer from the names and shapes of its tensors, by the conventions of PyTorch's layers.
 *
 * A rule is tried if all tensors of a layer are among its own. To add a rule, write its names, the ranks of its
 * weight and the consequences of the shapes into the table; the first rule that applies determines the layer. */
#include "engine/template/skeleton-private.h"

#include <string.h>

#define MOST_NAMES 5
#define MOST_RANK  5

typedef struct
{
  const char *id;
  const SkeletonTensor *weight, *bias; /* NULL if the layer has none */
  int spatial;                         /* of its scope */
} Seen;

typedef struct
{
  const char *needs[MOST_NAMES], *may[MOST_NAMES];
  int least_rank, most_rank; /* of the weight, if there is one */
  /* FALSE: it is another layer. An error names what cannot be determined. */
  gboolean (*guess) (const Seen *seen, SkeletonLayer *layer, char **why);
} Rule;

void
skeleton_layer_free (SkeletonLayer *layer)
{
  if (layer == NULL)
    return;
  g_clear_pointer (&layer->attribute, g_ptr_array_unref);
  g_free (layer);
}

static const SkeletonTensor *
find (const GPtrArray *tensors, const char *name)
{
  for (guint i = 0; i < tensors->len; i++)
    if (g_str_equal (((const SkeletonTensor *)tensors->pdata[i])->name, name))
      return tensors->pdata[i];
  return NULL;
}

static gint64
side (const SkeletonTensor *tensor, int i)
{
  return loom_dim_value (tensor->type.shape.dim[i], NULL);
}

static void
set (SkeletonLayer *layer, const char *name, const char *value)
{
  g_ptr_array_add (layer->attribute, g_strdup (name));
  g_ptr_array_add (layer->attribute, g_strdup (value));
}

static void
set_number (SkeletonLayer *layer, const char *name, gint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);

  set (layer, name, text);
}

/* A bias with one dimension of this size, or none at all. */
static gboolean
has_bias_of (const Seen *seen, gint64 n)
{
  return seen->bias == NULL || (seen->bias->type.shape.rank == 1 && side (seen->bias, 0) == n);
}

static gboolean
is_called (const char *id, const char *const *words)
{
  g_autofree char *lower = g_ascii_strdown (id, -1);

  for (; *words != NULL; words++)
    if (strstr (lower, *words) != NULL)
      return TRUE;
  return FALSE;
}

/* ---- rules -------------------------------------------------------------- */

/* [out, in] */
static gboolean
guess_linear (const Seen *seen, SkeletonLayer *layer, char **why)
{
  if (!has_bias_of (seen, side (seen->weight, 0)))
    return FALSE;
  layer->op = "linear";
  layer->in = side (seen->weight, 1);
  layer->out = side (seen->weight, 0);
  set_number (layer, "out_features", layer->out);
  if (seen->bias == NULL)
    set (layer, "bias", "false");
  return TRUE;
}

/* [symbols, features]: a linear layer without a bias has the same tensor, so only the name distinguishes them. */
static gboolean
guess_embedding (const Seen *seen, SkeletonLayer *layer, char **why)
{
  static const char *const words[] = { "emb", "wte", "wpe", "lookup", "vocab", NULL };

  if (!is_called (seen->id, words))
    return FALSE;
  layer->op = "embedding";
  layer->symbols = TRUE;
  layer->out = side (seen->weight, 1);
  set_number (layer, "num_embeddings", side (seen->weight, 0));
  set_number (layer, "embedding_dim", layer->out);
  return TRUE;
}

static void
set_kernel (SkeletonLayer *layer, const Seen *seen, gboolean keep_size)
{
  g_autoptr (GString) kernel = g_string_new (NULL), padding = g_string_new (NULL);
  gboolean odd = TRUE, padded = FALSE;

  for (int i = 2; i < seen->weight->type.shape.rank; i++)
    {
      const gint64 k = side (seen->weight, i);

      g_string_append_printf (kernel, "%s%" G_GINT64_FORMAT, i > 2 ? "," : "", k);
      g_string_append_printf (padding, "%s%" G_GINT64_FORMAT, i > 2 ? "," : "", k / 2);
      odd = odd && k % 2 == 1;
      padded = padded || k > 1;
    }
  set (layer, "kernel_size", kernel->str);
  if (keep_size && odd && padded)
    set (layer, "padding", padding->str);
}

/* [out, in / groups, kernel sizes]. One input channel of several is a depthwise convolution. */
static gboolean
guess_conv (const Seen *seen, SkeletonLayer *layer, char **why)
{
  static const char *const ops[] = { "conv1d", "conv2d", "conv3d" };

  if (!has_bias_of (seen, side (seen->weight, 0)))
    return FALSE;
  layer->spatial = seen->weight->type.shape.rank - 2;
  layer->op = ops[layer->spatial - 1];
  layer->in = side (seen->weight, 1);
  layer->out = side (seen->weight, 0);
  set_number (layer, "out_channels", layer->out);
  set_kernel (layer, seen, TRUE);
  if (seen->bias == NULL)
    set (layer, "bias", "false");
  return TRUE;
}

/* [in, out, kernel sizes]: the bias distinguishes them. */
static gboolean
guess_conv_transpose (const Seen *seen, SkeletonLayer *layer, char **why)
{
  static const char *const ops[] = { "conv_transpose1d", "conv_transpose2d", "conv_transpose3d" };
  static const char *const words[] = { "transpose", "deconv", "up", NULL };
  const gint64 first = side (seen->weight, 0), second = side (seen->weight, 1);
  const gboolean square = first == second && is_called (seen->id, words);

  if (!has_bias_of (seen, second) || (seen->bias == NULL && !is_called (seen->id, words))
      || (first == second && !square))
    return FALSE;
  layer->spatial = seen->weight->type.shape.rank - 2;
  layer->op = ops[layer->spatial - 1];
  layer->in = first;
  layer->out = second;
  set_number (layer, "out_channels", second);
  set_kernel (layer, seen, FALSE);
  if (seen->bias == NULL)
    set (layer, "bias", "false");
  return TRUE;
}

static gboolean
guess_batch_norm (const Seen *seen, SkeletonLayer *layer, char **why)
{
  layer->spatial = -1;
  if (seen->weight == NULL)
    set (layer, "affine", "false");
  return (seen->weight == NULL) == (seen->bias == NULL);
}

/* Both have a scale and a shift for each channel, and no tensor has the number of groups. */
static gboolean
guess_layer_norm (const Seen *seen, SkeletonLayer *layer, char **why)
{
  if (seen->spatial > 0)
    {
      *why = g_strdup ("next to convolutions may be a group norm or a layer norm");
      return FALSE;
    }
  layer->op = "layer_norm";
  return has_bias_of (seen, side (seen->weight, 0));
}

static gboolean
guess_rms_norm (const Seen *seen, SkeletonLayer *layer, char **why)
{
  static const char *const words[] = { "norm", "ln", NULL };

  layer->op = "rms_norm";
  return is_called (seen->id, words) && seen->spatial == 0;
}

static const Rule rules[] = {
  { { "running_mean", "running_var" }, { "weight", "bias", "num_batches_tracked" }, 1, 1, guess_batch_norm },
  { { "weight" }, { NULL }, 2, 2, guess_embedding },
  { { "weight" }, { "bias" }, 2, 2, guess_linear },
  { { "weight" }, { "bias" }, 3, MOST_RANK, guess_conv_transpose },
  { { "weight" }, { "bias" }, 3, MOST_RANK, guess_conv },
  { { "weight" }, { NULL }, 1, 1, guess_rms_norm },
  { { "weight", "bias" }, { NULL }, 1, 1, guess_layer_norm },
};

/* ---- the table ------------------------------------------------------------ */

static gboolean
names_fit (const Rule *rule, const GPtrArray *tensors)
{
  const SkeletonTensor *weight = find (tensors, "weight");

  for (guint i = 0; rule->needs[i] != NULL; i++)
    if (find (tensors, rule->needs[i]) == NULL)
      return FALSE;
  for (guint i = 0; i < tensors->len; i++)
    {
      const char *name = ((const SkeletonTensor *)tensors->pdata[i])->name;

      if (!g_strv_contains (rule->needs, name) && !g_strv_contains (rule->may, name))
        return FALSE;
    }
  return weight == NULL || (weight->type.shape.rank >= rule->least_rank && weight->type.shape.rank <= rule->most_rank);
}

/* The tensors of a norm have one size: the number of features. */
static void
set_width (SkeletonLayer *layer, const GPtrArray *tensors)
{
  for (guint i = 0; layer->out == 0 && i < tensors->len; i++)
    {
      const SkeletonTensor *tensor = tensors->pdata[i];

      if (tensor->type.shape.rank == 1)
        layer->in = layer->out = side (tensor, 0);
    }
}

static char *
list_tensors (const GPtrArray *tensors)
{
  g_autoptr (GString) s = g_string_new (NULL);

  for (guint i = 0; i < tensors->len; i++)
    {
      const SkeletonTensor *tensor = tensors->pdata[i];
      g_autofree char *shape = loom_shape_to_string (&tensor->type.shape);

      if (i == MOST_NAMES)
        {
          g_string_append_printf (s, " and %u more", tensors->len - i);
          break;
        }
      g_string_append_printf (s, "%s%s %s", i > 0 ? ", " : "", tensor->name, shape);
    }
  return g_strdup (s->str);
}

SkeletonLayer *
skeleton_guess (const char *id, const GPtrArray *tensors, int spatial, char **why)
{
  const Seen seen
      = { .id = id, .weight = find (tensors, "weight"), .bias = find (tensors, "bias"), .spatial = spatial };

  *why = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (rules) && *why == NULL; i++)
    {
      SkeletonLayer *layer;

      if (!names_fit (&rules[i], tensors))
        continue;
      layer = g_new0 (SkeletonLayer, 1);
      layer->attribute = g_ptr_array_new_with_free_func (g_free);
      if (rules[i].guess (&seen, layer, why))
        {
          set_width (layer, tensors);
          return layer;
        }
      skeleton_layer_free (layer);
    }
  if (*why == NULL)
    {
      g_autofree char *list = list_tensors (tensors);

      *why = g_strdup_printf ("has tensors that no known layer has: %s", list);
    }
  return NULL;
}

const char *
skeleton_batch_norm (int spatial)
{
  static const char *const ops[] = { "batch_norm1d", "batch_norm1d", "batch_norm2d", "batch_norm3d" };

  return ops[CLAMP (spatial, 0, 3)];
}
