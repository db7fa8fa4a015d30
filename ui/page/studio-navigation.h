/* Moves the keyboard focus between the panes, the canvas and the run panel. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/inspector/studio-inspector.h"
#include "ui/palette/studio-outline.h"
#include "ui/shell/studio-panes.h"

typedef struct
{
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioPanes *panes;
  StudioOutline *outline;
  StudioInspector *inspector;
  GtkWidget *panel; /* below the canvas */
} StudioNavigation;

/* Shows the outline with its search. */
void studio_navigation_find (const StudioNavigation *self);
/* Shows the inspector and focuses it. */
void studio_navigation_inspect (const StudioNavigation *self);
void studio_navigation_next_pane (const StudioNavigation *self);
void studio_navigation_previous_pane (const StudioNavigation *self);
/* Ends the editing of text: a note, or a field of this widget, takes what was typed. */
void studio_navigation_commit (const StudioNavigation *self, GtkWidget *within);
