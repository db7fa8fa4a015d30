/* Adapters; see the header. Names and values are those of PEFT (huggingface.co/docs/peft, LoRA's checkpoint format). */
#include "engine/infer/adapter-private.h"

#include "engine/core/loom-json.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-text.h"
#include "engine/infer/adapter-layers.h"
#include "engine/infer/loom-run-json.h"
#include "engine/recipe/loom-train-spec.h"

#include <math.h>
#include <string.h>

/* An entry of alpha_pattern. */
typedef struct
{
  char *key;
  GRegex *layers;
  double value;
} Alpha;

static void
alpha_free (gpointer data)
{
  Alpha *self = data;

  g_free (self->key);
  g_clear_pointer (&self->layers, g_regex_unref);
  g_free (self);
}

struct _LoomAdapter
{
  LoomTensorFile *file;
  char *path;
  GPtrArray *names;        /* by tensor, those of the graph */
  double alpha;            /* NaN: each layer's rank */
  GPtrArray *alphas;       /* Alpha */
  gboolean has_magnitudes; /* use_dora */
  gboolean is_stabilised;  /* use_rslora: the product is scaled by alpha / √r (Kalajdzievski 2023) */
};

void
loom_adapter_free (LoomAdapter *self)
{
  if (self == NULL)
    return;
  loom_tensor_file_free (self->file);
  g_free (self->path);
  g_ptr_array_unref (self->names);
  g_ptr_array_unref (self->alphas);
  g_free (self);
}

/* ---- reading ---------------------------------------------------------------- */

static gboolean
is_factor_module (const char *part)
{
  return g_str_equal (part, "lora_A") || g_str_equal (part, "lora_B");
}

/* "base_model.model.block.fc.lora_A.default.weight" → "block.fc.lora_A.weight": a state_dict has the adapter's name,
 * files of PEFT do not. A layer may itself be named lora_A. Magnitudes lose what follows their word. */
static char *
plain_name (const char *name)
{
  g_auto (GStrv) parts = NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  if (g_str_has_prefix (name, LOOM_ADAPTER_PREFIX))
    name += strlen (LOOM_ADAPTER_PREFIX);
  parts = g_strsplit (name, ".", -1);
  for (guint i = 0; parts[i] != NULL; i++)
    {
      const gboolean is_magnitude = i > 0 && g_str_equal (parts[i], LOOM_LORA_MAGNITUDE);
      const gboolean is_given = i > 0 && parts[i + 1] != NULL && g_str_equal (parts[i + 1], "weight")
                                && is_factor_module (parts[i - 1]) && !is_factor_module (parts[i]);

      if (!is_given)
        g_string_append_printf (text, "%s%s", text->len > 0 ? "." : "", parts[i]);
      if (is_magnitude)
        break;
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
adapter_is_factor (const char *name)
{
  return g_str_has_suffix (name, "." LOOM_LORA_A) || g_str_has_suffix (name, "." LOOM_LORA_B)
         || g_str_has_suffix (name, "." LOOM_LORA_MAGNITUDE);
}

static gboolean
is_set (const LoomRunJson *json, const char *name)
{
  JsonNode *node = json_object_get_member (json->object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_boolean (node);
}

/* Keys are regular expressions for a layer's path or its end. */
static gboolean
read_alphas (LoomAdapter *self, const LoomRunJson *json, GError **error)
{
  g_autoptr (GList) keys = NULL;
  LoomRunJson alphas;

  if (!json_object_has_member (json->object, "alpha_pattern"))
    return TRUE;
  if (!loom_run_json_object (json, "alpha_pattern", &alphas, error))
    return FALSE;
  keys = json_object_get_members (alphas.object);
  for (GList *k = keys; k != NULL; k = k->next)
    {
      const char *key = k->data;
      g_autoptr (GRegex) alone = g_regex_new (key, 0, 0, NULL); /* without it, "a)|(b" would be one */
      g_autofree char *path = g_strdup_printf ("(.*\\.)?(%s)$", key);
      Alpha *own = g_new0 (Alpha, 1);

      g_ptr_array_add (self->alphas, own);
      own->key = g_strdup (key);
      own->layers = alone != NULL ? g_regex_new (path, G_REGEX_ANCHORED, 0, NULL) : NULL;
      if (own->layers == NULL)
        return loom_refuse (error, LOOM_ERROR_DATA, "%s: “%s” of alpha_pattern is not a regular expression.",
                            json->path, key);
      if (!loom_run_json_double (&alphas, key, FALSE, &own->value, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_config (LoomAdapter *self, const char *folder_path, GError **error)
{
  g_autofree char *file = g_build_filename (folder_path, LOOM_ADAPTER_CONFIG, NULL), *shown = NULL;
  g_autoptr (LoomFolder) folder = NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  LoomRunJson json;

  self->alpha = NAN;
  if (!loom_path_exists (file))
    return TRUE;
  folder = loom_folder_open (folder_path, error);
  if (folder == NULL || !loom_run_json_root (parser, folder, LOOM_ADAPTER_CONFIG, &shown, &json, error)
      || !loom_run_json_double (&json, "lora_alpha", FALSE, &self->alpha, error) || !read_alphas (self, &json, error))
    return FALSE;
  self->is_stabilised = is_set (&json, "use_rslora");
  self->has_magnitudes = is_set (&json, "use_dora");
  return TRUE;
}

int
adapter_find_tensor (const LoomAdapter *self, const char *name)
{
  for (guint i = 0; i < self->names->len; i++)
    if (g_str_equal (self->names->pdata[i], name))
      return (int)i;
  return -1;
}

/* "fc.base_layer.bias" → "fc.bias", if "fc" has factors. */
static void
name_biases (LoomAdapter *self)
{
  for (guint i = 0; i < self->names->len; i++)
    {
      const char *name = self->names->pdata[i];
      g_autofree char *path = NULL, *factor = NULL;

      if (!g_str_has_suffix (name, "." LOOM_ADAPTER_BIAS))
        continue;
      path = g_strndup (name, strlen (name) - strlen (LOOM_ADAPTER_BIAS));
      factor = g_strconcat (path, LOOM_LORA_A, NULL);
      if (adapter_find_tensor (self, factor) < 0)
        continue;
      g_free (self->names->pdata[i]);
      self->names->pdata[i] = g_strconcat (path, "bias", NULL);
    }
}

LoomAdapter *
loom_adapter_open (const char *path, GError **error)
{
  g_autoptr (LoomAdapter) self = g_new0 (LoomAdapter, 1);
  g_autofree char *folder = loom_path_is_folder (path) ? g_strdup (path) : g_path_get_dirname (path);
  guint n_factors = 0;

  self->path = loom_path_is_folder (path) ? g_build_filename (path, LOOM_ADAPTER_WEIGHTS, NULL) : g_strdup (path);
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->alphas = g_ptr_array_new_with_free_func (alpha_free);
  self->file = loom_tensor_file_open (self->path, error);
  if (self->file == NULL || !read_config (self, folder, error))
    return NULL;
  for (guint i = 0; i < loom_tensor_file_count (self->file); i++)
    {
      g_ptr_array_add (self->names, plain_name (loom_tensor_file_name (self->file, i)));
      n_factors += adapter_is_factor (self->names->pdata[i]);
      self->has_magnitudes |= g_str_has_suffix (self->names->pdata[i], "." LOOM_LORA_MAGNITUDE);
    }
  if (n_factors == 0)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "“%s” is not an adapter: it has no tensors …." LOOM_LORA_A " and …." LOOM_LORA_B ".",
                             self->path);
  name_biases (self);
  return g_steal_pointer (&self);
}

guint
loom_adapter_count (const LoomAdapter *self)
{
  return self->names->len;
}

const char *
loom_adapter_name (const LoomAdapter *self, guint i)
{
  return self->names->pdata[i];
}

LoomTensor *
loom_adapter_tensor (LoomAdapter *self, guint i, GError **error)
{
  return loom_tensor_file_tensor (self->file, i, error);
}

/* ---- layers ------------------------------------------------------------------ */

static void
set_layer (LoomGraph *graph, guint64 serial, gint64 rank, double alpha, gboolean has_magnitudes)
{
  const LoomElement *element = loom_graph_by_serial (graph, serial);
  g_autofree char *text = rank > 0 ? g_strdup_printf ("%" G_GINT64_FORMAT, rank) : NULL;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  loom_edit_free (loom_graph_apply (graph, loom_edit_set (element, "lora_rank", text)));
  loom_edit_free (loom_graph_apply (
      graph, loom_edit_set (element, "lora_alpha", rank > 0 ? loom_text_decimal (alpha, number) : NULL)));
  loom_edit_free (loom_graph_apply (graph, loom_edit_set (element, "use_dora", has_magnitudes ? "true" : NULL)));
}

/* Ranks and factors of layers by the serials of their elements. */
typedef struct
{
  guint64 serial;
  gint64 rank;
  double alpha;      /* NaN: the rank */
  gboolean is_mixed; /* copies differ */
} Layer;

static void
note_layer (GArray *layers, const LoomNetNode *node, gint64 rank, double alpha)
{
  Layer layer = { .serial = node->serial, .rank = rank, .alpha = isnan (alpha) ? (double)rank : alpha };

  for (guint i = 0; i < layers->len; i++)
    {
      Layer *known = &g_array_index (layers, Layer, i);

      if (known->serial != node->serial)
        continue;
      known->is_mixed |= known->rank != rank || known->alpha != layer.alpha;
      return;
    }
  g_array_append_val (layers, layer);
}

static gboolean
set_layers (LoomGraph *graph, const GArray *layers, gboolean has_magnitudes, LoomErrorCode code, const char *what,
            GError **error)
{
  for (guint i = 0; i < layers->len; i++)
    {
      const Layer *layer = &g_array_index (layers, Layer, i);

      if (layer->is_mixed)
        return loom_refuse (error, code,
                            "%s: the copies of “%s” are one layer of the graph, and would get factors of different "
                            "ranks.",
                            what, loom_element_get (loom_graph_by_serial (graph, layer->serial), "id"));
    }
  for (guint i = 0; i < layers->len; i++)
    {
      const Layer *layer = &g_array_index (layers, Layer, i);

      set_layer (graph, layer->serial, layer->rank, layer->alpha, has_magnitudes);
    }
  return TRUE;
}

static gboolean
matches (char **patterns, const char *path)
{
  for (guint i = 0; patterns != NULL && patterns[i] != NULL; i++)
    if (loom_train_pattern_matches (g_strstrip (patterns[i]), path))
      return TRUE;
  return patterns == NULL;
}

/* Copies of a layer are one element, so those that are not wanted get factors, too; they are 0 and not trained. wanted:
 * the paths of nodes. */
static void
freeze_rest (LoomGraph *graph, const GArray *layers, GHashTable *wanted)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  g_autofree gboolean *is_trained = g_new0 (gboolean, loom_net_n_weights (net) + 1);

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const int a = loom_net_find_weight (net, i, LOOM_LORA_A), b = loom_net_find_weight (net, i, LOOM_LORA_B),
                m = loom_net_find_weight (net, i, LOOM_LORA_MAGNITUDE);

      if (a >= 0 && b >= 0 && g_hash_table_contains (wanted, loom_net_node (net, i)->path))
        is_trained[a] = is_trained[b] = TRUE;
      if (a >= 0 && b >= 0 && m >= 0)
        is_trained[m] = is_trained[a];
    }
  for (guint i = 0; train != NULL && i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      gboolean is_layer = FALSE;

      for (guint k = 0; k < layers->len; k++)
        is_layer |= g_array_index (layers, Layer, k).serial == loom_net_node (net, weight->node)->serial;
      if (weight->is_factor && is_layer && !is_trained[i])
        loom_edit_free (loom_graph_apply (
            graph, loom_edit_insert (
                       train, 0, loom_element_new (LOOM_TAG_GROUP, "match", weight->name, "frozen", "true", NULL))));
    }
}

gboolean
loom_adapter_add (LoomGraph *graph, gint64 rank, double alpha, gboolean has_magnitudes, const char *patterns,
                  GError **error)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  g_autoptr (GArray) layers = g_array_new (FALSE, FALSE, sizeof (Layer));
  g_auto (GStrv) list = patterns != NULL ? g_strsplit (patterns, ",", -1) : NULL;
  g_autofree Adaptable *can = adapter_find_layers (net);
  g_autoptr (GHashTable) wanted = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      /* Merged, a tied weight is no longer tied, so it is not chosen unasked. */
      const gboolean is_wanted = can[i] >= (list != NULL ? ADAPT_TIED : ADAPT_OWN) && matches (list, node->path);

      if (!adapter_is_linear (node) || !is_wanted)
        continue;
      note_layer (layers, node, rank, alpha);
      g_hash_table_add (wanted, (gpointer)node->path);
    }
  if (layers->len == 0)
    return loom_refuse (error, LOOM_ERROR_USAGE,
                        patterns != NULL ? "--lora-layers %s matches no linear layer with weights."
                                         : "--lora: the graph has no linear layer with weights of its own.",
                        patterns);
  if (!set_layers (graph, layers, has_magnitudes, LOOM_ERROR_USAGE, "--lora-layers", error))
    return FALSE;
  freeze_rest (graph, layers, wanted);
  return TRUE;
}

/* As in PEFT, the first key that matches a layer's path or the path's end counts; but one that is the path is
 * preferred.
 */
static gboolean
find_alpha (const LoomAdapter *self, const char *path, double *alpha, GError **error)
{
  *alpha = self->alpha;
  for (guint i = 0; i < self->alphas->len; i++)
    if (g_str_equal (((const Alpha *)self->alphas->pdata[i])->key, path))
      {
        *alpha = ((const Alpha *)self->alphas->pdata[i])->value;
        return TRUE;
      }
  for (guint i = 0; i < self->alphas->len; i++)
    {
      const Alpha *own = self->alphas->pdata[i];
      g_autoptr (GError) local = NULL;

      if (g_regex_match_full (own->layers, path, -1, 0, 0, NULL, &local))
        {
          *alpha = own->value;
          return TRUE;
        }
      if (local != NULL)
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s”: “%s” of alpha_pattern cannot be matched with “%s”.",
                            self->path, own->key, path);
    }
  return TRUE;
}

/* Refuses a factor of a layer for which the file lacks another one. */
static gboolean
check_factor (const LoomAdapter *self, const char *name, GError **error)
{
  const char *const parts[] = { LOOM_LORA_A, LOOM_LORA_B, self->has_magnitudes ? LOOM_LORA_MAGNITUDE : NULL };
  g_autofree char *path = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (parts) && path == NULL; i++)
    if (parts[i] != NULL && g_str_has_suffix (name, parts[i]))
      path = g_strndup (name, strlen (name) - strlen (parts[i]));
  for (guint i = 0; i < G_N_ELEMENTS (parts) && parts[i] != NULL; i++)
    {
      g_autofree char *other = g_strconcat (path, parts[i], NULL);

      if (adapter_find_tensor (self, other) < 0)
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” has “%s” without “%s”.", self->path, name, other);
    }
  return TRUE;
}

/* No tensor of the file is ignored, and none is of a layer whose other factors are missing. */
static gboolean
check_names (const LoomAdapter *self, const LoomGraph *graph, GError **error)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);

  for (guint i = 0; i < self->names->len; i++)
    {
      const char *name = self->names->pdata[i];
      const LoomNetWeight *weight = loom_net_weight_named (net, name);
      const gboolean is_magnitude = g_str_has_suffix (name, "." LOOM_LORA_MAGNITUDE);

      if (((weight != NULL && weight->is_factor) || is_magnitude) && !check_factor (self, name, error))
        return FALSE;
      if (weight == NULL)
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” has “%s”, but the graph has no such weight.", self->path,
                            name);
    }
  return TRUE;
}

/* Weights that were trained with the factors are trained with them again: a group of <train> names each. */
static void
add_groups (const LoomAdapter *self, LoomGraph *graph)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);

  for (guint i = 0; train != NULL && i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      gboolean matched = FALSE;

      if (weight->is_factor || weight->is_buffer || adapter_find_tensor (self, weight->name) < 0)
        continue;
      for (guint k = 0; k < loom_element_n_children (train); k++)
        {
          const LoomElement *child = loom_element_child (train, k);

          matched |= loom_element_tag (child) == LOOM_TAG_GROUP && loom_element_get (child, "match") != NULL
                     && loom_train_pattern_matches (loom_element_get (child, "match"), weight->name);
        }
      if (!matched)
        loom_edit_free (loom_graph_apply (
            graph, loom_edit_insert (train, 0, loom_element_new (LOOM_TAG_GROUP, "match", weight->name, NULL))));
    }
}

static gboolean
attach (LoomAdapter *self, LoomGraph *graph, gboolean is_merged, GError **error)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  g_autoptr (GArray) layers = g_array_new (FALSE, FALSE, sizeof (Layer));
  g_autofree Adaptable *can = adapter_find_layers (net);
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) wanted = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      g_autofree char *layer = adapter_layer_name (net, i), *name = g_strconcat (layer, "." LOOM_LORA_A, NULL);
      const int at = can[i] != ADAPT_NO ? adapter_find_tensor (self, name) : -1;
      const gint64 rank = at >= 0 ? loom_tensor_file_type (self->file, (guint)at).shape.dim[0].coef : 0;
      double alpha = 0;

      if (!adapter_is_linear (node))
        continue;
      if (at >= 0 && !find_alpha (self, layer, &alpha, error))
        return FALSE;
      if (self->is_stabilised)
        alpha = (isnan (alpha) ? (double)rank : alpha) * sqrt ((double)rank);
      if (rank > 0)
        {
          note_layer (layers, node, rank, alpha);
          g_hash_table_add (wanted, (gpointer)node->path);
        }
      if (can[i] != ADAPT_NO)
        g_hash_table_add (known, g_steal_pointer (&layer));
    }
  for (guint i = 0; i < self->names->len; i++)
    {
      const char *name = self->names->pdata[i];
      g_autofree char *path = g_strndup (name, strlen (name) - MIN (strlen (name), strlen ("." LOOM_LORA_A)));

      if (g_str_has_suffix (name, "." LOOM_LORA_A) && loom_net_weight_named (net, name) == NULL
          && !g_hash_table_contains (known, path))
        return loom_refuse (error, LOOM_ERROR_DATA,
                            "“%s” has factors for the layer “%s”, but the graph has no linear layer of this name with "
                            "weights.",
                            self->path, path);
    }
  if (!set_layers (graph, layers, self->has_magnitudes, LOOM_ERROR_DATA, self->path, error)
      || !check_names (self, graph, error))
    return FALSE;
  add_groups (self, graph);
  if (!is_merged)
    freeze_rest (graph, layers, wanted);
  return TRUE;
}

gboolean
loom_adapter_attach (LoomAdapter *self, LoomGraph *graph, GError **error)
{
  return attach (self, graph, FALSE, error);
}

gboolean
adapter_attach_merged (LoomAdapter *self, LoomGraph *graph, GError **error)
{
  return attach (self, graph, TRUE, error);
}

gboolean
loom_adapter_is_in (const LoomGraph *graph)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);

  for (guint i = 0; i < loom_net_n_weights (net); i++)
    if (loom_net_weight (net, i)->is_factor)
      return TRUE;
  return FALSE;
}

void
loom_adapter_detach (LoomGraph *graph)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  g_autoptr (GArray) layers = g_array_new (FALSE, FALSE, sizeof (Layer));

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    if (adapter_is_linear (loom_net_node (net, i)) && loom_infer_is_set (loom_net_infer (net, i), "lora_rank"))
      note_layer (layers, loom_net_node (net, i), 0, 0);
  for (guint i = 0; i < layers->len; i++)
    set_layer (graph, g_array_index (layers, Layer, i).serial, 0, 0, FALSE);
}

/* ---- writing ------------------------------------------------------------------ */

static void
add_strings (LoomJson *json, const char *name, const char *const *texts)
{
  loom_json_begin_array (json, name);
  for (guint i = 0; texts[i] != NULL; i++)
    loom_json_string (json, NULL, texts[i]);
  loom_json_end_array (json);
}

/* Empty if all layers have the same value; else each has its own, by an expression for its whole path: "fc" alone would
 * be that of "body.fc" too. */
static void
add_own (LoomJson *json, const char *name, const GPtrArray *layers, const GArray *values)
{
  gboolean differs = FALSE;

  for (guint i = 0; i < values->len; i++)
    differs |= g_array_index (values, double, i) != g_array_index (values, double, 0);
  loom_json_begin_object (json, name);
  for (guint i = 0; differs && i < values->len; i++)
    {
      g_autofree char *path = g_regex_escape_string (layers->pdata[i], -1);
      g_autofree char *key = g_strconcat ("^", path, NULL);

      loom_json_exact (json, key, g_array_index (values, double, i));
    }
  loom_json_end_object (json);
}

char *
loom_adapter_config (const LoomNet *net, GHashTable *trained, const char *const *names, gboolean has_biases)
{
  g_autoptr (LoomJson) json = loom_json_new ();
  g_autoptr (GPtrArray) layers = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) alphas = g_array_new (FALSE, FALSE, sizeof (double));
  gboolean turned = FALSE, has_magnitudes = FALSE;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomInfer *infer = loom_net_infer (net, i);
      g_autofree char *layer = adapter_layer_name (net, i), *factor = g_strconcat (layer, "." LOOM_LORA_A, NULL);
      double rank, alpha;

      if (!adapter_is_linear (loom_net_node (net, i)) || !loom_infer_is_set (infer, "lora_rank")
          || !g_hash_table_contains (trained, factor)
          || g_ptr_array_find_with_equal_func (layers, layer, g_str_equal, NULL))
        continue;
      rank = (double)loom_infer_int (infer, "lora_rank");
      alpha = loom_infer_float (infer, "lora_alpha");
      turned = layers->len == 0 ? g_str_equal (loom_infer_string (infer, "weight_layout"), "in_out") : turned;
      has_magnitudes |= loom_net_find_weight (net, i, LOOM_LORA_MAGNITUDE) >= 0;
      g_ptr_array_add (layers, g_steal_pointer (&layer));
      g_array_append_val (ranks, rank);
      g_array_append_val (alphas, alpha);
    }
  g_ptr_array_add (layers, NULL);
  if (ranks->len == 0)
    return NULL;
  const double rank = g_array_index (ranks, double, 0), alpha = g_array_index (alphas, double, 0);
  loom_json_begin_object (json, NULL);
  loom_json_string (json, "peft_type", "LORA");
  loom_json_null (json, "task_type");
  loom_json_null (json, "base_model_name_or_path");
  loom_json_bool (json, "inference_mode", TRUE);
  loom_json_int (json, "r", (gint64)rank);
  loom_json_exact (json, "lora_alpha", alpha);
  add_own (json, "rank_pattern", layers, ranks);
  add_own (json, "alpha_pattern", layers, alphas);
  loom_json_exact (json, "lora_dropout", 0);
  loom_json_string (json, "bias", has_biases ? "lora_only" : "none");
  loom_json_bool (json, "use_dora", has_magnitudes);
  loom_json_bool (json, "fan_in_fan_out", turned);
  add_strings (json, "target_modules", (const char *const *)layers->pdata);
  if (names[0] != NULL)
    add_strings (json, "modules_to_save", names);
  else
    loom_json_null (json, "modules_to_save");
  loom_json_end_object (json);
  return loom_json_take (g_steal_pointer (&json));
}
