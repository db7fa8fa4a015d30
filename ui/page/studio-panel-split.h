/* The run panel below the canvas, in a GtkPaned: hidden before the first run, folded by the user, and of a height that
 * leaves most of a small window to the graph. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_TYPE_PANEL_SPLIT (studio_panel_split_get_type ())
G_DECLARE_FINAL_TYPE (StudioPanelSplit, studio_panel_split, STUDIO, PANEL_SPLIT, GObject)

/* panel becomes the end child of paned. Signals: "changed": the state of the command that folds it; "shown": it was
 * hidden or folded. */
StudioPanelSplit *studio_panel_split_new (GtkPaned *paned, GtkWidget *panel);
/* Unfolds the panel. */
void studio_panel_split_show (StudioPanelSplit *self);
/* Hides the panel until the next run. */
void studio_panel_split_hide (StudioPanelSplit *self);
void studio_panel_split_set_folded (StudioPanelSplit *self, gboolean folded);
/* FALSE: there is no run that it could show. */
gboolean studio_panel_split_is_available (StudioPanelSplit *self);
gboolean studio_panel_split_is_open (StudioPanelSplit *self);
/* On the projector text is larger, and caption and keys need height too. */
void studio_panel_split_set_presenting (StudioPanelSplit *self, gboolean presenting);
/* TRUE if a panel that was shown before the window had a height gets its own now. */
gboolean studio_panel_split_place (StudioPanelSplit *self);
