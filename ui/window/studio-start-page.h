/* The page on an empty canvas: "Start with data". */
#pragma once

#include <gtk/gtk.h>

#include "ui/window/panes-layout.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_START_PAGE (studio_start_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioStartPage, studio_start_page, STUDIO, START_PAGE, GtkWidget)

StudioStartPage *studio_start_page_new (void);
/* While something is dragged over this widget the page lets it fall on what lies below. */
void studio_start_page_watch_drags (StudioStartPage *self, GtkWidget *around);
/* Its buttons are a row where the window is wide, else two rows of two, or a column. */
void studio_start_page_set_room (StudioStartPage *self, StudioRoom room);

G_END_DECLS
