/* How the canvas shows the graph: its wires, their shapes and types, costs on cards, and the minimap beside it. */
#include "ui/canvas/studio-minimap.h"
#include "ui/scene/studio-shapes.h"
#include "ui/settings/studio-settings.h"
#include "ui/page/studio-page-private.h"

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

static void
shapes_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioPage *self = data;
  StudioShapes shapes = studio_shapes_find (g_variant_get_string (state, NULL));
  g_simple_action_set_state (action, g_variant_new_string (studio_shapes_name (shapes)));
  studio_canvas_set_shapes (self->canvas, shapes);
  studio_settings_set_string ("shapes", studio_shapes_name (shapes));
}

static void
types_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioPage *self = data;
  gboolean on = g_variant_get_boolean (state);
  g_simple_action_set_state (action, state);
  studio_canvas_set_types_legend (self->canvas, on);
  studio_settings_set_boolean ("types", on);
}

/* Actions for the labels of wires about their tensors. */
static void
install_tensors (StudioPage *self)
{
  static const GActionEntry entries[]
      = { { .name = "shapes", .parameter_type = "s", .state = "'sizes'", .change_state = shapes_cb },
          { .name = "types", .state = "false", .change_state = types_cb } };
  g_autofree char *shapes = studio_settings_dup_string ("shapes");
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries), self);
  g_action_group_change_action_state (G_ACTION_GROUP (self->actions), "shapes",
                                      g_variant_new_string (shapes != NULL ? shapes : "sizes"));
  g_action_group_change_action_state (G_ACTION_GROUP (self->actions), "types",
                                      g_variant_new_boolean (studio_settings_get_boolean ("types", FALSE)));
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
  install_tensors (self);
  self->minimap = GTK_WIDGET (studio_minimap_new (self->canvas));
  gtk_overlay_add_overlay (GTK_OVERLAY (self->canvas_overlay), self->minimap);
  studio_minimap_set_wanted (STUDIO_MINIMAP (self->minimap), wanted);
}
