/* Saving: the text is made at once, and written on a thread, because a disk may be slow. */
#include <glib/gi18n.h>
#include <string.h>

#include "ui/document/studio-document-private.h"

typedef struct
{
  char *path, *text;
  gsize length;
  guint64 step; /* the last step that it contains */
} Save;

static void
save_free (gpointer data)
{
  Save *save = data;

  g_free (save->path);
  g_free (save->text);
  g_free (save);
}

static Save *
save_new (StudioDocument *self, const char *path)
{
  Save *save = g_new0 (Save, 1);

  save->path = g_canonicalize_filename (path != NULL ? path : self->path, NULL);
  save->text = loom_graph_write (self->graph, &save->length);
  save->step = undo_log_last_step (self->log);
  /* Text that is typed from now on is a new step, which is not in the file. */
  studio_document_end_merge (self);
  return save;
}

static gboolean
write_file (const Save *save, GError **error)
{
  if (loom_file_replace (save->path, save->text, save->length, error))
    return TRUE;
  g_prefix_error_literal (error, _ ("The graph was not saved: "));
  return FALSE;
}

/* Changes made while the file was written are not in it. The journal, which would mark everything so far as saved, then
 * records nothing: after a crash it offers more than was lost. */
static void
note_saved (StudioDocument *self, const Save *save)
{
  g_autofree char *now = loom_graph_write (self->graph, NULL);

  if (strcmp (now, save->text) == 0)
    {
      studio_document_note_saved (self);
      return;
    }
  saved_content_set_earlier (self->saved, g_strdup (save->text));
  self->saved_step = save->step;
  studio_document_end_merge (self);
  self->reported_edited = saved_content_differs (self->saved, self->graph);
  g_signal_emit_by_name (self, "file-changed");
}

static void
note_written (StudioDocument *self, const Save *save)
{
  g_autofree char *folder = NULL;
  gboolean was_new;

  was_new = studio_document_get_origin (self) == NULL;
  g_free (self->path);
  self->path = g_strdup (save->path);
  studio_document_note_disk (self, studio_file_watch_digest_of (save->text, save->length));
  self->n_dropped = 0;
  folder = loom_run_data_folder (self->path);
  if (g_strcmp0 (folder, loom_graph_get_folder (self->graph)) != 0)
    {
      /* Relative data paths have another meaning now. */
      loom_graph_set_folder (self->graph, folder);
      self->reach = EDIT_REACH_ALL;
      studio_document_changed (self);
    }
  /* The user has chosen the paths of a graph that was begun here. */
  if (was_new)
    studio_document_agree (self);
  studio_document_guard (self);
  if (self->grammar != NULL && loom_faults_length (self->grammar) > 0)
    {
      /* The file is well-formed now: faults of the old one no longer apply. */
      g_clear_pointer (&self->grammar, loom_faults_free);
      self->net_valid = FALSE;
      studio_document_infer (self);
    }
  note_saved (self, save);
}

gboolean
studio_document_save (StudioDocument *self, const char *path, GError **error)
{
  Save *save;
  gboolean done;

  g_return_val_if_fail (path != NULL || self->path != NULL, FALSE);
  save = save_new (self, path);
  done = write_file (save, error);
  if (done)
    note_written (self, save);
  save_free (save);
  return done;
}

static void
write_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  GError *error = NULL;

  if (write_file (data, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

void
studio_document_save_async (StudioDocument *self, const char *path, GAsyncReadyCallback callback, gpointer data)
{
  /* The task does not own the document, because a thread with the last reference would destroy it. */
  g_autoptr (GTask) task = g_task_new (NULL, NULL, callback, data);

  g_return_if_fail (self->saving == NULL && (path != NULL || self->path != NULL));
  studio_document_set_saving (self, task);
  g_task_set_task_data (task, save_new (self, path), save_free);
  g_task_run_in_thread (task, write_thread);
}

gboolean
studio_document_save_finish (StudioDocument *self, GAsyncResult *result, GError **error)
{
  GTask *task = G_TASK (result);
  gboolean ours = self->saving == task, done = g_task_propagate_boolean (task, error);

  if (ours)
    studio_document_set_saving (self, NULL);
  if (ours && done)
    note_written (self, g_task_get_task_data (task));
  return done;
}

gboolean
studio_document_is_saving_by (StudioDocument *self, GAsyncResult *result)
{
  return self->saving == (gpointer)result;
}

gboolean
studio_document_is_saving (StudioDocument *self)
{
  return self->saving != NULL;
}
