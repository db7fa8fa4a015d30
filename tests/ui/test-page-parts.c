/* The parts of a page, each made without a page: files, questions, run, panes, presentation, words. */
#include <adwaita.h>
#include <glib/gstdio.h>
#include <math.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-graphs.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "ui/charts/studio-template.h"
#include "ui/page/canvas-fitter.h"
#include "ui/page/caption-text.h"
#include "ui/page/graph-file.h"
#include "ui/page/graph-walk.h"
#include "ui/page/open-documents.h"
#include "ui/page/page-actions.h"
#include "ui/page/page-commands.h"
#include "ui/page/page-title.h"
#include "ui/page/pane-actions.h"
#include "ui/page/run-settings.h"
#include "ui/page/selected-node.h"
#include "ui/page/studio-comparing.h"
#include "ui/page/studio-disk-bar.h"
#include "ui/page/studio-exporter.h"
#include "ui/page/studio-fault-list.h"
#include "ui/page/studio-guard.h"
#include "ui/listing/studio-pytorch-pane.h"
#include "ui/page/studio-history-tab.h"
#include "ui/page/studio-pytorch-tab.h"
#include "ui/page/studio-steps-tab.h"
#include "ui/scene/studio-geometry.h"
#include "ui/timeline/studio-step-row.h"
#include "ui/timeline/studio-steps-pane.h"
#include "ui/worker/studio-planner.h"
#include "ui/page/studio-layer-commands.h"
#include "ui/page/studio-lesson-tab.h"
#include "ui/page/studio-navigation.h"
#include "ui/page/studio-panel-split.h"
#include "ui/page/studio-presentation.h"
#include "ui/page/studio-run-windows.h"
#include "ui/page/studio-runner.h"
#include "ui/page/studio-slides-tab.h"
#include "ui/page/studio-start-cover.h"
#include "ui/page/studio-status-line.h"
#include "ui/page/studio-task-tab.h"
#include "ui/shell/studio-toasts.h"
#include "ui/stepper/studio-step-layer.h"

#define CHAIN                                                                                                          \
  GRAPH ("  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"                                                             \
         "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"                                                      \
         "  <node id=\"act_one\" op=\"relu\"/>\n"                                                                      \
         "  <wire from=\"x\" to=\"fc\"/>\n"                                                                            \
         "  <wire from=\"fc\" to=\"act_one\"/>\n")

static char *folder;

/* What most parts are made with. */
typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  GtkWidget *toasts;
  StudioPanes *panes;
  GtkWindow *window;
  guint said;
} Frame;

static void
said_cb (gpointer data)
{
  ((Frame *)data)->said++;
}

static void
count_cb (guint *count)
{
  (*count)++;
}

static void
settle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
frame_begin (Frame *self, const char *graph)
{
  *self = (Frame){ .document = document_load (graph), .run = studio_run_new () };
  self->canvas = studio_canvas_new (self->document);
  self->toasts = adw_toast_overlay_new ();
  self->panes = g_object_new (STUDIO_TYPE_PANES, NULL);
  GTK_BUILDABLE_GET_IFACE (self->panes)->add_child (GTK_BUILDABLE (self->panes), NULL, G_OBJECT (self->canvas), NULL);
  studio_panes_add_page (self->panes, STUDIO_PANE_END, gtk_label_new ("parameters"), "inspector", "Parameters");
  adw_toast_overlay_set_child (ADW_TOAST_OVERLAY (self->toasts), GTK_WIDGET (self->panes));
  self->window = g_object_ref (GTK_WINDOW (gtk_window_new ()));
  gtk_window_set_child (self->window, self->toasts);
  studio_toasts_set_said_func (self->toasts, said_cb, self);
}

static void
frame_end (Frame *self)
{
  gtk_window_destroy (self->window);
  g_object_unref (self->window);
  g_object_unref (self->run);
  g_object_unref (self->document);
  settle ();
}

/* The part is freed: nothing that it was made with keeps it. */
static void
release (gpointer part)
{
  g_object_add_weak_pointer (part, &part);
  g_object_unref (part);
  g_assert_null (part);
}

/* ---- words ------------------------------------------------------------------------------------- */

static void
test_words (void)
{
  g_autoptr (StudioDocument) document = document_load (CHAIN);
  g_autoptr (StudioRun) run = studio_run_new ();
  StudioScene *scene = studio_document_get_scene (document);
  const guint act = studio_scene_find_id (scene, "act_one"), fc = studio_scene_find_id (scene, "fc");
  g_autofree char *caption = caption_text_new (scene, act);
  PageTitle title = { 0 };

  g_assert_true (g_str_has_prefix (caption, "act<sub>one</sub> = relu(fc)   <span"));
  g_assert_nonnull (strstr (caption, "4"));
  g_assert_cmpuint (graph_walk_next (scene, fc, 1), ==, act);
  g_assert_cmpuint (graph_walk_next (scene, act, -1), ==, fc);
  g_assert_cmpuint (graph_walk_next (scene, act, 1), ==, STUDIO_NO_ITEM);
  g_assert_cmpuint (graph_walk_next (scene, STUDIO_NO_ITEM, -1), ==, act);

  g_assert_null (selected_node_dup_path (document));
  studio_document_select_only (document, document_serial (document, "fc"));
  g_autofree char *path = selected_node_dup_path (document);
  g_assert_cmpstr (path, ==, "fc");
  g_assert_cmpstr (selected_node_op (document)->name, ==, "linear");

  studio_document_get_net (document);
  g_assert_true (page_title_update (&title, document, run));
  g_assert_false (page_title_update (&title, document, run));
  g_assert_cmpstr (title.subtitle, ==, "36 parameters · 144 B");
  g_assert_true (g_str_has_prefix (title.totals, "3 layers · 36 parameters · "));
  studio_document_set_attribute (document, document_serial (document, "fc"), "out_features", "5");
  studio_document_get_net (document);
  g_assert_true (page_title_update (&title, document, run));
  g_assert_true (g_str_has_prefix (title.subtitle, "Edited · 45 parameters"));
  page_title_clear (&title);
}

/* ---- files ------------------------------------------------------------------------------------- */

static char *
write_chain (const char *name)
{
  char *path = g_build_filename (folder, name, NULL);
  g_assert_true (g_file_set_contents (path, CHAIN, -1, NULL));
  return path;
}

/* A file that cannot be read is explained, without its path at the beginning. */
static void
test_graph_file (void)
{
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GFile) missing = g_file_new_build_filename (folder, "no-such.xml", NULL);
  g_autoptr (GError) error = NULL;
  g_assert_false (graph_file_open (document, missing, &error));
  g_assert_nonnull (strstr (error->message, "Use Open to find it."));
  g_assert_true (g_unichar_isupper (g_utf8_get_char (error->message)));
  g_clear_error (&error);
  g_assert_true (graph_file_open_example (document, "lessons/spirals", &error));
  g_assert_false (studio_document_is_empty (document));
}

static void
test_open_documents (void)
{
  g_autofree char *path = write_chain ("opened.xml"), *link = g_build_filename (folder, "link.xml", NULL);
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GFile) file = g_file_new_for_path (link);
  g_assert_true (studio_document_open (document, path, NULL));
  g_assert_cmpint (symlink (path, link), ==, 0);
  g_assert_null (open_documents_find (file));
  open_documents_add (document, NULL);
  g_assert_true (open_documents_find (file) == document);
  open_documents_remove (document);
  g_assert_null (open_documents_find (file));
}

static void
then_cb (gpointer owner, gpointer data)
{
  ((int *)data)[0]++;
}

static void
otherwise_cb (gpointer owner, gpointer data)
{
  ((int *)data)[1]++;
}

static StudioAfter *
after_new (Frame *frame, int *calls)
{
  return studio_after_new (frame->document, then_cb, otherwise_cb, calls);
}

/* A save takes typed text first; what waits for it follows the save only; a file of another document is refused. */
static void
test_saver (void)
{
  Frame frame;
  g_autofree char *path = write_chain ("saved.xml");
  int calls[2] = { 0 };
  guint commits = 0;
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioSaver *saver = studio_saver_new (frame.document, frame.toasts, questions);
  g_signal_connect_swapped (saver, "commit", G_CALLBACK (count_cb), &commits);
  g_assert_true (studio_document_open (frame.document, path, NULL));
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "5");

  studio_saver_save (saver);
  g_assert_cmpuint (commits, ==, 1);
  while (studio_document_is_edited (frame.document))
    g_main_context_iteration (NULL, TRUE);
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "6");
  studio_saver_save_before (saver, after_new (&frame, calls));
  while (calls[0] + calls[1] == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (calls[0], ==, 1);
  g_assert_cmpint (calls[1], ==, 0);

  g_autoptr (StudioDocument) other = studio_document_new ();
  g_assert_true (studio_document_open (other, path, NULL));
  open_documents_add (other, NULL);
  const guint said = frame.said;
  studio_saver_save_before (saver, after_new (&frame, calls));
  g_assert_cmpuint (frame.said, ==, said + 1);
  g_assert_cmpint (calls[1], ==, 1);
  open_documents_remove (other);

  /* Another program has written the file. */
  g_assert_true (g_file_set_contents (path, GRAPH (""), -1, NULL));
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "7");
  studio_saver_save_before (saver, after_new (&frame, calls));
  g_assert_true (studio_questions_is_asking (questions));
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (studio_questions_get (questions)), "reload");
  g_assert_cmpint (calls[1], ==, 2);
  g_assert_true (studio_document_is_empty (frame.document));
  gtk_window_destroy (studio_questions_get (questions));
  settle ();
  release (saver);
  studio_questions_free (questions);
  frame_end (&frame);
}

/* Nothing is asked without a loss; one question at a time; the response decides. */
static void
test_guard (void)
{
  Frame frame;
  int calls[2] = { 0 };
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioSaver *saver = studio_saver_new (frame.document, frame.toasts, questions);
  StudioGuard *guard = studio_guard_new (frame.document, frame.run, saver, questions);
  g_assert_false (studio_guard_would_lose (guard));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  g_assert_cmpint (calls[0], ==, 1);

  studio_document_add_node (frame.document, "relu", 0, 300);
  g_assert_true (studio_guard_would_lose (guard));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  g_assert_true (studio_questions_is_asking (questions));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  g_assert_cmpint (calls[1], ==, 1);
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (studio_questions_get (questions)), "discard");
  g_assert_cmpint (calls[0], ==, 2);
  gtk_window_destroy (studio_questions_get (questions));
  settle ();
  g_assert_false (studio_questions_is_asking (questions));

  studio_run_take_state (frame.run, "running", NULL);
  g_autofree char *sentence = studio_guard_dup_run_sentence (guard);
  g_assert_nonnull (strstr (sentence, "is being prepared for training"));
  studio_run_reset (frame.run);
  release (guard);
  release (saver);
  studio_questions_free (questions);
  frame_end (&frame);
}

/* Runs that wait are a loss, too. */
static void
test_guard_queue (void)
{
  Frame frame;
  int calls[2] = { 0 };
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioSaver *saver = studio_saver_new (frame.document, frame.toasts, questions);
  StudioGuard *guard = studio_guard_new (frame.document, frame.run, saver, questions);
  g_autoptr (StudioRunQueue) queue = studio_run_queue_new (NULL);

  studio_guard_set_queue (guard, queue);
  g_assert_false (studio_guard_would_lose (guard));
  studio_run_queue_add (queue, studio_document_get_graph (frame.document), "chain", NULL, NULL);
  g_assert_true (studio_guard_would_lose (guard));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (studio_questions_get (questions));
  g_assert_cmpstr (adw_message_dialog_get_body (dialog), ==, "1 run in the queue will be lost.");
  adw_message_dialog_response (dialog, "stop");
  g_assert_cmpint (calls[0], ==, 1);
  gtk_window_destroy (GTK_WINDOW (dialog));
  settle ();
  release (guard);
  release (saver);
  studio_questions_free (questions);
  frame_end (&frame);
}

static void
test_disk_bar (void)
{
  Frame frame;
  g_autofree char *path = write_chain ("watched.xml");
  guint notified = 0;
  frame_begin (&frame, CHAIN);
  StudioDiskBar *bar = g_object_new (STUDIO_TYPE_DISK_BAR, NULL);
  g_object_ref_sink (bar);
  g_assert_true (studio_document_open (frame.document, path, NULL));
  studio_disk_bar_set_document (bar, frame.document);
  g_signal_connect_swapped (bar, "notify::shown", G_CALLBACK (count_cb), &notified);
  g_assert_false (studio_disk_bar_is_shown (bar));
  g_assert_true (g_file_set_contents (path, GRAPH (""), -1, NULL));
  g_assert_cmpint (studio_document_check_disk (frame.document), ==, STUDIO_DISK_CHANGED);
  settle ();
  g_assert_true (studio_disk_bar_is_shown (bar));
  g_assert_cmpuint (notified, ==, 1);
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (studio_document_check_disk (frame.document), ==, STUDIO_DISK_GONE);
  settle ();
  g_assert_true (studio_disk_bar_is_shown (bar));
  release (bar);
  frame_end (&frame);
}

/* ---- run ------------------------------------------------------------------------------------------ */

/* Faults prevent a run and are shown; a sound graph has a run, also if there is no worker. */
static void
test_runner (void)
{
  Frame frame;
  guint started = 0, faulty = 0, resumed = 0;
  frame_begin (&frame, net); /* an input without a wire */
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioRunner *runner = studio_runner_new (frame.document, frame.run, frame.toasts, questions);
  g_signal_connect_swapped (runner, "started", G_CALLBACK (count_cb), &started);
  g_signal_connect_swapped (runner, "faulty", G_CALLBACK (count_cb), &faulty);
  g_signal_connect_swapped (runner, "resumed", G_CALLBACK (count_cb), &resumed);
  studio_runner_train (runner);
  g_assert_cmpuint (faulty, ==, 1);
  g_assert_cmpuint (started, ==, 0);
  g_assert_cmpint (studio_run_get_state (frame.run), ==, STUDIO_RUN_IDLE);
  g_assert_true (graph_file_open_example (frame.document, "lessons/spirals", NULL));
  studio_runner_open (runner);
  /* A run that waits for its first step opens no panel. */
  studio_runner_prepare (runner);
  g_assert_cmpuint (started, ==, 0);
  g_assert_cmpint (studio_run_get_state (frame.run), !=, STUDIO_RUN_IDLE);
  studio_run_reset (frame.run);
  studio_runner_train (runner);
  g_assert_cmpuint (started, ==, 1);
  g_assert_cmpint (studio_run_get_state (frame.run), !=, STUDIO_RUN_IDLE);
  studio_run_reset (frame.run);

  /* Reports of the run: on a card, else in a toast if it is a note. */
  const guint said = frame.said;
  g_signal_emit_by_name (frame.run, "problem", "NOTE", NULL, NULL, "A note.");
  g_assert_cmpuint (frame.said, ==, said + 1);
  release (runner);
  studio_questions_free (questions);
  frame_end (&frame);
}

static void
test_run_settings (void)
{
  Frame frame;
  frame_begin (&frame, CHAIN);
  StudioRunPanel *panel = g_object_ref_sink (studio_run_panel_new (frame.document, frame.run));
  g_assert_cmpstr (run_settings_get_speed (), ==, "watch");
  run_settings_set_speed (frame.run, panel, "full");
  g_assert_cmpfloat (studio_run_get_pace (frame.run), ==, 0);
  run_settings_set_speed (frame.run, panel, "watch");
  g_assert_cmpfloat (studio_run_get_pace (frame.run), ==, 30);
  run_settings_set_device (frame.document, "ref");
  g_assert_cmpstr (run_settings_get_device (frame.document), ==, "ref");

  StudioRunWindows *windows = studio_run_windows_new (frame.document, frame.run, frame.toasts);
  studio_run_windows_show_graph (windows);
  g_assert_cmpuint (frame.said, ==, 1);
  studio_run_windows_show_parameters (windows);
  studio_run_windows_free (windows);
  release (panel);
  frame_end (&frame);
}

/* ---- panes ---------------------------------------------------------------------------------------- */

static void
test_panel_split (void)
{
  GtkWidget *paned = g_object_ref_sink (gtk_paned_new (GTK_ORIENTATION_VERTICAL)), *panel = gtk_label_new ("panel");
  guint shown = 0;
  StudioPanelSplit *split = studio_panel_split_new (GTK_PANED (paned), panel);
  g_signal_connect_swapped (split, "shown", G_CALLBACK (count_cb), &shown);
  g_assert_false (studio_panel_split_is_available (split));
  g_assert_false (gtk_widget_get_visible (panel));
  studio_panel_split_show (split);
  studio_panel_split_show (split);
  g_assert_cmpuint (shown, ==, 1);
  g_assert_true (gtk_widget_get_visible (panel));
  studio_panel_split_set_folded (split, TRUE);
  g_assert_true (studio_panel_split_is_available (split));
  g_assert_false (studio_panel_split_is_open (split));
  studio_panel_split_show (split);
  g_assert_true (studio_panel_split_is_open (split));
  g_assert_false (studio_panel_split_place (split)); /* a split without a height */
  studio_panel_split_hide (split);
  g_assert_false (studio_panel_split_is_available (split));
  release (split);
  g_object_unref (paned);
}

static void
test_pane_actions (void)
{
  Frame frame;
  GSimpleActionGroup *map = g_simple_action_group_new ();
  frame_begin (&frame, CHAIN);
  pane_actions_install (G_ACTION_MAP (map), frame.panes);
  g_assert_true (studio_panes_get_open (frame.panes, STUDIO_PANE_END));
  g_action_group_change_action_state (G_ACTION_GROUP (map), "right-pane", g_variant_new_boolean (FALSE));
  g_assert_false (studio_panes_get_open (frame.panes, STUDIO_PANE_END));
  g_action_group_change_action_state (G_ACTION_GROUP (map), "right-pane", g_variant_new_boolean (TRUE));
  studio_panes_set_available (frame.panes, STUDIO_PANE_END, FALSE);
  settle ();
  g_assert_false (g_action_group_get_action_enabled (G_ACTION_GROUP (map), "right-pane"));
  g_assert_true (g_action_group_get_action_enabled (G_ACTION_GROUP (map), "left-pane"));
  release (map);
  frame_end (&frame);
}

/* Pages of the panes: they come and go by their commands, and ask for the panes first. */
static void
test_tabs (void)
{
  Frame frame;
  guint wanted = 0, compared = 0;
  frame_begin (&frame, CHAIN);
  StudioSlides *slides = studio_slides_new (frame.document);
  StudioPalette *palette = g_object_ref_sink (studio_palette_new (frame.document, frame.canvas));
  GtkWidget *stage = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 0));
  StudioHistoryTab *history = studio_history_tab_new (frame.document, frame.canvas, frame.panes);
  StudioSlidesTab *views = studio_slides_tab_new (frame.document, frame.canvas, slides, frame.panes);
  StudioTaskTab *task = studio_task_tab_new (frame.document, frame.run, frame.canvas, frame.panes, stage);
  StudioLessonTab *lesson
      = studio_lesson_tab_new (frame.document, frame.run, frame.canvas, palette, frame.panes, frame.toasts);
  StudioComparing *comparing
      = studio_comparing_new (frame.document, frame.run, frame.canvas, frame.panes, frame.toasts);
  g_signal_connect_swapped (frame.panes, "wanted", G_CALLBACK (count_cb), &wanted);
  g_signal_connect_swapped (comparing, "changed", G_CALLBACK (count_cb), &compared);

  studio_history_tab_toggle (history);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "history"));
  studio_history_tab_toggle (history);
  g_assert_false (studio_panes_is_page_visible (frame.panes, "history"));
  g_assert_cmpuint (wanted, ==, 0);
  studio_panes_set_available (frame.panes, STUDIO_PANE_START, FALSE);
  studio_task_tab_toggle (task);
  g_assert_cmpuint (wanted, ==, 1);
  studio_panes_set_available (frame.panes, STUDIO_PANE_START, TRUE);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "task"));
  studio_document_select_only (frame.document, document_serial (frame.document, "fc"));
  g_assert_true (studio_panes_is_page_visible (frame.panes, "inspector"));
  studio_task_tab_open (task, FALSE);
  studio_slides_tab_add (views);
  g_assert_cmpuint (studio_slides_n (slides), ==, 1);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "slides"));
  studio_lesson_tab_write (lesson);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "lesson"));

  studio_comparing_with_saved (comparing);
  studio_comparing_with_run (comparing);
  g_assert_cmpuint (frame.said, ==, 2);
  g_assert_false (studio_comparing_is_on (comparing));
  studio_comparing_with_entry (comparing, 0);
  g_assert_true (studio_comparing_is_on (comparing));
  g_assert_true (studio_panes_is_page_visible (frame.panes, "compare"));
  g_assert_true (graph_file_open_example (frame.document, "lessons/spirals", NULL));
  g_assert_false (studio_comparing_is_on (comparing));
  g_assert_cmpuint (compared, ==, 2);

  release (comparing);
  release (lesson);
  release (task);
  release (views);
  release (history);
  g_object_unref (stage);
  g_object_unref (palette);
  g_object_unref (slides);
  frame_end (&frame);
}

/* The number of a step's row among those that are shown; the first of this title. */
static guint
find_step (StudioStepsPane *pane, const char *title)
{
  GListModel *rows = G_LIST_MODEL (studio_steps_pane_get_rows (pane));

  for (guint i = 0; i < g_list_model_get_n_items (rows); i++)
    {
      g_autoptr (StudioStepRow) row = g_list_model_get_item (rows, i);

      if (g_str_equal (row->title, title))
        return i;
    }
  return G_MAXUINT;
}

/* What runs: steps and cards are linked both ways, a moment of the step says what is alive and lights its cards, and
 * recorded times replace estimates. */
static void
test_steps (void)
{
#define STEP(phase, index, node, alive, seconds)                                                                       \
  "{\"event\":\"step\",\"part\":\"step\",\"phase\":\"" phase "\",\"index\":" index ",\"depth\":0,\"node\":\"" node     \
  "\",\"nodes\":[\"" node "\"],\"label\":\"matmul\",\"kernel\":\"own\",\"device\":\"cpu\",\"reads\":[\"f32[8] x\"],"   \
  "\"writes\":[],\"bytes\":1000,\"seconds\":" seconds ",\"seconds_from\":\"estimate\",\"parameters\":100,"             \
  "\"activations\":" alive "}\n"
#define BLOCK(node, owner, bytes, first, last)                                                                         \
  "{\"event\":\"storage\",\"part\":\"step\",\"device\":\"cpu\",\"node\":\"" node "\",\"owner\":\"" owner               \
  "\",\"bytes\":" bytes ",\"first\":" first ",\"last\":" last "}\n"
  static const char lines[] = STEP ("forward", "0", "fc", "0", "0.001") STEP ("forward", "1", "act_one", "400", "0.002")
      STEP ("backward", "2", "fc", "300", "null") BLOCK ("fc", "parameters", "100", "0", "2")
          BLOCK ("act_one", "activations", "300", "1", "2") BLOCK ("fc", "activations", "100", "1", "1");
  g_autoptr (GPtrArray) events = studio_planner_parse_events (lines, strlen (lines));
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (LoomTraceSpan));
  const LoomTraceSpan span = { .end = 3000000, .kind = LOOM_TRACE_COMPUTE, .phase = LOOM_TRACE_BACKWARD };
  g_autoptr (GListStore) rows = studio_step_rows_new (events);
  g_autoptr (LoomTraceTimes) times = NULL;
  g_autoptr (StudioStepRow) row = NULL;
  Frame frame;

  frame_begin (&frame, CHAIN);
  StudioStepsPane *pane = studio_steps_pane_new (frame.document, frame.canvas, frame.run);
  GtkSelectionModel *model = studio_steps_pane_get_rows (pane);
  g_object_ref_sink (pane);
  studio_steps_pane_set_events (pane, events);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (model)), ==, 5); /* with two headings */
  studio_document_select_only (frame.document, document_serial (frame.document, "fc"));
  g_assert_true (gtk_selection_model_is_selected (model, find_step (pane, "0  fc")));
  g_assert_true (gtk_selection_model_is_selected (model, find_step (pane, "2  fc")));
  g_assert_false (gtk_selection_model_is_selected (model, find_step (pane, "1  act_one")));
  gtk_selection_model_select_item (model, find_step (pane, "1  act_one"), TRUE);
  g_assert_true (studio_document_is_selected (frame.document, document_serial (frame.document, "act_one")));
  g_assert_cmpuint (studio_document_n_selected (frame.document), ==, 1);

  /* The peak is marked first by the keys; parameters light no card. */
  const StudioStepMemory *memory = studio_steps_pane_get_memory (pane);
  g_assert_cmpuint (memory->peak, ==, 1);
  g_autoptr (GPtrArray) alive = studio_step_memory_alive (memory, 2);
  g_assert_cmpuint (alive->len, ==, 2);
  g_assert_cmpstr (((StudioStorage *)alive->pdata[0])->node, ==, "act_one");
  g_autofree char *words = studio_step_memory_describe (memory, 1);
  g_assert_cmpstr (words, ==,
                   "Step 1, act_one matmul: 500 B alive. Largest: act_one activations 300 B, fc parameters 100 B, fc "
                   "activations 100 B.");
  g_autofree char *csv = studio_step_memory_to_csv (memory);
  g_assert_nonnull (strstr (csv, "\n1,forward,act_one,matmul,100,0,0,400,0,0\n"));
  g_assert_cmpuint (studio_step_memory_at (memory, 300, 299), ==, 2);
  studio_step_picture_mark (studio_steps_pane_get_picture (pane), 2);
  studio_step_picture_mark (studio_steps_pane_get_picture (pane), G_MAXUINT);
  g_object_unref (pane);

  /* The recorded step has one of the three times. */
  g_assert_cmpint (studio_step_rows_set_times (rows, NULL), ==, STUDIO_STEP_TIMES_ESTIMATED);
  loom_trace_add (spans, &span, "cpu", "matmul", "fc");
  times = loom_trace_times_new (spans, 0);
  g_assert_cmpint (studio_step_rows_set_times (rows, times), ==, STUDIO_STEP_TIMES_RUN);
  row = g_list_model_get_item (G_LIST_MODEL (rows), 4);
  g_assert_cmpstr (row->operations, ==, "matmul · own · 1.0 kB · 3.00 ms");
  g_assert_cmpfloat (loom_trace_times_take (times, LOOM_TRACE_BACKWARD, "matmul", "fc"), <, 0);

  StudioExporter exporter = { .document = frame.document, .toasts = frame.toasts };
  StudioStepsTab *tab = studio_steps_tab_new (frame.document, frame.canvas, frame.run, frame.panes, &exporter);
  studio_steps_tab_export (tab, "svg");
  g_assert_cmpuint (frame.said, ==, 1); /* there is no plan yet */
  studio_steps_tab_toggle (tab);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "steps"));
  studio_steps_tab_toggle (tab);
  g_assert_false (studio_panes_is_page_visible (frame.panes, "steps"));
  release (tab);
  frame_end (&frame);
}

/* The graph as a file for PyTorch: lines and cards are linked both ways, also into a module, and an edit writes it
 * again. */
static void
test_pytorch (void)
{
  Frame frame;
  guint line;
  frame_begin (&frame, CHAIN);
  StudioPytorchTab *tab = studio_pytorch_tab_new (frame.document, frame.canvas, frame.panes);
  StudioPytorchPane *pane = studio_pytorch_pane_new (frame.document);
  g_object_ref_sink (pane);
  studio_pytorch_pane_focus (pane);
  line = studio_pytorch_pane_find (pane, "self.fc = nn.Linear(8, 4)");
  g_assert_cmpuint (line, <, studio_pytorch_pane_n_lines (pane));
  g_assert_false (studio_pytorch_pane_is_marked (pane, line));
  studio_document_select_only (frame.document, document_serial (frame.document, "fc"));
  g_assert_true (studio_pytorch_pane_is_marked (pane, line));
  g_assert_false (studio_pytorch_pane_is_marked (pane, studio_pytorch_pane_find (pane, "act_one = ")));
  studio_pytorch_pane_activate (pane, studio_pytorch_pane_find (pane, "act_one = "));
  g_assert_true (studio_document_is_selected (frame.document, document_serial (frame.document, "act_one")));
  g_assert_false (studio_pytorch_pane_is_marked (pane, line));
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "5");
  studio_pytorch_pane_focus (pane);
  g_assert_cmpuint (studio_pytorch_pane_find (pane, "self.fc = nn.Linear(8, 5)"), ==, line);
  /* A line of a module shows its first instance. */
  g_assert_true (graph_file_open_example (frame.document, "models/char-gpt", NULL));
  studio_pytorch_pane_focus (pane);
  studio_pytorch_pane_activate (pane, studio_pytorch_pane_find (pane, "= nn.GELU("));
  g_assert_cmpuint (studio_document_n_selected (frame.document), ==, 1);
  g_assert_cmpuint (studio_document_scope_depth (frame.document), ==, 1);
  /* A graph with a fault has no file. */
  g_assert_true (studio_document_open_text (frame.document, net, -1, NULL, NULL));
  studio_pytorch_pane_focus (pane);
  g_assert_cmpuint (studio_pytorch_pane_n_lines (pane), ==, 0);
  g_object_unref (pane);

  studio_pytorch_tab_toggle (tab);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "pytorch"));
  studio_pytorch_tab_toggle (tab);
  g_assert_false (studio_panes_is_page_visible (frame.panes, "pytorch"));
  release (tab);
  frame_end (&frame);
}

static void
test_start_cover (void)
{
  Frame frame;
  frame_begin (&frame, GRAPH (""));
  StudioStartCover cover = { frame.document, frame.canvas, g_object_ref_sink (studio_start_page_new ()), FALSE };
  GtkWidget *page = GTK_WIDGET (cover.page);
  studio_start_cover_update (&cover, FALSE);
  g_assert_true (gtk_widget_get_visible (page));
  studio_start_cover_update (&cover, TRUE);
  g_assert_false (gtk_widget_get_visible (page));
  studio_start_cover_dismiss (&cover);
  studio_start_cover_update (&cover, FALSE);
  g_assert_false (gtk_widget_get_visible (page));
  studio_document_add_node (frame.document, "relu", 0, 0);
  studio_start_cover_update (&cover, FALSE);
  g_assert_false (cover.is_dismissed);
  g_object_unref (page);
  frame_end (&frame);
}

/* ---- presentation --------------------------------------------------------------------------------- */

static void
entered_cb (StudioRateCard *card, double rate, double *entered)
{
  *entered = rate;
}

static void
test_rate_card (void)
{
  GtkWindow *window = GTK_WINDOW (gtk_window_new ());
  StudioRateCard *card = g_object_new (STUDIO_TYPE_RATE_CARD, NULL);
  double entered = -1;
  gtk_window_set_child (window, GTK_WIDGET (card));
  g_signal_connect (card, "entered", G_CALLBACK (entered_cb), &entered);
  studio_rate_card_open (card, 0.25);
  GtkWidget *entry = find_widget (GTK_WIDGET (card), GTK_TYPE_ENTRY);
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, "0.25");
  gtk_editable_set_text (GTK_EDITABLE (entry), "-1");
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpfloat (entered, ==, -1);
  g_assert_true (gtk_widget_has_css_class (entry, "error"));
  gtk_editable_set_text (GTK_EDITABLE (entry), "0.5");
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpfloat (entered, ==, 0.5);
  g_assert_true (studio_rate_card_is_open (card));
  studio_rate_card_close (card, GTK_WIDGET (card));
  g_assert_false (studio_rate_card_is_open (card));
  gtk_window_destroy (window);
}

/* A pin and the room that the cards below make for it are one step. */
static void
test_watch (void)
{
  Frame frame;
  frame_begin (&frame, GRAPH ("<node id=\"x\" op=\"input\" shape=\"B,8\"/><node id=\"fc\" op=\"linear\" "
                              "out_features=\"4\"/><node id=\"act\" op=\"relu\"/><wire from=\"x\" to=\"fc\"/>"
                              "<wire from=\"fc\" to=\"act\"/><layout><place node=\"x\" x=\"0\" y=\"0\"/>"
                              "<place node=\"fc\" x=\"240\" y=\"0\"/><place node=\"act\" x=\"240\" y=\"120\"/>"
                              "</layout>"));
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  g_autofree char *before = document_text (frame.document);
  const guint steps = studio_document_n_steps (frame.document);

  studio_pins_toggle (pins, "fc", FALSE);
  g_assert_cmpuint (studio_document_n_steps (frame.document), ==, steps + 1);
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 1);
  const StudioScene *scene = studio_document_get_scene (frame.document);
  const StudioRect fc = studio_geometry_with_pins (&scene->item[studio_scene_find_id (scene, "fc")]),
                   act = studio_geometry_card (&scene->item[studio_scene_find_id (scene, "act")]);
  g_assert_cmpfloat (fc.height, >, 120);
  g_assert_false (studio_rect_intersects (&fc, &act));
  g_assert_true (studio_document_undo (frame.document));
  g_autofree char *after = document_text (frame.document);
  g_assert_cmpstr (after, ==, before);
  g_object_unref (pins);
  frame_end (&frame);
}

/* Two layers below each other in a module, and a layer below its card. */
#define MODULAR                                                                                                        \
  GRAPH (                                                                                                              \
      "<module name=\"block\"><node id=\"in\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" out_features=\"4\"/>" \
      "<node id=\"act_one\" op=\"relu\"/><node id=\"out\" op=\"module_output\"/><wire from=\"in\" to=\"fc\"/>"         \
      "<wire from=\"fc\" to=\"act_one\"/><wire from=\"act_one\" to=\"out\"/><layout><place node=\"in\" x=\"0\" "       \
      "y=\"0\"/>"                                                                                                      \
      "<place node=\"fc\" x=\"240\" y=\"0\"/><place node=\"act_one\" x=\"240\" y=\"120\"/>"                            \
      "<place node=\"out\" x=\"480\" y=\"120\"/></layout></module>"                                                    \
      "<node id=\"x\" op=\"input\" shape=\"B,8\"/><node id=\"body\" module=\"block\" repeat=\"2\"/>"                   \
      "<node id=\"tail\" op=\"relu\"/><wire from=\"x\" to=\"body\"/><wire from=\"body\" to=\"tail\"/>"                 \
      "<layout><place node=\"x\" x=\"0\" y=\"0\"/><place node=\"body\" x=\"240\" y=\"0\"/>"                            \
      "<place node=\"tail\" x=\"240\" y=\"120\"/></layout>")

static gboolean
pins_cover (StudioDocument *document, const char *pinned, const char *id)
{
  const StudioScene *scene = studio_document_get_scene (document);
  const StudioItem *item = &scene->item[studio_scene_find_id (scene, pinned)];
  const StudioRect pins = studio_geometry_with_pins (item),
                   card = studio_geometry_card (&scene->item[studio_scene_find_id (scene, id)]);

  g_assert_cmpfloat (item->hanging, >, 120);
  return studio_rect_intersects (&pins, &card);
}

/* A pin in a module has room there and under the card of the module: one step. */
static void
test_watch_in_module (void)
{
  Frame frame;
  const char *tensor;
  frame_begin (&frame, MODULAR);
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  g_autofree char *before = document_text (frame.document);

  g_assert_true (studio_document_enter (frame.document, document_serial (frame.document, "body")));
  g_autofree char *path = studio_document_dup_node_path (frame.document, document_serial (frame.document, "fc"));
  g_assert_cmpstr (path, ==, "body.0.fc");
  g_assert_true (studio_pins_toggle (pins, path, FALSE));
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 1);
  studio_pins_get (pins, 0, &tensor);
  g_assert_cmpstr (tensor, ==, path);
  g_assert_false (pins_cover (frame.document, "fc", "act_one"));
  studio_document_leave (frame.document);
  g_assert_false (pins_cover (frame.document, "body", "tail"));
  g_assert_true (studio_document_undo (frame.document));
  g_autofree char *after = document_text (frame.document);
  g_assert_cmpstr (after, ==, before);
  g_object_unref (pins);
  frame_end (&frame);
}

/* The card of a module shows what its first output reads; the same command removes that pin. */
static void
test_watch_module (void)
{
  Frame frame;
  const char *tensor;
  frame_begin (&frame, MODULAR);
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  const StudioLayerCommands commands = { .document = frame.document, .pins = pins, .toasts = frame.toasts };

  studio_document_select_only (frame.document, document_serial (frame.document, "body"));
  studio_layer_commands_watch (&commands);
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 1);
  studio_pins_get (pins, 0, &tensor);
  g_assert_cmpstr (tensor, ==, "body.1.act_one");
  g_assert_false (pins_cover (frame.document, "body", "tail"));
  studio_layer_commands_watch (&commands);
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 0);
  studio_layer_commands_watch_gradient (&commands);
  settle ();
  studio_pins_get (pins, 0, &tensor);
  g_assert_cmpstr (tensor, ==, "grad:body.1.act_one");
  g_assert_true (studio_document_undo (frame.document));
  settle ();
  g_assert_cmpuint (frame.said, ==, 0);
  /* Without a shape it says so. */
  studio_document_select_only (frame.document, document_serial (frame.document, "x"));
  studio_document_delete_selection (frame.document);
  studio_document_get_net (frame.document);
  studio_document_select_only (frame.document, document_serial (frame.document, "body"));
  studio_layer_commands_watch (&commands);
  settle ();
  g_assert_cmpuint (frame.said, ==, 1);
  g_object_unref (pins);
  frame_end (&frame);
}

/* Its single keys, caption and progress. */
static void
test_presentation (void)
{
  Frame frame;
  guint steps = 0, rates = 0;
  frame_begin (&frame, CHAIN);
  StudioSlides *slides = studio_slides_new (frame.document);
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  const StudioPresentationParts parts = {
    .document = frame.document,
    .run = frame.run,
    .canvas = frame.canvas,
    .pins = pins,
    .slides = slides,
    .layer = g_object_ref_sink (studio_present_layer_new (frame.canvas)),
    .caption = g_object_ref_sink (g_object_new (STUDIO_TYPE_CAPTION, NULL)),
    .keys = g_object_ref_sink (g_object_new (STUDIO_TYPE_KEY_CARD, NULL)),
    .rate = g_object_ref_sink (g_object_new (STUDIO_TYPE_RATE_CARD, NULL)),
    .toasts = frame.toasts,
  };
  StudioPresentation *presentation = studio_presentation_new (&parts);
  g_signal_connect_swapped (presentation, "step", G_CALLBACK (count_cb), &steps);
  g_signal_connect_swapped (presentation, "learning-rate", G_CALLBACK (count_cb), &rates);
  studio_presentation_ask_learning_rate (presentation);
  g_assert_cmpuint (rates, ==, 1);
  const LoomSlide slide = { .title = (char *)"", .text = (char *)"", .scope = (char *)"", .whole = TRUE };
  studio_slides_add (slides, &slide);
  studio_slides_add (slides, &slide);
  studio_slides_set_current (slides, 0);
  studio_presentation_set_on (presentation, TRUE);
  g_autofree char *progress = NULL;
  g_object_get (parts.keys, "progress", &progress, NULL);
  g_assert_cmpstr (progress, ==, "\u200e1 / 2");
  g_assert_true (gtk_widget_get_visible (GTK_WIDGET (parts.caption)));
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_Page_Down, 0));
  g_assert_cmpint (studio_slides_get_current (slides), ==, 1);
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_space, 0));
  g_assert_cmpuint (steps, ==, 1);
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_S, GDK_SHIFT_MASK));
  g_assert_true (studio_present_layer_get_spotlight (parts.layer));
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_3, 0));
  g_assert_cmpint (studio_present_layer_get_tool (parts.layer), ==, STUDIO_TOOL_PEN);
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_Escape, 0));
  g_assert_cmpint (studio_present_layer_get_tool (parts.layer), ==, STUDIO_TOOL_NONE);
  g_assert_false (studio_presentation_key (presentation, GDK_KEY_Escape, 0));
  g_assert_false (studio_presentation_key (presentation, GDK_KEY_p, GDK_CONTROL_MASK));
  g_assert_false (studio_presentation_key (presentation, GDK_KEY_Right, GDK_SHIFT_MASK));
  studio_document_select_only (frame.document, document_serial (frame.document, "act_one"));
  GtkWidget *label = find_widget (GTK_WIDGET (parts.caption), GTK_TYPE_LABEL);
  g_assert_true (g_str_has_prefix (gtk_label_get_text (GTK_LABEL (label)), "actone = relu(fc)"));
  studio_presentation_set_on (presentation, FALSE);
  g_assert_false (studio_present_layer_get_spotlight (parts.layer));
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (parts.caption)));
  release (presentation);
  g_object_unref (pins);
  g_object_unref (parts.rate);
  g_object_unref (parts.keys);
  g_object_unref (parts.caption);
  g_object_unref (parts.layer);
  g_object_unref (slides);
  frame_end (&frame);
}

/* ---- status line --------------------------------------------------------------------------------- */

static void
test_status_line (void)
{
  Frame frame;
  guint changed = 0;
  frame_begin (&frame, net);
  studio_document_get_net (frame.document);
  StudioFaultList *faults = studio_fault_list_new (frame.document, frame.canvas, frame.toasts);
  StudioStatusLine *line = g_object_ref_sink (g_object_new (STUDIO_TYPE_STATUS_LINE, NULL));
  g_signal_connect_swapped (faults, "changed", G_CALLBACK (count_cb), &changed);
  studio_status_line_set_parts (line, frame.canvas, faults);
  g_assert_cmpuint (
      studio_fault_list_n_errors (faults) + loom_faults_length (studio_document_get_faults (frame.document)), >, 0);
  GtkWidget *button = find_widget (GTK_WIDGET (line), GTK_TYPE_MENU_BUTTON);
  g_assert_cmpstr (gtk_menu_button_get_label (GTK_MENU_BUTTON (button)), ==, studio_fault_list_get_summary (faults));
  g_assert_cmpint (gtk_widget_has_css_class (button, "has-faults"), ==, studio_fault_list_n_errors (faults) > 0);
  g_object_set (line, "totals", "12 layers", NULL);
  g_autoptr (GPtrArray) labels = g_ptr_array_new ();
  find_widgets (GTK_WIDGET (line), GTK_TYPE_LABEL, labels);
  gboolean found = FALSE;
  for (guint i = 0; i < labels->len; i++)
    found |= g_str_equal (gtk_label_get_text (labels->pdata[i]), "12 layers");
  g_assert_true (found);
  g_assert_true (graph_file_open_example (frame.document, "lessons/spirals", NULL));
  studio_document_get_net (frame.document);
  settle ();
  g_assert_cmpuint (changed, >, 0);
  g_assert_cmpstr (gtk_menu_button_get_label (GTK_MENU_BUTTON (button)), ==, "No faults");
  g_assert_false (gtk_widget_has_css_class (button, "has-faults"));
  release (line);
  frame_end (&frame);
}

/* ---- commands ------------------------------------------------------------------------------------- */

static void
disconnected_cb (StudioSaver *saver, gboolean *called)
{
  *called = TRUE;
}

/* Each command calls its part; after the owner has disconnected them, nothing. */
static void
test_commands (void)
{
  Frame frame;
  gpointer parts[PAGE_N_PARTS] = { NULL };
  StudioCommandTarget target = { .parts = parts };
  GSimpleActionGroup *map = g_simple_action_group_new ();
  gboolean committed = FALSE;
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioSaver *saver = studio_saver_new (frame.document, frame.toasts, questions);
  StudioExporter exporter = { .document = frame.document, .toasts = frame.toasts };
  exporter.pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  StudioLayerCommands layer = { .document = frame.document, .canvas = frame.canvas, .toasts = frame.toasts };
  parts[PAGE_DOCUMENT] = frame.document;
  parts[PAGE_CANVAS] = frame.canvas;
  parts[PAGE_SAVER] = saver;
  parts[PAGE_EXPORTER] = &exporter;
  parts[PAGE_LAYER] = &layer;
  page_commands_install (G_ACTION_MAP (map), &target);
  g_assert_cmpstr (g_variant_get_string (g_action_group_get_action_state (G_ACTION_GROUP (map), "device"), NULL), ==,
                   "");

  g_action_group_activate_action (G_ACTION_GROUP (map), "device", g_variant_new_string ("ref"));
  g_assert_cmpstr (run_settings_get_device (frame.document), ==, "ref");
  g_action_group_activate_action (G_ACTION_GROUP (map), "undo", NULL);
  g_assert_null (studio_document_undo_name (frame.document));
  g_action_group_activate_action (G_ACTION_GROUP (map), "reveal", g_variant_new_string ("fc"));
  g_assert_cmpuint (studio_document_n_selected (frame.document), ==, 1);
  studio_document_select_only (frame.document, 0);
  g_action_group_activate_action (G_ACTION_GROUP (map), "export-map", NULL);
  g_action_group_activate_action (G_ACTION_GROUP (map), "watch", NULL);
  g_action_group_activate_action (G_ACTION_GROUP (map), "documentation", NULL);
  g_assert_cmpuint (frame.said, ==, 3);
  g_action_group_activate_action (G_ACTION_GROUP (map), "insert-example-of", g_variant_new_string ("relu"));
  g_assert_cmpuint (frame.said, ==, 4);
  g_assert_nonnull (studio_document_undo_name (frame.document));

  const PageFacts facts = { .document = frame.document, .run = frame.run, .is_comparing = TRUE };
  page_actions_update (G_ACTION_MAP (map), &facts);
  g_assert_true (g_action_group_get_action_enabled (G_ACTION_GROUP (map), "end-comparison"));
  g_assert_true (g_action_group_get_action_enabled (G_ACTION_GROUP (map), "undo"));
  g_assert_false (g_action_group_get_action_enabled (G_ACTION_GROUP (map), "pen"));
  g_assert_false (g_action_group_get_action_enabled (G_ACTION_GROUP (map), "stop"));

  g_signal_connect (saver, "commit", G_CALLBACK (disconnected_cb), &committed);
  studio_command_rows_disconnect (G_ACTION_MAP (map));
  g_action_group_activate_action (G_ACTION_GROUP (map), "save", NULL);
  g_assert_false (committed);
  release (map);
  release (saver);
  g_object_unref (exporter.pins);
  studio_questions_free (questions);
  frame_end (&frame);
}

static gboolean
settled_cb (gpointer data)
{
  return ++*(guint *)data < 2;
}

/* The graph is fitted once the layout no longer changes; a fitter that is freed earlier is never called. */
static void
test_fitter (void)
{
  Frame frame;
  guint settled = 0;
  frame_begin (&frame, CHAIN);
  CanvasFitter *fitter = canvas_fitter_new (frame.canvas, settled_cb, &settled);
  gtk_window_present (frame.window);
  canvas_fitter_start (fitter);
  while (settled < 2)
    g_main_context_iteration (NULL, TRUE);
  canvas_fitter_start (fitter);
  canvas_fitter_free (fitter);
  settle ();
  g_assert_cmpuint (settled, ==, 2);

  const StudioNavigation navigation = { .document = frame.document,
                                        .canvas = frame.canvas,
                                        .panes = frame.panes,
                                        .inspector = NULL,
                                        .panel = gtk_label_new ("panel") };
  g_object_ref_sink (navigation.panel);
  gtk_widget_grab_focus (GTK_WIDGET (frame.canvas));
  studio_navigation_commit (&navigation, frame.toasts);
  studio_navigation_next_pane (&navigation);
  studio_navigation_previous_pane (&navigation);
  g_object_unref (navigation.panel);
  frame_end (&frame);
}

/* A page that closes after "Go Back", while the run still stops, does not continue it. */
static void
test_go_back_and_close (void)
{
  Frame frame;
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  g_autoptr (StudioRunner) runner = studio_runner_new (frame.document, frame.run, frame.toasts, questions);
  guint said = frame.said;
  studio_run_take_state (frame.run, "running", NULL);
  studio_runner_go_back (runner, 5);
  studio_runner_close (runner);
  g_assert_cmpint (studio_run_get_state (frame.run), ==, STUDIO_RUN_STOPPED);
  g_assert_cmpuint (frame.said, ==, said);
  /* Without closing it goes back, for which there is no checkpoint. */
  studio_run_take_state (frame.run, "running", NULL);
  studio_runner_go_back (runner, 5);
  studio_run_take_state (frame.run, "stopped", NULL);
  g_assert_cmpuint (frame.said, ==, said + 1);
  studio_questions_free (questions);
  frame_end (&frame);
}

/* A widget of a file has its named objects as data, and belongs to the caller like one that was made by hand. */
static void
test_template (void)
{
  struct
  {
    GtkWidget *order, *name, *more;
  } row;
  GtkWidget *root = studio_template_new ("outline-row.ui");

  g_assert_true (g_object_is_floating (root));
  g_object_ref_sink (root);
  STUDIO_TEMPLATE_FIELDS (root, &row, order, name, more);
  g_assert_true (GTK_IS_LABEL (row.order) && GTK_IS_LABEL (row.name));
  g_assert_true (gtk_widget_get_parent (row.name) == gtk_widget_get_parent (row.more));
  g_object_add_weak_pointer (G_OBJECT (row.name), (gpointer *)&row.name);
  g_object_unref (root);
  g_assert_null (row.name);
}

static GPtrArray *printed;

static void
print_mark_cb (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect)
{
  if (g_str_equal (what, "chain"))
    g_ptr_array_add (printed, g_strdup (name));
}

/* The ports of a chain of derivatives are marked on the canvas. */
static void
test_chain_marks (void)
{
  g_autoptr (StudioDocument) document = document_load (CHAIN);
  g_autoptr (StudioRun) run = studio_run_new ();
  StudioCanvas *canvas = g_object_ref_sink (studio_canvas_new (document));
  g_autoptr (StudioStepper) stepper = studio_stepper_new (document, canvas, run);
  g_autoptr (StudioBreakpoints) breakpoints = studio_breakpoints_new (document, run);
  g_autoptr (StudioInstant) instant = studio_instant_new (document);
  StudioStepLayer *layer = g_object_ref_sink (studio_step_layer_new (document, canvas, stepper, breakpoints, instant));
  GPtrArray *ports = g_ptr_array_new_with_free_func (g_free);

  studio_document_get_net (document);
  printed = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (ports, g_strdup ("fc"));
  g_ptr_array_add (ports, g_strdup ("act_one"));
  studio_stepper_mark (stepper, ports);
  studio_step_layer_print (layer, print_mark_cb);
  g_assert_cmpuint (printed->len, ==, 2);
  g_assert_cmpstr (printed->pdata[0], ==, "fc");
  g_assert_cmpstr (printed->pdata[1], ==, "act_one");
  studio_stepper_mark (stepper, NULL);
  studio_step_layer_print (layer, print_mark_cb);
  g_assert_cmpuint (printed->len, ==, 2);
  g_ptr_array_unref (printed);
  g_object_unref (layer);
  g_object_unref (canvas);
}

TEST_FILE (argc, argv)
{
  g_autoptr (GError) error = NULL;
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  page_commands_add ();
  folder = g_dir_make_tmp ("gradloom-page-XXXXXX", &error);
  g_assert_no_error (error);
  g_test_add_func ("/page/template", test_template);
  g_test_add_func ("/page/words", test_words);
  g_test_add_func ("/page/graph-file", test_graph_file);
  g_test_add_func ("/page/open-documents", test_open_documents);
  g_test_add_func ("/page/saver", test_saver);
  g_test_add_func ("/page/guard", test_guard);
  g_test_add_func ("/page/guard-queue", test_guard_queue);
  g_test_add_func ("/page/disk-bar", test_disk_bar);
  g_test_add_func ("/page/runner", test_runner);
  g_test_add_func ("/page/go-back-and-close", test_go_back_and_close);
  g_test_add_func ("/page/run-settings", test_run_settings);
  g_test_add_func ("/page/panel-split", test_panel_split);
  g_test_add_func ("/page/pane-actions", test_pane_actions);
  g_test_add_func ("/page/tabs", test_tabs);
  g_test_add_func ("/page/pytorch", test_pytorch);
  g_test_add_func ("/page/steps", test_steps);
  g_test_add_func ("/page/start-cover", test_start_cover);
  g_test_add_func ("/page/rate-card", test_rate_card);
  g_test_add_func ("/page/watch", test_watch);
  g_test_add_func ("/page/watch-in-module", test_watch_in_module);
  g_test_add_func ("/page/watch-module", test_watch_module);
  g_test_add_func ("/page/presentation", test_presentation);
  g_test_add_func ("/page/status-line", test_status_line);
  g_test_add_func ("/page/commands", test_commands);
  g_test_add_func ("/page/fitter", test_fitter);
  g_test_add_func ("/page/chain-marks", test_chain_marks);
  return g_test_run ();
}
