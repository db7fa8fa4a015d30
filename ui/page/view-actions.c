/* Implements view-actions.h. */
#include "ui/page/view-actions.h"

#include "ui/scene/studio-shapes.h"
#include "ui/settings/studio-settings.h"

static void
minimap_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  gboolean wanted = g_variant_get_boolean (state);
  studio_minimap_set_wanted (data, wanted);
  studio_settings_set_boolean ("minimap", wanted);
  g_simple_action_set_state (action, state);
}

/* How wires are routed, also in pages that are opened later. */
static void
wires_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  gboolean right_angles = g_str_equal (g_variant_get_string (state, NULL), "right-angles");
  g_simple_action_set_state (action, g_variant_new_string (right_angles ? "right-angles" : "curved"));
  studio_canvas_set_right_angles (data, right_angles);
  studio_settings_set_boolean ("right-angles", right_angles);
}

static void
install_wires (GActionMap *map, StudioCanvas *canvas)
{
  const GActionEntry entry = { .name = "wires", .parameter_type = "s", .state = "'curved'", .change_state = wires_cb };
  gboolean right_angles = studio_settings_get_boolean ("right-angles", FALSE);
  g_action_map_add_action_entries (map, &entry, 1, canvas);
  g_action_group_change_action_state (G_ACTION_GROUP (map), "wires",
                                      g_variant_new_string (right_angles ? "right-angles" : "curved"));
}

static void
shapes_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioShapes shapes = studio_shapes_find (g_variant_get_string (state, NULL));
  g_simple_action_set_state (action, g_variant_new_string (studio_shapes_name (shapes)));
  studio_canvas_set_shapes (data, shapes);
  studio_settings_set_string ("shapes", studio_shapes_name (shapes));
}

static void
types_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  gboolean on = g_variant_get_boolean (state);
  g_simple_action_set_state (action, state);
  studio_canvas_set_types_legend (data, on);
  studio_settings_set_boolean ("types", on);
}

/* Actions for the labels of wires about their tensors. */
static void
install_tensors (GActionMap *map, StudioCanvas *canvas)
{
  static const GActionEntry entries[]
      = { { .name = "shapes", .parameter_type = "s", .state = "'sizes'", .change_state = shapes_cb },
          { .name = "types", .state = "false", .change_state = types_cb } };
  g_autofree char *shapes = studio_settings_dup_string ("shapes");
  g_action_map_add_action_entries (map, entries, G_N_ELEMENTS (entries), canvas);
  g_action_group_change_action_state (G_ACTION_GROUP (map), "shapes",
                                      g_variant_new_string (shapes != NULL ? shapes : "sizes"));
  g_action_group_change_action_state (G_ACTION_GROUP (map), "types",
                                      g_variant_new_boolean (studio_settings_get_boolean ("types", FALSE)));
}

void
view_actions_install (GActionMap *map, StudioCanvas *canvas, StudioMinimap *minimap)
{
  gboolean wanted = studio_settings_get_boolean ("minimap", TRUE);
  const GActionEntry entry = { .name = "minimap", .state = wanted ? "true" : "false", .change_state = minimap_cb };
  g_autoptr (GPropertyAction) cost = g_property_action_new ("cost", canvas, "cost-measure");
  g_autoptr (GPropertyAction) health = g_property_action_new ("health", canvas, "show-health");
  g_action_map_add_action_entries (map, &entry, 1, minimap);
  g_action_map_add_action (map, G_ACTION (cost));
  g_action_map_add_action (map, G_ACTION (health));
  install_wires (map, canvas);
  install_tensors (map, canvas);
  studio_minimap_set_wanted (minimap, wanted);
}
