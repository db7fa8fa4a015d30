/* The table of the window's commands, for tabs, files and everything that does not belong to a graph, and their
 * implementation. Those of a graph are in studio-page-actions.c. */
#include "ui/shell/studio-commands.h"

#include <glib/gi18n.h>

#include "ui/page/page-commands.h"
#include "ui/page/studio-dump.h"
#include "ui/help/studio-help.h"
#include "ui/help/studio-operator-page.h"
#include "ui/window/studio-window-private.h"

static void
new_window (StudioWindow *self)
{
  StudioWindow *other = studio_window_new (ADW_APPLICATION (gtk_window_get_application (GTK_WINDOW (self))));
  gtk_window_present (GTK_WINDOW (other));
}

static void
open_recent (StudioWindow *self, const char *uri)
{
  g_autoptr (GFile) file = g_file_new_for_uri (uri);
  studio_window_open_file (self, file);
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
next_tab (StudioWindow *self)
{
  move_by (self, 1);
}

static void
previous_tab (StudioWindow *self)
{
  move_by (self, -1);
}

static void
tab_left (StudioWindow *self)
{
  adw_tab_view_reorder_backward (self->tab_view, studio_window_get_meant_tab (self));
}

static void
tab_right (StudioWindow *self)
{
  adw_tab_view_reorder_forward (self->tab_view, studio_window_get_meant_tab (self));
}

static void
tab (StudioWindow *self, int number)
{
  const int i = number - 1;
  if (i >= 0 && i < adw_tab_view_get_n_pages (self->tab_view))
    adw_tab_view_set_selected_page (self->tab_view, adw_tab_view_get_nth_page (self->tab_view, i));
}

static void
present (StudioWindow *self)
{
  studio_window_set_presenting (self, !self->presenting);
}

static void
documentation_of (StudioWindow *self, const char *name)
{
  const LoomOp *op = loom_op (name);
  if (op != NULL)
    studio_operator_window_present (GTK_WINDOW (self), &self->operator, op);
}

/* For the selected layer, if the focus is on the canvas. */
static void
help (StudioWindow *self)
{
  const LoomOp *op = studio_page_get_op_at_focus (self->page);
  if (op != NULL)
    studio_operator_window_present (GTK_WINDOW (self), &self->operator, op);
  else
    studio_help_present (GTK_WINDOW (self), &self->help, NULL);
}

static void
keys (StudioWindow *self)
{
  studio_help_present (GTK_WINDOW (self), &self->help, STUDIO_HELP_KEYS);
}

static void
show_actions (StudioWindow *self)
{
  studio_action_list_open (self->action_list);
}

/* The text of the current page, and of the frame around it. While a tab is dragged out, a window has no page. */
static void
dump_geometry (StudioWindow *self)
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

static const StudioCommandRow commands[] = {
  { "new",
    NULL,
    0,
    G_CALLBACK (studio_window_new_graph),
    N_ ("File"),
    N_ ("_New Graph"),
    { "<Control>n" },
    "create empty" },
  { "new-from-data",
    NULL,
    0,
    G_CALLBACK (studio_window_new_from_data),
    N_ ("File"),
    N_ ("New From _Data…"),
    { "<Control><Alt>n" },
    "dataset csv table template begin start" },
  { "new-tab",
    NULL,
    0,
    G_CALLBACK (studio_window_add_page),
    N_ ("File"),
    N_ ("New _Tab"),
    { "<Control>t" },
    "create page document" },
  { "new-window",
    NULL,
    0,
    G_CALLBACK (new_window),
    N_ ("File"),
    N_ ("New _Window"),
    { "<Control><Shift>n" },
    "create" },
  { "open",
    NULL,
    0,
    G_CALLBACK (studio_window_choose_file),
    N_ ("File"),
    N_ ("_Open a Graph"),
    { "<Control>o" },
    "load file" },
  { "open-recent", "s", 0, G_CALLBACK (open_recent), NULL, NULL, { NULL }, NULL },
  { "example", "s", 0, G_CALLBACK (studio_window_open_example), NULL, NULL, { NULL }, NULL },
  { "open-example-of", "s", 0, G_CALLBACK (studio_window_open_example_of), NULL, NULL, { NULL }, NULL },
  { "documentation-of", "s", 0, G_CALLBACK (documentation_of), NULL, NULL, { NULL }, NULL },
  { "recover",
    NULL,
    0,
    G_CALLBACK (studio_window_recover),
    N_ ("File"),
    N_ ("Recover Unsaved Graph"),
    { NULL },
    "crash journal" },
  { "recover-all",
    NULL,
    0,
    G_CALLBACK (studio_window_recover_all),
    N_ ("File"),
    N_ ("Recover All Unsaved Graphs"),
    { NULL },
    "crash journal" },
  { "discard-recovery",
    NULL,
    0,
    G_CALLBACK (studio_window_discard_recovery),
    N_ ("File"),
    N_ ("Discard Unsaved Graph"),
    { NULL },
    "crash journal" },
  { "close-tab",
    NULL,
    0,
    G_CALLBACK (studio_window_close_tab),
    N_ ("File"),
    N_ ("_Close the Tab"),
    { "<Control>w" },
    "page document" },
  { "close-other-tabs",
    NULL,
    0,
    G_CALLBACK (studio_window_close_other_tabs),
    N_ ("File"),
    N_ ("Close All _Other Tabs"),
    { NULL },
    "pages documents" },
  { "tab-to-window",
    NULL,
    0,
    G_CALLBACK (studio_window_tab_to_window),
    N_ ("View"),
    N_ ("Move the Tab to a New _Window"),
    { NULL },
    "detach page" },
  { "tab-left",
    NULL,
    0,
    G_CALLBACK (tab_left),
    N_ ("View"),
    N_ ("Move the Tab to the _Left"),
    { "<Control><Shift>Page_Up" },
    "order page backward" },
  { "tab-right",
    NULL,
    0,
    G_CALLBACK (tab_right),
    N_ ("View"),
    N_ ("Move the Tab to the _Right"),
    { "<Control><Shift>Page_Down" },
    "order page forward" },
  { "next-tab",
    NULL,
    0,
    G_CALLBACK (next_tab),
    N_ ("Go"),
    N_ ("Next Tab"),
    { "<Control>Page_Down", "<Control>Tab" },
    "page document" },
  { "previous-tab",
    NULL,
    0,
    G_CALLBACK (previous_tab),
    N_ ("Go"),
    N_ ("Previous Tab"),
    { "<Control>Page_Up", "<Control><Shift>Tab" },
    "page document" },
  { "tab", "i", 0, G_CALLBACK (tab), NULL, NULL, { NULL }, NULL },
  { "present",
    NULL,
    0,
    G_CALLBACK (present),
    N_ ("View"),
    N_ ("_Present"),
    { "F11" },
    "presentation fullscreen projector lecture" },
  { "actions",
    NULL,
    0,
    G_CALLBACK (show_actions),
    N_ ("Help"),
    N_ ("_All Actions"),
    { "<Control><Shift>p" },
    "palette commands search" },
  { "help", NULL, 0, G_CALLBACK (help), N_ ("Help"), N_ ("_Help"), { "F1" }, "manual documentation guide" },
  { "keys", NULL, 0, G_CALLBACK (keys), N_ ("Help"), N_ ("_Keyboard Shortcuts"), { "<Control>question" }, "keys" },
  { "dump-geometry", NULL, 0, G_CALLBACK (dump_geometry), NULL, NULL, { NULL }, NULL },
};

static StudioCommand
get_command (guint i)
{
  return studio_command_row_get (&commands[i]);
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
  page_commands_add ();
  studio_commands_add (STUDIO_COMMANDS_OF_WINDOW, &table);
  studio_commands_add (STUDIO_COMMANDS_EXAMPLES, &example_table);
  studio_commands_add (STUDIO_COMMANDS_MORE_OF_WINDOW, &more_table);
}

void
studio_window_install_actions (StudioWindow *self)
{
  self->parts[0] = self;
  self->target = (StudioCommandTarget){ .parts = self->parts };
  studio_command_rows_install (commands, G_N_ELEMENTS (commands), G_ACTION_MAP (self), &self->target);
}

void
studio_window_enable (StudioWindow *self, const char *action, gboolean enabled)
{
  g_simple_action_set_enabled (G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self), action)), enabled);
}
