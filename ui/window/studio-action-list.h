/* The list of all actions, to be searched by name (Ctrl+Shift+P): a card over the window, which Escape, a press beside
 * it, or focus that goes elsewhere closes. Enter runs the selected action where the focus was before. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_ACTION_LIST (studio_action_list_get_type ())
G_DECLARE_FINAL_TYPE (StudioActionList, studio_action_list, STUDIO, ACTION_LIST, GtkWidget)

/* Actions are run on the canvas, from where those of the window and of the application are reached, too. */
StudioActionList *studio_action_list_new (void);
/* Of the page that is seen; NULL while there is none. Closes the list. */
void studio_action_list_set_canvas (StudioActionList *self, GtkWidget *canvas);
void studio_action_list_open (StudioActionList *self);

G_END_DECLS
