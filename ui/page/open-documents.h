/* The documents that pages show, found by their files: two pages with one file would each take the other's save for a
 * change by another program. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

/* page: the widget that shows it. */
void open_documents_add (StudioDocument *document, GtkWidget *page);
void open_documents_remove (StudioDocument *document);
/* Returns the document of this file, also through a symbolic link (transfer none); or NULL. */
StudioDocument *open_documents_find (GFile *file);
/* The page that shows it, if it is in a window. */
GtkWidget *open_documents_find_page (GFile *file);
