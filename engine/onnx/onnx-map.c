/* All mappings by name, from the tables of the families. */
#include "engine/onnx/onnx-private.h"

const OnnxMap *const onnx_map_tables[] = {
  onnx_map_math,      onnx_map_logic,     onnx_map_activation,
  onnx_map_layer,     onnx_map_norm,      onnx_map_pool,
  onnx_map_reduce,    onnx_map_shape,     onnx_map_index,
  onnx_map_loss,      onnx_map_image,     onnx_map_training,
  onnx_map_random,    onnx_map_signal,    onnx_map_quant,
  onnx_map_branch,    onnx_map_control,   onnx_map_sequence,
  onnx_map_recurrent, onnx_map_attention, onnx_map_contrib,
  onnx_map_weights,   onnx_map_bits,      onnx_map_region,
  onnx_map_state,     onnx_map_ml,        NULL,
};

const OnnxMap *
onnx_map_find (const char *domain, const char *name)
{
  static gsize once;
  static GHashTable *by_name;

  if (g_once_init_enter (&once))
    {
      by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      for (guint t = 0; onnx_map_tables[t] != NULL; t++)
        for (const OnnxMap *m = onnx_map_tables[t]; m->name != NULL; m++)
          g_hash_table_insert (by_name, g_strconcat (m->domain != NULL ? m->domain : "", ":", m->name, NULL),
                               (gpointer)m);
      g_once_init_leave (&once, 1);
    }
  g_autofree char *key = g_strconcat (domain, ":", name, NULL);
  return g_hash_table_lookup (by_name, key);
}
