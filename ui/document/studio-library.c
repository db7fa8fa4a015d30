/* The library is a folder of graph files, so that a module can be mailed, put into git, and opened like any graph. */
#include "ui/document/studio-library.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-private.h"

#define RESOURCES "/org/gradloom/Studio/library"

static void
entry_free (StudioLibraryEntry *entry)
{
  g_free (entry->name);
  g_free (entry->doc);
  g_free (entry->text);
  g_free (entry);
}

static char *
own_folder (void)
{
  return g_build_filename (g_get_user_data_dir (), "gradloom", "library", NULL);
}

/* The module that a text's only instance uses; NULL where it is no such graph. */
static char *
find_module (const char *text, char **doc)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "the library", faults, NULL);
  LoomElement *node = graph != NULL ? loom_element_find (loom_graph_root (graph), LOOM_TAG_NODE) : NULL;
  const char *module = node != NULL ? loom_element_get (node, "module") : NULL;
  LoomElement *words = graph != NULL ? loom_element_find (loom_graph_root (graph), LOOM_TAG_DOC) : NULL;

  if (module == NULL || loom_graph_find_module (graph, module) == NULL)
    return NULL;
  *doc = words != NULL ? g_strdup (loom_element_text (words)) : NULL;
  return g_strdup (module);
}

static void
add_entry (GPtrArray *list, char *text, gboolean is_own)
{
  StudioLibraryEntry *entry = g_new0 (StudioLibraryEntry, 1);

  entry->text = text;
  entry->is_own = is_own;
  entry->name = find_module (text, &entry->doc);
  if (entry->name != NULL)
    g_ptr_array_add (list, entry);
  else
    entry_free (entry);
}

static int
compare_entries (gconstpointer a, gconstpointer b)
{
  const StudioLibraryEntry *p = *(StudioLibraryEntry *const *)a, *q = *(StudioLibraryEntry *const *)b;

  return strcmp (p->name, q->name);
}

static void
add_files (GPtrArray *list, const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      char *text;

      if (g_str_has_suffix (name, ".xml") && g_file_get_contents (path, &text, NULL, NULL))
        add_entry (list, text, TRUE);
    }
}

static void
add_resources (GPtrArray *list)
{
  g_auto (GStrv) names = g_resources_enumerate_children (RESOURCES, 0, NULL);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *path = g_build_path ("/", RESOURCES, names[i], NULL);
      g_autoptr (GBytes) bytes = g_resources_lookup_data (path, 0, NULL);

      if (bytes != NULL)
        add_entry (list, g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)), FALSE);
    }
}

GPtrArray *
studio_library_list (const char *folder)
{
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify)entry_free);
  g_autofree char *own = folder != NULL ? g_strdup (folder) : own_folder ();

  add_files (list, own);
  add_resources (list);
  g_ptr_array_sort (list, compare_entries);
  return list;
}

char *
studio_library_save (StudioDocument *document, const char *module, const char *folder, GError **error)
{
  g_autofree char *own = folder != NULL ? g_strdup (folder) : own_folder (), *file = NULL, *path = NULL, *text = NULL;

  text = studio_clipboard_copy_module (document, module);
  if (text == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, _ ("There is no module %s."), module);
      return NULL;
    }
  if (g_mkdir_with_parents (own, 0755) != 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, _ ("The folder %s cannot be made: nothing was saved."), own);
      return NULL;
    }
  file = g_strdup_printf ("%s.xml", module);
  path = g_build_filename (own, file, NULL);
  return g_file_set_contents (path, text, -1, error) ? g_steal_pointer (&path) : NULL;
}

guint64
studio_library_add (StudioDocument *document, const StudioLibraryEntry *entry, double x, double y, GError **error)
{
  g_autofree char *step = g_strdup_printf (_ ("Add %s from the library"), entry->name);
  gboolean ok;

  studio_document_begin (document, step);
  ok = studio_clipboard_paste (document, entry->text, x, y, error);
  /* A paste that failed has taken everything back, and ended the step. */
  if (!ok)
    {
      if (document->depth > 0)
        studio_document_cancel (document);
      return 0;
    }
  studio_document_end (document);
  return studio_document_get_selected (document, 0);
}
