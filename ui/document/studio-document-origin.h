/* The file that a document's graph is from: it may be untrusted, and decides which data may be read without asking. */
#pragma once

#include "ui/document/studio-document.h"

/* As studio_document_open_text(), of a text that another file contains, such as a recording: like a graph's own file it
 * may be untrusted, and relative data paths are resolved in its folder. origin is absolute. */
gboolean studio_document_open_part (StudioDocument *self, const char *text, const char *origin, GError **error);
/* The document's own file, else the one that contained its text. NULL: it was begun here. */
const char *studio_document_get_origin (StudioDocument *self);
