/* Modules that can be copied into any graph: those that come with the program, and those that the user has saved. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* Tells by its signal "changed" that a module was saved. */
#define STUDIO_TYPE_LIBRARY (studio_library_get_type ())
G_DECLARE_FINAL_TYPE (StudioLibrary, studio_library, STUDIO, LIBRARY, GObject)

/* The only one, which lives as long as the program (transfer none). */
StudioLibrary *studio_library_get_default (void);

typedef struct
{
  char *name, *doc; /* doc may be NULL */
  char *title;      /* the graph's name, for people: "Convolution block" */
  char *reference;  /* "gradloom/conv_block" or "own/conv_block": for studio_document_add(), as no module is called */
  char *text;       /* a graph of the module and one instance of it */
  gboolean is_own;  /* the user's, and not the program's */
} StudioLibraryEntry;

/* All of them by name (transfer full): files in folder, NULL for the user's data folder, and those in the resources. A
 * file that is none is left out. */
GPtrArray *studio_library_list (const char *folder);
/* Writes the definition of a module, with those that it uses, into the folder (NULL: the user's data folder); an older
 * one of its name is replaced. Gives the file's path. */
char *studio_library_save (StudioDocument *document, const char *module, const char *folder, GError **error);
/* The graph of the entry of this reference (transfer full), and the name of its module; NULL where there is none, as
 * for every name of a graph's own module. */
LoomGraph *studio_library_find (const char *reference, char **module);
/* Copies the entry's module into the document and puts an instance at x, y, in one step; 0 with an error where it
 * cannot. */
guint64
studio_library_add (StudioDocument *document, const StudioLibraryEntry *entry, double x, double y, GError **error);

G_END_DECLS
