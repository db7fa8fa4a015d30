/* The page of the document's history beside the canvas: there while it is wanted. */
#include "ui/history/studio-history-pane.h"
#include "ui/window/studio-window-private.h"

#include <glib/gi18n.h>

#define PAGE "history"

/* Whether a page of the end pane is what is seen there. */
gboolean
studio_window_sees_page (StudioWindow *self, const char *name)
{
  return studio_panes_get_open (self->panes, STUDIO_PANE_END)
         && g_strcmp0 (studio_panes_get_page (self->panes, STUDIO_PANE_END), name) == 0;
}

void
studio_window_toggle_history (StudioWindow *self)
{
  if (self->presenting)
    studio_window_set_presenting (self, FALSE);
  if (self->history_pane == NULL)
    {
      self->history_pane = GTK_WIDGET (studio_history_pane_new (self->document));
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->history_pane, PAGE, _ ("History"));
    }
  else if (studio_window_sees_page (self, PAGE))
    {
      self->history_pane = NULL;
      studio_panes_remove_page (self->panes, PAGE);
      gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
      return;
    }
  studio_panes_show_page (self->panes, PAGE);
  studio_history_pane_focus (STUDIO_HISTORY_PANE (self->history_pane));
}
