/* The command palette (Ctrl+Shift+P): a searchable list of all actions over the window. Escape, a click outside, or a
 * change of focus closes it. Enter runs the selected action on the widget that had the focus. */
#pragma once

#include <adwaita.h>

#define STUDIO_TYPE_ACTION_LIST (studio_action_list_get_type ())
G_DECLARE_FINAL_TYPE (StudioActionList, studio_action_list, STUDIO, ACTION_LIST, AdwBin)

/* Actions are activated on the canvas, which also reaches those of the window and of the application. */
StudioActionList *studio_action_list_new (void);
/* canvas: of the current page; NULL: none. Closes the list. */
void studio_action_list_set_canvas (StudioActionList *self, GtkWidget *canvas);
void studio_action_list_open (StudioActionList *self);
