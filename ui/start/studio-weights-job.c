#include "ui/start/studio-weights-job.h"

#include "engine/template/loom-skeleton.h"

typedef struct
{
  char *path;
  LoomGraph *graph;
} Job;

static void
job_free (gpointer data)
{
  Job *job = data;

  g_free (job->path);
  g_clear_pointer (&job->graph, loom_graph_unref);
  g_free (job);
}

void
studio_weights_info_free (StudioWeightsInfo *look)
{
  if (look == NULL)
    return;
  g_free (look->path);
  g_clear_pointer (&look->file, loom_tensor_file_free);
  g_free (look->dtypes);
  g_clear_pointer (&look->match, loom_weights_match_free);
  g_free (look->skeleton);
  g_strfreev (look->left_out);
  g_free (look);
}

static void
count (StudioWeightsInfo *look)
{
  g_autoptr (GString) names = g_string_new (NULL);
  guint seen = 0;

  for (guint i = 0; i < loom_tensor_file_count (look->file); i++)
    {
      const LoomType type = loom_tensor_file_type (look->file, i);
      const char *unread = loom_tensor_file_unread (look->file, i);
      const double n = (double)loom_dim_value (loom_shape_count (&type.shape), NULL);

      look->n_numbers += n;
      look->n_bytes += n * (double)loom_dtype_size (type.dtype);
      if (unread != NULL ? strstr (names->str, unread) == NULL : (seen & (1u << type.dtype)) == 0)
        g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "",
                                unread != NULL ? unread : loom_dtype_name (type.dtype));
      seen |= unread != NULL ? 0 : 1u << type.dtype;
    }
  look->dtypes = g_strdup (names->str);
}

static void
guess (StudioWeightsInfo *look)
{
  g_autofree char *name = g_path_get_basename (look->path);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomSkeleton) skeleton = loom_skeleton_new (look->file, look->path, name, &error);

  if (skeleton == NULL)
    {
      look->left_out = g_strdupv ((char *[]){ error->message, NULL });
      return;
    }
  look->skeleton = loom_graph_write (skeleton->graph, NULL);
  look->n_layers = skeleton->n_layers;
  g_ptr_array_add (skeleton->left_out, NULL);
  look->left_out = g_strdupv ((char **)skeleton->left_out->pdata);
}

static void
inspect_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Job *job = data;
  g_autoptr (StudioWeightsInfo) look = g_new0 (StudioWeightsInfo, 1);
  GError *error = NULL;

  look->path = g_strdup (job->path);
  look->file = loom_tensor_file_open (job->path, &error);
  if (look->file == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  count (look);
  guess (look);
  if (job->graph != NULL)
    {
      g_autoptr (LoomNet) net = loom_net_new (job->graph, NULL, NULL);

      look->match = loom_weights_match_new (look->file, net);
      look->n_wanted = loom_net_n_weights (net);
    }
  g_task_return_pointer (task, g_steal_pointer (&look), (GDestroyNotify)studio_weights_info_free);
}

void
studio_weights_inspect_async (const char *path, const LoomGraph *graph, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, NULL, callback, data);
  Job *job = g_new0 (Job, 1);

  job->path = g_canonicalize_filename (path, NULL);
  job->graph = graph != NULL ? loom_graph_freeze (graph) : NULL;
  g_task_set_task_data (task, job, job_free);
  g_task_run_in_thread (task, inspect_thread);
}

StudioWeightsInfo *
studio_weights_inspect_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
