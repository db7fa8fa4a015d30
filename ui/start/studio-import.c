#include "ui/start/studio-import.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/loom.h"

#define MOST_FAULTS 6 /* are listed; the others are counted */
#define NOTES       "notes"

/* "dir/model.onnx" → "dir/model.xml", or "dir/model-2.xml" if either file exists. */
static char *
free_path (const char *model)
{
  g_autofree char *stem = g_strdup (model);

  if (strrchr (stem, '.') > strrchr (stem, '/'))
    *strrchr (stem, '.') = 0;
  for (guint i = 1;; i++)
    {
      g_autofree char *number = i == 1 ? g_strdup ("") : g_strdup_printf ("-%u", i);
      g_autofree char *graph = g_strconcat (stem, number, ".xml", NULL);
      g_autofree char *weights = g_strconcat (stem, number, ".safetensors", NULL);

      if (!g_file_test (graph, G_FILE_TEST_EXISTS) && !g_file_test (weights, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&graph);
    }
}

static GError *
list_faults (LoomFaults *faults)
{
  g_autoptr (GString) s = g_string_new (NULL);
  const guint n = loom_faults_length (faults);

  for (guint i = 0; i < MIN (n, MOST_FAULTS); i++)
    {
      g_autofree char *text = loom_fault_to_string (loom_faults_get (faults, i));

      g_string_append_printf (s, "%s%s", i > 0 ? "\n" : "", text);
    }
  if (n > MOST_FAULTS)
    {
      g_string_append_c (s, '\n');
      g_string_append_printf (s, ngettext ("and %u more", "and %u more", n - MOST_FAULTS), n - MOST_FAULTS);
    }
  return g_error_new_literal (LOOM_ERROR, LOOM_ERROR_DATA, s->str);
}

static void
import_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomOnnx) model = NULL;
  g_autofree char *path = NULL;
  GError *error = NULL;

  model = loom_onnx_read_file (data, NULL, faults, &error);
  if (model == NULL)
    {
      g_task_return_error (task, error != NULL ? error : list_faults (faults));
      return;
    }
  if (g_task_return_error_if_cancelled (task))
    return;
  g_ptr_array_add (model->notes, NULL);
  g_object_set_data_full (G_OBJECT (task), NOTES, g_strjoinv ("\n", (char **)model->notes->pdata), g_free);
  path = free_path (data);
  if (loom_onnx_save (model, path, NULL, &error))
    g_task_return_pointer (task, g_steal_pointer (&path), g_free);
  else
    g_task_return_error (task, error);
}

void
studio_import_onnx_async (const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, data);

  g_task_set_task_data (task, g_strdup (path), g_free);
  g_task_run_in_thread (task, import_thread);
}

char *
studio_import_onnx_finish (GAsyncResult *result, char **notes, GError **error)
{
  *notes = g_strdup (g_object_get_data (G_OBJECT (result), NOTES));
  return g_task_propagate_pointer (G_TASK (result), error);
}
