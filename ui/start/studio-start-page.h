/* The page over an empty canvas: buttons to start with data, an example or a file, and the gallery. */
#pragma once

#include <gtk/gtk.h>

#include "ui/shell/panes-layout.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_START_PAGE (studio_start_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioStartPage, studio_start_page, STUDIO, START_PAGE, GtkWidget)

StudioStartPage *studio_start_page_new (void);
/* While something is dragged over this widget, widgets below the page receive the drop. */
void studio_start_page_watch_drags (StudioStartPage *self, GtkWidget *around);
/* Arranges the buttons in one row, two rows or a column, by the size class of the window. */
void studio_start_page_set_size_class (StudioStartPage *self, StudioSizeClass room);

G_END_DECLS
