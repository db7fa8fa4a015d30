/* `--to pytorch`: a Python file for PyTorch, and next to it the samples of the data set, so that both train on the same
 * numbers whatever the source is. */
#include "app/export-target.h"

#include <stdio.h>
#include <string.h>


/* Of larger data sets no samples are written: the file then says what it expects. */
#define SAMPLES_MAX (G_GINT64_CONSTANT (1) << 30)

static gint64
count_bytes (const LoomDataset *dataset)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  LoomBinding one = { { 0 } };
  gint64 bytes = 0;

  one.value['B' - 'A'] = 1;
  for (guint p = 0; p < info->n_ports; p++)
    {
      LoomDim count = loom_shape_count (&info->port[p].type.shape);
      gint64 each = loom_dim_value (count, &one);

      for (int split = 0; split < LOOM_N_SPLITS; split++)
        bytes += MAX (each, 0) * (gint64)loom_dtype_size (info->port[p].type.dtype) * info->n[split];
    }
  return bytes;
}

/* Adds "train.data.x" and the like. */
static gboolean
add_samples (GPtrArray *tensors, const LoomDataset *dataset, const char *node, GError **error)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);

  for (int split = 0; split < LOOM_N_SPLITS; split++)
    {
      g_autofree gint64 *indices = g_new (gint64, info->n[split] + 1);
      g_autoptr (GPtrArray) read = NULL;

      for (gint64 i = 0; i < info->n[split]; i++)
        indices[i] = i;
      if (info->n[split] == 0)
        continue;
      read = loom_dataset_read_new (dataset, (LoomSplit)split, indices, (guint)info->n[split], error);
      if (read == NULL)
        return FALSE;
      for (guint p = 0; p < info->n_ports; p++)
        {
          g_autofree char *name
              = g_strdup_printf ("%s.%s.%s", loom_split_name ((LoomSplit)split), node, info->port[p].name);
          g_ptr_array_add (tensors, loom_named_tensor_new (name, read->pdata[p]));
        }
    }
  return TRUE;
}

/* FALSE with an error if the file cannot be written; *written: there are samples. A data set that cannot be read is a
 * warning. */
static gboolean
write_samples (ExportJob *job, const char *path, gboolean *written, GError **error)
{
  g_autoptr (LoomNet) net = loom_net_new (job->graph, NULL, NULL);
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      g_autoptr (GError) unread = NULL;
      g_autoptr (LoomDataset) dataset = NULL;
      const char *node = loom_net_node (net, i)->path;

      if (!loom_net_is_dataset (net, i))
        continue;
      dataset = loom_net_open_dataset (net, (int)i, loom_graph_get_folder (job->graph), &unread);
      if (dataset != NULL && count_bytes (dataset) > SAMPLES_MAX)
        command_warn (job->command, "The samples of “%s” are larger than 1 GiB, so they are not written.", node);
      else if (dataset == NULL || !add_samples (tensors, dataset, node, &unread))
        command_warn (job->command, "The samples of “%s” are not written: %s", node, unread->message);
    }
  *written = tensors->len > 0;
  return tensors->len == 0 || loom_safetensors_save (path, tensors, NULL, error);
}

static int
run (ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autofree char *file = export_file (job);
  gboolean stream = g_str_equal (file, "-"), has_samples = FALSE;
  g_autofree char *stem = stream ? export_default_file (job, "py") : g_strdup (file), *samples = NULL, *base = NULL;

  stem[strlen (stem) - strlen (".py")] = 0;
  samples = g_strdup_printf ("%s.samples.safetensors", stem);
  base = g_path_get_basename (samples);
  g_autoptr (LoomPytorch) pytorch = loom_pytorch_new (job->graph, base, faults);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *text = loom_fault_to_string (loom_faults_get (faults, i)), *path = command_printable (job->path);
      fprintf (stderr, "%s: %s\n", path, text);
    }
  if (pytorch == NULL)
    {
      fprintf (stderr, "gradloom export: no file was written.\n");
      return 1;
    }
  for (guint i = 0; i < loom_pytorch_n_notes (pytorch); i++)
    command_warn (job->command, "Not exported: %s.", loom_pytorch_note (pytorch, i));
  if (stream)
    {
      fputs (loom_pytorch_text (pytorch), stdout);
      return 0;
    }
  if (!write_samples (job, samples, &has_samples, &error)
      || !loom_file_replace (file, loom_pytorch_text (pytorch), strlen (loom_pytorch_text (pytorch)), &error))
    return command_fail (job->command, g_steal_pointer (&error));
  export_wrote (job, file);
  if (has_samples)
    export_wrote (job, samples);
  return 0;
}

const ExportTarget export_pytorch = { .format = "pytorch", .run = run };
