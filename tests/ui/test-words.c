/* Walks through all that Studio can show, in a language that words.py made, and lists words that are not of it: they
 * were not marked for translation, or are put together from pieces. Then the same with twice the text, where words that
 * are longer than English ones must still have room.
 *
 * test-words FOLDER: where the language is. */
#include <adwaita.h>
#include <string.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "ui/window/studio-application.h"
#include "ui/settings/studio-language.h"
#include "ui/shell/studio-commands.h"
#include "ui/page/studio-page-private.h"
#include "ui/window/studio-window-private.h"
#include "tests/test-program.h"

#define OPEN "⟦" /* each translated sentence begins with it */

static GHashTable *data;  /* what comes from graphs and from the engine, which have no language */
static GHashTable *found; /* what was complained about: once is enough */
static gboolean is_large;

static void
settle (void)
{
  for (gint64 end = g_get_monotonic_time () + 80 * 1000; g_get_monotonic_time () < end; g_usleep (1000))
    while (g_main_context_iteration (NULL, FALSE))
      ;
}

/* ---- data ------------------------------------------------------------------------------- */

static void
add_data (const char *text)
{
  if (text != NULL)
    g_hash_table_add (data, g_strdup (text));
}

/* Names and sentences of the engine and of graphs, as words.py collected them, and how rows show names. */
static void
read_data (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "data.txt", NULL), *text = NULL;
  g_auto (GStrv) lines = NULL;
  /* Of GTK; and the language of goals. */
  static const char *const others[]
      = { "Sidebar", "(None)",  "Search…", "Delete", "Insert", "Return", "Tab",
          "Escape",  "Menu",    "SVG",     "PDF",    "PNG",    "CSV",    "val_loss below 0.2, chain linear relu",
          "block",   "Gradloom" };

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      add_data (lines[i]);
      if (lines[i][0] != '\0' && strspn (lines[i], G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_") == strlen (lines[i]))
        {
          g_autofree char *title = g_strdelimit (g_strdup (lines[i]), "_", ' ');

          title[0] = g_ascii_toupper (title[0]);
          add_data (title);
        }
    }
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    add_data (others[i]);
  /* Titles of a family are made by a macro. */
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    add_data ((*op)->title);
}

/* Keys are named by GTK. */
static void
add_keys (void)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *keys = studio_command_dup_keys (&all[i]);

      add_data (keys);
    }
}

/* Three letters next to each other are a word; units and names of keys are none. */
static gboolean
has_words (const char *text)
{
  guint run = 0;

  for (const char *c = text; *c != '\0'; c = g_utf8_next_char (c))
    {
      run = g_unichar_isalpha (g_utf8_get_char (c)) ? run + 1 : 0;
      if (run == 3)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_ours (const char *text)
{
  return text == NULL || !has_words (text) || strstr (text, OPEN) != NULL || g_hash_table_contains (data, text)
         || strstr (text, "does not depend on one port of the data alone") != NULL /* the engine's, of a task */
         || g_str_has_prefix (text, "Failed to execute child process");            /* GLib's, of the worker */
}

/* ---- checks ------------------------------------------------------------------------------- */

static void
complain (const char *where, const char *what, GtkWidget *widget, const char *text)
{
  g_autofree char *key = g_strdup_printf ("%s: %s", what, text);
  GString *path;

  if (!g_hash_table_add (found, g_strdup (key)))
    return;
  path = g_string_new (NULL);
  for (GtkWidget *w = widget; w != NULL && path->len < 160; w = gtk_widget_get_parent (w))
    {
      const char *name = gtk_buildable_get_buildable_id (GTK_BUILDABLE (w));

      g_string_append_printf (path, " < %s%s%s", G_OBJECT_TYPE_NAME (w), name != NULL ? "#" : "",
                              name != NULL ? name : "");
    }
  g_test_message ("[%s] %s (%s)", where, key, path->str);
  g_string_free (path, TRUE);
}

/* Texts of graphs, of help, and of GTK's own dialogs. */
static gboolean
is_text_of_others (GtkWidget *widget)
{
  static const char *const types[] = { "GtkTextView",
                                       "GtkFileChooserWidget",
                                       "GtkFileChooserDialog",
                                       "AdwAboutWindow",
                                       "GtkWindowControls",
                                       "GtkShortcutLabel",
                                       "StudioCanvas",
                                       "StudioOutline",
                                       "GtkFlowBoxChild",
                                       "GtkTooltipWindow",
                                       "AdwTab" };
  static const char *const classes[] = { "markdown", "studio-formula", "titlebutton", "listed-code" };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (g_str_equal (G_OBJECT_TYPE_NAME (widget), types[i]))
      return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    if (gtk_widget_has_css_class (widget, classes[i]))
      return TRUE;
  return FALSE;
}

static void
check_accessible (GtkWidget *widget, const char *where)
{
  /* The accessible label; the test reports its value because it differs from the expected one. */
  g_autofree char *label
      = gtk_test_accessible_check_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL, "?");

  if (label != NULL && !is_ours (label) && strstr (label, "undefined") == NULL)
    complain (where, "accessible name", widget, label);
}

/* A label that is cut must be of data, as a file's name is, which can be longer than any window. */
static void
check_room (GtkWidget *widget, const char *where)
{
  GtkLabel *label = GTK_LABEL (widget);
  const char *id = gtk_buildable_get_buildable_id (GTK_BUILDABLE (widget));

  /* The status line's figures are in the tooltips of what they are of, those below the title in the status line. */
  if (is_large && g_strcmp0 (id, "totals_label") != 0 && g_strcmp0 (id, "subtitle_label") != 0
      && gtk_widget_get_mapped (widget) && strstr (gtk_label_get_text (label), OPEN) != NULL
      && pango_layout_is_ellipsized (gtk_label_get_layout (label)))
    complain (where, "cut", widget, gtk_label_get_text (label));
}

static void
look (GtkWidget *widget, const char *where)
{
  const char *tooltip = gtk_widget_get_tooltip_text (widget);

  if (is_text_of_others (widget) || !gtk_widget_get_child_visible (widget))
    return;
  if (!is_ours (tooltip))
    complain (where, "tooltip", widget, tooltip);
  check_accessible (widget, where);
  if (GTK_IS_LABEL (widget))
    {
      if (!is_ours (gtk_label_get_text (GTK_LABEL (widget))))
        complain (where, "label", widget, gtk_label_get_text (GTK_LABEL (widget)));
      check_room (widget, where);
    }
  if (GTK_IS_TEXT (widget) && !is_ours (gtk_text_get_placeholder_text (GTK_TEXT (widget))))
    complain (where, "placeholder", widget, gtk_text_get_placeholder_text (GTK_TEXT (widget)));
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    look (child, where);
}

static void
look_around (StudioWindow *self, const char *where)
{
  g_autoptr (GList) windows = gtk_window_list_toplevels ();

  for (GList *l = windows; l != NULL; l = l->next)
    if (gtk_widget_get_visible (l->data))
      look (l->data, where);
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* Actions that close the window or open a file chooser, and duplicates. */
static gboolean
leaves (const char *action)
{
  static const char *const others[]
      = { "app.quit", "window.close", "win.close", "win.close-tab", "win.open", "win.save", "win.save-as", NULL };

  return g_strv_contains (others, action) || g_str_has_prefix (action, "win.export")
         || g_str_has_prefix (action, "win.example") || g_str_has_prefix (action, "win.lecture");
}

static void
close_others (StudioWindow *self)
{
  g_autoptr (GList) windows = NULL;

  studio_opener_cancel (self->opener);
  windows = gtk_window_list_toplevels ();
  for (GList *l = windows; l != NULL; l = l->next)
    if (l->data != self && gtk_widget_get_visible (l->data))
      gtk_widget_set_visible (l->data, FALSE);
}

/* Commands have their titles in lists and menus that are made of the table. */
static void
check_commands (void)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);

  for (guint i = 0; i < n; i++)
    if (all[i].title != NULL)
      {
        g_autofree char *title = studio_command_dup_title (&all[i]);

        if (!is_ours (title))
          complain (all[i].action, "title", NULL, title);
      }
}

/* Clauses of goals are the engine's, as sentences. */
static void
note_goals (const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) lessons = loom_lessons_new (graph, faults);

  for (guint l = 0; l < lessons->len; l++)
    for (guint p = 0; p < ((const LoomLesson *)lessons->pdata[l])->pages->len; p++)
      {
        const LoomLessonPage *page = ((const LoomLesson *)lessons->pdata[l])->pages->pdata[p];

        for (guint i = 0; page->goal != NULL && i < loom_goal_n_clauses (page->goal); i++)
          {
            g_autofree char *sentence = g_strdup (loom_goal_clause_text (page->goal, i));

            sentence[0] = g_ascii_toupper (sentence[0]);
            add_data (sentence);
          }
      }
}

static void
note_data (StudioWindow *self)
{
  StudioDocument *document = studio_page_get_document (studio_window_get_page (self));
  StudioScene *scene = studio_document_get_scene (document);
  const LoomFaults *faults = studio_document_get_faults (document);

  for (guint i = 0; i < scene->n_items; i++)
    {
      add_data (scene->item[i].id);
      add_data (scene->item[i].title);
      add_data (scene->item[i].path);
      add_data (scene->item[i].summary);
      add_data (scene->item[i].kind);
      for (guint p = 0; p < scene->item[i].n_outputs; p++)
        {
          const StudioPort *port = &scene->item[i].output[p];
          g_autofree char *shape = port->typed ? loom_shape_to_string (&port->type.shape) : NULL;
          g_autofree char *type
              = shape != NULL ? g_strdup_printf ("%s\n%s", shape, loom_dtype_name (port->type.dtype)) : NULL;

          add_data (port->name);
          add_data (shape); /* "scalar" */
          add_data (type);
        }
    }
  note_goals (studio_document_get_graph (document));
  for (guint f = 0; f < loom_faults_length (faults); f++)
    {
      const LoomFault *fault = loom_faults_get (faults, f);
      g_autofree char *sentence = g_strdup_printf ("%s: %s", fault->node, fault->message);

      add_data (fault->message);
      add_data (sentence);
    }
}

static void
look_at (StudioWindow *self, const char *example)
{
  studio_opener_open_example (self->opener, example);
  settle ();
  note_data (self);
  look_around (self, example);
  /* The training's settings, which large text has put into a drawer. */
  if (is_large)
    {
      gtk_widget_activate_action (GTK_WIDGET (self), "win.right-pane", NULL);
      settle ();
      look_around (self, "training");
    }
  studio_document_select_all (studio_page_get_document (studio_window_get_page (self)));
  settle ();
  look_around (self, "all selected");
  for (guint i = 0;
       i < MIN (studio_document_get_scene (studio_page_get_document (studio_window_get_page (self)))->n_items, 4); i++)
    {
      studio_document_select_only (
          studio_page_get_document (studio_window_get_page (self)),
          studio_document_get_scene (studio_page_get_document (studio_window_get_page (self)))->item[i].serial);
      settle ();
      look_around (self, "a card");
    }
}

static void
walk (StudioWindow *self)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);

  look_around (self, "start");
  look_at (self, "lessons/spirals");
  look_at (self, "models/fashion-lenet");
  for (guint i = 0; i < n; i++)
    {
      if (all[i].title == NULL || leaves (all[i].action)
          || !studio_command_is_possible (&all[i], GTK_WIDGET (studio_page_get_canvas (studio_window_get_page (self)))))
        continue;
      if (studio_document_is_empty (studio_page_get_document (studio_window_get_page (self))))
        studio_opener_open_example (self->opener, "lessons/spirals");
      note_data (self);
      studio_document_select_all (studio_page_get_document (studio_window_get_page (self)));
      studio_command_run (&all[i], GTK_WIDGET (studio_page_get_canvas (studio_window_get_page (self))));
      settle ();
      note_data (self);
      look_around (self, all[i].action);
      close_others (self);
    }
}

/* From the window down to what needs its width. */
static void
say_widest (GtkWidget *widget)
{
  GtkWidget *widest = NULL;
  int most = 0;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      int width = 0;

      if (gtk_widget_should_layout (child) && !GTK_IS_NATIVE (child))
        gtk_widget_measure (child, GTK_ORIENTATION_HORIZONTAL, -1, &width, NULL, NULL, NULL);
      if (width > most)
        {
          most = width;
          widest = child;
        }
    }
  if (widest == NULL)
    return;
  g_test_message ("%d: %s %s", most, G_OBJECT_TYPE_NAME (widest),
                  GTK_IS_LABEL (widest) ? gtk_label_get_text (GTK_LABEL (widest)) : "");
  say_widest (widest);
}

static void
look_at_least_width (StudioWindow *self)
{
  int width, height;

  studio_opener_open_example (self->opener, "lessons/spirals");
  studio_window_show_panel (self);
  gtk_window_set_default_size (GTK_WINDOW (self), 900, 600);
  for (int i = 0; i < 4; i++)
    settle ();
  gtk_widget_measure (GTK_WIDGET (self), GTK_ORIENTATION_HORIZONTAL, -1, &width, NULL, NULL, NULL);
  gtk_widget_measure (GTK_WIDGET (self), GTK_ORIENTATION_VERTICAL, -1, &height, NULL, NULL, NULL);
  g_test_message ("at least %d × %d", width, height);
  if (width > 640)
    say_widest (GTK_WIDGET (self));
  g_assert_cmpint (width, <=, 640);
}

static void
activate_cb (GtkApplication *application, gpointer user_data)
{
  StudioWindow *self = studio_window_new (ADW_APPLICATION (application));

  gtk_window_present (GTK_WINDOW (self));
  settle ();
  close_others (self); /* the window of the walk before */
  add_keys ();
  check_commands ();
  walk (self);
  if (is_large)
    look_at_least_width (self);
  /* Windows are put away, not taken apart: their icons may still be loading. */
  studio_document_close (studio_page_get_document (studio_window_get_page (self)));
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  g_application_quit (G_APPLICATION (application));
}

static void
run (void)
{
  g_autoptr (StudioApplication) application = studio_application_new ();

  g_hash_table_remove_all (found);
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  g_signal_connect (application, "activate", G_CALLBACK (activate_cb), NULL);
  g_assert_cmpint (g_application_run (G_APPLICATION (application), 0, NULL), ==, 0);
  if (g_hash_table_size (found) > 0)
    g_test_fail ();
}

static void
test_marked (void)
{
  run ();
}

static void
test_large (void)
{
  is_large = TRUE;
  g_object_set (gtk_settings_get_default (), "gtk-xft-dpi", 2 * 96 * 1024, NULL);
  run ();
}

/* A run that is named like a title of Studio's own keeps its name. */
static void
test_titles (void)
{
  g_autoptr (StudioPlot) plot = studio_plot_new ("loss");

  g_assert_cmpstr (studio_plot_title (plot), !=, "loss");
  plot->title_is_name = TRUE;
  g_assert_cmpstr (studio_plot_title (plot), ==, "loss");
}

TEST_FILE (argc, argv)
{
  g_autofree char *home = g_dir_make_tmp ("gradloom-words-XXXXXX", NULL);

  g_setenv ("XDG_STATE_HOME", home, TRUE);
  g_setenv ("XDG_DATA_HOME", home, TRUE);
  /* The sentences of a run come from the worker. */
  g_setenv ("GRADLOOM_WORKER", "/nonexistent/gradloom", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 2);
  studio_language_init (argv[1]);
  adw_init ();
  data = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  read_data (argv[1]);
  g_test_add_func ("/words/titles", test_titles);
  g_test_add_func ("/words/marked", test_marked);
  g_test_add_func ("/words/large", test_large);
  return g_test_run ();
}
