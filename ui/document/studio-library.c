/* The library is a folder of graph files, so that a module can be mailed, put into git, and opened like any graph. */
#include "ui/document/studio-library.h"

#include <glib/gi18n.h>
#include <string.h>

#include "gradloom-library.h"
#include "ui/document/document-edit.h"

#include "ui/document/studio-clipboard.h"

#define RESOURCES "/org/gradloom/Studio/library"

struct _StudioLibrary
{
  GObject parent_instance;
};

G_DEFINE_FINAL_TYPE (StudioLibrary, studio_library, G_TYPE_OBJECT)

static void
studio_library_class_init (StudioLibraryClass *klass)
{
  g_signal_new ("changed", STUDIO_TYPE_LIBRARY, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_library_init (StudioLibrary *self)
{
}

StudioLibrary *
studio_library_get_default (void)
{
  static StudioLibrary *library;

  if (library == NULL)
    library = g_object_new (STUDIO_TYPE_LIBRARY, NULL);
  return library;
}

static void
entry_free (StudioLibraryEntry *entry)
{
  g_free (entry->name);
  g_free (entry->doc);
  g_free (entry->title);
  g_free (entry->reference);
  g_free (entry->text);
  g_free (entry);
}

static char *
own_folder (void)
{
  return g_build_filename (g_get_user_data_dir (), "gradloom", "library", NULL);
}

static LoomGraph *
read_text (const char *text)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  return loom_graph_read_data (text, strlen (text), "the library", faults, NULL);
}

/* The module of the text's first instance, which may have inputs that show it; NULL if it is no such graph. */
static char *
find_module (const char *text, char **doc, char **title)
{
  g_autoptr (LoomGraph) graph = read_text (text);
  LoomElement *root = graph != NULL ? loom_graph_root (graph) : NULL, *words;
  const char *module = NULL;

  for (guint i = 0; root != NULL && i < loom_element_n_children (root) && module == NULL; i++)
    if (loom_element_tag (loom_element_child (root, i)) == LOOM_TAG_NODE)
      module = loom_element_get (loom_element_child (root, i), "module");
  if (module == NULL || loom_graph_find_module (graph, module) == NULL)
    return NULL;
  words = loom_element_find (root, LOOM_TAG_DOC);
  *doc = words != NULL ? g_strdup (loom_element_text (words)) : NULL;
  *title = g_strdup (loom_element_get (root, "name"));
  if (*title == NULL)
    *title = g_strdup (module);
  return g_strdup (module);
}

static void
add_entry (GPtrArray *list, char *text, gboolean is_own)
{
  StudioLibraryEntry *entry = g_new0 (StudioLibraryEntry, 1);

  entry->text = text;
  entry->is_own = is_own;
  entry->name = find_module (text, &entry->doc, &entry->title);
  if (entry->name != NULL)
    {
      entry->reference = g_strdup_printf ("%s/%s", is_own ? "own" : "gradloom", entry->name);
      g_ptr_array_add (list, entry);
    }
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
  g_auto (GStrv) names = NULL;

  if (gradloom_library_get_resource () == NULL)
    gradloom_library_register_resource ();
  names = g_resources_enumerate_children (RESOURCES, 0, NULL);

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
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, _ ("The folder %s could not be created. Nothing was saved."), own);
      return NULL;
    }
  file = g_strdup_printf ("%s.xml", module);
  path = g_build_filename (own, file, NULL);
  if (!g_file_set_contents (path, text, -1, error))
    return NULL;
  g_signal_emit_by_name (studio_library_get_default (), "changed");
  return g_steal_pointer (&path);
}

LoomGraph *
studio_library_find (const char *reference, char **module)
{
  g_autoptr (GPtrArray) entries = NULL;

  if (strchr (reference, '/') == NULL)
    return NULL;
  entries = studio_library_list (NULL);
  for (guint i = 0; i < entries->len; i++)
    {
      const StudioLibraryEntry *entry = entries->pdata[i];

      if (strcmp (entry->reference, reference) != 0)
        continue;
      *module = g_strdup (entry->name);
      return read_text (entry->text);
    }
  return NULL;
}

guint64
studio_library_add (StudioDocument *document, const StudioLibraryEntry *entry, double x, double y, GError **error)
{
  g_autofree char *step = g_strdup_printf (_ ("Add %s from the library"), entry->name), *id = NULL, *module = NULL;
  g_autoptr (LoomGraph) graph = read_text (entry->text);
  LoomElement *scope = studio_document_get_scope (document);
  guint64 serial;

  studio_document_begin (document, step);
  module = studio_clipboard_bring_module (document, graph, entry->name, error);
  if (module == NULL)
    {
      studio_document_cancel (document);
      return 0;
    }
  id = loom_scope_free_id (scope, entry->name);
  serial = loom_element_serial (
      studio_document_insert (document, scope, loom_element_new (LOOM_TAG_NODE, "id", id, "module", module, NULL)));
  studio_document_place (document, id, x, y);
  studio_document_end (document);
  studio_document_select_only (document, serial);
  return serial;
}
