/* Implements pane-actions.h. */
#include "ui/page/pane-actions.h"

#include "ui/settings/studio-settings.h"

/* Names of the actions and of the settings. */
static const char *const names[N_PANES] = { "left-pane", "right-pane" };

typedef struct
{
  GActionMap *map; /* owns this struct as its data */
  StudioPanes *panes;
} PaneActions;

static void
show_states (PaneActions *self)
{
  for (int i = 0; i < N_PANES; i++)
    {
      GSimpleAction *action = G_SIMPLE_ACTION (g_action_map_lookup_action (self->map, names[i]));
      gboolean available = studio_panes_get_available (self->panes, i);
      gboolean open = available && studio_panes_get_open (self->panes, i);
      g_simple_action_set_enabled (action, available);
      g_simple_action_set_state (action, g_variant_new_boolean (open));
    }
}

static void
changed_cb (StudioPanes *panes, GActionMap *map)
{
  for (int i = 0; i < N_PANES; i++)
    studio_settings_set_boolean (names[i], studio_panes_get_kept_open (panes, i));
  show_states (g_object_get_data (G_OBJECT (map), "pane-actions"));
}

static void
change_state_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  PaneActions *self = data;
  for (int i = 0; i < N_PANES; i++)
    if (g_str_equal (names[i], g_action_get_name (G_ACTION (action))))
      studio_panes_set_open (self->panes, i, g_variant_get_boolean (state));
  show_states (self);
}

void
pane_actions_install (GActionMap *map, StudioPanes *panes)
{
  PaneActions *self = g_new0 (PaneActions, 1);
  *self = (PaneActions){ map, panes };
  g_object_set_data_full (G_OBJECT (map), "pane-actions", self, g_free);
  for (int i = 0; i < N_PANES; i++)
    {
      const GActionEntry entry = { .name = names[i], .state = "true", .change_state = change_state_cb };
      g_action_map_add_action_entries (map, &entry, 1, self);
      studio_panes_set_open (panes, i, studio_settings_get_boolean (names[i], TRUE));
    }
  g_signal_connect_object (panes, "changed", G_CALLBACK (changed_cb), map, 0);
  show_states (self);
}
