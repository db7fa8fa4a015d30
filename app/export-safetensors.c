/* `--to safetensors`: the weights of a run, or of a graph with weights, as one file of PyTorch's names.
 *
 * A run's are those that validation used: the moving averages if the run has them, else the newest weights. The file is
 * read and written again, so that a damaged checkpoint is found here and not by the other program. A weight that is
 * used by several layers is written for each of them, because PyTorch's strict loading requires all names of a
 * state_dict. */
#include "app/export-target.h"
#include "engine/loom-run.h"

static GPtrArray *
read_tensors (const ExportJob *job, LoomTensorFile *from, GError **error)
{
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  const guint n = loom_tensor_file_count (from);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (LoomTensor) tensor = loom_tensor_file_tensor (from, i, error);

      if (tensor == NULL)
        return NULL;
      g_ptr_array_add (tensors, loom_named_tensor_new (loom_tensor_file_name (from, i), tensor));
      export_progress (job, 0.5 * (i + 1) / n);
    }
  return g_steal_pointer (&tensors);
}

/* Adds the names of weights that a wire from another layer's weight replaces. */
static void
add_tied (const LoomNet *net, GHashTable *known, GPtrArray *tensors)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      for (guint k = 0; k < node->n_inputs && node->input_spec != NULL; k++)
        {
          const LoomNetSource *source = &node->input[k];
          const LoomPortSpec *spec = &node->input_spec[k];
          int weight;

          if (!(spec->flags & LOOM_PORT_WEIGHT) || source->node == G_MAXUINT || !loom_net_is_weight (net, source))
            continue;
          weight = loom_net_source_weight (net, source);
          LoomTensor *tensor
              = weight >= 0 ? g_hash_table_lookup (known, loom_net_weight (net, (guint)weight)->name) : NULL;
          g_autofree char *name = g_strconcat (node->path, ".", spec->name, NULL);
          if (tensor == NULL || g_hash_table_contains (known, name))
            continue;
          g_ptr_array_add (tensors, loom_named_tensor_new (name, tensor));
          g_hash_table_insert (known, ((LoomNamedTensor *)tensors->pdata[tensors->len - 1])->name, tensor);
        }
    }
}

/* The name of the weight or parameter that a source is; NULL: it is none. */
static char *
weight_name (const LoomNet *net, const LoomNetSource *source)
{
  const LoomNetNode *node = source->node != G_MAXUINT ? loom_net_node (net, source->node) : NULL;
  const int weight = loom_net_is_weight (net, source) ? loom_net_source_weight (net, source) : -1;

  if (node == NULL)
    return NULL;
  if (weight >= 0)
    return g_strdup (loom_net_weight (net, (guint)weight)->name);
  return node->op != NULL && node->op->role == LOOM_ROLE_PARAMETER ? g_strdup (node->path) : NULL;
}

/* Adds the names that weights have as inputs of modules: an input that is named as the weight that it gets. */
static void
add_inputs (const LoomNet *net, const LoomGraph *graph, const LoomElement *scope, const char *path, GHashTable *known,
            GPtrArray *tensors)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);
      const gboolean is_node = loom_element_tag (e) == LOOM_TAG_NODE;
      const char *name = is_node ? loom_node_module (e) : NULL;
      const LoomElement *module = name != NULL ? loom_graph_find_module (graph, name) : NULL;
      LoomNetSource source;

      if (module != NULL)
        {
          g_autofree char *inner = loom_node_path (path, e);

          add_inputs (net, graph, module, inner, known, tensors);
        }
      else if (is_node && *path && loom_op_has_role (e, LOOM_ROLE_MODULE_INPUT)
               && loom_net_source_of (net, path, loom_element_serial (e), "out", &source))
        {
          const char *id = loom_element_get (e, "id");
          g_autofree char *own = weight_name (net, &source), *alias = g_strconcat (path, ".", id, NULL);
          const char *word = own != NULL ? strrchr (own, '.') : NULL;
          LoomTensor *tensor = word != NULL && g_str_equal (word + 1, id) ? g_hash_table_lookup (known, own) : NULL;

          if (tensor == NULL || g_hash_table_contains (known, alias))
            continue;
          g_ptr_array_add (tensors, loom_named_tensor_new (alias, tensor));
          g_hash_table_insert (known, ((LoomNamedTensor *)tensors->pdata[tensors->len - 1])->name, tensor);
        }
    }
}

static int
run (ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = export_file (job);
  g_autoptr (LoomTensorFile) from = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (GPtrArray) tensors = NULL;
  g_autoptr (GHashTable) known = NULL;

  if (job->weights == NULL)
    return command_usage (job->command,
                          "“%s” has no weights. Train it with --out DIR and export that folder, or name a "
                          "file of weights with --weights.",
                          job->path);
  if (job->values != NULL)
    tensors = g_ptr_array_ref (job->values);
  else
    {
      from = loom_tensor_file_open (job->weights, &error);
      tensors = from != NULL ? read_tensors (job, from, &error) : NULL;
    }
  if (tensors == NULL)
    return command_fail (job->command, g_steal_pointer (&error));
  net = loom_net_new (job->graph, NULL, NULL);
  known = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < tensors->len; i++)
    {
      LoomNamedTensor *tensor = tensors->pdata[i];
      g_hash_table_insert (known, tensor->name, tensor->tensor);
    }
  add_tied (net, known, tensors);
  add_inputs (net, job->graph, loom_graph_root (job->graph), "", known, tensors);
  if (!loom_safetensors_save (file, tensors, NULL, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  export_wrote (job, file);
  return 0;
}

const ExportTarget export_safetensors = { .format = "safetensors", .run = run };
