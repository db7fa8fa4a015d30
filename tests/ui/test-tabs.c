/* Documents in tabs: what each keeps for itself, what follows the current one, and that a closed page is freed with
 * everything it owned. */
#include <adwaita.h>
#include <glib/gstdio.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/find-widgets.h"
#include "ui/window/studio-application.h"
#include "ui/page/studio-page-private.h"
#include "ui/window/studio-window-private.h"

static GtkApplication *application;

static void
settle (int milliseconds)
{
  for (gint64 end = g_get_monotonic_time () + milliseconds * 1000; g_get_monotonic_time () < end; g_usleep (1000))
    while (g_main_context_iteration (NULL, FALSE))
      ;
}

static StudioWindow *
new_window (void)
{
  StudioWindow *window = studio_window_new (ADW_APPLICATION (application));
  gtk_window_present (GTK_WINDOW (window));
  settle (60);
  return window;
}

/* GTK loads icons on threads, each of which may be the last to hold one. */
static void
drop_window (StudioWindow *window)
{
  settle (400);
  gtk_window_destroy (GTK_WINDOW (window));
  settle (60);
}

static void
act (StudioWindow *window, const char *action)
{
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (window), action, NULL));
  settle (30);
}

static GFile *
graph (const char *name)
{
  return g_file_new_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", name, NULL);
}

static void
open_graph (StudioWindow *window, const char *name)
{
  g_autoptr (GFile) file = graph (name);
  studio_window_open_file (window, file);
  settle (30);
}

static gboolean
is_enabled (StudioWindow *window, const char *name)
{
  return g_action_group_get_action_enabled (G_ACTION_GROUP (window), name);
}

static void
edit (StudioPage *page)
{
  studio_document_add_node (page->document, "relu", 0, 0);
  settle (30);
}

/* The number of bars above and below the canvas, and of those whose buttons are below their sentence; without one that
 * is a single row at any width. */
static guint
count_bars (StudioPage *page, guint *n_upright)
{
  g_autoptr (GPtrArray) boxes = g_ptr_array_new ();
  guint n = 0;

  *n_upright = 0;
  find_widgets (GTK_WIDGET (page), GTK_TYPE_BOX, boxes);
  for (guint i = 0; i < boxes->len; i++)
    if (gtk_widget_has_css_class (boxes->pdata[i], "notice") && !gtk_widget_has_css_class (boxes->pdata[i], "one-row"))
      {
        n++;
        *n_upright += gtk_orientable_get_orientation (boxes->pdata[i]) == GTK_ORIENTATION_VERTICAL;
      }
  return n;
}

/* A window is as wide as its widest page, so bars of pages that are hidden are upright, also of pages never shown. */
static void
test_width (void)
{
  StudioWindow *window = new_window ();
  StudioPage *first, *second = studio_page_new ();
  guint n, n_upright;

  g_object_ref_sink (second);
  n = count_bars (second, &n_upright);
  g_assert_cmpuint (n, >=, 3);
  g_assert_cmpuint (n_upright, ==, n);
  g_object_unref (second);
  open_graph (window, "lessons/spirals.xml");
  first = studio_window_get_page (window);
  gtk_window_set_default_size (GTK_WINDOW (window), 1280, 720);
  settle (60);
  n = count_bars (first, &n_upright);
  g_assert_cmpuint (n_upright, ==, 0);
  open_graph (window, "lessons/vae.xml");
  second = studio_window_get_page (window);
  g_assert_true (second != first);
  n = count_bars (first, &n_upright);
  g_assert_cmpuint (n_upright, ==, n);
  drop_window (window);
}

/* ---- opening ------------------------------------------------------------------------------- */

static void
test_open (void)
{
  StudioWindow *window = new_window ();
  StudioPage *first = studio_window_get_page (window);
  g_assert_true (studio_page_is_untouched (first));
  open_graph (window, "lessons/spirals.xml");
  g_assert_true (studio_window_get_page (window) == first);
  g_assert_cmpuint (studio_window_n_pages (window), ==, 1);
  g_assert_false (gtk_widget_get_mapped (GTK_WIDGET (window->tab_bar))
                  && gtk_widget_get_height (GTK_WIDGET (window->tab_bar)) > 1);
  open_graph (window, "models/fashion-lenet.xml");
  g_assert_cmpuint (studio_window_n_pages (window), ==, 2);
  g_assert_true (studio_window_get_page (window) != first);
  g_assert_cmpstr (gtk_window_get_title (GTK_WINDOW (window)), ==, "LeNet on Fashion-MNIST");
  /* The same file again is the same page. */
  open_graph (window, "lessons/spirals.xml");
  g_assert_cmpuint (studio_window_n_pages (window), ==, 2);
  g_assert_true (studio_window_get_page (window) == first);
  g_assert_cmpstr (gtk_window_get_title (GTK_WINDOW (window)), ==, "Two spirals");
  act (window, "win.new");
  g_assert_cmpuint (studio_window_n_pages (window), ==, 3);
  act (window, "win.new");
  g_assert_cmpuint (studio_window_n_pages (window), ==, 3);
  act (window, "win.new-tab");
  g_assert_cmpuint (studio_window_n_pages (window), ==, 4);
  drop_window (window);
}

/* ---- one page, one state -------------------------------------------------------------------- */

static void
test_state (void)
{
  StudioWindow *window = new_window ();
  open_graph (window, "lessons/spirals.xml");
  StudioPage *first = studio_window_get_page (window);
  open_graph (window, "models/fashion-lenet.xml");
  StudioPage *second = studio_window_get_page (window);
  edit (second);
  g_assert_true (is_enabled (window, "undo"));
  g_assert_nonnull (adw_tab_page_get_icon (studio_tabs_get_tab (window->tabs, second)));
  g_assert_null (adw_tab_page_get_icon (studio_tabs_get_tab (window->tabs, first)));
  act (window, "win.previous-tab");
  g_assert_true (studio_window_get_page (window) == first);
  g_assert_false (is_enabled (window, "undo"));
  g_assert_cmpuint (studio_document_n_selected (first->document), ==, 0);
  /* The panes of one page are folded, not those of the other. */
  act (window, "win.right-pane");
  g_assert_false (studio_panes_get_open (first->panes, STUDIO_PANE_END));
  g_assert_true (studio_panes_get_open (second->panes, STUDIO_PANE_END));
  act (window, "win.right-pane");
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (window), "win.tab", "i", 2));
  g_assert_true (studio_window_get_page (window) == second && is_enabled (window, "undo"));
  act (window, "win.undo");
  g_assert_false (studio_document_is_edited (second->document));
  g_assert_null (adw_tab_page_get_icon (studio_tabs_get_tab (window->tabs, second)));
  drop_window (window);
}

/* The text of the button that trains. */
static const char *
train_label (StudioWindow *window)
{
  g_autoptr (GPtrArray) buttons = g_ptr_array_new ();
  find_widgets (GTK_WIDGET (window->header), GTK_TYPE_BUTTON, buttons);
  for (guint i = 0; i < buttons->len; i++)
    if (g_strcmp0 (gtk_actionable_get_action_name (GTK_ACTIONABLE (buttons->pdata[i])), "win.train") == 0)
      return gtk_button_get_label (buttons->pdata[i]);
  return NULL;
}

/* A run belongs to its page: button and indicator say of which. */
static void
test_run (void)
{
  StudioWindow *window = new_window ();
  open_graph (window, "lessons/spirals.xml");
  StudioPage *first = studio_window_get_page (window);
  studio_run_take_state (first->run, "running", NULL);
  settle (30);
  g_assert_cmpstr (train_label (window), ==, "Pause");
  g_assert_nonnull (adw_tab_page_get_indicator_icon (studio_tabs_get_tab (window->tabs, first)));
  open_graph (window, "models/fashion-lenet.xml");
  g_assert_cmpstr (train_label (window), ==, "Train");
  g_assert_false (is_enabled (window, "stop"));
  g_assert_null (adw_tab_page_get_indicator_icon (studio_tabs_get_tab (window->tabs, studio_window_get_page (window))));
  /* Changes of a hidden page do not change the header. */
  studio_run_take_state (first->run, "paused", NULL);
  settle (30);
  g_assert_cmpstr (train_label (window), ==, "Train");
  act (window, "win.previous-tab");
  g_assert_cmpstr (train_label (window), ==, "Resume");
  g_assert_true (is_enabled (window, "stop"));
  studio_run_take_state (first->run, "done", NULL);
  settle (30);
  g_assert_null (adw_tab_page_get_indicator_icon (studio_tabs_get_tab (window->tabs, first)));
  drop_window (window);
}

/* ---- moving ------------------------------------------------------------------------------------ */

static StudioWindow *
window_of (StudioPage *page)
{
  return STUDIO_WINDOW (gtk_widget_get_root (GTK_WIDGET (page)));
}

static void
test_move (void)
{
  StudioWindow *window = new_window ();
  open_graph (window, "lessons/spirals.xml");
  StudioPage *first = studio_window_get_page (window);
  open_graph (window, "models/fashion-lenet.xml");
  StudioPage *second = studio_window_get_page (window);
  edit (second);
  act (window, "win.tab-to-window");
  settle (100);
  StudioWindow *other = window_of (second);
  g_assert_true (other != window && studio_window_get_page (window) == first
                 && studio_window_get_page (other) == second);
  g_assert_cmpstr (gtk_window_get_title (GTK_WINDOW (other)), ==, "LeNet on Fashion-MNIST");
  g_assert_true (is_enabled (other, "undo"));
  g_assert_false (is_enabled (window, "undo"));
  act (other, "win.undo");
  g_assert_false (studio_document_is_edited (second->document));
  /* Its last page takes the window with it. */
  g_object_add_weak_pointer (G_OBJECT (other), (gpointer *)&other);
  settle (400);
  adw_tab_view_transfer_page (other->tab_view, studio_tabs_get_tab (other->tabs, second), window->tab_view, 0);
  /* The tab view that is being emptied is used until it has returned. */
  g_assert_nonnull (other);
  settle (100);
  g_assert_null (other);
  g_assert_true (window_of (second) == window);
  g_assert_cmpuint (studio_window_n_pages (window), ==, 2);
  studio_window_show_page (window, second);
  edit (second);
  g_assert_true (is_enabled (window, "undo"));
  drop_window (window);
}

/* ---- closing ----------------------------------------------------------------------------------- */

enum
{
  PAGE,
  DOCUMENT,
  CANVAS,
  RUN,
  INSPECTOR,
  LESSON,
  N_PARTS
};
static gpointer part[N_PARTS];

static void
watch_parts (StudioPage *page)
{
  part[PAGE] = page;
  part[DOCUMENT] = page->document;
  part[CANVAS] = page->canvas;
  part[RUN] = page->run;
  part[INSPECTOR] = page->inspector;
  part[LESSON] = studio_lesson_tab_get_lesson (page->lesson_tab);
  for (int i = 0; i < N_PARTS; i++)
    g_object_add_weak_pointer (part[i], &part[i]);
}

static void
expect_gone (void)
{
  settle (600);
  for (int i = 0; i < N_PARTS; i++)
    if (part[i] != NULL)
      g_test_message ("%s is left, with %u references", G_OBJECT_TYPE_NAME (part[i]), G_OBJECT (part[i])->ref_count);
  for (int i = 0; i < N_PARTS; i++)
    g_assert_null (part[i]);
}

static void
test_close (void)
{
  StudioWindow *window = new_window ();
  open_graph (window, "lessons/spirals.xml");
  open_graph (window, "lessons/self-attention.xml");
  settle (300);
  watch_parts (studio_window_get_page (window));
  act (window, "win.history");
  studio_window_show_panel (window);
  act (window, "win.actions");
  act (window, "win.actions");
  settle (300);
  act (window, "win.close-tab");
  expect_gone ();
  g_assert_cmpuint (studio_window_n_pages (window), ==, 1);
  /* After a journey from window to window, too. */
  open_graph (window, "lessons/self-attention.xml");
  watch_parts (studio_window_get_page (window));
  act (window, "win.tab-to-window");
  StudioWindow *other = window_of (part[PAGE]);
  g_object_add_weak_pointer (G_OBJECT (other), (gpointer *)&other);
  settle (400);
  act (other, "win.close-tab");
  expect_gone ();
  g_assert_null (other);
  watch_parts (studio_window_get_page (window));
  drop_window (window);
  expect_gone ();
}

/* Text that is still being typed when a window closes is included in the question. */
static void
test_typed (void)
{
  StudioWindow *window = new_window ();
  open_graph (window, "lessons/spirals.xml");
  StudioPage *page = studio_window_get_page (window);
  guint64 note = studio_document_add_note (page->document, "old", 0, 300);
  settle (60);
  studio_document_select_only (page->document, note);
  gtk_widget_grab_focus (GTK_WIDGET (page->canvas));
  gtk_widget_activate_action (GTK_WIDGET (page->canvas), "canvas.inspect", NULL);
  settle (100);
  GtkWidget *editor = gtk_root_get_focus (GTK_ROOT (window));
  g_assert_true (GTK_IS_TEXT_VIEW (editor));
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (editor)), "new words", -1);
  gtk_window_close (GTK_WINDOW (window));
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (page->document), note);
  g_assert_cmpstr (loom_element_get (e, "text"), ==, "new words");
  g_assert_true (studio_page_is_asking (page));
  settle (60);
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (studio_questions_get (page->questions)), "cancel");
  settle (60);
  /* A name is taken over when the field is left. */
  studio_document_select_only (page->document, studio_document_get_scene (page->document)->item[1].serial);
  settle (60);
  studio_inspector_focus (page->inspector);
  GtkWidget *field = gtk_root_get_focus (GTK_ROOT (window));
  g_assert_true (GTK_IS_EDITABLE (field));
  gtk_widget_grab_focus (GTK_WIDGET (page->inspector));
  drop_window (window);
}

/* Does the same as a press on a button: responds and closes the dialog. */
static void
answer (GtkWindow *dialog, const char *response)
{
  g_autoptr (GtkWindow) kept = g_object_ref (dialog);
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog), response);
  gtk_window_destroy (dialog);
}

/* The dialog lists two graphs to save, and the button shows how many will be saved. */
static void
expect_listed (AdwMessageDialog *dialog, const char *first, const char *second)
{
  const char *const titles[] = { first, second };
  g_autoptr (GPtrArray) checks = g_ptr_array_new ();
  find_widgets (adw_message_dialog_get_extra_child (dialog), GTK_TYPE_CHECK_BUTTON, checks);
  g_assert_cmpuint (checks->len, ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      GtkWidget *row = gtk_widget_get_ancestor (checks->pdata[i], ADW_TYPE_ACTION_ROW);
      g_assert_cmpstr (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)), ==, titles[i]);
      g_assert_true (gtk_check_button_get_active (checks->pdata[i]));
    }
  g_assert_cmpstr (adw_message_dialog_get_response_label (dialog, "save"), ==, "_Save All");
  gtk_check_button_set_active (checks->pdata[0], FALSE);
  g_assert_cmpstr (adw_message_dialog_get_response_label (dialog, "save"), ==, "_Save Selected");
  g_assert_true (adw_message_dialog_get_response_enabled (dialog, "save"));
  gtk_check_button_set_active (checks->pdata[1], FALSE);
  g_assert_false (adw_message_dialog_get_response_enabled (dialog, "save"));
  gtk_check_button_set_active (checks->pdata[0], TRUE);
  gtk_check_button_set_active (checks->pdata[1], TRUE);
}

/* An edited copy of a graph in a tab of its own. */
static char *
open_copy (StudioWindow *window, const char *name)
{
  g_autofree char *file = g_strdup_printf ("%s.xml", name);
  char *path = g_build_filename (g_get_user_data_dir (), file, NULL);
  g_autofree char *text = g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"%s\">"
                                           "<node id=\"x\" op=\"input\" shape=\"B,4\"/></graph>",
                                           name);
  g_autoptr (GFile) f = g_file_new_for_path (path);
  g_autoptr (GError) error = NULL;
  g_assert_true (g_file_set_contents (path, text, -1, &error));
  g_assert_true (studio_page_open_file (studio_tabs_get_free_page (window->tabs), f, &error));
  settle (60);
  edit (studio_window_get_page (window));
  return path;
}

static gboolean
is_written (const char *path)
{
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return strstr (text, "<layout>") != NULL || strchr (text, '\n') != NULL;
}

/* A graph from a file asks once before it reads data outside its folder, whatever form the path has. */
static void
test_outside (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-outside-XXXXXX", NULL);
  g_autofree char *apart = g_build_filename (folder, "apart", NULL), *path = g_build_filename (apart, "g.xml", NULL),
                  *table = g_build_filename (folder, "t\n1.csv", NULL);
  g_assert_cmpint (g_mkdir (apart, 0700), ==, 0);
  g_assert_true (g_file_set_contents (table, "a,y\n1,2\n2,3\n3,4\n4,5\n", -1, NULL));
  g_assert_true (g_file_set_contents (
      path,
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"g\"><node id=\"data\" op=\"dataset\" source=\"csv\" "
      "path=\"../t&#10;1.csv\" target=\"y\" target_type=\"float\"/><node id=\"fc\" op=\"linear\" out_features=\"1\"/>"
      "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" epochs=\"1\" "
      "batch_size=\"2\"/></graph>",
      -1, NULL));
  StudioWindow *window = new_window ();
  g_autoptr (GFile) file = g_file_new_for_path (path);
  studio_window_open_file (window, file);
  settle (200);
  StudioPage *page = studio_window_get_page (window);
  /* Nothing of it is read yet, and the fault's button asks. */
  LoomFaults *faults = studio_document_get_faults (page->document);
  g_assert_cmpuint (loom_faults_count (faults), ==, 1);
  g_assert_cmpint (loom_faults_get (faults, 0)->code, ==, LOOM_ERROR_OUTSIDE);
  studio_status_line_show_faults (page->status_line);
  settle (100);
  GtkWidget *read = find_widget (GTK_WIDGET (page->faults), GTK_TYPE_BUTTON);
  g_assert_nonnull (read);
  g_assert_cmpstr (gtk_button_get_label (GTK_BUTTON (read)), ==, "_Read…");
  g_signal_emit_by_name (read, "clicked");
  g_assert_true (studio_page_is_asking (page));
  answer (studio_questions_get (page->questions), "cancel");
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (page->document)), ==, 1);
  studio_runner_train (page->runner);
  g_assert_true (studio_page_is_asking (page));
  g_assert_nonnull (
      strstr (adw_message_dialog_get_body (ADW_MESSAGE_DIALOG (studio_questions_get (page->questions))), folder));
  g_assert_cmpint (studio_run_get_state (page->run), ==, STUDIO_RUN_IDLE);
  answer (studio_questions_get (page->questions), "cancel");
  g_assert_cmpint (studio_run_get_state (page->run), ==, STUDIO_RUN_IDLE);
  studio_runner_train (page->runner);
  g_assert_true (studio_page_is_asking (page));
  answer (studio_questions_get (page->questions), "read");
  settle (200);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (page->document)), ==, 0);
  g_assert_cmpint (studio_run_get_state (page->run), ==, STUDIO_RUN_LOST); /* there is no worker in this test */
  studio_runner_train (page->runner);
  g_assert_false (studio_page_is_asking (page));
  settle (200);
  drop_window (window);
  g_remove (path);
  g_remove (table);
  g_rmdir (apart);
  g_rmdir (folder);
}

/* Another Studio of the same document has trained what waits here. */
static void
test_queue_taken (void)
{
  StudioWindow *window = new_window ();
  g_autofree char *path = open_copy (window, "taken");
  StudioPage *page = studio_window_get_page (window);
  StudioRunQueue *queue = studio_runs_tab_get_queue (page->runs_tab);
  g_autofree char *folder = g_build_filename (g_get_user_state_dir (), "gradloom", "queue", NULL);
  g_autofree char *name = NULL, *file = NULL;

  studio_run_queue_add (queue, studio_document_get_graph (page->document), "taken", NULL, NULL);
  name = g_strdup_printf ("%016" G_GINT64_FORMAT ".json", studio_run_queue_get (queue, 0)->number);
  file = g_build_filename (folder, name, NULL);
  g_assert_cmpint (g_remove (file), ==, 0);
  studio_runs_tab_start (page->runs_tab);
  g_assert_cmpuint (studio_run_queue_n (queue), ==, 0);
  g_assert_cmpint (studio_run_get_state (page->run), ==, STUDIO_RUN_IDLE);
  drop_window (window);
  g_remove (path);
}

/* One dialog closes all other tabs and saves the checked ones. */
static void
test_close_others (void)
{
  StudioWindow *window = new_window ();
  g_autofree char *first = open_copy (window, "first"), *second = open_copy (window, "second");
  g_autofree char *third = open_copy (window, "third");
  g_autoptr (GPtrArray) checks = g_ptr_array_new ();
  StudioPage *last = studio_window_get_page (window);
  g_assert_cmpuint (studio_window_n_pages (window), ==, 3);
  act (window, "win.close-other-tabs");
  settle (60);
  g_assert_nonnull (studio_questions_get (window->questions));
  for (guint i = 0; i < 3; i++)
    g_assert_null (studio_questions_get (studio_window_get_nth_page (window, i)->questions));
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (studio_questions_get (window->questions));
  g_assert_cmpstr (adw_message_dialog_get_heading (dialog), ==, "Save changes to 2 graphs?");
  expect_listed (dialog, "first", "second");
  answer (GTK_WINDOW (dialog), "cancel");
  settle (60);
  g_assert_cmpuint (studio_window_n_pages (window), ==, 3);
  act (window, "win.close-other-tabs");
  settle (60);
  find_widgets (adw_message_dialog_get_extra_child (ADW_MESSAGE_DIALOG (studio_questions_get (window->questions))),
                GTK_TYPE_CHECK_BUTTON, checks);
  gtk_check_button_set_active (checks->pdata[0], FALSE);
  answer (studio_questions_get (window->questions), "save");
  settle (300);
  g_assert_cmpuint (studio_window_n_pages (window), ==, 1);
  g_assert_true (studio_window_get_page (window) == last);
  g_assert_false (is_written (first));
  g_assert_true (is_written (second));
  g_assert_true (studio_document_is_edited (last->document));
  drop_window (window);
}

/* Several pages would lose something: one question names them, and cancelling it keeps all. */
static void
test_ask_once (void)
{
  StudioWindow *window = new_window ();
  open_graph (window, "lessons/spirals.xml");
  edit (studio_window_get_page (window));
  open_graph (window, "models/fashion-lenet.xml");
  edit (studio_window_get_page (window));
  gtk_window_close (GTK_WINDOW (window));
  settle (60);
  g_assert_nonnull (studio_questions_get (window->questions));
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (studio_questions_get (window->questions));
  g_assert_cmpstr (adw_message_dialog_get_heading (dialog), ==, "Save changes to 2 graphs?");
  expect_listed (dialog, "Two spirals", "LeNet on Fashion-MNIST");
  gtk_window_close (GTK_WINDOW (window));
  settle (60);
  g_assert_true (GTK_WINDOW (dialog) == studio_questions_get (window->questions));
  answer (GTK_WINDOW (dialog), "cancel");
  settle (60);
  g_assert_cmpuint (studio_window_n_pages (window), ==, 2);
  g_object_add_weak_pointer (G_OBJECT (window), (gpointer *)&window);
  gtk_window_close (GTK_WINDOW (window));
  settle (400);
  answer (studio_questions_get (window->questions), "discard");
  settle (100);
  g_assert_null (window);
}

static gboolean
has_graph_focus (StudioPage *page)
{
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (page))), *canvas = GTK_WIDGET (page->canvas);

  return focus != NULL && (focus == canvas || gtk_widget_is_ancestor (focus, canvas));
}

/* Keys right after a change of pages reach the graph, even if the card that had the focus was removed. */
static void
test_focus (void)
{
  StudioWindow *window = new_window ();
  StudioPage *first, *second;

  open_graph (window, "lessons/two-layer-relu.xml");
  first = studio_window_get_page (window);
  open_graph (window, "lessons/spirals.xml");
  second = studio_window_get_page (window);
  for (int i = 0; i < 3; i++)
    {
      studio_window_show_page (window, first);
      settle (60);
      g_assert_true (gtk_widget_child_focus (GTK_WIDGET (first->canvas), GTK_DIR_TAB_FORWARD)
                     || gtk_widget_grab_focus (GTK_WIDGET (first->canvas)));
      if (i == 1)
        {
          studio_document_select_all (first->document);
          studio_document_delete_selection (first->document);
        }
      if (i == 2)
        gtk_widget_child_focus (GTK_WIDGET (first->palette), GTK_DIR_TAB_FORWARD);
      studio_window_show_page (window, second);
      g_assert_true (has_graph_focus (second));
      settle (60);
      studio_window_show_page (window, first);
      g_assert_true (has_graph_focus (first));
    }
  drop_window (window);
}

static int status;

static void
activate_cb (void)
{
  g_application_hold (G_APPLICATION (application));
  status = g_test_run ();
  for (GList *l = gtk_application_get_windows (application); l != NULL; l = l->next)
    g_printerr ("left: %s\n", G_OBJECT_TYPE_NAME (l->data));
  g_application_quit (G_APPLICATION (application));
}

/* ---- a busy program -------------------------------------------------------------------------- */

static gboolean
redraw_cb (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

static void
destroyed_cb (GtkWidget *widget, gboolean *destroyed)
{
  *destroyed = TRUE;
}

/* A window closes with its last page also while frames follow each other without a pause. */
static void
test_close_busy (void)
{
  StudioWindow *window = new_window ();
  const guint redraw = g_idle_add_full (GDK_PRIORITY_REDRAW, redraw_cb, NULL, NULL);
  gboolean destroyed = FALSE;

  g_signal_connect (window, "destroy", G_CALLBACK (destroyed_cb), &destroyed);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (window), "win.close-tab", NULL));
  for (int i = 0; i < 1000 && !destroyed; i++)
    g_main_context_iteration (NULL, FALSE);
  g_assert_true (destroyed);
  g_source_remove (redraw);
  settle (60);
}

TEST_FILE (argc, argv)
{
  g_autofree char *home = g_dir_make_tmp ("gradloom-tabs-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", home, TRUE);
  g_setenv ("XDG_DATA_HOME", home, TRUE);
  g_setenv ("GTK_A11Y", "none", TRUE);
  g_setenv ("GRADLOOM_WORKER", "/nonexistent/gradloom", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
  g_test_add_func ("/tabs/open", test_open);
  g_test_add_func ("/tabs/state", test_state);
  g_test_add_func ("/tabs/width", test_width);
  g_test_add_func ("/tabs/focus", test_focus);
  g_test_add_func ("/tabs/run", test_run);
  g_test_add_func ("/tabs/move", test_move);
  g_test_add_func ("/tabs/close", test_close);
  g_test_add_func ("/tabs/typed", test_typed);
  g_test_add_func ("/tabs/outside", test_outside);
  g_test_add_func ("/tabs/queue-taken", test_queue_taken);
  g_test_add_func ("/tabs/ask-once", test_ask_once);
  g_test_add_func ("/tabs/close-others", test_close_others);
  g_test_add_func ("/tabs/close-busy", test_close_busy);
  application = GTK_APPLICATION (studio_application_new ());
  g_signal_connect (application, "activate", G_CALLBACK (activate_cb), NULL);
  g_application_run (G_APPLICATION (application), 0, NULL);
  g_object_unref (application);
  return status;
}
