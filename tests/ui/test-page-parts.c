/* The parts of a page, each made without a page: words, panes, status line, commands. */
#include <adwaita.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-graphs.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "tests/ui/page-frame.h"
#include "ui/charts/studio-template.h"
#include "ui/page/canvas-fitter.h"
#include "ui/page/caption-text.h"
#include "ui/page/graph-file.h"
#include "ui/page/graph-walk.h"
#include "ui/page/page-actions.h"
#include "ui/page/page-commands.h"
#include "ui/page/page-tabs.h"
#include "ui/page/page-title.h"
#include "ui/page/pane-actions.h"
#include "ui/page/run-settings.h"
#include "ui/page/selected-node.h"
#include "ui/page/studio-comparing.h"
#include "ui/page/studio-exporter.h"
#include "ui/page/studio-fault-list.h"
#include "ui/page/studio-layer-commands.h"
#include "ui/page/studio-lesson-tab.h"
#include "ui/page/studio-navigation.h"
#include "ui/page/studio-panel-split.h"
#include "ui/page/studio-saver.h"
#include "ui/page/studio-slides-tab.h"
#include "ui/page/studio-start-cover.h"
#include "ui/page/studio-status-line.h"
#include "ui/page/studio-task-tab.h"
#include "ui/scene/studio-geometry.h"
#include "ui/stepper/studio-step-layer.h"

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
  StudioSlidesTab *views = studio_slides_tab_new (frame.document, frame.canvas, slides, frame.panes);
  StudioTaskTab *task = studio_task_tab_new (frame.document, frame.run, frame.canvas, frame.panes, stage);
  StudioLessonTab *lesson
      = studio_lesson_tab_new (frame.document, frame.run, frame.canvas, palette, frame.panes, frame.toasts);
  StudioComparing *comparing
      = studio_comparing_new (frame.document, frame.run, frame.canvas, frame.panes, frame.toasts);
  PageTab history = { .kind = &page_tab_history,
                      .document = frame.document,
                      .canvas = frame.canvas,
                      .panes = frame.panes,
                      .comparing = comparing };
  g_signal_connect_swapped (frame.panes, "wanted", G_CALLBACK (count_cb), &wanted);
  g_signal_connect_swapped (comparing, "changed", G_CALLBACK (count_cb), &compared);

  page_tab_toggle (&history);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "history"));
  page_tab_toggle (&history);
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
  g_object_unref (stage);
  g_object_unref (palette);
  g_object_unref (slides);
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
  GtkWidget *label = g_object_ref (gtk_menu_button_get_child (GTK_MENU_BUTTON (button)));
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (label)), ==, studio_fault_list_get_summary (faults));
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
  /* The same widget as before. */
  g_assert_true (gtk_widget_is_ancestor (label, button));
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (label)), ==, "No faults");
  g_object_unref (label);
  /* Rows are made when the list is shown. */
  g_assert_null (find_widget (GTK_WIDGET (faults), GTK_TYPE_LIST_BOX_ROW));
  studio_fault_list_fill (faults);
  /* The row takes the focus of a button that goes with its fault. */
  g_assert_true (gtk_widget_get_focusable (find_widget (GTK_WIDGET (faults), GTK_TYPE_LIST_BOX_ROW)));
  g_assert_false (gtk_widget_has_css_class (button, "has-faults"));
  release (line);
  frame_end (&frame);
}

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

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  page_commands_add ();
  g_test_add_func ("/page/template", test_template);
  g_test_add_func ("/page/words", test_words);
  g_test_add_func ("/page/panel-split", test_panel_split);
  g_test_add_func ("/page/pane-actions", test_pane_actions);
  g_test_add_func ("/page/tabs", test_tabs);
  g_test_add_func ("/page/start-cover", test_start_cover);
  g_test_add_func ("/page/status-line", test_status_line);
  g_test_add_func ("/page/commands", test_commands);
  g_test_add_func ("/page/fitter", test_fitter);
  return g_test_run ();
}
