/* Gettext's compiled catalogues. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* A text and what stands for it in another language. */
typedef struct
{
  char *key;  /* context and text as the catalogue has them, which name the entry */
  char *from; /* the text alone; of plural forms the first */
  char *to;
} LoomMoEntry;

/* Appends a catalogue's entries, in its order, but for its header and what is not translated; list frees them with
 * loom_mo_entry_free(). IO or DATA where it is none. */
gboolean loom_mo_read (const char *path, GPtrArray *list, GError **error);
void loom_mo_entry_free (gpointer entry);

G_END_DECLS
