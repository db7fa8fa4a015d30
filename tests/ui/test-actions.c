/* Every action, on a virtual display: it exists, is found by its title, and can be activated; and the window folds its
 * panes. */
#include <adwaita.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/find-widgets.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/run/studio-run-panel.h"
#include "ui/run/studio-run-private.h"
#include "ui/window/studio-application.h"
#include "ui/page/studio-page-private.h"
#include "ui/window/studio-window-private.h"

static void
settle (void)
{
  for (gint64 end = g_get_monotonic_time () + 60 * 1000; g_get_monotonic_time () < end; g_usleep (1000))
    while (g_main_context_iteration (NULL, FALSE))
      ;
}

/* Titles follow GNOME's header capitalization: all words have a capital except articles, conjunctions and prepositions
 * of up to three letters. */
static void
check_capitals (const char *title)
{
  static const char *const small[]
      = { "a", "an", "the", "and", "or", "but", "at", "by", "for", "in", "of", "on", "to", "as", "up", "off", NULL };
  g_auto (GStrv) words = g_strsplit (title, " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (g_ascii_islower (words[i][0]) && (i == 0 || words[i + 1] == NULL || !g_strv_contains (small, words[i])))
      g_error ("“%s” is no title: “%s” begins with a small letter", title, words[i]);
}

/* ---- the list ----------------------------------------------------------------------------- */

static void
test_list (void)
{
  g_autoptr (GHashTable) titles = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) keys = g_hash_table_new (g_str_hash, g_str_equal);
  guint n;
  const StudioCommand *all = studio_commands (&n);
  for (guint i = 0; i < n; i++)
    {
      g_test_message ("%s", all[i].action);
      g_assert_true (studio_command_find (all[i].action) == &all[i]);
      g_assert_true ((all[i].title != NULL) == (all[i].group != NULL));
      if (all[i].title == NULL)
        continue;
      g_assert_true (g_hash_table_add (titles, studio_command_dup_title (&all[i])));
      /* An example's name is the graph's. */
      if (!g_str_has_prefix (all[i].action, "win.example"))
        {
          g_autofree char *title = studio_command_dup_title (&all[i]);
          check_capitals (title);
        }
      for (guint k = 0; k < STUDIO_COMMAND_KEYS && all[i].keys[k] != NULL; k++)
        {
          guint key;
          GdkModifierType mods;
          g_test_message ("%s", all[i].keys[k]);
          g_assert_true (gtk_accelerator_parse (all[i].keys[k], &key, &mods));
          g_assert_true (g_hash_table_add (keys, (gpointer)all[i].keys[k]));
        }
    }
  g_assert_cmpuint (g_hash_table_size (titles), >, 50);
}

/* Each command of the canvas has a name for people, or the window has one for it. */
static void
test_canvas_names (void)
{
  for (guint i = 0; i < studio_canvas_n_commands (); i++)
    {
      StudioCanvasCommand c = studio_canvas_get_command (i);
      g_autofree char *of_window = g_strconcat ("win.", strchr (c.name, '.') + 1, NULL);
      const StudioCommand *other = studio_command_find (of_window);
      g_test_message ("%s", c.name);
      g_assert_true (c.title != NULL || (other != NULL && other->title != NULL));
    }
}

static const char *
first_for (const char *typed)
{
  guint n, most = 0;
  const StudioCommand *all = studio_commands (&n), *best = NULL;
  for (guint i = 0; i < n; i++)
    if (all[i].title != NULL && studio_command_rank (&all[i], typed) > most)
      {
        best = &all[i];
        most = studio_command_rank (best, typed);
      }
  return best != NULL ? best->action : NULL;
}

static void
test_search (void)
{
  guint n;
  const StudioCommand *all = studio_commands (&n);
  g_assert_cmpstr (first_for ("fit"), ==, "win.zoom-to-fit");
  g_assert_cmpstr (first_for ("arr"), ==, "canvas.auto-layout");
  g_assert_cmpstr (first_for ("find"), ==, "win.find");
  g_assert_cmpstr (first_for ("ZOOM sel"), ==, "win.zoom-to-selection");
  g_assert_cmpstr (first_for ("fullscreen"), ==, "win.present");
  g_assert_cmpstr (first_for ("qzx"), ==, NULL);
  for (guint i = 0; i < n; i++)
    if (all[i].title != NULL)
      {
        g_autofree char *title = studio_command_dup_title (&all[i]);
        g_assert_cmpstr (first_for (title), ==, all[i].action);
      }
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* Actions that close the window or open a file chooser. GTK's file chooser still reads folders in threads after it is
 * destroyed. tests/e2e covers them. */
static gboolean
leaves (const char *action)
{
  static const char *const others[] = { "app.quit", "window.close", "win.close-tab", "win.close-other-tabs",
                                        "win.open", "win.save",     "win.save-as",   NULL };
  return g_strv_contains (others, action) || g_str_has_prefix (action, "win.export");
}

/* GTK loads icons in threads that may hold the last reference; wait for them before destroying the window. */
static void
leave (GtkWindow *window)
{
  for (int i = 0; i < 15; i++)
    settle ();
  gtk_window_destroy (window);
}

static void
close_others (StudioWindow *self)
{
  studio_opener_cancel (self->opener);
  g_autoptr (GList) windows = gtk_window_list_toplevels ();
  for (GList *l = windows; l != NULL; l = l->next)
    if (l->data != self && gtk_widget_get_visible (l->data))
      leave (l->data);
}

static gboolean
has_action (StudioWindow *self, const char *action)
{
  const char *name = strchr (action, '.') + 1;
  if (g_str_has_prefix (action, "canvas.") || g_str_has_prefix (action, "window."))
    return TRUE;
  GActionGroup *group = g_str_has_prefix (action, "win.")
                            ? G_ACTION_GROUP (self)
                            : G_ACTION_GROUP (gtk_window_get_application (GTK_WINDOW (self)));
  g_autofree char *plain = NULL;
  g_autoptr (GVariant) target = NULL;
  return g_action_parse_detailed_name (name, &plain, &target, NULL) && g_action_group_has_action (group, plain);
}

static void
walk (StudioWindow *self)
{
  guint n, run = 0;
  const StudioCommand *all = studio_commands (&n);
  for (guint i = 0; i < n; i++)
    {
      GtkWidget *canvas = GTK_WIDGET (studio_window_get_page (self)->canvas);
      g_test_message ("%s", all[i].action);
      g_assert_true (has_action (self, all[i].action));
      if (all[i].title == NULL || leaves (all[i].action) || !studio_command_is_possible (&all[i], canvas))
        continue;
      if (studio_document_is_empty (studio_window_get_page (self)->document))
        studio_opener_open_example (self->opener, "lessons/spirals");
      studio_document_select_all (studio_window_get_page (self)->document);
      studio_command_run (&all[i], GTK_WIDGET (studio_window_get_page (self)->canvas));
      settle ();
      close_others (self);
      run++;
    }
  g_assert_cmpuint (run, >, 35);
}

/* Disabled commands are listed after enabled ones. */
static void
check_order (StudioWindow *self)
{
  guint n_possible = 0, n_other = 0;

  studio_document_select_only (studio_window_get_page (self)->document, 0);
  studio_action_list_open (self->action_list);
  for (GtkWidget *row = gtk_widget_get_first_child (find_widget (GTK_WIDGET (self->action_list), GTK_TYPE_LIST_BOX));
       row != NULL; row = gtk_widget_get_next_sibling (row))
    {
      gboolean possible = gtk_widget_get_sensitive (row);
      g_assert_false (possible && n_other > 0);
      *(possible ? &n_possible : &n_other) += 1;
    }
  g_assert_true (n_possible > 0 && n_other > 0);
  studio_action_list_open (self->action_list);
}

/* ---- panes ---------------------------------------------------------------------------------- */

static graphene_rect_t
place_of (StudioWindow *self, GtkWidget *widget)
{
  graphene_rect_t rect = { 0 };
  g_assert_true (gtk_widget_compute_bounds (widget, GTK_WIDGET (studio_window_get_page (self)->panes), &rect));
  return rect;
}

static void
expect_state (StudioWindow *self, const char *action, gboolean open)
{
  g_autoptr (GVariant) state = g_action_group_get_action_state (G_ACTION_GROUP (self), action);
  g_assert_cmpint (g_variant_get_boolean (state), ==, open);
}

static void
look_at_panes (StudioWindow *self, gboolean mirrored)
{
  GtkWidget *left = studio_panes_get_pane (studio_window_get_page (self)->panes, STUDIO_PANE_START);
  float before = place_of (self, studio_window_get_page (self)->middle).size.width,
        width = place_of (self, left).size.width;
  g_assert_true (gtk_widget_get_mapped (left));
  g_assert_cmpfloat (place_of (self, left).origin.x > place_of (self, studio_window_get_page (self)->middle).origin.x,
                     ==, mirrored);
  gtk_widget_activate_action (GTK_WIDGET (studio_window_get_page (self)->canvas), "win.left-pane", NULL);
  settle ();
  expect_state (self, "left-pane", FALSE);
  g_assert_false (gtk_widget_get_mapped (left));
  g_assert_cmpfloat_with_epsilon (place_of (self, studio_window_get_page (self)->middle).size.width, before + width, 1);
  gtk_widget_activate_action (GTK_WIDGET (studio_window_get_page (self)->canvas), "win.left-pane", NULL);
  settle ();
  expect_state (self, "left-pane", TRUE);
}

/* A narrow window: over the canvas, one at a time, and gone when the keyboard goes back. */
static void
look_at_drawers (StudioWindow *self)
{
  GtkWidget *left = studio_panes_get_pane (studio_window_get_page (self)->panes, STUDIO_PANE_START);
  GtkWidget *right = studio_panes_get_pane (studio_window_get_page (self)->panes, STUDIO_PANE_END);
  g_assert_cmpint (studio_panes_get_size_class (studio_window_get_page (self)->panes), !=, STUDIO_SIZE_CLASS_WIDE);
  g_assert_false (gtk_widget_get_mapped (left) || gtk_widget_get_mapped (right));
  float whole = place_of (self, studio_window_get_page (self)->middle).size.width;
  gtk_widget_activate_action (GTK_WIDGET (studio_window_get_page (self)->canvas), "win.left-pane", NULL);
  settle ();
  g_assert_true (gtk_widget_get_mapped (left));
  g_assert_cmpfloat (place_of (self, studio_window_get_page (self)->middle).size.width, ==, whole);
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (self));
  g_assert_true (focus != NULL && gtk_widget_is_ancestor (focus, left));
  gtk_widget_activate_action (GTK_WIDGET (studio_window_get_page (self)->canvas), "win.right-pane", NULL);
  settle ();
  g_assert_true (gtk_widget_get_mapped (right) && !gtk_widget_get_mapped (left));
  gtk_widget_grab_focus (GTK_WIDGET (studio_window_get_page (self)->canvas));
  settle ();
  g_assert_false (gtk_widget_get_mapped (right));
  /* Nothing of this is remembered for wide windows. */
  g_assert_true (studio_panes_get_kept_open (studio_window_get_page (self)->panes, STUDIO_PANE_START));
}

/* In a presentation the explained map has two fifths of the height, and text has its own space. */
static void
look_at_presentation (StudioWindow *self)
{
  const char *tensor;
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs/lessons/self-attention.xml", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);
  studio_window_open_file (self, file);
  studio_window_show_panel (self);
  gtk_widget_activate_action (GTK_WIDGET (studio_window_get_page (self)->canvas), "win.present", NULL);
  for (int i = 0; i < 6; i++)
    settle ();
  graphene_rect_t map, canvas, caption, keys;
  GtkWidget *window = GTK_WIDGET (self),
            *heat = GTK_WIDGET (studio_pins_get_picture (studio_window_get_page (self)->views.pins, NULL, &tensor));
  g_assert_true (gtk_widget_is_ancestor (heat, studio_window_get_page (self)->stage));
  g_assert_true (gtk_widget_compute_bounds (heat, window, &map));
  g_assert_true (gtk_widget_compute_bounds (GTK_WIDGET (studio_window_get_page (self)->canvas), window, &canvas));
  g_assert_true (gtk_widget_compute_bounds (GTK_WIDGET (studio_window_get_page (self)->caption), window, &caption));
  g_assert_true (gtk_widget_compute_bounds (GTK_WIDGET (studio_window_get_page (self)->key_card), window, &keys));
  g_test_message ("map %.0f of %d", map.size.height, gtk_widget_get_height (window));
  g_assert_cmpfloat (map.size.height, >=, 0.4 * gtk_widget_get_height (window));
  g_assert_false (graphene_rect_intersection (&map, &canvas, NULL));
  g_assert_cmpfloat (caption.origin.y + caption.size.height, <=, canvas.origin.y + 1);
  g_assert_cmpfloat (keys.origin.y + 1, >=, canvas.origin.y + canvas.size.height);
  gtk_widget_activate_action (GTK_WIDGET (studio_window_get_page (self)->canvas), "win.present", NULL);
  settle ();
  g_assert_false (gtk_widget_is_ancestor (heat, studio_window_get_page (self)->stage));
}

/* A small screen is enough, with twice the text, while a run is shown. */
static void
look_at_least_size (StudioWindow *self)
{
  int width, height;
  studio_window_show_panel (self);
  gtk_window_set_default_size (GTK_WINDOW (self), 900, 600);
  for (int i = 0; i < 4; i++)
    settle ();
  gtk_widget_measure (GTK_WIDGET (self), GTK_ORIENTATION_HORIZONTAL, -1, &width, NULL, NULL, NULL);
  gtk_widget_measure (GTK_WIDGET (self), GTK_ORIENTATION_VERTICAL, -1, &height, NULL, NULL, NULL);
  g_test_message ("at least %d × %d", width, height);
  g_assert_cmpint (width, <=, 640);
  g_assert_cmpint (height, <=, 480);
}

static StudioWindow *
new_window (GtkApplication *application)
{
  StudioWindow *self = studio_window_new (ADW_APPLICATION (application));
  gtk_window_present (GTK_WINDOW (self));
  g_action_group_activate_action (G_ACTION_GROUP (self), "example", g_variant_new_string ("lessons/spirals"));
  settle ();
  return self;
}

static void
activate_cb (GtkApplication *application, gpointer data)
{
  /* Windows are put away, not taken apart, which is for test-window: see leave(). */
  StudioWindow *self = new_window (application);
  look_at_panes (self, FALSE);
  check_order (self);
  walk (self);
  studio_document_close (studio_window_get_page (self)->document);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  self = new_window (application);
  look_at_presentation (self);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  gtk_widget_set_default_direction (GTK_TEXT_DIR_RTL);
  self = new_window (application);
  look_at_panes (self, TRUE);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  gtk_widget_set_default_direction (GTK_TEXT_DIR_LTR);
  /* Twice the text makes a narrow window of a wide one. */
  GtkSettings *settings = gtk_settings_get_default ();
  g_object_set (settings, "gtk-xft-dpi", 2 * 96 * 1024, NULL);
  self = new_window (application);
  look_at_drawers (self);
  look_at_least_size (self);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  g_application_quit (G_APPLICATION (application));
}

static void
test_window (void)
{
  g_autoptr (StudioApplication) application = studio_application_new ();
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  g_signal_connect (application, "activate", G_CALLBACK (activate_cb), NULL);
  g_assert_cmpint (g_application_run (G_APPLICATION (application), 0, NULL), ==, 0);
}

static gboolean
has_label (GtkWidget *widget, const char *text)
{
  g_autoptr (GPtrArray) labels = g_ptr_array_new ();
  find_widgets (widget, GTK_TYPE_LABEL, labels);
  for (guint i = 0; i < labels->len; i++)
    if (g_str_equal (gtk_label_get_text (labels->pdata[i]), text))
      return TRUE;
  return FALSE;
}

/* All counts of the panel have their thousands apart, the epoch too. */
static void
test_counts (void)
{
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *panel = g_object_ref_sink (GTK_WIDGET (studio_run_panel_new (document, run)));
  static const char *const names[] = { NULL };
  GVariantBuilder b;
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a(xxddad)"));
  g_variant_builder_add (&b, "(xxddad)", (gint64)9136, (gint64)1142, 0.5, 0.01, NULL);
  g_autoptr (GVariant) points = g_variant_ref_sink (g_variant_builder_end (&b));
  studio_run_take_state (run, "running", "");
  studio_run_take_metrics (run, names, points, 1);
  studio_run_take_progress (run, 9136, 73600, 1142, 9200, 100, 60);
  g_signal_emit_by_name (run, "numbers");
  g_assert_true (has_label (panel, "9,136"));
  g_assert_true (has_label (panel, "1,142") && has_label (panel, "of 9,200"));
  /* Pins of several ranks show the state after the step, and the phase says so. */
  studio_run_take_state (run, "paused", "");
  g_signal_emit_by_name (run, "numbers");
  g_assert_true (has_label (panel, "step 9,136, before its update"));
  run->ranks.live = 2;
  g_signal_emit_by_name (run, "numbers");
  g_assert_true (has_label (panel, "step 9,136"));
  g_object_unref (panel);
}

TEST_FILE (argc, argv)
{
  g_autofree char *home = g_dir_make_tmp ("gradloom-actions-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", home, TRUE);
  g_setenv ("XDG_DATA_HOME", home, TRUE);
  g_setenv ("GTK_A11Y", "none", TRUE);
  /* A run that cannot start is enough here; tests of runs cover the rest. */
  g_setenv ("GRADLOOM_WORKER", "/nonexistent/gradloom", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  studio_window_add_commands ();
  g_test_add_func ("/actions/list", test_list);
  g_test_add_func ("/actions/canvas-names", test_canvas_names);
  g_test_add_func ("/actions/search", test_search);
  g_test_add_func ("/actions/window", test_window);
  g_test_add_func ("/actions/counts", test_counts);
  return g_test_run ();
}
