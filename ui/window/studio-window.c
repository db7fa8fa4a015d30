/* A window owns the parts of studio-window-private.h, and connects their signals. The actions of the current page are
 * inserted into the window as the group "win", so that menus, buttons and keys follow the page without a copy of its
 * state. */
#include "ui/window/studio-window-private.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/help/studio-help.h"
#include "ui/help/studio-operator-page.h"
#include "ui/page/page-commands.h"
#include "ui/page/studio-dump.h"
#include "ui/worker/studio-devices.h"
#include "ui/window/studio-lecture.h"
#include "ui/window/studio-preferences.h"
#include "ui/window/window-frame.h"

G_DEFINE_FINAL_TYPE (StudioWindow, studio_window, ADW_TYPE_APPLICATION_WINDOW)

/* ---- actions ------------------------------------------------------------------------------------ */

static void
enable (StudioWindow *self, const char *action, gboolean enabled)
{
  g_simple_action_set_enabled (G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self), action)), enabled);
}

static void
insert_actions (StudioWindow *self, GActionGroup *actions)
{
  g_auto (GStrv) names = g_action_group_list_actions (actions);
  for (guint i = 0; names[i] != NULL; i++)
    g_action_map_add_action (G_ACTION_MAP (self), g_action_map_lookup_action (G_ACTION_MAP (actions), names[i]));
}

static void
remove_actions (StudioWindow *self, GActionGroup *actions)
{
  g_auto (GStrv) names = g_action_group_list_actions (actions);
  for (guint i = 0; names[i] != NULL; i++)
    g_action_map_remove_action (G_ACTION_MAP (self), names[i]);
}

static void
update_tab_actions (StudioWindow *self)
{
  static const char *const several[]
      = { "next-tab", "previous-tab", "tab-left", "tab-right", "tab-to-window", "close-other-tabs" };
  for (guint i = 0; i < G_N_ELEMENTS (several); i++)
    enable (self, several[i], studio_tabs_n_pages (self->tabs) > 1);
}

static void
update_recovery_actions (StudioWindow *self)
{
  static const char *const actions[] = { "recover", "recover-all", "discard-recovery" };
  for (guint i = 0; i < G_N_ELEMENTS (actions); i++)
    enable (self, actions[i], studio_recovery_bar_is_shown (self->recovery_bar));
}

/* ---- presentation ------------------------------------------------------------------------------- */

/* The window's part of a presentation: full screen without header and tabs. */
static void
set_presenting (StudioWindow *self, gboolean on)
{
  if (self->presenting == on)
    return;
  self->presenting = on;
  if (on)
    gtk_window_fullscreen (GTK_WINDOW (self));
  else
    gtk_window_unfullscreen (GTK_WINDOW (self));
  gtk_widget_set_visible (GTK_WIDGET (self->header), !on);
  gtk_widget_set_visible (GTK_WIDGET (self->tab_bar), !on);
  studio_page_set_presenting (studio_window_get_page (self), on);
}

/* The focus may be nowhere after the focused widget was hidden, so the window handles these keys. */
static gboolean
key_cb (GtkEventControllerKey *controller, guint keyval, guint keycode, GdkModifierType state, StudioWindow *self)
{
  StudioPage *page = studio_window_get_page (self);
  if (!self->presenting || page == NULL)
    return GDK_EVENT_PROPAGATE;
  /* The command palette handles Escape itself. */
  if (gtk_widget_get_visible (GTK_WIDGET (self->action_list)))
    return GDK_EVENT_PROPAGATE;
  if (studio_page_presenting_key (page, keyval, state))
    return GDK_EVENT_STOP;
  if (keyval != GDK_KEY_Escape || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return GDK_EVENT_PROPAGATE;
  set_presenting (self, FALSE);
  return GDK_EVENT_STOP;
}

/* ---- the current page --------------------------------------------------------------------------- */

static void
update_header (StudioWindow *self)
{
  StudioPage *page = studio_window_get_page (self);
  studio_header_show_page (self->header, page);
  studio_page_set_devices_button (page, studio_header_get_devices_button (self->header));
  gtk_window_set_title (GTK_WINDOW (self), studio_page_get_title (page));
}

/* Only for a page that has the window's size; a hidden page may still have an old one. */
static void
update_size_class (StudioWindow *self)
{
  StudioPage *page = studio_window_get_page (self);
  StudioSizeClass size_class = studio_panes_get_size_class (studio_page_get_panes (page));
  self->has_size_class = TRUE;
  studio_header_set_size_class (self->header, size_class);
  studio_page_set_devices_button (page, studio_header_get_devices_button (self->header));
  studio_recovery_bar_set_narrow (self->recovery_bar, size_class != STUDIO_SIZE_CLASS_WIDE);
}

/* AdwTabView focuses the widget that had the focus in this page, or else the first focusable one, a field of the
 * palette. Keys pressed after the change are meant for the graph. */
static void
focus_graph (StudioWindow *self)
{
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (self));

  if (focus == NULL || gtk_widget_is_ancestor (focus, GTK_WIDGET (self->tab_view)))
    studio_page_focus (studio_window_get_page (self));
}

static void
selected_cb (StudioTabs *tabs, StudioPage *before, StudioWindow *self)
{
  StudioPage *page = studio_tabs_get_page (tabs);
  if (before != NULL)
    studio_page_set_presenting (before, FALSE);
  if (page == NULL && before != NULL)
    remove_actions (self, studio_page_get_actions (before));
  studio_action_list_set_canvas (self->action_list, page != NULL ? GTK_WIDGET (studio_page_get_canvas (page)) : NULL);
  if (page == NULL)
    return;
  insert_actions (self, studio_page_get_actions (page));
  studio_page_set_presenting (page, self->presenting);
  if (!self->has_size_class)
    update_size_class (self);
  update_header (self);
  update_tab_actions (self);
  focus_graph (self);
}

/* ---- commands of the window itself -------------------------------------------------------------- */

static void
new_window (StudioWindow *self)
{
  StudioWindow *other = studio_window_new (ADW_APPLICATION (gtk_window_get_application (GTK_WINDOW (self))));
  gtk_window_present (GTK_WINDOW (other));
}

/* Without a page, for a tab that is moved to it. */
static AdwTabView *
create_window_cb (AdwTabView *view, StudioWindow *self)
{
  StudioWindow *other
      = g_object_new (STUDIO_TYPE_WINDOW, "application", gtk_window_get_application (GTK_WINDOW (self)), NULL);
  int width, height;
  gtk_window_get_default_size (GTK_WINDOW (self), &width, &height);
  gtk_window_set_default_size (GTK_WINDOW (other), width, height);
  gtk_window_present (GTK_WINDOW (other));
  return other->tab_view;
}

static void
tab_to_window (StudioWindow *self)
{
  AdwTabPage *tab = studio_tabs_get_target (self->tabs);
  adw_tab_view_transfer_page (self->tab_view, tab, create_window_cb (self->tab_view, self), 0);
}

static void
present (StudioWindow *self)
{
  set_presenting (self, !self->presenting);
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
  const LoomOp *op = studio_page_get_op_at_focus (studio_window_get_page (self));
  if (op != NULL)
    studio_operator_window_present (GTK_WINDOW (self), &self->operator, op);
  else
    studio_help_present (GTK_WINDOW (self), &self->help, NULL);
}

static void
preferences (StudioWindow *self)
{
  studio_preferences_present (GTK_WINDOW (self));
}

static void
keys (StudioWindow *self)
{
  studio_help_present (GTK_WINDOW (self), &self->help, STUDIO_HELP_KEYS);
}

/* The text of the current page, and of the frame around it. While a tab is dragged out, a window has no page. */
static void
dump_geometry (StudioWindow *self)
{
  StudioPage *page = studio_window_get_page (self);
  const int number = studio_tabs_get_number (self->tabs);
  if (number > 0 && page != NULL)
    {
      studio_page_dump_cards (page);
      studio_dump_widgets (GTK_NATIVE (self));
      studio_page_dump_state (page);
      studio_dump_print ("\ttab=%d\ttabs=%u\n", number, studio_tabs_n_pages (self->tabs));
    }
  studio_dump_end ();
}

/* ---- tables ------------------------------------------------------------------------------------- */

static const StudioCommandRow commands[] = {
  STUDIO_COMMAND ("new", WINDOW_OPENER, studio_opener_new_graph, N_ ("File"), N_ ("_New Graph"), "create empty",
                  "<Control>n"),
  STUDIO_COMMAND ("new-from-data", WINDOW_OPENER, studio_opener_new_from_data, N_ ("File"), N_ ("New From _Data…"),
                  "dataset csv table template begin start", "<Control><Alt>n"),
  STUDIO_COMMAND ("new-tab", WINDOW_TABS, studio_tabs_add_page, N_ ("File"), N_ ("New _Tab"), "create page document",
                  "<Control>t"),
  STUDIO_COMMAND ("new-window", WINDOW_ITSELF, new_window, N_ ("File"), N_ ("New _Window"), "create",
                  "<Control><Shift>n"),
  STUDIO_COMMAND ("open", WINDOW_OPENER, studio_opener_choose_file, N_ ("File"), N_ ("_Open a Graph"), "load file",
                  "<Control>o"),
  { "open-recent", "s", WINDOW_OPENER, G_CALLBACK (studio_opener_open_uri), NULL, NULL, { NULL }, NULL },
  { "attach-run", "s", WINDOW_OPENER, G_CALLBACK (studio_opener_attach_run), NULL, NULL, { NULL }, NULL },
  { "example", "s", WINDOW_OPENER, G_CALLBACK (studio_opener_open_example), NULL, NULL, { NULL }, NULL },
  { "lecture", "s", WINDOW_OPENER, G_CALLBACK (studio_opener_open_lecture), NULL, NULL, { NULL }, NULL },
  { "open-example-of", "s", WINDOW_OPENER, G_CALLBACK (studio_opener_open_example_of), NULL, NULL, { NULL }, NULL },
  { "documentation-of", "s", WINDOW_ITSELF, G_CALLBACK (documentation_of), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("recover", WINDOW_OPENER, studio_opener_recover, N_ ("File"), N_ ("Recover Unsaved Graph"),
                  "crash journal", NULL),
  STUDIO_COMMAND ("recover-all", WINDOW_OPENER, studio_opener_recover_all, N_ ("File"),
                  N_ ("Recover All Unsaved Graphs"), "crash journal", NULL),
  STUDIO_COMMAND ("discard-recovery", WINDOW_RECOVERY, studio_recovery_bar_discard, N_ ("File"),
                  N_ ("Discard Unsaved Graph"), "crash journal", NULL),
  STUDIO_COMMAND ("close-tab", WINDOW_TABS, studio_tabs_close, N_ ("File"), N_ ("_Close the Tab"), "page document",
                  "<Control>w"),
  STUDIO_COMMAND ("close-other-tabs", WINDOW_CLOSING, studio_closing_close_others, N_ ("File"),
                  N_ ("Close All _Other Tabs"), "pages documents", NULL),
  STUDIO_COMMAND ("tab-to-window", WINDOW_ITSELF, tab_to_window, N_ ("View"), N_ ("Move the Tab to a New _Window"),
                  "detach page", NULL),
  STUDIO_COMMAND ("tab-left", WINDOW_TABS, studio_tabs_move_left, N_ ("View"), N_ ("Move the Tab to the _Left"),
                  "order page backward", "<Control><Shift>Page_Up"),
  STUDIO_COMMAND ("tab-right", WINDOW_TABS, studio_tabs_move_right, N_ ("View"), N_ ("Move the Tab to the _Right"),
                  "order page forward", "<Control><Shift>Page_Down"),
  STUDIO_COMMAND ("next-tab", WINDOW_TABS, studio_tabs_next, N_ ("Go"), N_ ("Next Tab"), "page document",
                  "<Control>Page_Down", "<Control>Tab"),
  STUDIO_COMMAND ("previous-tab", WINDOW_TABS, studio_tabs_previous, N_ ("Go"), N_ ("Previous Tab"), "page document",
                  "<Control>Page_Up", "<Control><Shift>Tab"),
  STUDIO_COMMAND ("next-stop", WINDOW_TABS, studio_lecture_next, N_ ("Go"), N_ ("Next Stop of the Lecture"),
                  "page document tab presentation", NULL),
  STUDIO_COMMAND ("previous-stop", WINDOW_TABS, studio_lecture_previous, N_ ("Go"), N_ ("Previous Stop of the Lecture"),
                  "page document tab presentation", NULL),
  { "tab", "i", WINDOW_TABS, G_CALLBACK (studio_tabs_show_number), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("present", WINDOW_ITSELF, present, N_ ("View"), N_ ("_Present"),
                  "presentation fullscreen projector lecture", "F11"),
  STUDIO_COMMAND ("actions", WINDOW_ACTIONS, studio_action_list_open, N_ ("Help"), N_ ("_All Actions"),
                  "palette commands search", "<Control><Shift>p"),
  STUDIO_COMMAND ("help", WINDOW_ITSELF, help, N_ ("Help"), N_ ("_Help"), "manual documentation guide", "F1"),
  STUDIO_COMMAND ("keys", WINDOW_ITSELF, keys, N_ ("Help"), N_ ("_Keyboard Shortcuts"), "keys", "<Control>question"),
  STUDIO_COMMAND ("preferences", WINDOW_ITSELF, preferences, N_ ("Edit"), N_ ("_Preferences"),
                  "settings options history disk budget", "<Control>comma"),
  { "dump-geometry", NULL, WINDOW_ITSELF, G_CALLBACK (dump_geometry), NULL, NULL, { NULL }, NULL },
};

static StudioCommand
get_command (guint i)
{
  return studio_command_row_get (&commands[i]);
}

static const StudioCommand examples[] = {
  { "win.example::models/fashion-lenet", N_ ("File"), N_ ("Open the Example LeNet"), "fashion mnist images", { NULL } },
  { "win.example::lessons/spirals", N_ ("File"), N_ ("Open the Example Two spirals"), "lesson", { NULL } },
  { "win.lecture::attention", N_ ("File"), N_ ("Open the Lecture on Attention"), "present slides", { NULL } },
  { "win.lecture::dynamic-nets", N_ ("File"), N_ ("Open the Lecture on Dynamic Networks"), "present slides", { NULL } },
  { "win.lecture::parallel", N_ ("File"), N_ ("Open the Lecture on Parallel Training"), "present slides", { NULL } },
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

/* ---- object ------------------------------------------------------------------------------------- */

/* GTK ignores a close() called within this handler. So if there is nothing to ask, closing proceeds; otherwise the
 * response destroys the window later. */
static gboolean
window_close_request (GtkWindow *window)
{
  if (studio_closing_ask (&STUDIO_WINDOW (window)->close))
    return TRUE;
  return GTK_WINDOW_CLASS (studio_window_parent_class)->close_request (window);
}

static void
active_cb (GtkWindow *window)
{
  if (gtk_window_is_active (window))
    studio_devices_ask_again (studio_devices_get ());
}

static void
make_commands (StudioWindow *self)
{
  const gpointer parts[WINDOW_N_PARTS] = {
    [WINDOW_ITSELF] = self,          [WINDOW_TABS] = self->tabs,
    [WINDOW_OPENER] = self->opener,  [WINDOW_RECOVERY] = self->recovery_bar,
    [WINDOW_CLOSING] = &self->close, [WINDOW_ACTIONS] = self->action_list,
  };
  memcpy (self->parts, parts, sizeof parts);
  self->target = (StudioCommandTarget){ .parts = self->parts };
  studio_command_rows_install (commands, G_N_ELEMENTS (commands), G_ACTION_MAP (self), &self->target);
}

static void
connect_parts (StudioWindow *self)
{
  GtkEventController *controller = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (controller, GTK_PHASE_CAPTURE);
  g_signal_connect (controller, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), controller);
  g_signal_connect (self, "notify::is-active", G_CALLBACK (active_cb), NULL);
  g_signal_connect (self->tab_view, "create-window", G_CALLBACK (create_window_cb), self);
  g_signal_connect (self->tabs, "selected", G_CALLBACK (selected_cb), self);
  g_signal_connect_swapped (self->tabs, "page-changed", G_CALLBACK (update_header), self);
  g_signal_connect_swapped (self->tabs, "size-class", G_CALLBACK (update_size_class), self);
  g_signal_connect_swapped (self->tabs, "counted", G_CALLBACK (update_tab_actions), self);
  g_signal_connect_swapped (self->tabs, "emptied", G_CALLBACK (gtk_window_close), self);
  g_signal_connect_swapped (self->recovery_bar, "notify::shown", G_CALLBACK (update_recovery_actions), self);
}

static void
studio_window_init (StudioWindow *self)
{
  g_type_ensure (STUDIO_TYPE_PAGE);
  g_type_ensure (STUDIO_TYPE_HEADER);
  g_type_ensure (STUDIO_TYPE_RECOVERY_BAR);
  gtk_widget_init_template (GTK_WIDGET (self));
  self->action_list = studio_action_list_new ();
  gtk_overlay_add_overlay (GTK_OVERLAY (self->all), GTK_WIDGET (self->action_list));
  self->questions = studio_questions_new (GTK_WIDGET (self));
  self->tabs = studio_tabs_new (self->tab_view);
  self->opener = studio_opener_new (GTK_WINDOW (self), self->tabs, self->recovery_bar);
  self->close = (StudioClosing){ self->tabs, self->questions, GTK_WINDOW (self) };
  make_commands (self);
  connect_parts (self);
  window_frame_setup (GTK_WIDGET (self), GTK_WIDGET (self->header));
  update_recovery_actions (self);
}

static void
window_dispose (GObject *object)
{
  StudioWindow *self = STUDIO_WINDOW (object);
  StudioPage *page = self->tabs != NULL ? studio_tabs_get_page (self->tabs) : NULL;
  if (page != NULL)
    remove_actions (self, studio_page_get_actions (page)); /* they hold references to the page */
  if (self->tabs != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->tabs, self);
      studio_tabs_end (self->tabs);
    }
  g_clear_weak_pointer (&self->help);
  g_clear_weak_pointer (&self->operator);
  G_OBJECT_CLASS (studio_window_parent_class)->dispose (object);
  g_clear_object (&self->opener);
}

static void
window_finalize (GObject *object)
{
  StudioWindow *self = STUDIO_WINDOW (object);
  g_clear_object (&self->tabs);
  studio_questions_free (self->questions);
  G_OBJECT_CLASS (studio_window_parent_class)->finalize (object);
}

static void
studio_window_class_init (StudioWindowClass *klass)
{
  studio_window_add_commands ();
  G_OBJECT_CLASS (klass)->dispose = window_dispose;
  G_OBJECT_CLASS (klass)->finalize = window_finalize;
  GTK_WINDOW_CLASS (klass)->close_request = window_close_request;
  STUDIO_TEMPLATE (klass, "studio-window.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioWindow, all, header, recovery_bar, tab_bar, tab_view);
}

StudioWindow *
studio_window_new (AdwApplication *application)
{
  StudioWindow *self = g_object_new (STUDIO_TYPE_WINDOW, "application", application, NULL);
  studio_tabs_add_page (self->tabs);
  return self;
}

/* ---- tabs and files for others ---------------------------------------------------------------------- */

void
studio_window_open_file (StudioWindow *self, GFile *file)
{
  studio_opener_open_file (self->opener, file);
}

gboolean
studio_window_take_file (StudioWindow *self, GFile *file)
{
  return studio_opener_take_file (self->opener, file);
}

StudioPage *
studio_window_get_page (StudioWindow *self)
{
  return studio_tabs_get_page (self->tabs);
}

guint
studio_window_n_pages (StudioWindow *self)
{
  return studio_tabs_n_pages (self->tabs);
}

StudioPage *
studio_window_get_nth_page (StudioWindow *self, guint i)
{
  return studio_tabs_get_nth_page (self->tabs, i);
}

void
studio_window_show_page (StudioWindow *self, StudioPage *page)
{
  studio_tabs_show_page (self->tabs, page);
}

StudioDocument *
studio_window_get_document (StudioWindow *self)
{
  return studio_page_get_document (studio_window_get_page (self));
}

StudioCanvas *
studio_window_get_canvas (StudioWindow *self)
{
  return studio_page_get_canvas (studio_window_get_page (self));
}

StudioRun *
studio_window_get_run (StudioWindow *self)
{
  return studio_page_get_run (studio_window_get_page (self));
}

void
studio_window_show_panel (StudioWindow *self)
{
  studio_page_show_panel (studio_window_get_page (self));
}
