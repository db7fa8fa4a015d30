/* The fault of a value is shown under its entry and is part of its accessible description. */
#include <adwaita.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/run/studio-rank-count.h"
#include "tests/ui/find-widgets.h"
#include "ui/inspector/studio-inspector-private.h"
#include "ui/run/studio-host-field.h"
#include "ui/training/studio-training-settings.h"

static InspectorRow *
find_row (StudioInspector *inspector, const char *name)
{
  for (guint i = 0; i < inspector->rows->len; i++)
    {
      InspectorRow *row = inspector->rows->pdata[i];

      if (g_str_equal (row->spec.name, name))
        return row;
    }
  return NULL;
}

static void
settle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
assert_said (const InspectorRow *row, const char *text)
{
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (row->message)), ==, text);
  g_assert_true (gtk_widget_get_visible (row->message));
  gtk_test_accessible_assert_property (row->editor, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text);
}

/* An invalid value, one that the engine refuses, one that is missing; and no fault after it is fixed. */
static void
test_fields (void)
{
  g_autoptr (StudioDocument) document
      = document_load ("<graph xmlns='urn:gradloom:graph' version='1'><node id='x' op='input' shape='B,1,3,3'/>"
                       "<node id='conv' op='conv2d' out_channels='4' kernel_size='3' groups='3'/>"
                       "<node id='fc' op='linear'/><wire from='x' to='conv'/><wire from='x' to='fc'/></graph>");
  StudioInspector *inspector = g_object_ref_sink (studio_inspector_new (document));
  InspectorRow *row, *groups;
  StudioScene *scene;

  studio_document_select_only (document, document_serial (document, "conv"));
  settle ();
  row = find_row (inspector, "out_channels");
  groups = find_row (inspector, "groups");
  g_assert_false (gtk_widget_get_visible (row->message));
  gtk_editable_set_text (GTK_EDITABLE (row->editor), "0");
  assert_said (row, "At least 1.");
  g_assert_true (gtk_widget_has_css_class (row->row, "error"));
  gtk_test_accessible_assert_state (row->editor, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  gtk_editable_set_text (GTK_EDITABLE (row->editor), "6");
  g_assert_false (gtk_widget_get_visible (row->message));
  g_assert_false (gtk_widget_has_css_class (row->row, "error"));
  gtk_test_accessible_assert_property (row->editor, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, row->spec.doc);

  settle ();
  scene = studio_document_get_scene (document);
  {
    const StudioItem *item = &scene->item[studio_scene_find_id (scene, "conv")];

    g_test_message ("%s: %s", item->fault_port, item->fault);
    g_assert_cmpstr (item->fault_port, ==, "groups");
    assert_said (groups, item->fault);
    g_assert_false (gtk_widget_get_visible (inspector->fault));
  }
  studio_document_select_only (document, document_serial (document, "fc"));
  settle ();
  row = find_row (inspector, "out_features");
  g_assert_true (gtk_widget_get_visible (row->message));
  /* A value that is still to be set is not red. */
  g_assert_false (gtk_widget_has_css_class (row->row, "error"));
  g_object_unref (inspector);
}

/* The gesture that drags the number of a row's entry. */
static GtkGesture *
find_drag (const InspectorRow *row)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (row->editor);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_GESTURE_DRAG (controller)
          && gtk_event_controller_get_propagation_phase (controller) == GTK_PHASE_CAPTURE)
        return GTK_GESTURE (controller); /* the entry keeps it */
    }
  return NULL;
}

static void
drag_number (GtkGesture *gesture, double dx)
{
  g_signal_emit_by_name (gesture, "drag-begin", 0.0, 0.0);
  for (int i = 1; i <= 4; i++)
    g_signal_emit_by_name (gesture, "drag-update", dx * i / 4, 0.0);
  g_signal_emit_by_name (gesture, "drag-end", dx, 0.0);
}

/* A default is shown by a label in the empty field. The press goes through it, or the drag would end with the label. */
static void
test_drag_default (void)
{
  g_autoptr (StudioDocument) document
      = document_load ("<graph xmlns='urn:gradloom:graph' version='1'><node id='x' op='input' shape='B,1,9,9'/>"
                       "<node id='conv' op='conv2d' out_channels='4' kernel_size='3'/>"
                       "<wire from='x' to='conv'/></graph>");
  StudioInspector *inspector = g_object_ref_sink (studio_inspector_new (document));
  const guint64 conv = document_serial (document, "conv");
  guint n_labels = 0;

  studio_document_select_only (document, conv);
  settle ();
  const InspectorRow *row = find_row (inspector, "stride");
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (row->editor)), ==, "");
  for (GtkWidget *child
       = gtk_widget_get_first_child (GTK_WIDGET (gtk_editable_get_delegate (GTK_EDITABLE (row->editor))));
       child != NULL; child = gtk_widget_get_next_sibling (child))
    if (GTK_IS_LABEL (child))
      {
        g_assert_false (gtk_widget_get_can_target (child));
        n_labels++;
      }
  g_assert_cmpuint (n_labels, ==, 1);
  drag_number (find_drag (row), 16);
  g_assert_cmpstr (loom_element_get (loom_graph_by_serial (studio_document_get_graph (document), conv), "stride"), ==,
                   "3");
  g_assert_true (studio_document_undo (document));
  g_assert_null (loom_element_get (loom_graph_by_serial (studio_document_get_graph (document), conv), "stride"));
  g_object_unref (inspector);
}

/* Each drag is one undo step, however soon it follows another change of the same number. */
static void
test_drags (void)
{
  g_autoptr (StudioDocument) document
      = document_load ("<graph xmlns='urn:gradloom:graph' version='1'><node id='x' op='input' shape='B,8'/>"
                       "<node id='fc' op='linear' out_features='4'/><wire from='x' to='fc'/></graph>");
  StudioInspector *inspector = g_object_ref_sink (studio_inspector_new (document));
  const guint64 fc = document_serial (document, "fc");
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  guint steps;
  GtkGesture *drag;

  studio_document_select_only (document, fc);
  settle ();
  drag = find_drag (find_row (inspector, "out_features"));
  g_assert_nonnull (drag);
  steps = studio_document_n_steps (document);
  studio_document_set_attribute (document, fc, "out_features", "16");
  for (int i = 0; i < 4; i++)
    {
      g_ptr_array_add (values, g_strdup (loom_element_get (
                                   loom_graph_by_serial (studio_document_get_graph (document), fc), "out_features")));
      if (i < 2)
        drag_number (drag, 40);
      else
        studio_document_set_attribute (document, fc, "out_features", i == 2 ? "7" : "9");
    }
  /* What is set without a drag is merged as before: 7 and 9 are one step. */
  g_assert_cmpuint (studio_document_n_steps (document), ==, steps + 4);
  for (guint i = 3; i-- > 0;)
    {
      g_assert_true (studio_document_undo (document));
      g_assert_cmpstr (
          loom_element_get (loom_graph_by_serial (studio_document_get_graph (document), fc), "out_features"), ==,
          values->pdata[i]);
    }
  g_object_unref (inspector);
}

/* The switch next to the label with this title, also in a folded expander; NULL: none. */
static GtkSwitch *
find_switch (GtkWidget *settings, const char *title)
{
  g_autoptr (GPtrArray) labels = g_ptr_array_new ();

  /* What is folded is in no tree of widgets. */
  gtk_expander_set_expanded (GTK_EXPANDER (find_widget (settings, GTK_TYPE_EXPANDER)), TRUE);
  find_widgets (settings, GTK_TYPE_LABEL, labels);
  for (guint i = 0; i < labels->len; i++)
    if (g_str_equal (gtk_label_get_text (labels->pdata[i]), title))
      return GTK_SWITCH (gtk_label_get_mnemonic_widget (labels->pdata[i]));
  return NULL;
}

/* An attribute of <graph> itself: its row in the training settings shows it, sets it, and follows undo. */
static void
test_strict_devices (void)
{
  g_autoptr (StudioDocument) document = document_load ("<graph xmlns='urn:gradloom:graph' version='1'>"
                                                       "<node id='x' op='input' shape='B,4'/></graph>");
  GtkWidget *settings = g_object_ref_sink (GTK_WIDGET (studio_training_settings_new (document)));
  GtkSwitch *strict = find_switch (settings, "Strict devices");

  g_assert_nonnull (strict);
  g_assert_false (gtk_switch_get_active (strict));
  gtk_switch_set_active (strict, TRUE);
  settle ();
  g_assert_true (loom_graph_strict_devices (studio_document_get_graph (document)));
  /* The setting is not about training, so no <train> is created. */
  g_assert_null (loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_TRAIN));
  g_assert_true (studio_document_undo (document));
  settle ();
  strict = find_switch (settings, "Strict devices");
  g_assert_false (gtk_switch_get_active (strict));
  g_assert_false (loom_graph_strict_devices (studio_document_get_graph (document)));
  g_object_unref (settings);
}

static StudioDocument *
load_divided (const char *parallel)
{
  g_autofree char *text = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\"/>"
      "<node id=\"a\" op=\"linear\" out_features=\"8\" split=\"column\"/><node id=\"act\" op=\"relu\"/>"
      "<node id=\"b\" op=\"linear\" out_features=\"2\" split=\"row\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"a\"/><wire from=\"a\" to=\"act\"/><wire from=\"act\" to=\"b\"/>"
      "<wire from=\"b\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"8\" epochs=\"1\">%s</train></graph>",
      parallel);
  return document_load (text);
}

static void
check_choice (StudioDocument *document, int had, int chosen, int expected)
{
  g_autofree char *sentence = NULL;
  g_assert_cmpint (studio_rank_count_choose (document, had, chosen, 16, &sentence), ==, expected);
  g_assert_true ((expected == 0) == (sentence != NULL));
  /* Without names of options. */
  g_assert_true (sentence == NULL || strstr (sentence, "--") == NULL);
}

/* The number of ranks is the graph's if it sets one, and another number is rejected at once. */
static void
test_ranks (void)
{
  g_autoptr (StudioDocument) free = load_divided (""), two = load_divided ("<parallel data=\"2\" tensor=\"1\"/>"),
                             split = load_divided ("<parallel tensor=\"2\"/>");
  g_assert_cmpint (studio_rank_count_required (free), ==, 1);
  check_choice (free, 1, 3, 3);
  g_assert_cmpint (studio_rank_count_required (two), ==, 2);
  check_choice (two, 1, 2, 2);
  check_choice (two, 2, 1, 1);
  check_choice (two, 2, 3, 0);
  check_choice (two, 1, 4, 0);
  g_assert_cmpint (studio_rank_count_required (split), ==, 2);
  /* The buttons of the spin button skip to the next valid number. */
  check_choice (split, 2, 3, 4);
  check_choice (split, 4, 3, 2);
  check_choice (split, 2, 5, 0);
  g_autoptr (StudioDocument) cut = load_divided ("<parallel pipeline=\"2\" tensor=\"2\"/>");
  g_assert_cmpint (studio_rank_count_required (cut), ==, 4);
}

/* Suggested values are shown as they are: an underscore of theirs is not the mark of a key. */
static void
test_suggestions (void)
{
  g_autoptr (StudioDocument) document
      = document_load ("<graph xmlns='urn:gradloom:graph' version='1'><node id='x' op='input' shape='B,8'/>"
                       "<node id='fc' op='linear' out_features='4'/><wire from='x' to='fc'/></graph>");
  StudioInspector *inspector = studio_inspector_new (document);
  GtkWidget *window = gtk_window_new ();
  g_autoptr (GPtrArray) buttons = g_ptr_array_new ();
  guint n = 0;

  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (inspector));
  gtk_window_present (GTK_WINDOW (window));
  studio_document_select_only (document, document_serial (document, "fc"));
  while (find_row (inspector, "out_features") == NULL)
    g_main_context_iteration (NULL, TRUE);
  find_widgets (GTK_WIDGET (inspector), GTK_TYPE_MENU_BUTTON, buttons);
  for (guint b = 0; b < buttons->len; b++)
    {
      GMenuModel *menu;

      /* A menu is made when it is opened. */
      gtk_menu_button_popup (buttons->pdata[b]);
      menu = gtk_menu_button_get_menu_model (buttons->pdata[b]);
      gtk_menu_button_popdown (buttons->pdata[b]);
      for (int i = 0; menu != NULL && i < g_menu_model_get_n_items (menu); i++)
        {
          g_autofree char *label = NULL, *target = NULL;

          g_assert_true (g_menu_model_get_item_attribute (menu, i, "label", "s", &label));
          if (!g_menu_model_get_item_attribute (menu, i, "target", "s", &target) || strchr (target, '_') == NULL)
            continue;
          g_autoptr (GString) shown = g_string_new (label);
          g_string_replace (shown, "__", "\t", 0);
          g_assert_null (strchr (shown->str, '_'));
          g_string_replace (shown, "\t", "_", 0);
          g_assert_cmpstr (shown->str, ==, target);
          n++;
        }
    }
  g_assert_cmpuint (n, >, 0);
  gtk_window_destroy (GTK_WINDOW (window));
  settle ();
}

/* Everything that a widget and those in it show. */
static void
describe_widget (GtkWidget *widget, guint depth, GString *text)
{
  g_auto (GStrv) classes = gtk_widget_get_css_classes (widget);
  g_autofree char *joined = g_strjoinv (".", classes);

  g_string_append_printf (text, "%*s%s %d %s", (int)depth, "", G_OBJECT_TYPE_NAME (widget),
                          gtk_widget_get_visible (widget), joined);
  if (GTK_IS_LABEL (widget))
    g_string_append_printf (text, " '%s' %d", gtk_label_get_label (GTK_LABEL (widget)),
                            gtk_label_get_width_chars (GTK_LABEL (widget)));
  else if (GTK_IS_EDITABLE (widget))
    g_string_append_printf (text, " '%s'", gtk_editable_get_text (GTK_EDITABLE (widget)));
  else if (GTK_IS_SWITCH (widget))
    g_string_append_printf (text, " %d", gtk_switch_get_active (GTK_SWITCH (widget)));
  else if (GTK_IS_DROP_DOWN (widget))
    g_string_append_printf (text, " %u", gtk_drop_down_get_selected (GTK_DROP_DOWN (widget)));
  else if (ADW_IS_EXPANDER_ROW (widget))
    g_string_append_printf (text, " %d", adw_expander_row_get_expanded (ADW_EXPANDER_ROW (widget)));
  else if (GTK_IS_EXPANDER (widget))
    g_string_append_printf (text, " %d", gtk_expander_get_expanded (GTK_EXPANDER (widget)));
  g_string_append_c (text, '\n');
  /* The list of a drop down is made when it is opened, and a placeholder when it is seen. */
  for (GtkWidget *child = gtk_widget_get_first_child (widget);
       child != NULL && !GTK_IS_DROP_DOWN (widget) && !GTK_IS_TEXT (widget);
       child = gtk_widget_get_next_sibling (child))
    describe_widget (child, depth + 1, text);
}

static void
assert_same_lines (const char *is, const char *wanted)
{
  g_auto (GStrv) a = g_strsplit (is, "\n", -1), b = g_strsplit (wanted, "\n", -1);

  for (guint i = 0; a[i] != NULL && b[i] != NULL; i++)
    g_assert_cmpstr (a[i], ==, b[i]);
  g_assert_cmpuint (g_strv_length (a), ==, g_strv_length (b));
}

static void
assert_same_page (StudioInspector *inspector, StudioInspector *fresh)
{
  g_autoptr (GString) is = g_string_new (gtk_stack_get_visible_child_name (GTK_STACK (inspector->stack))),
                      wanted = g_string_new (gtk_stack_get_visible_child_name (GTK_STACK (fresh->stack)));

  /* What an empty page hides does not matter. */
  if (g_str_equal (wanted->str, "selection"))
    {
      describe_widget (inspector->box, 0, is);
      describe_widget (fresh->box, 0, wanted);
    }
  assert_same_lines (is->str, wanted->str);
}

/* An inspector that followed selections and edits, and used its rows for one node after the other, shows what a new one
 * shows. */
static void
test_rows_used_again (void)
{
  g_autoptr (StudioDocument) document = document_load (
      "<graph xmlns='urn:gradloom:graph' version='1'><module name='m'><arg name='k' default='2'/>"
      "<node id='x' op='module_input'/><node id='y' op='module_output'/><wire from='x' to='y'/></module>"
      "<node id='data' op='dataset' source='spirals' n='50'/><node id='cards' op='dataset' source='csv'/>"
      "<node id='x' op='input' shape='B,1,9,9'/><node id='c' op='constant' shape='2' dtype='i64'/>"
      "<node id='d' op='constant' value='3'/><node id='a' op='conv2d' out_channels='4' kernel_size='3' padding='1'/>"
      "<node id='b' op='conv2d' out_channels='6' kernel_size='3' groups='4' device='ref'/>"
      "<node id='p' op='linear' out_features='4' bias='false'/><node id='q' op='linear' out_features='{2*3}'/>"
      "<node id='r' op='linear'/><node id='s' op='relu' mute='true'/><node id='e' op='expression' formula='y = a*b'/>"
      "<node id='f' op='expression'/><node id='g' module='m' k='3'/><node id='h' module='m'/>"
      "<wire from='x' to='a'/><wire from='a' to='b'/><wire from='data.x' to='p'/><wire from='p' to='q'/></graph>");
  StudioInspector *inspector = g_object_ref_sink (studio_inspector_new (document));
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint used_again = 0;

  for (guint i = 0; i < 250; i++)
    {
      GtkWidget *first = gtk_widget_get_first_child (inspector->box);
      StudioInspector *fresh;
      StudioScene *scene;
      const guint64 was = inspector->serial;

      if (i % 3 == 0 && i > 60)
        document_random_edit (document, rand);
      settle ();
      scene = studio_document_get_scene (document);
      if (i % 7 == 0)
        studio_document_select (document, NULL, 0);
      else if (scene->n_items > 0)
        studio_document_select_only (document, scene->item[g_rand_int_range (rand, 0, (int)scene->n_items)].serial);
      settle ();
      /* What the user opened stays open for this node. */
      if (inspector->documentation != NULL && inspector->serial == was)
        gtk_expander_set_expanded (GTK_EXPANDER (inspector->documentation), FALSE);
      fresh = g_object_ref_sink (studio_inspector_new (document));
      assert_same_page (inspector, fresh);
      g_object_unref (fresh);
      if (inspector->documentation != NULL)
        gtk_expander_set_expanded (GTK_EXPANDER (inspector->documentation), TRUE);
      used_again
          += inspector->serial != 0 && inspector->serial != was && first == gtk_widget_get_first_child (inspector->box);
    }
  g_assert_cmpuint (used_again, >, 5);
  g_object_unref (inspector);
}

/* What is typed as a host and is none stays in the field, and the run stays on this machine. */
static void
test_host (void)
{
  g_autoptr (StudioRun) run = studio_run_new ();
  static const char *const typed[] = { "a b;c", "user@box" };

  for (guint i = 0; i < G_N_ELEMENTS (typed); i++)
    {
      GtkWidget *field = g_object_ref_sink (studio_host_field_new (run)), *again;
      g_autofree char *fault = NULL;

      gtk_editable_set_text (GTK_EDITABLE (gtk_combo_box_get_child (GTK_COMBO_BOX (field))), typed[i]);
      fault = studio_host_field_dup_fault (field);
      g_assert_true ((fault == NULL) == (i == 1));
      g_assert_cmpstr (studio_run_get_host (run), ==, i == 1 ? typed[i] : NULL);
      again = g_object_ref_sink (studio_host_field_new (run));
      g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (gtk_combo_box_get_child (GTK_COMBO_BOX (again)))), ==,
                       typed[i]);
      g_object_unref (again);
      g_object_unref (field);
    }
}

TEST_FILE (argc, argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_test_add_func ("/fields/messages", test_fields);
  g_test_add_func ("/fields/drag-default", test_drag_default);
  g_test_add_func ("/fields/drags", test_drags);
  g_test_add_func ("/fields/strict-devices", test_strict_devices);
  g_test_add_func ("/fields/ranks", test_ranks);
  g_test_add_func ("/fields/suggestions", test_suggestions);
  g_test_add_func ("/fields/rows-used-again", test_rows_used_again);
  g_test_add_func ("/fields/host", test_host);
  return g_test_run ();
}
