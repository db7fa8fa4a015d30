/* Exports the parts of a model that a run adds: the preparation of samples, the names of classes, and the probabilities
 * that `predict` prints.
 *
 * Without them a model would take normalised numbers and return the index of an unnamed class. So the preparation of x
 * is written as nodes, and names are metadata: lists and objects of JSON. */
#include "engine/onnx/onnx-export-private.h"

#include "engine/core/loom-json.h"
#include "engine/data/loom-dataset.h"

static void
add_metadata (LoomOnnxWriter *self, const char *key, char *value)
{
  g_ptr_array_add (self->metadata, g_strdup (key));
  g_ptr_array_add (self->metadata, value);
}

/* Names may be those of files, with any bytes; ONNX messages are UTF-8. */
static void
add_names (LoomOnnxWriter *self, const char *key, const char *const *names)
{
  LoomJson *json = loom_json_new ();

  loom_json_begin_array (json, NULL);
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *name = g_utf8_make_valid (names[i], -1);
      loom_json_string (json, NULL, name);
    }
  loom_json_end_array (json);
  add_metadata (self, key, loom_json_take (json));
}

/* ---- inputs ------------------------------------------------------------------- */

static OnnxVar *
step (OnnxExport *all, const char *op, const LoomType *type, guint n_in, OnnxVar **in)
{
  OnnxVar *v = onnx_call (all, op, n_in, in);

  onnx_var_set_type (v, type);
  return v;
}

static OnnxVar *
prepare (OnnxExport *all, OnnxVar *v, const LoomPreparation *p)
{
  const LoomType *type = &v->type, is_gap = { LOOM_BOOL, type->shape };

  if (p->fill != NULL)
    v = step (
        all, "Where", type,
        ONNX_VARS (step (all, "IsNaN", &is_gap, ONNX_VARS (v)), onnx_tensor_var (all, p->fill, "preparation.fill"), v));
  if (p->shift != NULL)
    v = step (all, "Sub", type, ONNX_VARS (v, onnx_tensor_var (all, p->shift, "preparation.shift")));
  if (p->scale != NULL)
    v = step (all, "Mul", type, ONNX_VARS (v, onnx_tensor_var (all, p->scale, "preparation.scale")));
  return v;
}

/* Keys must be unique: for a second data set the node's path is the prefix. */
static char *
metadata_key (const LoomOnnxWriter *self, const char *path, const char *word)
{
  for (guint i = 0; i < self->metadata->len; i += 2)
    if (g_str_equal (self->metadata->pdata[i], word))
      return g_strconcat (path, ".", word, NULL);
  return g_strdup (word);
}

static char *
describe_input (const LoomDataset *dataset, const LoomType *type, const LoomPreparation *p, const char *features,
                const char *tokens)
{
  const gboolean normalises = p->shift != NULL || p->scale != NULL;

  if (loom_dataset_feature_names (dataset) != NULL)
    return g_strdup_printf ("rows of the table, with one number for each of %s%s%s", features,
                            p->fill != NULL ? "; NaN is a gap, which the model fills" : "",
                            normalises ? "; the model normalises them" : "");
  if (loom_dataset_has_pictures (dataset))
    return g_strdup_printf ("pictures of 0 to 1, as channels, rows and columns%s",
                            normalises ? "; the model subtracts mean and divides by std" : "");
  if (!loom_dtype_is_float (type->dtype) && loom_dataset_token_names (dataset) != NULL)
    return g_strdup_printf ("indices of %s", tokens);
  return NULL;
}

void
onnx_export_take_dataset (LoomOnnxWriter *self, guint node, LoomDataset *dataset)
{
  OnnxExport *all = &self->all;
  const LoomNetNode *n = loom_net_node (self->net, node);
  g_auto (LoomPreparation) p = { NULL };
  OnnxVar *v = all->value[node][0];
  g_autofree char *features = metadata_key (self, n->path, "feature_names"),
                  *tokens = metadata_key (self, n->path, "token_names"),
                  *separator = metadata_key (self, n->path, "token_separator");

  g_ptr_array_add (self->datasets, dataset);
  loom_dataset_preparation (dataset, &p);
  v->doc = describe_input (dataset, &v->type, &p, features, tokens);
  all->path = n->path;
  all->value[node][0] = prepare (all, v, &p);
  all->path = NULL;
  if (loom_dataset_feature_names (dataset) != NULL)
    add_names (self, features, loom_dataset_feature_names (dataset));
  if (loom_dtype_is_float (v->type.dtype) || loom_dataset_token_names (dataset) == NULL)
    return;
  add_names (self, tokens, loom_dataset_token_names (dataset));
  if (*loom_dataset_separator (dataset))
    add_metadata (self, separator, g_strdup (loom_dataset_separator (dataset)));
}

/* ---- outputs ------------------------------------------------------------------ */

/* The logits keep their name and are the first output; their probabilities are another one. */
static void
add_probabilities (LoomOnnxWriter *self, const LoomTrainSpec *spec, const LoomNetSource *source)
{
  OnnxExport *all = &self->all;
  const LoomNetNode *node = loom_net_node (self->net, source->node);
  const gboolean is_end = node->op != NULL && node->op->role == LOOM_ROLE_OUTPUT && node->n_inputs > 0;
  const LoomOutputKind kind = loom_train_output_kind (spec, self->net, is_end ? &node->input[0] : source);
  OnnxVar *logits = all->outputs->pdata[0], *v;
  OnnxOutNode *made;

  if (kind != LOOM_OUTPUT_BINARY_LOGITS
      && ((kind != LOOM_OUTPUT_LOGITS && kind != LOOM_OUTPUT_LOG_PROBABILITIES) || logits->type.shape.rank < 2))
    return;
  all->path = "probabilities";
  made = onnx_add_node (all,
                        kind == LOOM_OUTPUT_BINARY_LOGITS ? "Sigmoid"
                        : kind == LOOM_OUTPUT_LOGITS      ? "Softmax"
                                                          : "Exp",
                        ONNX_VARS (logits));
  if (kind == LOOM_OUTPUT_LOGITS)
    onnx_node_set_int (all, made, "axis", 1);
  v = onnx_node_result (all, made, 0);
  onnx_var_take_name (all, v, "probabilities");
  v->type = logits->type;
  v->doc = g_strdup_printf ("%s of %s", made->op, logits->name);
  all->path = NULL;
  g_ptr_array_add (all->outputs, v);
}

void
onnx_export_add_answers (LoomOnnxWriter *self, const LoomTrainSpec *spec, const LoomNetSource *source)
{
  if (source != NULL && self->all.outputs->len == 1)
    add_probabilities (self, spec, source);
  for (guint d = 0; d < self->datasets->len; d++)
    {
      const char *const *names = loom_dataset_class_names (self->datasets->pdata[d]);

      for (guint i = 0; names != NULL && i < self->all.outputs->len; i++)
        {
          const LoomShape *shape = &((OnnxVar *)self->all.outputs->pdata[i])->type.shape;

          if (shape->rank < 2 || loom_dim_value (shape->dim[1], NULL) != (gint64)g_strv_length ((char **)names))
            continue;
          add_names (self, "class_names", names);
          return;
        }
    }
}

/* Descriptions of inputs and outputs by name: {"data.x": "rows …"}. */
void
onnx_export_describe_ports (LoomOnnxWriter *self)
{
  static const char *const keys[] = { "inputs", "outputs" };
  const GPtrArray *ports[] = { self->all.inputs, self->all.outputs };

  for (guint k = 0; k < G_N_ELEMENTS (keys); k++)
    {
      g_autoptr (LoomJson) json = loom_json_new ();
      gboolean any = FALSE;

      loom_json_begin_object (json, NULL);
      for (guint i = 0; i < ports[k]->len; i++)
        {
          const OnnxVar *v = ports[k]->pdata[i];

          if (v->doc != NULL)
            loom_json_string (json, v->name, v->doc);
          any = any || v->doc != NULL;
        }
      loom_json_end_object (json);
      if (any)
        add_metadata (self, keys[k], g_strdup (loom_json_text (json)));
    }
}
