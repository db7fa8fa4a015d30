/* The page over an empty canvas: buttons to start with data, an example or a file, and the gallery. */
#pragma once

#include <gtk/gtk.h>

#include "ui/shell/panes-layout.h"

#define STUDIO_TYPE_START_PAGE (studio_start_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioStartPage, studio_start_page, STUDIO, START_PAGE, GtkWidget)

StudioStartPage *studio_start_page_new (void);
/* While something is dragged over this widget, widgets below the page receive the drop. */
void studio_start_page_watch_drags (StudioStartPage *self, GtkWidget *around);
/* Lists runs that go on without a window, each with a button that attaches it ("win.attach-run" with the folder).
 * folders is NULL-terminated, and of texts each describes one: "net-0001 · on box". */
void studio_start_page_set_runs (StudioStartPage *self, const char *const *folders, const char *const *texts);
/* Arranges the buttons in one row, two rows or a column, by the size class of the window. */
void studio_start_page_set_size_class (StudioStartPage *self, StudioSizeClass room);
