/* The page of the document's history beside the canvas: there while it is wanted. */
#include "ui/history/studio-history-pane.h"
#include "ui/page/studio-page-private.h"

#include <glib/gi18n.h>

#define PAGE "history"

/* Whether a page of the end pane is what is seen there. */
gboolean
studio_page_sees_page (StudioPage *self, const char *name)
{
  return studio_panes_get_open (self->panes, STUDIO_PANE_END)
         && g_strcmp0 (studio_panes_get_page (self->panes, STUDIO_PANE_END), name) == 0;
}

static void
compare_cb (StudioHistoryPane *pane, guint position, StudioPage *self)
{
  studio_page_compare_entry (self, position);
}

void
studio_page_toggle_history (StudioPage *self)
{
  if (self->presenting)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.present", NULL);
  if (self->history_pane == NULL)
    {
      self->history_pane = GTK_WIDGET (studio_history_pane_new (self->document));
      g_signal_connect (self->history_pane, "compare", G_CALLBACK (compare_cb), self);
      studio_panes_add_page (self->panes, STUDIO_PANE_END, self->history_pane, PAGE, _ ("History"));
    }
  else if (studio_page_sees_page (self, PAGE))
    {
      self->history_pane = NULL;
      studio_panes_remove_page (self->panes, PAGE);
      studio_page_focus (self);
      return;
    }
  studio_panes_show_page (self->panes, PAGE);
  studio_history_pane_focus (STUDIO_HISTORY_PANE (self->history_pane));
}
