/* Implements the kinds of files, the file chooser, and the list of recent files. */
#include "ui/start/studio-files.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-choice-name.h"

/* ---- recent files -------------------------------------------------------------------------- */

/* The group of files that were chosen and could not be opened. The dialog for files adds what is chosen in it to the
 * recent files by itself, and some time later, so to remove an entry would not keep it out. */
#define REFUSED "Gradloom refused"

void
studio_files_remember (const char *path)
{
  GtkRecentManager *manager = gtk_recent_manager_get_default ();
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autofree char *uri = g_file_get_uri (file);
  gtk_recent_manager_remove_item (manager, uri, NULL);
  gtk_recent_manager_add_item (manager, uri);
}

void
studio_files_refuse (const char *path)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autofree char *uri = g_file_get_uri (file);
  char *groups[] = { (char *)REFUSED, NULL };
  const GtkRecentData data = { .mime_type = (char *)"application/xml",
                               .app_name = (char *)g_get_application_name (),
                               .app_exec = (char *)"gradloom-studio %f",
                               .groups = groups,
                               .is_private = TRUE };
  gtk_recent_manager_add_full (gtk_recent_manager_get_default (), uri, &data);
}

#define N_RECENT 8

static gint
newer_first (gconstpointer a, gconstpointer b)
{
  return g_date_time_compare (gtk_recent_info_get_modified ((GtkRecentInfo *)b),
                              gtk_recent_info_get_modified ((GtkRecentInfo *)a));
}

static gboolean
is_graph (GtkRecentInfo *info)
{
  return g_str_has_suffix (gtk_recent_info_get_uri (info), ".xml") && gtk_recent_info_is_local (info)
         && gtk_recent_info_has_application (info, g_get_application_name ()) && gtk_recent_info_exists (info)
         && !gtk_recent_info_has_group (info, REFUSED);
}

GList *
studio_files_recent (void)
{
  GList *items = gtk_recent_manager_get_items (gtk_recent_manager_get_default ()), *graphs = NULL;
  for (GList *l = items; l != NULL; l = l->next)
    if (is_graph (l->data))
      graphs = g_list_insert_sorted (graphs, gtk_recent_info_ref (l->data), newer_first);
  g_list_free_full (items, (GDestroyNotify)gtk_recent_info_unref);
  for (GList *rest = g_list_nth (graphs, N_RECENT); rest != NULL;)
    {
      GList *next = rest->next;
      gtk_recent_info_unref (rest->data);
      graphs = g_list_delete_link (graphs, rest);
      rest = next;
    }
  return graphs;
}

GMenuModel *
studio_files_recent_menu (void)
{
  GList *items = studio_files_recent ();
  GMenu *menu = g_menu_new ();
  for (GList *l = items; l != NULL; l = l->next)
    {
      const char *uri = gtk_recent_info_get_uri (l->data);
      g_autoptr (GMenuItem) item = studio_choice_item_new (gtk_recent_info_get_display_name (l->data));
      g_menu_item_set_action_and_target (item, "win.open-recent", "s", uri);
      g_menu_append_item (menu, item);
    }
  if (items == NULL)
    g_menu_append (menu, _ ("No Recent Graphs"), "win.none");
  g_list_free_full (items, (GDestroyNotify)gtk_recent_info_unref);
  return G_MENU_MODEL (menu);
}

/* ---- file chooser -------------------------------------------------------------------------- */

/* The kinds of files that Studio opens, by extension. */
static const struct
{
  const char *title, *suffix[11]; /* NULL after the last */
} kinds[] = {
  [STUDIO_FILE_GRAPH] = { N_ ("Graphs"), { "xml" } },
  [STUDIO_FILE_TABLE] = { N_ ("Tables"), { "csv", "tsv", "parquet" } },
  [STUDIO_FILE_MODEL] = { N_ ("ONNX models"), { "onnx" } },
  [STUDIO_FILE_WEIGHTS]
  = { N_ ("Weights"), { "safetensors", "pth", "pt", "pt2", "bin", "ckpt", "npz", "gguf", "h5", "keras" } },
  [STUDIO_FILE_TRACE] = { N_ ("Traces of a step"), { "json" } },
  [STUDIO_FILE_LECTURE] = { N_ ("Lectures"), { "lecture" } },
  [STUDIO_FILE_RECORDING] = { N_ ("Recorded sessions"), { "recording" } },
};

/* A graph may have any extension; its first character that is not white space decides. */
static gboolean
is_xml (GFile *file)
{
  char head[64];
  gsize n = 0;
  g_autoptr (GFileInputStream) stream = g_file_read (file, NULL, NULL);
  if (stream == NULL || !g_input_stream_read_all (G_INPUT_STREAM (stream), head, sizeof head - 1, &n, NULL, NULL))
    return FALSE;
  head[n] = '\0';
  const char *text = g_str_has_prefix (head, "\xef\xbb\xbf") ? head + 3 : head;
  return text[strspn (text, " \t\r\n")] == '<';
}

StudioFileKind
studio_files_kind (GFile *file)
{
  g_autofree char *name = g_file_get_basename (file), *lower = g_ascii_strdown (name, -1);
  const char *dot = strrchr (lower, '.');
  if (g_str_has_suffix (lower, ".index.json")) /* of shards */
    return STUDIO_FILE_WEIGHTS;
  for (guint kind = 0; dot != NULL && kind < G_N_ELEMENTS (kinds); kind++)
    if (g_strv_contains (kinds[kind].suffix, dot + 1))
      return (StudioFileKind)kind;
  return dot == NULL || is_xml (file) ? STUDIO_FILE_GRAPH : STUDIO_FILE_OTHER;
}

static void
add_filter (GtkFileChooser *chooser, const char *title, guint from, guint to)
{
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();
  gtk_file_filter_set_name (filter, title);
  for (guint kind = from; kind <= to; kind++)
    for (const char *const *suffix = kinds[kind].suffix; *suffix != NULL; suffix++)
      gtk_file_filter_add_suffix (filter, *suffix);
  gtk_file_chooser_add_filter (chooser, filter);
}

static void
add_kinds (GtkFileChooser *chooser)
{
  add_filter (chooser, _ ("All supported files"), 0, G_N_ELEMENTS (kinds) - 1);
  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    add_filter (chooser, _ (kinds[kind].title), kind, kind);
  g_autoptr (GtkFileFilter) all = gtk_file_filter_new ();
  gtk_file_filter_set_name (all, _ ("All files"));
  gtk_file_filter_add_pattern (all, "*");
  gtk_file_chooser_add_filter (chooser, all);
}

GtkFileChooserNative *
studio_files_new_chooser (GtkWindow *parent, const char *title, GtkFileChooserAction action, const char *accept,
                          gboolean any_kind, const char *path)
{
  GtkFileChooserNative *chooser = gtk_file_chooser_native_new (title, parent, action, accept, _ ("_Cancel"));
  if (any_kind)
    add_kinds (GTK_FILE_CHOOSER (chooser));
  else
    add_filter (GTK_FILE_CHOOSER (chooser), _ (kinds[STUDIO_FILE_GRAPH].title), STUDIO_FILE_GRAPH, STUDIO_FILE_GRAPH);
  /* Modal, because the page that asked must not be closed before the response. */
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  if (path != NULL)
    {
      g_autofree char *name = g_path_get_dirname (path);
      g_autoptr (GFile) folder = g_file_new_for_path (name);
      gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (chooser), folder, NULL);
    }
  return chooser;
}
