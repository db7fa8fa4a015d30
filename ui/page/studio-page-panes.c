/* A page's side panes: their actions, and what of them is remembered. */
#include "ui/settings/studio-settings.h"
#include "ui/start/studio-start-page.h"
#include "ui/page/studio-page-private.h"

static const struct
{
  const char *action, *setting;
} panes[N_PANES] = { { "left-pane", "left-pane" }, { "right-pane", "right-pane" } };

static void
show_states (StudioPage *self)
{
  for (int i = 0; i < N_PANES; i++)
    {
      GSimpleAction *action = studio_page_get_action (self, panes[i].action);
      gboolean available = studio_panes_get_available (self->panes, i);
      gboolean open = available && studio_panes_get_open (self->panes, i);
      g_simple_action_set_enabled (action, available);
      g_simple_action_set_state (action, g_variant_new_boolean (open));
    }
}

static void
show_room (StudioPage *self)
{
  StudioSizeClass room = studio_panes_get_size_class (self->panes);
  gboolean narrow = room != STUDIO_SIZE_CLASS_WIDE;
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->disk_notice),
                                  narrow ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
  studio_run_banners_set_narrow (self->run_bars, narrow);
  studio_start_page_set_size_class (STUDIO_START_PAGE (self->start_page), room);
}

static void
changed_cb (StudioPanes *widget, StudioPage *self)
{
  for (int i = 0; i < N_PANES; i++)
    studio_settings_set_boolean (panes[i].setting, studio_panes_get_kept_open (self->panes, i));
  show_states (self);
  show_room (self);
  g_signal_emit_by_name (self, "room");
}

static void
change_state_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioPage *self = data;
  for (int i = 0; i < N_PANES; i++)
    if (g_str_equal (panes[i].action, g_action_get_name (G_ACTION (action))))
      studio_panes_set_open (self->panes, i, g_variant_get_boolean (state));
  show_states (self);
}

/* The panel of a run is folded for this page alone: where another run begins, it is shown again. */
static void
change_panel_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioPage *self = data;
  self->panel_folded = !g_variant_get_boolean (state);
  studio_page_update_layout (self);
}

static void
show_panel_state (StudioPage *self)
{
  GSimpleAction *action = studio_page_get_action (self, "run-panel");
  g_simple_action_set_enabled (action, self->panel_shown);
  g_simple_action_set_state (action, g_variant_new_boolean (self->panel_shown && !self->panel_folded));
}

void
studio_page_update_panes (StudioPage *self)
{
  studio_panes_set_available (self->panes, STUDIO_PANE_START, !self->presenting);
  studio_panes_set_available (self->panes, STUDIO_PANE_END,
                              !self->presenting && !studio_document_is_empty (self->document));
  show_panel_state (self);
}

void
studio_page_setup_panes (StudioPage *self)
{
  for (int i = 0; i < N_PANES; i++)
    {
      const GActionEntry entry = { .name = panes[i].action, .state = "true", .change_state = change_state_cb };
      g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &entry, 1, self);
      studio_panes_set_open (self->panes, i, studio_settings_get_boolean (panes[i].setting, TRUE));
    }
  const GActionEntry panel = { .name = "run-panel", .state = "false", .change_state = change_panel_cb };
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &panel, 1, self);
  show_panel_state (self);
  g_signal_connect (self->panes, "changed", G_CALLBACK (changed_cb), self);
  show_states (self);
  show_room (self);
}

/* ---- from pane to pane by keys ------------------------------------------------------------------ */

static gboolean
visible_pane (StudioPage *self, int i, GtkWidget **pane)
{
  GtkWidget *const parts[] = { studio_panes_get_pane (self->panes, STUDIO_PANE_START), GTK_WIDGET (self->canvas),
                               studio_panes_get_pane (self->panes, STUDIO_PANE_END), GTK_WIDGET (self->run_panel) };
  *pane = parts[i];
  return gtk_widget_get_mapped (*pane);
}

void
studio_page_move_pane (StudioPage *self, int by)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL, *pane;
  int at = 1;
  for (int i = 0; i < 4; i++)
    if (visible_pane (self, i, &pane) && focus != NULL && (focus == pane || gtk_widget_is_ancestor (focus, pane)))
      at = i;
  for (int k = 1; k <= 4; k++)
    {
      int i = ((at + by * k) % 4 + 4) % 4;
      if (!visible_pane (self, i, &pane))
        continue;
      if (pane == studio_panes_get_pane (self->panes, STUDIO_PANE_END)
          && g_strcmp0 (studio_panes_get_page (self->panes, STUDIO_PANE_END), "inspector") == 0
          && studio_document_n_selected (self->document) > 0)
        studio_inspector_focus (self->inspector);
      else if (!gtk_widget_child_focus (pane, GTK_DIR_TAB_FORWARD))
        continue;
      return;
    }
}
