/* Implements graph-file.h. */
#include "ui/page/graph-file.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>

#include "ui/start/studio-files.h"

/* The remedy for a file that cannot be read; faults within a file are in the reader's own sentences. */
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

/* Errors of the system end without a full stop, which is added before another sentence. (transfer full) */
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
graph_file_open (StudioDocument *document, GFile *file, GError **error)
{
  g_autofree char *path = g_file_get_path (file);
  GError *why = NULL;
  if (path == NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, _ ("Only files on this computer can be opened."));
      return FALSE;
    }
  if (!studio_document_open (document, path, &why))
    {
      studio_files_refuse (path);
      explain (why, path);
      g_propagate_error (error, why);
      return FALSE;
    }
  studio_files_remember (path);
  return TRUE;
}

gboolean
graph_file_open_example (StudioDocument *document, const char *name, GError **error)
{
  g_autofree char *resource = g_strdup_printf ("/org/gradloom/Studio/examples/%s.xml", name);
  g_autoptr (GBytes) bytes = g_resources_lookup_data (resource, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  return bytes != NULL
         && studio_document_open_text (document, g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes), NULL,
                                       error);
}
