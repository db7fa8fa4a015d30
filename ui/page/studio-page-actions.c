/* A page's commands as actions, by name: menu, key, button and test run the same code. Which of them can be run now. */
#include <math.h>

#include "ui/page/studio-page-private.h"

static void
activate_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  StudioPage *self = data;
  const char *name = g_action_get_name (G_ACTION (action));
  /* Typed text counts: a key presses no button, and leaves the field where the focus is. */
  if (!g_str_equal (name, "dump-geometry"))
    studio_inspector_commit_typed (self->inspector);
  studio_page_find_command (name)->run (self, parameter);
}

static void
speed_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  const char *speed = g_variant_get_string (state, NULL);
  if (!g_str_equal (speed, "watch") && !g_str_equal (speed, "full"))
    return;
  g_simple_action_set_state (action, state);
  studio_page_set_speed (data, speed);
}

static void
install_speed (StudioPage *self)
{
  const GActionEntry entry = { .name = "speed", .parameter_type = "s", .state = "'watch'", .change_state = speed_cb };
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &entry, 1, self);
  g_action_group_change_action_state (G_ACTION_GROUP (self->actions), "speed",
                                      g_variant_new_string (studio_page_get_speed ()));
}

void
studio_page_install_actions (StudioPage *self)
{
  guint n;
  const StudioPageCommand *commands = studio_page_get_commands (&n);
  self->actions = g_simple_action_group_new ();
  install_speed (self);
  for (guint i = 0; i < n; i++)
    {
      /* A list of devices marks the one that is chosen. */
      const GActionEntry entry = { .name = commands[i].name,
                                   .activate = activate_cb,
                                   .parameter_type = commands[i].parameter,
                                   .state = g_str_equal (commands[i].name, "device") ? "''" : NULL };
      g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &entry, 1, self);
    }
}

/* A window may hold an action for longer than there is a page. */
void
studio_page_dispose_actions (StudioPage *self)
{
  g_auto (GStrv) names = self->actions != NULL ? g_action_group_list_actions (G_ACTION_GROUP (self->actions)) : NULL;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    g_signal_handlers_disconnect_by_data (g_action_map_lookup_action (G_ACTION_MAP (self->actions), names[i]), self);
  g_clear_object (&self->actions);
}

GActionGroup *
studio_page_get_actions (StudioPage *self)
{
  return G_ACTION_GROUP (self->actions);
}

GSimpleAction *
studio_page_get_action (StudioPage *self, const char *name)
{
  return G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self->actions), name));
}

static void
enable (StudioPage *self, const char *name, gboolean enabled)
{
  g_simple_action_set_enabled (studio_page_get_action (self, name), enabled);
}

void
studio_page_update_actions (StudioPage *self)
{
  enable (self, "undo", studio_document_undo_name (self->document) != NULL);
  enable (self, "redo", studio_document_redo_name (self->document) != NULL);
  gboolean empty = studio_document_is_empty (self->document);
  gboolean live = studio_run_is_live (self->run);
  enable (self, "train", !empty || live);
  enable (self, "step", !empty || live);
  enable (self, "stop", live);
  enable (self, "restart", !empty && studio_run_get_state (self->run) != STUDIO_RUN_IDLE);
  StudioRunState state = studio_run_get_state (self->run);
  gboolean ended = state == STUDIO_RUN_LOST || state == STUDIO_RUN_FAILED || state == STUDIO_RUN_STOPPED;
  enable (self, "continue", ended);
  enable (self, "continue-slower", ended && isfinite (studio_run_get_base_lr (self->run)));
  enable (self, "show-run", state != STUDIO_RUN_IDLE);
  enable (self, "compare-run", state != STUDIO_RUN_IDLE);
  enable (self, "compare-saved", studio_document_get_path (self->document) != NULL);
  enable (self, "end-comparison", studio_page_is_comparing (self));
  enable (self, "zoom-to-selection", studio_document_n_selected (self->document) > 0);
  enable (self, "start-empty", empty && !self->start_empty);
  /* Escape puts the pen away while one presents: elsewhere it would lie over the cards for good. */
  enable (self, "spotlight", self->presenting);
  enable (self, "pen", self->presenting);
  enable (self, "eraser", self->presenting);
  enable (self, "clear-drawing", self->presenting);
  gboolean on_disk = gtk_revealer_get_reveal_child (GTK_REVEALER (self->disk_bar));
  enable (self, "reload", on_disk);
  enable (self, "dismiss-disk", on_disk);
  studio_page_changed (self);
}
