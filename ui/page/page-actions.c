/* Implements page-actions.h. */
#include "ui/page/page-actions.h"

#include <math.h>

#include "ui/page/run-settings.h"

static GSimpleAction *
find (GActionMap *map, const char *name)
{
  return G_SIMPLE_ACTION (g_action_map_lookup_action (map, name));
}

/* ---- speed ---------------------------------------------------------------------------------- */

static void
speed_cb (GSimpleAction *action, GVariant *state, gpointer panel)
{
  const char *speed = g_variant_get_string (state, NULL);
  if (!g_str_equal (speed, "watch") && !g_str_equal (speed, "full"))
    return;
  g_simple_action_set_state (action, state);
  run_settings_set_speed (g_object_get_data (G_OBJECT (action), "run"), panel, speed);
}

void
page_actions_install_speed (GActionMap *map, StudioRun *run, StudioRunPanel *panel)
{
  const GActionEntry entry = { .name = "speed", .parameter_type = "s", .state = "'watch'", .change_state = speed_cb };
  g_action_map_add_action_entries (map, &entry, 1, panel);
  g_object_set_data (G_OBJECT (find (map, "speed")), "run", run);
  g_action_group_change_action_state (G_ACTION_GROUP (map), "speed", g_variant_new_string (run_settings_get_speed ()));
}

/* ---- the run panel --------------------------------------------------------------------------- */

static void
change_panel_cb (GSimpleAction *action, GVariant *state, gpointer split)
{
  studio_panel_split_set_folded (split, !g_variant_get_boolean (state));
}

static void
panel_changed_cb (StudioPanelSplit *split, GSimpleAction *action)
{
  g_simple_action_set_enabled (action, studio_panel_split_is_available (split));
  g_simple_action_set_state (action, g_variant_new_boolean (studio_panel_split_is_open (split)));
}

void
page_actions_install_panel (GActionMap *map, StudioPanelSplit *split)
{
  const GActionEntry entry = { .name = "run-panel", .state = "false", .change_state = change_panel_cb };
  g_action_map_add_action_entries (map, &entry, 1, split);
  g_signal_connect_object (split, "changed", G_CALLBACK (panel_changed_cb), find (map, "run-panel"), 0);
  panel_changed_cb (split, find (map, "run-panel"));
}

/* ---- commands --------------------------------------------------------------------------------- */

static void
enable (GActionMap *map, const char *name, gboolean enabled)
{
  g_simple_action_set_enabled (find (map, name), enabled);
}

/* Commands of a step that is taken apart begin one. */
static const char *const steps[] = { "step-next",    "step-back",     "step-into",   "step-out",
                                     "step-forward", "step-backward", "step-update", "step-here" };

void
page_actions_update (GActionMap *map, const PageFacts *facts)
{
  StudioDocument *document = facts->document;
  StudioRun *run = facts->run;
  const gboolean empty = studio_document_is_empty (document), live = studio_run_is_live (run);
  const StudioRunState state = studio_run_get_state (run);
  const gboolean ended = state == STUDIO_RUN_LOST || state == STUDIO_RUN_FAILED || state == STUDIO_RUN_STOPPED;
  enable (map, "undo", studio_document_undo_name (document) != NULL);
  enable (map, "redo", studio_document_redo_name (document) != NULL);
  enable (map, "train", !empty || live);
  enable (map, "step", !empty || live);
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    enable (map, steps[i], !empty || live);
  enable (map, "stop", live);
  enable (map, "restart", !empty && state != STUDIO_RUN_IDLE);
  enable (map, "attach", studio_run_get_attachable (run) != NULL);
  enable (map, "continue", ended && studio_run_get_attachable (run) == NULL);
  enable (map, "continue-slower", ended && isfinite (studio_run_get_base_lr (run)));
  enable (map, "show-run", state != STUDIO_RUN_IDLE);
  enable (map, "compare-run", state != STUDIO_RUN_IDLE);
  enable (map, "compare-saved", studio_document_get_path (document) != NULL);
  enable (map, "end-comparison", facts->is_comparing);
  enable (map, "zoom-to-selection", studio_document_n_selected (document) > 0);
  enable (map, "start-empty", empty && !facts->is_start_dismissed);
  /* In a presentation Escape ends the use of the pen; elsewhere nothing would, and it would cover the cards. */
  enable (map, "spotlight", facts->is_presenting);
  enable (map, "pen", facts->is_presenting);
  enable (map, "eraser", facts->is_presenting);
  enable (map, "clear-drawing", facts->is_presenting);
  enable (map, "reload", facts->has_disk_notice);
  enable (map, "dismiss-disk", facts->has_disk_notice);
  enable (map, "show-proposal", facts->has_proposal && !facts->is_proposal_on);
  enable (map, "accept-proposal", facts->is_proposal_on);
  enable (map, "refuse-proposal", facts->has_proposal);
}
