/* The page on an empty canvas: "Start with data". */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_START_PAGE (studio_start_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioStartPage, studio_start_page, STUDIO, START_PAGE, GtkWidget)

StudioStartPage *studio_start_page_new (void);
/* While something is dragged over this widget the page lets it fall on what lies below. */
void studio_start_page_watch_drags (StudioStartPage *self, GtkWidget *around);
void studio_start_page_set_narrow (StudioStartPage *self, gboolean narrow);

G_END_DECLS
