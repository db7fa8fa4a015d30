/* The documents that pages show, found by their files: two pages with one file would each take the other's save for a
 * change by another program. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

void open_documents_add (StudioDocument *document);
void open_documents_remove (StudioDocument *document);
/* Returns the document of this file, also through a symbolic link (transfer none); or NULL. */
StudioDocument *open_documents_find (GFile *file);

G_END_DECLS
