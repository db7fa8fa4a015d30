/* Implements open-documents.h with a list: a user has few documents open. */
#include "ui/page/open-documents.h"

static GPtrArray *documents; /* not owned */

void
open_documents_add (StudioDocument *document)
{
  if (documents == NULL)
    documents = g_ptr_array_new ();
  g_ptr_array_add (documents, document);
}

void
open_documents_remove (StudioDocument *document)
{
  g_ptr_array_remove (documents, document);
}

/* Returns the path with all symbolic links resolved. */
static char *
dup_target (const char *path)
{
  g_autofree char *absolute = g_canonicalize_filename (path, NULL), *target = loom_file_target (absolute);
  return g_canonicalize_filename (target, NULL);
}

StudioDocument *
open_documents_find (GFile *file)
{
  g_autofree char *path = g_file_get_path (file), *wanted = path != NULL ? dup_target (path) : NULL;
  for (guint i = 0; wanted != NULL && documents != NULL && i < documents->len; i++)
    {
      const char *has = studio_document_get_path (documents->pdata[i]);
      g_autofree char *target = has != NULL ? dup_target (has) : NULL;
      if (g_strcmp0 (target, wanted) == 0)
        return documents->pdata[i];
    }
  return NULL;
}
