/* Modules that can be copied into any graph: those of the program, and those that the user has saved. */
#pragma once

#include "ui/document/studio-document.h"

/* Signal "changed": a module was saved. */
#define STUDIO_TYPE_LIBRARY (studio_library_get_type ())
G_DECLARE_FINAL_TYPE (StudioLibrary, studio_library, STUDIO, LIBRARY, GObject)

/* The single instance, which is never freed (transfer none). */
StudioLibrary *studio_library_get_default (void);

typedef struct
{
  char *name, *doc; /* doc may be NULL */
  char *title;      /* the graph's name: "Convolution block" */
  char *reference; /* "gradloom/conv_block" or "own/conv_block", for studio_document_add(); no module has such a name */
  char *text;      /* a graph with the module and one instance of it */
  gboolean is_own; /* the user's, not the program's */
} StudioLibraryEntry;

/* All modules by name (transfer full): files in folder (NULL: the user's data folder), and those in the resources.
 * Invalid files are skipped. */
GPtrArray *studio_library_list (const char *folder);
/* Writes the definition of a module, with the modules that it uses, to the folder (NULL: the user's data folder),
 * replacing an older one of its name. Returns the file's path. */
char *studio_library_save (StudioDocument *document, const char *module, const char *folder, GError **error);
/* The graph of the entry of this reference (transfer full), and the name of its module; NULL if there is none, as for
 * every name of a graph's own module. */
LoomGraph *studio_library_find (const char *reference, char **module);
/* Copies the entry's module into the document and puts an instance at x, y, in one step; 0 with an error on failure. */
guint64
studio_library_add (StudioDocument *document, const StudioLibraryEntry *entry, double x, double y, GError **error);
