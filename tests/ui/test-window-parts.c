/* The parts of a window, each made without a window of Studio: tabs, header, recovery of unsaved work. */
#include <adwaita.h>
#include <glib/gstdio.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/find-widgets.h"
#include "ui/document/studio-journal.h"
#include "ui/page/page-commands.h"
#include "ui/run/studio-run-banners.h"
#include "ui/window/studio-closing.h"
#include "ui/window/studio-header.h"
#include "ui/window/studio-opener.h"
#include "ui/window/studio-recovery-bar.h"
#include "ui/window/studio-tabs.h"
#include "ui/window/studio-window.h"

static void
count_cb (guint *count)
{
  (*count)++;
}

static void
selected_cb (StudioTabs *tabs, StudioPage *before, StudioPage **seen)
{
  *seen = before;
}

static void
settle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* Pages are added next to the current one, reported, and closed without a question if nothing would be lost. */
static void
test_tabs (void)
{
  GtkWindow *window = GTK_WINDOW (gtk_window_new ());
  AdwTabView *view = adw_tab_view_new ();
  guint counted = 0, changed = 0, emptied = 0;
  StudioPage *before = NULL;
  gtk_window_set_child (window, GTK_WIDGET (view));
  StudioTabs *tabs = studio_tabs_new (view);
  g_signal_connect_swapped (tabs, "counted", G_CALLBACK (count_cb), &counted);
  g_signal_connect_swapped (tabs, "page-changed", G_CALLBACK (count_cb), &changed);
  g_signal_connect_swapped (tabs, "emptied", G_CALLBACK (count_cb), &emptied);
  g_signal_connect (tabs, "selected", G_CALLBACK (selected_cb), &before);

  StudioPage *first = studio_tabs_get_free_page (tabs);
  g_assert_true (studio_tabs_get_page (tabs) == first);
  g_assert_true (studio_tabs_get_free_page (tabs) == first);
  g_assert_true (studio_tabs_find (first) == tabs);
  studio_document_add_node (studio_page_get_document (first), "relu", 0, 0);
  settle ();
  g_assert_cmpuint (changed, >, 0);
  StudioPage *second = studio_tabs_get_free_page (tabs);
  g_assert_true (second != first && before == first);
  g_assert_cmpuint (counted, ==, 2);
  g_assert_cmpint (studio_tabs_get_number (tabs), ==, 2);
  studio_tabs_next (tabs);
  g_assert_true (studio_tabs_get_page (tabs) == first);
  studio_tabs_move_right (tabs);
  g_assert_cmpint (studio_tabs_get_number (tabs), ==, 2);
  studio_tabs_show_number (tabs, 1);
  studio_tabs_show_number (tabs, 3);
  g_assert_true (studio_tabs_get_target_page (tabs) == second);
  studio_tabs_close (tabs);
  studio_tabs_drop_page (tabs, first);
  settle ();
  g_assert_cmpuint (studio_tabs_n_pages (tabs), ==, 0);
  g_assert_cmpuint (emptied, ==, 1);
  g_object_unref (tabs);
  gtk_window_destroy (window);
  settle ();
}

/* Closing asks about a page that would lose something, and about nothing else. */
static void
test_closing (void)
{
  GtkWindow *window = GTK_WINDOW (gtk_window_new ());
  AdwTabView *view = adw_tab_view_new ();
  gtk_window_set_child (window, GTK_WIDGET (view));
  g_object_add_weak_pointer (G_OBJECT (window), (gpointer *)&window);
  StudioTabs *tabs = studio_tabs_new (view);
  StudioQuestions *questions = studio_questions_new (GTK_WIDGET (window));
  const StudioClosing closing = { tabs, questions, window };
  StudioPage *first = studio_tabs_add_page (tabs), *second = studio_tabs_add_page (tabs);
  studio_document_add_node (studio_page_get_document (first), "relu", 0, 0);
  g_assert_true (studio_closing_ask (&closing));
  g_assert_true (studio_page_is_asking (first));
  g_assert_true (studio_tabs_get_page (tabs) == first);
  g_assert_true (studio_closing_ask (&closing));
  studio_page_let_go (first);
  studio_tabs_show_page (tabs, second);
  g_assert_nonnull (window);
  studio_tabs_end (tabs);
  gtk_window_destroy (window);
  settle ();
  studio_questions_free (questions);
  g_object_unref (tabs);
}

static gboolean
has_visible (GtkWidget *header, const char *action)
{
  g_autoptr (GPtrArray) buttons = g_ptr_array_new ();
  find_widgets (header, GTK_TYPE_BUTTON, buttons);
  for (guint i = 0; i < buttons->len; i++)
    if (g_strcmp0 (gtk_actionable_get_action_name (GTK_ACTIONABLE (buttons->pdata[i])), action) == 0)
      return gtk_widget_get_visible (buttons->pdata[i]);
  return FALSE;
}

static void
test_header (void)
{
  StudioHeader *header = g_object_ref_sink (g_object_new (STUDIO_TYPE_HEADER, NULL));
  StudioPage *page = g_object_ref_sink (studio_page_new ());
  GtkWidget *widget = GTK_WIDGET (header);
  studio_header_show_page (header, page);
  AdwWindowTitle *title = ADW_WINDOW_TITLE (find_widget (widget, ADW_TYPE_WINDOW_TITLE));
  g_assert_cmpstr (adw_window_title_get_title (title), ==, studio_page_get_title (page));
  studio_header_set_size_class (header, STUDIO_SIZE_CLASS_WIDE);
  g_assert_true (has_visible (widget, "win.step") && has_visible (widget, "win.undo"));
  studio_header_set_size_class (header, STUDIO_SIZE_CLASS_NARROW);
  g_assert_true (!has_visible (widget, "win.step") && has_visible (widget, "win.undo"));
  studio_header_set_size_class (header, STUDIO_SIZE_CLASS_TINY);
  g_assert_true (!has_visible (widget, "win.undo") && has_visible (widget, "win.train"));
  g_object_unref (page);
  g_object_unref (header);
  settle ();
}

/* A journal of a document that no longer exists is offered by all bars until it is recovered or discarded. */
static void
test_recovery (void)
{
  g_autofree char *folder = studio_journal_default_folder ();
  g_autoptr (GError) error = NULL;
  StudioDocument *document = studio_document_new ();
  g_assert_true (studio_document_keep_journal (document, NULL, &error));
  g_assert_no_error (error);
  studio_document_add_node (document, "relu", 0, 0);
  g_object_unref (document); /* without studio_document_close (), as after a crash */

  GtkWindow *window = GTK_WINDOW (gtk_window_new ());
  AdwTabView *view = adw_tab_view_new ();
  gtk_window_set_child (window, GTK_WIDGET (view));
  StudioTabs *tabs = studio_tabs_new (view);
  StudioRecoveryBar *bar = g_object_ref_sink (g_object_new (STUDIO_TYPE_RECOVERY_BAR, NULL)),
                    *other = g_object_ref_sink (g_object_new (STUDIO_TYPE_RECOVERY_BAR, NULL));
  StudioOpener *opener = studio_opener_new (window, tabs, bar);
  studio_tabs_add_page (tabs);
  g_assert_true (studio_recovery_bar_is_shown (bar) && studio_recovery_bar_is_shown (other));
  g_assert_nonnull (studio_recovery_bar_get_journal (bar));
  studio_opener_recover (opener);
  g_assert_false (studio_document_is_empty (studio_page_get_document (studio_tabs_get_page (tabs))));
  g_assert_false (studio_recovery_bar_is_shown (bar) || studio_recovery_bar_is_shown (other));
  studio_opener_new_graph (opener);
  g_assert_cmpuint (studio_tabs_n_pages (tabs), ==, 2);
  studio_opener_open_example (opener, "lessons/spirals");
  g_assert_cmpuint (studio_tabs_n_pages (tabs), ==, 2);
  g_assert_false (studio_document_is_empty (studio_page_get_document (studio_tabs_get_page (tabs))));
  for (guint i = 0; i < studio_tabs_n_pages (tabs); i++)
    studio_page_let_go (studio_tabs_get_nth_page (tabs, i));
  studio_tabs_end (tabs);
  gtk_window_destroy (window);
  g_object_unref (opener);
  g_object_unref (other);
  g_object_unref (bar);
  g_object_unref (tabs);
  settle ();
}

/* A run that fails leaves the keyboard to the text that is written; in a presentation Enter is for its remedy. */
static void
test_failure (void)
{
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (StudioMemoryForecast) forecast = studio_memory_forecast_new (document, run);
  StudioRunBanners *bars = studio_run_banners_new (document, run, forecast);
  GtkWidget *window = gtk_window_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *text = gtk_text_view_new ();
  gtk_box_append (GTK_BOX (box), text);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (bars));
  gtk_window_set_child (GTK_WINDOW (window), box);
  g_autoptr (GSimpleActionGroup) actions = g_simple_action_group_new ();
  g_autoptr (GSimpleAction) action = g_simple_action_new ("continue", NULL);
  g_action_map_add_action (G_ACTION_MAP (actions), G_ACTION (action));
  gtk_widget_insert_action_group (window, "win", G_ACTION_GROUP (actions));
  gtk_window_present (GTK_WINDOW (window));
  gtk_widget_grab_focus (text);
  studio_run_take_state (run, "running", NULL);
  studio_run_take_state (run, "failed", "The loss is not finite.");
  settle ();
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == text);

  studio_run_banners_set_presenting (bars, TRUE);
  gtk_revealer_set_reveal_child (
      GTK_REVEALER (gtk_widget_get_template_child (GTK_WIDGET (bars), STUDIO_TYPE_RUN_BANNERS, "end_bar")), FALSE);
  studio_run_take_state (run, "running", NULL);
  studio_run_take_state (run, "failed", "The loss is not finite.");
  settle ();
  g_assert_true (gtk_widget_is_ancestor (gtk_window_get_focus (GTK_WINDOW (window)), GTK_WIDGET (bars)));
  gtk_window_destroy (GTK_WINDOW (window));
  settle ();
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  studio_window_add_commands ();
  g_test_add_func ("/window-parts/tabs", test_tabs);
  g_test_add_func ("/window-parts/closing", test_closing);
  g_test_add_func ("/window-parts/header", test_header);
  g_test_add_func ("/window-parts/recovery", test_recovery);
  g_test_add_func ("/window-parts/failure", test_failure);
  return g_test_run ();
}
