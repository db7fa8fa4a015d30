/* Implements studio-navigation.h. */
#include "ui/page/studio-navigation.h"

void
studio_navigation_find (const StudioNavigation *self)
{
  studio_panes_want (self->panes);
  studio_panes_show_page (self->panes, "outline");
  studio_outline_focus_search (self->outline);
}

void
studio_navigation_inspect (const StudioNavigation *self)
{
  studio_panes_show_page (self->panes, "inspector");
  studio_inspector_focus (self->inspector);
}

/* ---- from pane to pane ---------------------------------------------------------------------------- */

static gboolean
has_focus_in (GtkWidget *widget, GtkWidget *focus)
{
  return focus != NULL && (focus == widget || gtk_widget_is_ancestor (focus, widget));
}

/* In the inspector, the first field of the selected layer. */
static gboolean
enter (const StudioNavigation *self, GtkWidget *pane)
{
  if (pane == studio_panes_get_pane (self->panes, STUDIO_PANE_END)
      && g_strcmp0 (studio_panes_get_page (self->panes, STUDIO_PANE_END), "inspector") == 0
      && studio_document_n_selected (self->document) > 0)
    {
      studio_inspector_focus (self->inspector);
      return TRUE;
    }
  return gtk_widget_child_focus (pane, GTK_DIR_TAB_FORWARD);
}

static void
move_pane (const StudioNavigation *self, int by)
{
  GtkWidget *const parts[] = { studio_panes_get_pane (self->panes, STUDIO_PANE_START), GTK_WIDGET (self->canvas),
                               studio_panes_get_pane (self->panes, STUDIO_PANE_END), self->panel };
  const int n = G_N_ELEMENTS (parts);
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self->canvas));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  int at = 1;
  for (int i = 0; i < n; i++)
    if (gtk_widget_get_mapped (parts[i]) && has_focus_in (parts[i], focus))
      at = i;
  for (int k = 1; k <= n; k++)
    {
      GtkWidget *pane = parts[((at + by * k) % n + n) % n];
      if (gtk_widget_get_mapped (pane) && enter (self, pane))
        return;
    }
}

void
studio_navigation_next_pane (const StudioNavigation *self)
{
  move_pane (self, 1);
}

void
studio_navigation_previous_pane (const StudioNavigation *self)
{
  move_pane (self, -1);
}

/* ---- typed text ---------------------------------------------------------------------------------- */

void
studio_navigation_commit (const StudioNavigation *self, GtkWidget *within)
{
  GtkRoot *root = gtk_widget_get_root (within);
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  studio_canvas_end_editing (self->canvas);
  /* A field takes its text when it loses the focus. */
  if (focus != NULL && gtk_widget_is_ancestor (focus, within) && (GTK_IS_EDITABLE (focus) || GTK_IS_TEXT_VIEW (focus)))
    gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}
