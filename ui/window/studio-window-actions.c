/* The table of the window's commands, for tabs, files and everything that does not belong to a graph, and their
 * implementation. Those of a graph are in studio-page-actions.c. */
#include "ui/shell/studio-commands.h"

#include <glib/gi18n.h>

#include "ui/page/studio-dump.h"
#include "ui/help/studio-help.h"
#include "ui/help/studio-operator-page.h"
#include "ui/window/studio-window-private.h"

static void
new_tab_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_add_page (self);
}

static void
new_window_cb (StudioWindow *self, GVariant *parameter)
{
  StudioWindow *other = studio_window_new (ADW_APPLICATION (gtk_window_get_application (GTK_WINDOW (self))));
  gtk_window_present (GTK_WINDOW (other));
}

static void
open_recent_cb (StudioWindow *self, GVariant *parameter)
{
  g_autoptr (GFile) file = g_file_new_for_uri (g_variant_get_string (parameter, NULL));
  studio_window_open_file (self, file);
}

static void
example_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_open_example (self, g_variant_get_string (parameter, NULL));
}

/* Moves to the next or previous page and wraps around. */
static void
move_by (StudioWindow *self, int by)
{
  int n = adw_tab_view_get_n_pages (self->tab_view);
  int at = adw_tab_view_get_page_position (self->tab_view, adw_tab_view_get_selected_page (self->tab_view));
  adw_tab_view_set_selected_page (self->tab_view, adw_tab_view_get_nth_page (self->tab_view, (at + by + n) % n));
}

static void
next_tab_cb (StudioWindow *self, GVariant *parameter)
{
  move_by (self, 1);
}

static void
previous_tab_cb (StudioWindow *self, GVariant *parameter)
{
  move_by (self, -1);
}

static void
tab_left_cb (StudioWindow *self, GVariant *parameter)
{
  adw_tab_view_reorder_backward (self->tab_view, studio_window_get_meant_tab (self));
}

static void
tab_right_cb (StudioWindow *self, GVariant *parameter)
{
  adw_tab_view_reorder_forward (self->tab_view, studio_window_get_meant_tab (self));
}

static void
tab_cb (StudioWindow *self, GVariant *parameter)
{
  int i = g_variant_get_int32 (parameter) - 1;
  if (i >= 0 && i < adw_tab_view_get_n_pages (self->tab_view))
    adw_tab_view_set_selected_page (self->tab_view, adw_tab_view_get_nth_page (self->tab_view, i));
}

static void
present_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_set_presenting (self, !self->presenting);
}

static void
open_example_of_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_open_example_of (self, g_variant_get_string (parameter, NULL));
}

static void
documentation_of_cb (StudioWindow *self, GVariant *parameter)
{
  const LoomOp *op = loom_op (g_variant_get_string (parameter, NULL));
  if (op != NULL)
    studio_operator_window_present (GTK_WINDOW (self), &self->operator, op);
}

/* For the selected layer, if the focus is on the canvas. */
static void
help_cb (StudioWindow *self, GVariant *parameter)
{
  const LoomOp *op = studio_page_get_op_at_keyboard (self->page);
  if (op != NULL)
    studio_operator_window_present (GTK_WINDOW (self), &self->operator, op);
  else
    studio_help_present (GTK_WINDOW (self), &self->help, NULL);
}

static void
keys_cb (StudioWindow *self, GVariant *parameter)
{
  studio_help_present (GTK_WINDOW (self), &self->help, STUDIO_HELP_KEYS);
}

static void
show_actions_cb (StudioWindow *self, GVariant *parameter)
{
  studio_action_list_open (self->action_list);
}

/* The text of the current page, and of the frame around it. While a tab is dragged out, a window has no page. */
static void
dump_geometry_cb (StudioWindow *self, GVariant *parameter)
{
  AdwTabPage *selected = adw_tab_view_get_selected_page (self->tab_view);
  if (selected == NULL || self->page == NULL)
    {
      studio_dump_end ();
      return;
    }
  int at = adw_tab_view_get_page_position (self->tab_view, selected);
  studio_page_dump_cards (self->page);
  studio_dump_widgets (GTK_NATIVE (self));
  studio_page_dump_state (self->page);
  studio_dump_print ("\ttab=%d\ttabs=%u\n", at + 1, studio_window_n_pages (self));
  studio_dump_end ();
}

#define PLAIN(function)                                                                                                \
  static void function##_cb (StudioWindow *self, GVariant *parameter)                                                  \
  {                                                                                                                    \
    studio_window_##function (self);                                                                                   \
  }
PLAIN (new_graph)
PLAIN (new_from_data)
PLAIN (choose_file)
PLAIN (close_tab)
PLAIN (close_other_tabs)
PLAIN (tab_to_window)
PLAIN (recover)
PLAIN (recover_all)
PLAIN (discard_recovery)
#undef PLAIN

/* Has the columns of the table in studio-page-actions.c. */
static const struct
{
  const char *name;
  const char *parameter;
  void (*run) (StudioWindow *self, GVariant *parameter);
  const char *group, *title;
  const char *keys[STUDIO_COMMAND_KEYS];
  const char *words; /* other words to search for */
} commands[] = {
  { "new", NULL, new_graph_cb, N_ ("File"), N_ ("_New Graph"), { "<Control>n" }, "create empty" },
  { "new-from-data",
    NULL,
    new_from_data_cb,
    N_ ("File"),
    N_ ("New From _Data…"),
    { "<Control><Alt>n" },
    "dataset csv table template begin start" },
  { "new-tab", NULL, new_tab_cb, N_ ("File"), N_ ("New _Tab"), { "<Control>t" }, "create page document" },
  { "new-window", NULL, new_window_cb, N_ ("File"), N_ ("New _Window"), { "<Control><Shift>n" }, "create" },
  { "open", NULL, choose_file_cb, N_ ("File"), N_ ("_Open a Graph"), { "<Control>o" }, "load file" },
  { "open-recent", "s", open_recent_cb, NULL, NULL, { NULL }, NULL },
  { "example", "s", example_cb, NULL, NULL, { NULL }, NULL },
  { "open-example-of", "s", open_example_of_cb, NULL, NULL, { NULL }, NULL },
  { "documentation-of", "s", documentation_of_cb, NULL, NULL, { NULL }, NULL },
  { "recover", NULL, recover_cb, N_ ("File"), N_ ("Recover Unsaved Graph"), { NULL }, "crash journal" },
  { "recover-all", NULL, recover_all_cb, N_ ("File"), N_ ("Recover All Unsaved Graphs"), { NULL }, "crash journal" },
  { "discard-recovery",
    NULL,
    discard_recovery_cb,
    N_ ("File"),
    N_ ("Discard Unsaved Graph"),
    { NULL },
    "crash journal" },
  { "close-tab", NULL, close_tab_cb, N_ ("File"), N_ ("_Close the Tab"), { "<Control>w" }, "page document" },
  { "close-other-tabs",
    NULL,
    close_other_tabs_cb,
    N_ ("File"),
    N_ ("Close All _Other Tabs"),
    { NULL },
    "pages documents" },
  { "tab-to-window",
    NULL,
    tab_to_window_cb,
    N_ ("View"),
    N_ ("Move the Tab to a New _Window"),
    { NULL },
    "detach page" },
  { "tab-left",
    NULL,
    tab_left_cb,
    N_ ("View"),
    N_ ("Move the Tab to the _Left"),
    { "<Control><Shift>Page_Up" },
    "order page backward" },
  { "tab-right",
    NULL,
    tab_right_cb,
    N_ ("View"),
    N_ ("Move the Tab to the _Right"),
    { "<Control><Shift>Page_Down" },
    "order page forward" },
  { "next-tab",
    NULL,
    next_tab_cb,
    N_ ("Go"),
    N_ ("Next Tab"),
    { "<Control>Page_Down", "<Control>Tab" },
    "page document" },
  { "previous-tab",
    NULL,
    previous_tab_cb,
    N_ ("Go"),
    N_ ("Previous Tab"),
    { "<Control>Page_Up", "<Control><Shift>Tab" },
    "page document" },
  { "tab", "i", tab_cb, NULL, NULL, { NULL }, NULL },
  { "present", NULL, present_cb, N_ ("View"), N_ ("_Present"), { "F11" }, "presentation fullscreen projector lecture" },
  { "actions",
    NULL,
    show_actions_cb,
    N_ ("Help"),
    N_ ("_All Actions"),
    { "<Control><Shift>p" },
    "palette commands search" },
  { "help", NULL, help_cb, N_ ("Help"), N_ ("_Help"), { "F1" }, "manual documentation guide" },
  { "keys", NULL, keys_cb, N_ ("Help"), N_ ("_Keyboard Shortcuts"), { "<Control>question" }, "keys" },
  { "dump-geometry", NULL, dump_geometry_cb, NULL, NULL, { NULL }, NULL },
};

static StudioCommand
get_command (guint i)
{
  return studio_command_new (commands[i].name, commands[i].group, commands[i].title, commands[i].words,
                             commands[i].keys);
}

static const StudioCommand examples[] = {
  { "win.example::models/fashion-lenet", N_ ("File"), N_ ("Open the Example LeNet"), "fashion mnist images", { NULL } },
  { "win.example::lessons/spirals", N_ ("File"), N_ ("Open the Example Two spirals"), "lesson", { NULL } },
};

static StudioCommand
get_example (guint i)
{
  return examples[i];
}

/* A command with a fixed parameter, or of the application. */
static const StudioCommand more[] = {
  { "win.tab(1)", N_ ("Go"), N_ ("First Tab"), "page document", { "<Alt>1" } },
  { "win.tab(2)", NULL, NULL, NULL, { "<Alt>2" } },
  { "win.tab(3)", NULL, NULL, NULL, { "<Alt>3" } },
  { "win.tab(4)", NULL, NULL, NULL, { "<Alt>4" } },
  { "win.tab(5)", NULL, NULL, NULL, { "<Alt>5" } },
  { "win.tab(6)", NULL, NULL, NULL, { "<Alt>6" } },
  { "win.tab(7)", NULL, NULL, NULL, { "<Alt>7" } },
  { "win.tab(8)", NULL, NULL, NULL, { "<Alt>8" } },
  { "win.tab(9)", NULL, NULL, NULL, { "<Alt>9" } },
  { "app.about", N_ ("Help"), N_ ("_About Gradloom"), "version licence", { NULL } },
  { "window.close", N_ ("File"), N_ ("Close the Window"), "tabs", { "<Control><Shift>q" } },
  { "app.quit", N_ ("File"), N_ ("_Quit"), "exit end", { "<Control>q" } },
};

static StudioCommand
get_more (guint i)
{
  return more[i];
}

void
studio_window_add_commands (void)
{
  static const StudioCommandTable table = { G_N_ELEMENTS (commands), get_command, NULL },
                                  example_table = { G_N_ELEMENTS (examples), get_example, NULL },
                                  more_table = { G_N_ELEMENTS (more), get_more, NULL };
  studio_page_add_commands ();
  studio_commands_add (STUDIO_COMMANDS_OF_WINDOW, &table);
  studio_commands_add (STUDIO_COMMANDS_EXAMPLES, &example_table);
  studio_commands_add (STUDIO_COMMANDS_MORE_OF_WINDOW, &more_table);
}

static void
activate_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  StudioWindow *self = data;
  const char *name = g_action_get_name (G_ACTION (action));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (commands[i].name, name))
      commands[i].run (self, parameter);
}

void
studio_window_install_actions (StudioWindow *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      const GActionEntry entry
          = { .name = commands[i].name, .activate = activate_cb, .parameter_type = commands[i].parameter };
      g_action_map_add_action_entries (G_ACTION_MAP (self), &entry, 1, self);
    }
}

void
studio_window_enable (StudioWindow *self, const char *action, gboolean enabled)
{
  g_simple_action_set_enabled (G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self), action)), enabled);
}
