/* The line below a page: the faults of the graph, its totals, and the zoom of the canvas with a menu of the view. */
#pragma once

#include <gtk/gtk.h>

#include "ui/page/studio-fault-list.h"

#define STUDIO_TYPE_STATUS_LINE (studio_status_line_get_type ())
G_DECLARE_FINAL_TYPE (StudioStatusLine, studio_status_line, STUDIO, STATUS_LINE, GtkBox)

/* Property "totals": "12 layers · 61,706 parameters". Call once. */
void studio_status_line_set_parts (StudioStatusLine *self, StudioCanvas *canvas, StudioFaultList *faults);
/* Adds a widget that replaces the totals while it is visible. */
void studio_status_line_set_health (StudioStatusLine *self, GtkWidget *health);
/* Opens the list of faults if the line is mapped. */
void studio_status_line_show_faults (StudioStatusLine *self);
