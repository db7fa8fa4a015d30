#include "ui/start/studio-import.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/loom.h"
#include "engine/interop/loom-safetensors.h"
#include "engine/onnx/loom-onnx.h"

#define MOST_FAULTS 6 /* are listed; the others are counted */

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
list_faults (const LoomFaults *faults, guint n)
{
  g_autoptr (GString) s = g_string_new (NULL);

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

struct _StudioImport
{
  LoomOnnx *model;
  char *path, *weights, *notes;
  char **open; /* NULL: the model was read */
  char *why;
};

typedef struct
{
  char *path;
  char **sizes;
  gboolean keeps_batch;
} Request;

static void
request_free (Request *request)
{
  g_free (request->path);
  g_strfreev (request->sizes);
  g_free (request);
}

void
studio_import_free (StudioImport *self)
{
  if (self == NULL)
    return;
  loom_onnx_free (self->model);
  g_free (self->path);
  g_free (self->weights);
  g_free (self->notes);
  g_strfreev (self->open);
  g_free (self->why);
  g_free (self);
}

/* Returns the open sizes of a model that cannot be imported, and its faults. Without open sizes, or if there is an
 * error already, an error. Takes the error. */
static void
return_failure (GTask *task, const char *path, const LoomFaults *faults, GError *error)
{
  g_auto (GStrv) names = error == NULL ? loom_onnx_open_sizes (path, NULL) : NULL;
  const gboolean is_open = names != NULL && names[0] != NULL;
  const guint n = loom_faults_length (faults);

  if (error == NULL)
    error = list_faults (faults, is_open && n > 1 ? n - 1 : n); /* the last one lists the sizes, as the form does */
  if (is_open)
    {
      StudioImport *self = g_new0 (StudioImport, 1);

      self->open = g_steal_pointer (&names);
      self->why = g_strdup (error->message);
      g_error_free (error);
      g_task_return_pointer (task, self, (GDestroyNotify)studio_import_free);
    }
  else
    g_task_return_error (task, error);
}

static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Request *request = data;
  const LoomOnnxInputs inputs = { .sizes = (const char *const *)request->sizes,
                                  .batch = request->keeps_batch ? LOOM_ONNX_BATCH_FIXED : LOOM_ONNX_BATCH_AUTO };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomOnnx) model = NULL;
  StudioImport *self;
  GError *error = NULL;

  model = loom_onnx_read_file (request->path, &inputs, faults, &error);
  if (model == NULL)
    {
      return_failure (task, request->path, faults, error);
      return;
    }
  if (g_task_return_error_if_cancelled (task))
    return;
  g_ptr_array_add (model->notes, NULL);
  self = g_new0 (StudioImport, 1);
  self->notes = g_strjoinv ("\n", (char **)model->notes->pdata);
  self->path = free_path (request->path);
  self->weights = loom_onnx_weights_path (model, self->path);
  self->model = g_steal_pointer (&model);
  g_task_return_pointer (task, self, (GDestroyNotify)studio_import_free);
}

void
studio_import_read_async (const char *path, const char *const *sizes, gboolean keeps_batch, GCancellable *cancellable,
                          GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, data);
  Request *request = g_new0 (Request, 1);

  request->path = g_strdup (path);
  request->sizes = g_strdupv ((char **)sizes);
  request->keeps_batch = keeps_batch;
  g_task_set_task_data (task, request, (GDestroyNotify)request_free);
  g_task_run_in_thread (task, read_thread);
}

StudioImport *
studio_import_read_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

const char *const *
studio_import_get_open_sizes (const StudioImport *self, const char **why)
{
  *why = self->why;
  return (const char *const *)self->open;
}

const char *
studio_import_get_path (const StudioImport *self)
{
  return self->path;
}

const char *
studio_import_get_weights_path (const StudioImport *self)
{
  return self->weights;
}

gint64
studio_import_get_batch (const StudioImport *self)
{
  return self->model->batch;
}

guint64
studio_import_get_bytes (const StudioImport *self)
{
  guint64 bytes = 0;

  for (guint i = 0; i < self->model->weights->len; i++)
    bytes += ((const LoomNamedTensor *)self->model->weights->pdata[i])->tensor->bytes;
  return bytes;
}

const char *
studio_import_get_notes (const StudioImport *self)
{
  return self->notes;
}

static void
save_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  StudioImport *self = data;
  GError *error = NULL;

  if (loom_onnx_save (self->model, self->path, NULL, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

void
studio_import_save_async (StudioImport *self, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (NULL, NULL, callback, data);

  g_task_set_task_data (task, self, NULL);
  g_task_run_in_thread (task, save_thread);
}

gboolean
studio_import_save_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}
