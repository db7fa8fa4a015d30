/* The window's side panes: their actions, and what of them is remembered; and what the header has room for. */
#include "ui/window/studio-settings.h"
#include "ui/window/studio-start-page.h"
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

/* ---- the header ---------------------------------------------------------------------------- */

static const char *const always[] = {
  "win.save",
  "win.save-as",
  "win.export-map",
  NULL,
  "win.stop",
  "win.continue",
  "win.restart",
  "win.watch",
  NULL,
  "win.speed::watch",
  "win.speed::full",
  NULL,
  "canvas.auto-layout",
  "win.find",
  "win.history",
  "win.write-lesson",
  "win.run-panel",
  "win.present",
  NULL,
  "win.actions",
  "win.help",
  "win.keys",
  "app.about",
  NULL,
  NULL,
};

static void
prepend_submenu (GMenu *menu, const char *title, GMenuModel *submenu)
{
  g_autoptr (GMenu) section = g_menu_new ();
  if (submenu == NULL)
    return;
  g_menu_append_submenu (section, title, submenu);
  g_menu_prepend_section (menu, NULL, G_MENU_MODEL (section));
}

/* What has a button of its own while there is room for it. */
static void
prepend_hidden (StudioWindow *self, GMenu *menu, StudioRoom room)
{
  static const char *const narrow[] = { "win.new", "win.step", NULL, NULL };
  static const char *const tiny[] = { "win.new", "win.open", "win.undo", "win.redo", "win.step", NULL, NULL };
  g_autoptr (GMenuModel) commands = studio_commands_menu (room == STUDIO_ROOM_TINY ? tiny : narrow);
  if (room == STUDIO_ROOM_TINY)
    prepend_submenu (menu, "Recent graphs", adw_split_button_get_menu_model (ADW_SPLIT_BUTTON (self->open_button)));
  prepend_submenu (menu, "Device", gtk_menu_button_get_menu_model (GTK_MENU_BUTTON (self->device_chip)));
  g_menu_prepend_section (menu, NULL, commands);
}

void
studio_window_update_menu (StudioWindow *self)
{
  StudioRoom room = studio_panes_get_room (self->panes);
  g_autoptr (GMenuModel) menu = studio_commands_menu (always);
  if (room != STUDIO_ROOM_WIDE)
    prepend_hidden (self, G_MENU (menu), room);
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->menu_button), menu);
  studio_window_hide_tooltip_behind (self->menu_button);
}

static void
show_room (StudioWindow *self)
{
  StudioRoom room = studio_panes_get_room (self->panes);
  if (self->room_shown == (int)room)
    return;
  self->room_shown = (int)room;
  GtkWidget *const wide[] = { self->new_button, self->step_button, self->device_chip };
  GtkWidget *const narrow[] = { self->open_button, self->undo_button, self->redo_button };
  for (guint i = 0; i < G_N_ELEMENTS (wide); i++)
    gtk_widget_set_visible (wide[i], room == STUDIO_ROOM_WIDE);
  for (guint i = 0; i < G_N_ELEMENTS (narrow); i++)
    gtk_widget_set_visible (narrow[i], room != STUDIO_ROOM_TINY);
  GtkWidget *const notices[] = { self->recover_notice, self->disk_notice };
  for (guint i = 0; i < G_N_ELEMENTS (notices); i++)
    gtk_orientable_set_orientation (GTK_ORIENTABLE (notices[i]),
                                    room == STUDIO_ROOM_TINY ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
  studio_start_page_set_narrow (STUDIO_START_PAGE (self->start_page), room == STUDIO_ROOM_TINY);
  studio_window_update_menu (self);
}

/* ---- panes --------------------------------------------------------------------------------- */

static void
changed_cb (StudioPanes *widget, StudioWindow *self)
{
  for (int i = 0; i < N_PANES; i++)
    studio_settings_set_boolean (panes[i].setting, studio_panes_get_kept_open (self->panes, i));
  show_states (self);
  show_room (self);
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

/* The panel of a run is folded for this window alone: where another run begins, it is shown again. */
static void
change_panel_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  StudioWindow *self = data;
  self->panel_folded = !g_variant_get_boolean (state);
  studio_window_update_layout (self);
}

static void
show_panel_state (StudioWindow *self)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), "run-panel");
  g_simple_action_set_enabled (G_SIMPLE_ACTION (action), self->panel_shown);
  g_simple_action_set_state (G_SIMPLE_ACTION (action),
                             g_variant_new_boolean (self->panel_shown && !self->panel_folded));
}

void
studio_window_update_panes (StudioWindow *self)
{
  studio_panes_set_available (self->panes, STUDIO_PANE_START, !self->presenting);
  studio_panes_set_available (self->panes, STUDIO_PANE_END,
                              !self->presenting && !studio_document_is_empty (self->document));
  show_panel_state (self);
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
  const GActionEntry panel = { .name = "run-panel", .state = "false", .change_state = change_panel_cb };
  g_action_map_add_action_entries (G_ACTION_MAP (self), &panel, 1, self);
  show_panel_state (self);
  g_signal_connect (self->panes, "changed", G_CALLBACK (changed_cb), self);
  show_states (self);
  self->room_shown = -1;
  show_room (self);
}
