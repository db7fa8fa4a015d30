/* Exports by the importer's tables: an entry that maps one operator to one, at most with renamed attributes, is
 * used in both directions.
 *
 * It applies if it covers all attributes that the node sets: a parameter that it does not name must have its
 * default. */
#include "engine/onnx/onnx-export-private.h"

#include <string.h>

static gboolean
is_default (const LoomInfer *infer, const LoomParamSpec *spec)
{
  const char *text = loom_infer_attribute (infer, spec->name);

  if (text == NULL || g_strcmp0 (text, spec->def) == 0)
    return TRUE;
  switch (spec->type)
    {
    case LOOM_PARAM_FLOAT:
      return spec->def != NULL && *spec->def && loom_infer_is_set (infer, spec->name)
             && loom_infer_float (infer, spec->name) == g_ascii_strtod (spec->def, NULL);
    case LOOM_PARAM_ENUM:
      return g_strcmp0 (loom_infer_string (infer, spec->name), spec->def) == 0;
    default:
      return FALSE;
    }
}

/* "onnx=ours=default …" */
static gboolean
names_param (const OnnxMap *map, const char *param)
{
  g_auto (GStrv) pairs = g_strsplit (map->attributes != NULL ? map->attributes : "", " ", -1);

  for (guint i = 0; pairs[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (pairs[i], "=", 3);
      if (pair[0] != NULL && pair[1] != NULL && g_str_equal (pair[1], param))
        return TRUE;
    }
  return FALSE;
}

static gboolean
fits (OnnxWrite *w, const OnnxMap *map)
{
  if (map->map != NULL || map->domain != NULL || map->op == NULL || map->since > ONNX_EXPORT_OPSET
      || !g_str_equal (map->op, w->node->op->name) || w->node->n_outputs != 1 || w->node->output[0].dtype != LOOM_F32)
    return FALSE;
  for (guint i = 0; i < w->node->n_inputs; i++)
    if (onnx_write_type (w, i) == NULL || onnx_write_type (w, i)->dtype != LOOM_F32)
      return FALSE;
  for (const LoomParamSpec *spec = w->node->op->params; spec != NULL && spec->name != NULL; spec++)
    if (!names_param (map, spec->name) && !is_default (w->infer, spec))
      return FALSE;
  return TRUE;
}

static void
write_as (OnnxWrite *w, const OnnxMap *map)
{
  g_auto (GStrv) pairs = g_strsplit (map->attributes != NULL ? map->attributes : "", " ", -1);
  OnnxVar *in[8];
  guint n = MIN (w->node->n_inputs, G_N_ELEMENTS (in));

  for (guint i = 0; i < n; i++)
    in[i] = onnx_write_in (w, i);
  OnnxOutNode *node = onnx_add_node (w->all, map->name, n, in);
  for (guint i = 0; pairs[i] != NULL && *pairs[i]; i++)
    {
      g_auto (GStrv) pair = g_strsplit (pairs[i], "=", 3);
      onnx_node_set_float (w->all, node, pair[0], loom_infer_float (w->infer, pair[1]));
    }
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
}

gboolean
onnx_write_same (OnnxWrite *w)
{
  for (guint t = 0; onnx_map_tables[t] != NULL; t++)
    for (const OnnxMap *map = onnx_map_tables[t]; map->name != NULL; map++)
      if (fits (w, map))
        {
          write_as (w, map);
          return TRUE;
        }
  return FALSE;
}
