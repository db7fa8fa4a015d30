/* The widget in the middle of a page: the content, and a foldable pane with tabs at either side.
 *
 * In a wide window the panes are next to the content. In a narrow one (panes-layout.h) they are drawers over it; at
 * most one is open, and Escape, a click outside, or moving the focus to the content closes it. */
#pragma once

#include <gtk/gtk.h>

#include "ui/shell/panes-layout.h"

#define STUDIO_TYPE_PANES (studio_panes_get_type ())
G_DECLARE_FINAL_TYPE (StudioPanes, studio_panes, STUDIO, PANES, GtkWidget)

/* A .ui file sets the content as a child. Signal "changed": a pane was folded or unfolded, or the size class has
 * changed. Signal "wanted": see studio_panes_want(). */

/* Adds a page to a pane. Tabs are shown if a pane has several pages. The visible page sets the width of its pane
 * (gtk_widget_set_size_request(), or min-width in the style sheet). Showing a page unfolds its pane and does not move
 * the focus. */
void
studio_panes_add_page (StudioPanes *self, StudioPaneSide side, GtkWidget *page, const char *name, const char *title);
void studio_panes_remove_page (StudioPanes *self, const char *name);
void studio_panes_show_page (StudioPanes *self, const char *name);
/* The visible page, or the one that unfolding would show; NULL: no page. */
const char *studio_panes_get_page (StudioPanes *self, StudioPaneSide side);
GtkWidget *studio_panes_get_pane (StudioPanes *self, StudioPaneSide side);

/* TRUE if the page is the visible one of a pane that is open. */
gboolean studio_panes_is_page_visible (StudioPanes *self, const char *name);

/* TRUE if the pane is shown; in a narrow window, if its drawer is open. */
gboolean studio_panes_get_open (StudioPanes *self, StudioPaneSide side);
void studio_panes_set_open (StudioPanes *self, StudioPaneSide side, gboolean open);
/* TRUE if the pane is shown in a wide window; this is stored in the settings. */
gboolean studio_panes_get_kept_open (StudioPanes *self, StudioPaneSide side);
/* An unavailable pane is always hidden. */
void studio_panes_set_available (StudioPanes *self, StudioPaneSide side, gboolean available);
gboolean studio_panes_get_available (StudioPanes *self, StudioPaneSide side);
/* Emits "wanted" if the pane at the start is unavailable, as in a presentation, so that the owner of the panes may
 * change that before a page is shown. */
void studio_panes_want (StudioPanes *self);
StudioSizeClass studio_panes_get_size_class (StudioPanes *self);
