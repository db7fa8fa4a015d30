/* Which graph a page shows: a file, an example, what a crash left, or none yet. */
#include <glib/gi18n.h>
#include <string.h>

#include <glib/gstdio.h>

#include "ui/window/studio-page-private.h"

#include "ui/window/studio-files.h"

gboolean
studio_page_is_untouched (StudioPage *self)
{
  return studio_document_is_empty (self->document) && studio_document_get_path (self->document) == NULL
         && studio_document_undo_name (self->document) == NULL && studio_document_redo_name (self->document) == NULL
         && studio_run_get_state (self->run) == STUDIO_RUN_IDLE;
}

/* Begins with what a run, a lesson and a selection are for a graph that was opened just now. */
static void
take_document (StudioPage *self)
{
  studio_page_setup_run (self);
  studio_document_select_only (self->document, 0);
  studio_page_update_layout (self);
  studio_page_update_title (self);
  studio_page_fit_soon (self);
  studio_page_focus (self);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* The remedy for a file that cannot be read; the reader's own sentences tell the faults within one. */
static const char *
remedy_for (const char *path)
{
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return _ ("It may have been moved or renamed. Use Open to find it.");
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    return _ ("It is a folder. Use Open to choose a graph in it.");
  if (g_access (path, R_OK) != 0)
    return _ ("Ask its owner for permission to read it, or open your own copy.");
  return NULL;
}

/* Errors of the system end without a full stop, which another sentence behind them needs. (transfer full) */
static char *
join_sentences (const char *first, const char *second)
{
  g_autofree char *text = g_strdup (first);
  const char *stop;

  g_strchomp (text);
  if (second == NULL)
    return g_steal_pointer (&text);
  stop = g_str_has_suffix (text, ".") || g_str_has_suffix (text, "!") || g_str_has_suffix (text, "?") ? "" : ".";
  return g_strdup_printf ("%s%s %s", text, stop, second);
}

/* The reader's error begins with the path, which the heading has. */
static void
explain (GError *error, const char *path)
{
  g_autofree char *prefix = g_strconcat (path, ": ", NULL), *quoted = g_strdup_printf ("“%s” cannot be read: ", path);
  const char *why = error->message, *remedy = error->code == LOOM_ERROR_PARSE ? NULL : remedy_for (path);
  if (g_str_has_prefix (why, prefix))
    why += strlen (prefix);
  else if (g_str_has_prefix (why, quoted))
    why += strlen (quoted);
  char *sentence = join_sentences (why, remedy);
  sentence[0] = g_ascii_toupper (sentence[0]);
  g_free (error->message);
  error->message = sentence;
}

gboolean
studio_page_open_file (StudioPage *self, GFile *file, GError **error)
{
  g_autofree char *path = g_file_get_path (file);
  GError *why = NULL;
  if (path == NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, _ ("Only files on this computer can be opened."));
      return FALSE;
    }
  if (!studio_document_open (self->document, path, &why))
    {
      studio_files_refuse (path);
      explain (why, path);
      g_propagate_error (error, why);
      return FALSE;
    }
  studio_files_remember (path);
  take_document (self);
  return TRUE;
}

gboolean
studio_page_open_text (StudioPage *self, const char *text, gssize length, GError **error)
{
  if (!studio_document_open_text (self->document, text, length, NULL, error))
    return FALSE;
  take_document (self);
  return TRUE;
}

gboolean
studio_page_open_example (StudioPage *self, const char *name, GError **error)
{
  g_autofree char *resource = g_strdup_printf ("/org/gradloom/Studio/examples/%s.xml", name);
  g_autoptr (GBytes) bytes = g_resources_lookup_data (resource, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  return bytes != NULL
         && studio_page_open_text (self, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes), error);
}

/* ---- no file -------------------------------------------------------------------------------- */

void
studio_page_reset (StudioPage *self)
{
  studio_document_reset (self->document);
  self->start_empty = FALSE;
  studio_page_setup_run (self);
  studio_page_update_layout (self);
  studio_page_update_title (self);
}

gboolean
studio_page_recover (StudioPage *self, const char *journal, GError **error)
{
  gboolean whole = studio_document_recover (self->document, journal, error);
  studio_page_setup_run (self);
  studio_page_update_layout (self);
  studio_page_fit_soon (self);
  return whole;
}
