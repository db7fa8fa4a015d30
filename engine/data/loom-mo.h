/* Reads gettext's compiled catalogues. */
#pragma once

#include <glib.h>

/* A text and its translation. */
typedef struct
{
  char *key;  /* context and text as in the catalogue: the key of the entry */
  char *from; /* the text without context; of plural forms the first */
  char *to;
} LoomMoEntry;

/* Appends a catalogue's entries, in its order, except its header and untranslated texts; list frees them with
 * loom_mo_entry_free(). IO or DATA: it is no catalogue. */
gboolean loom_mo_read (const char *path, GPtrArray *list, GError **error);
void loom_mo_entry_free (gpointer entry);
