/* `--to safetensors`: the weights of a run as one file of PyTorch's names.
 *
 * They are those that validation used: the moving averages if the run has them, else the newest weights. The file is
 * read and written again, so that a damaged checkpoint is found here and not by the other program. */
#include "app/export-target.h"

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

static int
run (ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = export_file (job), *newest = loom_run_newest_weights (job->path, &error);
  g_autoptr (LoomTensorFile) from = newest != NULL ? loom_safetensors_open (newest, &error) : NULL;
  g_autoptr (GPtrArray) tensors = from != NULL ? read_tensors (job, from, &error) : NULL;

  if (tensors == NULL || !loom_safetensors_save (file, tensors, NULL, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  export_wrote (job, file);
  return 0;
}

const ExportTarget export_safetensors = { .format = "safetensors", .run = run };
