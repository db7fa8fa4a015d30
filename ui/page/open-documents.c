/* Implements open-documents.h with a list: a user has few documents open. */
#include "ui/page/open-documents.h"

/* Neither is owned. */
typedef struct
{
  StudioDocument *document;
  GtkWidget *page;
} Entry;

static GArray *entries;

void
open_documents_add (StudioDocument *document, GtkWidget *page)
{
  const Entry entry = { document, page };
  if (entries == NULL)
    entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_append_val (entries, entry);
}

void
open_documents_remove (StudioDocument *document)
{
  for (guint i = 0; entries != NULL && i < entries->len; i++)
    if (g_array_index (entries, Entry, i).document == document)
      g_array_remove_index (entries, i--);
}

/* Returns the path with all symbolic links resolved. */
static char *
dup_target (const char *path)
{
  g_autofree char *absolute = g_canonicalize_filename (path, NULL), *target = loom_file_target (absolute);
  return g_canonicalize_filename (target, NULL);
}

static const Entry *
find (GFile *file)
{
  g_autofree char *path = g_file_get_path (file), *wanted = path != NULL ? dup_target (path) : NULL;
  for (guint i = 0; wanted != NULL && entries != NULL && i < entries->len; i++)
    {
      const Entry *entry = &g_array_index (entries, Entry, i);
      const char *has = studio_document_get_path (entry->document);
      g_autofree char *target = has != NULL ? dup_target (has) : NULL;
      if (g_strcmp0 (target, wanted) == 0)
        return entry;
    }
  return NULL;
}

StudioDocument *
open_documents_find (GFile *file)
{
  const Entry *entry = find (file);
  return entry != NULL ? entry->document : NULL;
}

GtkWidget *
open_documents_find_page (GFile *file)
{
  const Entry *entry = find (file);
  return entry != NULL && gtk_widget_get_root (entry->page) != NULL ? entry->page : NULL;
}
