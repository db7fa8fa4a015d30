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
add_tied (const LoomNet *net, GPtrArray *tensors)
{
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < tensors->len; i++)
    {
      LoomNamedTensor *tensor = tensors->pdata[i];
      g_hash_table_insert (known, tensor->name, tensor->tensor);
    }
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

static int
run (ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autofree char *file = export_file (job);
  g_autoptr (LoomTensorFile) from = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (GPtrArray) tensors = NULL;

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
  net = loom_net_new (job->graph, NULL, faults);
  add_tied (net, tensors);
  if (!loom_safetensors_save (file, tensors, NULL, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  export_wrote (job, file);
  return 0;
}

const ExportTarget export_safetensors = { .format = "safetensors", .run = run };
