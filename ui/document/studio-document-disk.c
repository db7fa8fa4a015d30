/* Follows the document's file while other programs change it: reports its state, and loads its new content. */
#include "ui/document/studio-document-private.h"

#include <glib/gi18n.h>

/* ---- state ------------------------------------------------------------------- */

StudioDiskState
studio_document_get_disk (StudioDocument *self)
{
  return studio_file_watch_get_state (self->watch);
}

StudioDiskState
studio_document_check_disk (StudioDocument *self)
{
  return studio_file_watch_check (self->watch);
}

const char *
studio_document_get_holder (StudioDocument *self)
{
  return studio_file_watch_get_holder (self->watch);
}

void
studio_document_set_saving (StudioDocument *self, GTask *saving)
{
  self->saving = saving;
  /* While the document writes the file, changes are its own. */
  studio_file_watch_set_held (self->watch, saving != NULL);
}

void
studio_document_note_disk (StudioDocument *self, char *digest)
{
  studio_file_watch_set (self->watch, digest != NULL ? self->path : NULL, digest);
  if (digest != NULL && self->journal != NULL)
    studio_journal_note_file (self->journal, digest);
}

/* ---- reloading --------------------------------------------------------------------- */

/* Replaces everything under the root in one step, which can be undone and is journalled. */
static void
replace_content (StudioDocument *self, const LoomGraph *graph, const char *step)
{
  LoomElement *root = loom_graph_root (self->graph), *other = loom_graph_root (graph);

  studio_document_begin (self, step);
  while (loom_element_n_children (root) > 0)
    studio_document_edit (self, loom_edit_remove (loom_element_child (root, loom_element_n_children (root) - 1)));
  for (guint i = loom_element_n_attributes (root); i-- > 0;)
    {
      const char *name, *value;
      loom_element_attribute (root, i, &name, &value);
      studio_document_edit (self, loom_edit_set (root, name, NULL));
    }
  for (guint i = 0; i < loom_element_n_attributes (other); i++)
    {
      const char *name, *value;
      loom_element_attribute (other, i, &name, &value);
      studio_document_edit (self, loom_edit_set (root, name, value));
    }
  for (guint i = 0; i < loom_element_n_children (other); i++)
    studio_document_edit (self, loom_edit_insert (root, i, loom_element_copy (loom_element_child (other, i))));
  studio_document_end (self);
}

LoomGraph *
studio_document_read (const char *path, char **text, gsize *length, LoomFaults **faults, GError **error)
{
  /* The reader takes a path, so the text is read separately; both are repeated if the file was written meanwhile. */
  for (int tries = 0;; tries++)
    {
      g_autoptr (LoomFaults) found = loom_faults_new ();
      g_autoptr (LoomGraph) graph = NULL;
      StudioDiskStamp before, after;

      studio_disk_stamp_read (path, &before);
      graph = loom_run_read_graph (path, found, error);
      if (graph == NULL || !loom_path_read (path, text, length, error))
        return NULL;
      studio_disk_stamp_read (path, &after);
      if (studio_disk_stamp_equal (&before, &after) || tries == 10)
        {
          *faults = g_steal_pointer (&found);
          return g_steal_pointer (&graph);
        }
      g_clear_pointer (text, g_free);
    }
}

gboolean
studio_document_replace (StudioDocument *self, const char *text, const char *step, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "the graph", faults, error);

  if (graph == NULL)
    return FALSE;
  studio_document_leave_to (self, 0);
  replace_content (self, graph, step);
  return TRUE;
}

gboolean
studio_document_reload (StudioDocument *self, GError **error)
{
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  g_autofree char *text = NULL;
  gsize length;

  g_return_val_if_fail (self->path != NULL, FALSE);
  graph = studio_document_read (self->path, &text, &length, &faults, error);
  if (graph == NULL)
    return FALSE;
  /* The shown module may no longer exist afterwards. */
  studio_document_leave_to (self, 0);
  self->n_dropped = loom_graph_n_dropped (graph);
  g_clear_pointer (&self->grammar, loom_faults_free);
  self->grammar = g_steal_pointer (&faults);
  replace_content (self, graph, _ ("Reload"));
  studio_document_note_disk (self, studio_file_watch_digest_of (text, length));
  studio_document_note_saved (self);
  return TRUE;
}
