/* How the canvas shows the graph: its wires, costs on cards, and the minimap beside it. */
#include "ui/canvas/studio-minimap.h"
#include "ui/window/studio-settings.h"
#include "ui/window/studio-page-private.h"

static void
minimap_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioPage *self = data;
  gboolean wanted = g_variant_get_boolean (state);
  studio_minimap_set_wanted (STUDIO_MINIMAP (self->minimap), wanted);
  studio_settings_set_boolean ("minimap", wanted);
  g_simple_action_set_state (action, state);
}

/* How wires run, in this page and in later ones. */
static void
wires_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioPage *self = data;
  gboolean right_angles = g_str_equal (g_variant_get_string (state, NULL), "right-angles");
  g_simple_action_set_state (action, g_variant_new_string (right_angles ? "right-angles" : "curved"));
  studio_canvas_set_right_angles (self->canvas, right_angles);
  studio_settings_set_boolean ("right-angles", right_angles);
}

static void
install_wires (StudioPage *self)
{
  const GActionEntry entry = { .name = "wires", .parameter_type = "s", .state = "'curved'", .change_state = wires_cb };
  gboolean right_angles = studio_settings_get_boolean ("right-angles", FALSE);
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &entry, 1, self);
  g_action_group_change_action_state (G_ACTION_GROUP (self->actions), "wires",
                                      g_variant_new_string (right_angles ? "right-angles" : "curved"));
}

void
studio_page_setup_view (StudioPage *self)
{
  gboolean wanted = studio_settings_get_boolean ("minimap", TRUE);
  const GActionEntry entry = { .name = "minimap", .state = wanted ? "true" : "false", .change_state = minimap_cb };
  g_autoptr (GPropertyAction) cost = g_property_action_new ("cost", self->canvas, "cost-measure");
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &entry, 1, self);
  g_action_map_add_action (G_ACTION_MAP (self->actions), G_ACTION (cost));
  install_wires (self);
  self->minimap = GTK_WIDGET (studio_minimap_new (self->canvas));
  gtk_overlay_add_overlay (GTK_OVERLAY (self->canvas_overlay), self->minimap);
  studio_minimap_set_wanted (STUDIO_MINIMAP (self->minimap), wanted);
}
