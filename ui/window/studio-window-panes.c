/* The window's side panes: their actions, and what of them is remembered. */
#include "ui/window/studio-settings.h"
#include "ui/window/studio-window-private.h"

static const struct
{
  const char *action, *setting;
} panes[N_PANES] = { { "left-pane", "left-pane" }, { "right-pane", "right-pane" } };

static void
show_states (StudioWindow *self)
{
  for (int i = 0; i < N_PANES; i++)
    {
      GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), panes[i].action);
      gboolean available = studio_panes_get_available (self->panes, i);
      gboolean open = available && studio_panes_get_open (self->panes, i);
      g_simple_action_set_enabled (G_SIMPLE_ACTION (action), available);
      g_simple_action_set_state (G_SIMPLE_ACTION (action), g_variant_new_boolean (open));
    }
}

static void
changed_cb (StudioPanes *widget, StudioWindow *self)
{
  for (int i = 0; i < N_PANES; i++)
    studio_settings_set_boolean (panes[i].setting, studio_panes_get_kept_open (self->panes, i));
  show_states (self);
}

static void
change_state_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioWindow *self = data;
  for (int i = 0; i < N_PANES; i++)
    if (g_str_equal (panes[i].action, g_action_get_name (G_ACTION (action))))
      studio_panes_set_open (self->panes, i, g_variant_get_boolean (state));
  show_states (self);
}

void
studio_window_update_panes (StudioWindow *self)
{
  studio_panes_set_available (self->panes, STUDIO_PANE_START, !self->presenting);
  studio_panes_set_available (self->panes, STUDIO_PANE_END,
                              !self->presenting && !studio_document_is_empty (self->document));
}

void
studio_window_setup_panes (StudioWindow *self)
{
  for (int i = 0; i < N_PANES; i++)
    {
      const GActionEntry entry = { .name = panes[i].action, .state = "true", .change_state = change_state_cb };
      g_action_map_add_action_entries (G_ACTION_MAP (self), &entry, 1, self);
      studio_panes_set_open (self->panes, i, studio_settings_get_boolean (panes[i].setting, TRUE));
    }
  g_signal_connect (self->panes, "changed", G_CALLBACK (changed_cb), self);
  show_states (self);
}
