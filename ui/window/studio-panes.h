/* The window's middle: what is worked on, and a pane of pages at either side that can be folded away.
 *
 * In a wide window panes stand beside the content; in a narrow one (panes-layout.h) they are drawers over it, of which
 * one is open at a time, and which Escape, a press beside them, or focus that goes back to the content closes. */
#pragma once

#include <gtk/gtk.h>

#include "ui/window/panes-layout.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_PANES (studio_panes_get_type ())
G_DECLARE_FINAL_TYPE (StudioPanes, studio_panes, STUDIO, PANES, GtkWidget)

/* A .ui file gives it its content as a child. Signal "changed": a pane was folded or unfolded, or there is more or less
 * room. */

/* A page of a pane. Tabs are shown where a pane has several; a page of its own width (gtk_widget_set_size_request, or
 * min-width in em by the style sheet) widens its pane while it is the one that is seen. Showing a page unfolds its pane
 * and leaves the focus to the caller. */
void
studio_panes_add_page (StudioPanes *self, StudioPaneSide side, GtkWidget *page, const char *name, const char *title);
void studio_panes_remove_page (StudioPanes *self, const char *name);
void studio_panes_show_page (StudioPanes *self, const char *name);
/* The page that is or would be seen; NULL where there is none. */
const char *studio_panes_get_page (StudioPanes *self, StudioPaneSide side);
GtkWidget *studio_panes_get_pane (StudioPanes *self, StudioPaneSide side);

/* Whether the pane is to be seen; in a narrow window, whether its drawer is open. */
gboolean studio_panes_get_open (StudioPanes *self, StudioPaneSide side);
void studio_panes_set_open (StudioPanes *self, StudioPaneSide side, gboolean open);
/* Whether a wide window shows the pane, which is remembered; the same as the former there. */
gboolean studio_panes_get_kept_open (StudioPanes *self, StudioPaneSide side);
/* A pane that is not available is not seen, whatever else is said of it. */
void studio_panes_set_available (StudioPanes *self, StudioPaneSide side, gboolean available);
gboolean studio_panes_get_available (StudioPanes *self, StudioPaneSide side);
StudioRoom studio_panes_get_room (StudioPanes *self);

G_END_DECLS
