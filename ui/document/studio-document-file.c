/* The document's file and its journal: opening, saving, recovering.
 *
 * The journal replays on exactly the text that editing began with, because serials are assigned in the order of that
 * text; so the text is kept with the graph. */
#include "ui/document/studio-document-history.h"
#include "ui/document/studio-document-private.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>

#include <glib/gstdio.h>

/* ---- file --------------------------------------------------------------- */

static void
use_graph (StudioDocument *self, LoomGraph *graph, LoomFaults *grammar, GBytes *base, const char *path,
           const char *origin, char *digest)
{
  guint n_before;

  studio_document_set_saving (self, NULL);
  if (self->journal != NULL)
    studio_journal_remove (g_steal_pointer (&self->journal));
  g_clear_pointer (&self->net, loom_net_free);
  if (self->scene != NULL)
    studio_scene_disown (self->scene);
  if (self->earlier != NULL)
    studio_scene_disown (self->earlier);
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->grammar, loom_faults_free);
  g_clear_pointer (&self->base, g_bytes_unref);
  self->graph = graph;
  self->n_dropped = loom_graph_n_dropped (graph);
  self->grammar = grammar;
  self->base = base;
  if (path != self->path)
    {
      g_free (self->path);
      self->path = g_strdup (path);
    }
  g_free (self->origin);
  self->origin = g_strdup (origin);
  studio_document_guard (self);
  n_before = studio_document_begin_history (self, path);
  scope_path_leave_to (self->scope, 0);
  selection_set (self->selection, NULL, 0);
  g_array_set_size (self->bridges, 0);
  saved_content_set (self->saved, loom_graph_write (graph, NULL));
  self->reported_edited = FALSE;
  studio_document_note_disk (self, digest);
  studio_document_forget_derived (self);
  self->reach = EDIT_REACH_ALL;
  /* All parts belong to the new graph now, and may be queried. */
  g_signal_emit_by_name (self, "history-changed", 0, n_before, 1);
  studio_document_changed (self);
  studio_document_infer (self);
  g_signal_emit_by_name (self, "scope-changed");
  g_signal_emit_by_name (self, "selection-changed");
  g_signal_emit_by_name (self, "file-changed");
}

static gboolean
open_text (StudioDocument *self, const char *text, gssize length, const char *folder, const char *origin,
           GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomGraph *graph;

  if (length < 0)
    length = strlen (text);
  graph = loom_graph_read_data (text, length, "the example", faults, error);
  if (graph == NULL)
    return FALSE;
  if (folder != NULL)
    loom_graph_set_folder (graph, folder);
  use_graph (self, graph, g_steal_pointer (&faults), g_bytes_new (text, length), NULL, origin, NULL);
  return TRUE;
}

gboolean
studio_document_open_text (StudioDocument *self, const char *text, gssize length, const char *folder, GError **error)
{
  return open_text (self, text, length, folder, NULL, error);
}

gboolean
studio_document_open_part (StudioDocument *self, const char *text, const char *origin, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (origin);

  return open_text (self, text, -1, folder, origin, error);
}

gboolean
studio_document_open (StudioDocument *self, const char *path, GError **error)
{
  g_autofree char *text = NULL, *absolute = g_canonicalize_filename (path, NULL);
  gsize length = 0;
  LoomFaults *faults = NULL;
  LoomGraph *graph = studio_document_read (absolute, &text, &length, &faults, error);

  if (graph == NULL)
    return FALSE;
  use_graph (self, graph, faults, g_bytes_new (text, length), absolute, NULL,
             studio_file_watch_digest_of (text, length));
  return TRUE;
}

void
studio_document_reset (StudioDocument *self)
{
  static const char empty[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                              "<graph xmlns=\"" LOOM_GRAPH_NAMESPACE "\" version=\"1\"/>\n";
  g_autoptr (GError) error = NULL;

  if (!studio_document_open_text (self, empty, -1, NULL, &error))
    g_error ("The empty graph cannot be read: %s", error->message);
}

void
studio_document_note_saved (StudioDocument *self)
{
  saved_content_set (self->saved, loom_graph_write (self->graph, NULL));
  self->saved_step = undo_log_last_step (self->log);
  self->reported_edited = FALSE;
  studio_document_end_merge (self);
  if (self->journal != NULL)
    studio_journal_saved (self->journal, self->path);
  g_signal_emit_by_name (self, "file-changed");
}

guint
studio_document_dropped_parts (StudioDocument *self)
{
  return self->n_dropped;
}

const char *
studio_document_get_path (StudioDocument *self)
{
  return self->path;
}

char *
studio_document_dup_title (StudioDocument *self)
{
  const char *name = loom_element_get (loom_graph_root (self->graph), "name");

  if (name != NULL && name[0] != '\0')
    return g_strdup (name);
  if (self->path != NULL)
    return g_path_get_basename (self->path);
  return g_strdup (_ ("Untitled"));
}

gboolean
studio_document_is_edited (StudioDocument *self)
{
  return saved_content_differs (self->saved, self->graph)
         || studio_file_watch_get_state (self->watch) == STUDIO_DISK_GONE;
}

gboolean
studio_document_is_empty (StudioDocument *self)
{
  return loom_element_find (loom_graph_root (self->graph), LOOM_TAG_NODE) == NULL;
}

/* ---- journal ------------------------------------------------------------ */

gboolean
studio_document_keep_journal (StudioDocument *self, const char *folder, GError **error)
{
  g_autofree char *standard = folder == NULL ? studio_journal_default_folder () : g_strdup (folder);

  g_return_val_if_fail (studio_document_n_history (self) == 1, FALSE);
  if (!loom_path_make_folder (standard, 0700))
    {
      int code = errno;

      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (code),
                   _ ("The folder %s for unsaved work could not be created: %s."), standard, g_strerror (code));
      return FALSE;
    }
  g_free (self->journal_folder);
  self->journal_folder = g_steal_pointer (&standard);
  self->wants_journal = TRUE;
  return TRUE;
}

gboolean
studio_document_recover (StudioDocument *self, const char *journal, GError **error)
{
  g_autoptr (StudioJournalContent) content = studio_journal_read (journal, error);
  g_autoptr (LoomFaults) faults = NULL;
  g_autofree char *folder = NULL;
  LoomGraph *graph;
  gsize length;
  const char *base;
  char *digest = NULL;
  g_autoptr (GError) wrong = NULL;

  if (content == NULL)
    return FALSE;
  faults = loom_faults_new ();
  base = g_bytes_get_data (content->base, &length);
  graph = loom_graph_read_data (base, length, journal, faults, error);
  if (graph == NULL)
    return FALSE;
  if (content->path != NULL)
    folder = loom_run_data_folder (content->path);
  else if (content->origin != NULL)
    folder = g_path_get_dirname (content->origin);
  if (folder != NULL)
    loom_graph_set_folder (graph, folder);
  /* The file's content when Studio ended is known: the text that editing began with, or what was saved last, if that
   * was before another crash. */
  if (content->path != NULL)
    digest = content->digest != NULL ? g_strdup (content->digest) : studio_file_watch_digest_of (base, length);
  use_graph (self, graph, g_steal_pointer (&faults), g_bytes_ref (content->base), content->path, content->origin,
             digest);

  if (content->n_saved > 0)
    self->saved_step = G_MAXUINT64; /* it was within the steps that are one now */
  studio_document_begin (self, _ ("Recover unsaved work"));
  for (guint i = 0; i < content->lines->len && wrong == NULL; i++)
    {
      LoomEdit *edit = loom_edit_from_line (self->graph, g_ptr_array_index (content->lines, i), &wrong);

      if (edit != NULL)
        studio_document_edit (self, edit);
    }
  studio_document_end (self);
  if (wrong != NULL)
    {
      /* Keeps the part that could be replayed, and the old journal. */
      g_propagate_prefixed_error (error, g_steal_pointer (&wrong),
                                  _ ("The end of the unsaved work could not be read: "));
      return FALSE;
    }
  /* The old journal is the only copy as long as the new one is not on the disk. */
  if (self->journal != NULL && studio_journal_sync (self->journal))
    loom_path_remove (journal);
  studio_document_infer (self);
  g_signal_emit_by_name (self, "file-changed");
  return TRUE;
}

void
studio_document_close (StudioDocument *self)
{
  studio_document_set_saving (self, NULL);
  if (self->journal != NULL)
    studio_journal_remove (g_steal_pointer (&self->journal));
  self->wants_journal = FALSE;
}
