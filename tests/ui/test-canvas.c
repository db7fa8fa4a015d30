/* The canvas and its panes on a virtual screen: every type, the class actions, and the accessible description. */
#include <adwaita.h>
#include <string.h>

#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "ui/canvas/canvas-board.h"
#include "ui/canvas/quick-add.h"
#include "ui/canvas/studio-canvas.h"
#include "ui/inspector/studio-inspector.h"
#include "ui/palette/studio-outline.h"
#include "ui/palette/studio-palette.h"

static const char spiral[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                             "  <module name=\"block\">\n"
                             "    <node id=\"in\" op=\"module_input\"/>\n"
                             "    <node id=\"fc\" op=\"linear\" out_features=\"8\"/>\n"
                             "    <node id=\"out\" op=\"module_output\"/>\n"
                             "    <wire from=\"in\" to=\"fc\"/>\n"
                             "    <wire from=\"fc\" to=\"out\"/>\n"
                             "  </module>\n"
                             "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                             "  <node id=\"block\" module=\"block\"/>\n"
                             "  <node id=\"act\" op=\"relu\"/>\n"
                             "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                             "  <wire from=\"x\" to=\"block\"/>\n"
                             "  <wire from=\"block\" to=\"act\"/>\n"
                             "  <wire from=\"act\" to=\"fc\"/>\n"
                             "</graph>\n";

typedef struct
{
  StudioDocument *document;
  GtkWidget *window;
  StudioCanvas *canvas;
  StudioPalette *palette;
  StudioInspector *inspector;
  StudioOutline *outline;
} Fixture;

static void
settle (void)
{
  gint64 end = g_get_monotonic_time () + 120 * 1000;

  while (g_get_monotonic_time () < end)
    {
      while (g_main_context_iteration (NULL, FALSE))
        ;
      g_usleep (2000);
    }
}

/* GTK 4.8 warns when a window or popover closes while the display is slow: it queries the pointer over a surface that
 * has just been destroyed. No code of ours is involved, and GTK then does the right thing. */
static gboolean
is_of_a_gone_surface (const char *message)
{
  return strstr (message, "gdk_surface_get_device_position") != NULL
         || strstr (message, "_gtk_widget_find_at_coords") != NULL;
}

static gboolean
is_fatal (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  return !is_of_a_gone_surface (message);
}

/* GLib's test handler prints "Bail out!" for every fatal message, which TAP readers count as a failure. */
static void
say_cb (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  if (is_of_a_gone_surface (message))
    g_printerr ("%s: %s\n", domain, message);
  else
    g_log_default_handler (domain, level, message, NULL);
}

static void
let_gone_surfaces_pass (void)
{
  const GLogLevelFlags levels = G_LOG_LEVEL_CRITICAL | G_LOG_FLAG_FATAL;

  g_test_log_set_fatal_handler (is_fatal, NULL);
  g_log_set_handler ("Gdk", levels, say_cb, NULL);
  g_log_set_handler ("Gtk", levels, say_cb, NULL);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  g_autoptr (GError) error = NULL;

  let_gone_surfaces_pass ();
  f->document = studio_document_new ();
  g_assert_true (studio_document_open_text (f->document, spiral, -1, NULL, &error));
  f->canvas = studio_canvas_new (f->document);
  f->palette = studio_palette_new (f->document, f->canvas);
  f->inspector = studio_inspector_new (f->document);
  f->outline = studio_outline_new (f->document);
  f->window = gtk_window_new ();
  gtk_window_set_default_size (GTK_WINDOW (f->window), 1200, 700);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (f->palette));
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (f->outline));
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (f->canvas));
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (f->inspector));
  gtk_box_append (GTK_BOX (box), studio_canvas_breadcrumb_new (f->canvas));
  gtk_window_set_child (GTK_WINDOW (f->window), box);
  gtk_window_present (GTK_WINDOW (f->window));
  settle ();
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  gtk_window_destroy (GTK_WINDOW (f->window));
  settle ();
  g_assert_finalize_object (f->document);
}

static CanvasBoard *
board (Fixture *f)
{
  return canvas_board_of (GTK_WIDGET (f->canvas));
}

static GtkWidget *
open_popover (Fixture *f)
{
  return canvas_popover_get (board (f)->popover);
}

static void
act (Fixture *f, const char *action)
{
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->canvas), action, NULL));
  settle ();
}

static GtkWidget *
card (Fixture *f, const char *id)
{
  StudioScene *scene = studio_document_get_scene (f->document);
  guint i = studio_scene_find_id (scene, id);

  g_assert_cmpuint (i, !=, STUDIO_NO_ITEM);
  for (GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (f->canvas)); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (STUDIO_IS_NODE (child) && studio_node_get_serial (STUDIO_NODE (child)) == scene->item[i].serial)
      return child;
  g_assert_not_reached ();
}

static guint
count_cards (Fixture *f)
{
  guint n = 0;

  for (GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (f->canvas)); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += STUDIO_IS_NODE (child);
  return n;
}

static void
test_accessible (Fixture *f, gconstpointer data)
{
  GtkWidget *fc = card (f, "fc"), *act_card = card (f, "act");

  gtk_test_accessible_assert_role (f->canvas, GTK_ACCESSIBLE_ROLE_LIST);
  gtk_test_accessible_assert_role (fc, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
  gtk_test_accessible_assert_property (fc, GTK_ACCESSIBLE_PROPERTY_LABEL, "fc, Linear");
  gtk_test_accessible_assert_property (fc, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, "B × 4; from act");
  gtk_test_accessible_assert_state (fc, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_FALSE);
  gtk_test_accessible_assert_state (fc, GTK_ACCESSIBLE_STATE_SELECTED, FALSE);
  g_assert_true (gtk_test_accessible_has_relation (GTK_ACCESSIBLE (act_card), GTK_ACCESSIBLE_RELATION_FLOW_TO));
  g_assert_false (gtk_test_accessible_has_relation (GTK_ACCESSIBLE (fc), GTK_ACCESSIBLE_RELATION_FLOW_TO));

  g_assert_true (studio_canvas_focus_path (f->canvas, "act"));
  settle ();
  gtk_test_accessible_assert_state (act_card, GTK_ACCESSIBLE_STATE_SELECTED, TRUE);
  act (f, "canvas.delete");
  gtk_test_accessible_assert_state (fc, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  g_assert_false (
      gtk_test_accessible_has_relation (GTK_ACCESSIBLE (card (f, "block")), GTK_ACCESSIBLE_RELATION_FLOW_TO));
}

static void
test_actions (Fixture *f, gconstpointer data)
{
  double zoom = studio_canvas_get_zoom (f->canvas);
  g_autofree char *before = loom_graph_write (studio_document_get_graph (f->document), NULL), *after = NULL;

  g_assert_cmpuint (count_cards (f), ==, 4);
  act (f, "canvas.zoom-in");
  g_assert_cmpfloat (studio_canvas_get_zoom (f->canvas), >, zoom);
  act (f, "canvas.zoom-out");
  g_assert_cmpfloat_with_epsilon (studio_canvas_get_zoom (f->canvas), zoom, 1e-9);
  act (f, "canvas.zoom-normal");
  g_assert_cmpfloat (studio_canvas_get_zoom (f->canvas), ==, 1);
  act (f, "canvas.zoom-to-fit");
  act (f, "canvas.select-all");
  g_assert_cmpuint (studio_document_n_selected (f->document), ==, 4);
  act (f, "canvas.duplicate");
  g_assert_cmpuint (count_cards (f), ==, 8);
  act (f, "canvas.copy");
  act (f, "canvas.cut");
  g_assert_cmpuint (count_cards (f), ==, 4);
  act (f, "canvas.paste");
  g_assert_cmpuint (count_cards (f), ==, 8);
  act (f, "canvas.move-left");
  act (f, "canvas.auto-layout");
  act (f, "canvas.select-none");
  g_assert_cmpuint (studio_document_n_selected (f->document), ==, 0);
  while (studio_document_undo_name (f->document) != NULL)
    act (f, "canvas.undo");
  after = loom_graph_write (studio_document_get_graph (f->document), NULL);
  g_assert_cmpstr (after, ==, before);
  g_assert_cmpuint (count_cards (f), ==, 4);
  act (f, "canvas.redo");
  g_assert_cmpuint (count_cards (f), ==, 8);
}

static void
test_modules (Fixture *f, gconstpointer data)
{
  g_assert_true (studio_canvas_focus_path (f->canvas, "block"));
  act (f, "canvas.enter");
  g_assert_cmpuint (count_cards (f), ==, 3);
  g_assert_cmpstr (studio_document_get_scope_path (f->document), ==, "block");
  act (f, "canvas.leave");
  g_assert_cmpuint (count_cards (f), ==, 4);
  g_assert_true (studio_canvas_focus_path (f->canvas, "block.fc"));
  g_assert_cmpuint (studio_document_scope_depth (f->document), ==, 1);
}

static void
test_fix (Fixture *f, gconstpointer data)
{
  g_assert_true (studio_canvas_focus_path (f->canvas, "act"));
  act (f, "canvas.delete");
  g_assert_true (studio_canvas_focus_path (f->canvas, "fc"));
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (f->document)), >, 0);
  act (f, "canvas.fix");
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (f->document)), ==, 0);
  g_assert_cmpstr (studio_document_undo_name (f->document), ==, "Reconnect");
}

static void
test_focus (Fixture *f, gconstpointer data)
{
  GtkWidget *focus;

  g_assert_true (studio_canvas_focus_path (f->canvas, "act"));
  settle ();
  focus = gtk_window_get_focus (GTK_WINDOW (f->window));
  g_assert_true (focus == card (f, "act"));
  /* One Tab stop: from a card Tab leads out of the canvas, and back to that card. */
  gtk_widget_child_focus (f->window, GTK_DIR_TAB_FORWARD);
  focus = gtk_window_get_focus (GTK_WINDOW (f->window));
  g_assert_false (gtk_widget_is_ancestor (focus, GTK_WIDGET (f->canvas)));
  gtk_widget_child_focus (f->window, GTK_DIR_TAB_BACKWARD);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (f->window)) == card (f, "act"));
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->canvas), "node.focus", "s", "x"));
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (f->window)) == card (f, "x"));
  act (f, "canvas.next");
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (f->window)) == card (f, "block"));
  /* The card that is deleted hands its focus to the canvas. */
  act (f, "canvas.delete");
  focus = gtk_window_get_focus (GTK_WINDOW (f->window));
  g_assert_true (focus == GTK_WIDGET (f->canvas) || gtk_widget_is_ancestor (focus, GTK_WIDGET (f->canvas)));
}

static void
test_popovers (Fixture *f, gconstpointer data)
{
  act (f, "canvas.quick-add");
  g_assert_true (studio_canvas_focus_path (f->canvas, "fc"));
  act (f, "canvas.connect");
  act (f, "canvas.connect");
  g_assert_true (studio_canvas_focus_path (f->canvas, "x"));
  act (f, "canvas.connect");
}

/* The number of layers offered for a wire of this card that was dropped on the empty canvas. */
static guint
offered (Fixture *f, const StudioLoose *loose)
{
  guint n = 0;

  quick_add_open (board (f), "", 400, 300, loose);
  for (;
       gtk_list_box_get_row_at_index (GTK_LIST_BOX (find_widget (open_popover (f), GTK_TYPE_LIST_BOX)), (int)n) != NULL;
       n++)
    ;
  gtk_popover_popdown (GTK_POPOVER (open_popover (f)));
  settle ();
  return n;
}

/* Operators that accept the wire, or produce what its end needs. */
static guint
fitting (Fixture *f, const StudioLoose *loose)
{
  StudioAddPlace place
      = { .kind = STUDIO_ADD_LOOSE, .serial = loose->serial, .from_output = loose->from_output, .port = loose->port };
  guint n = 0;

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    n += (*op)->category != LOOM_CATEGORY_HIDDEN && studio_document_fit (f->document, *op, &place) > LOOM_FIT_NOT;
  return n;
}

/* An operator that does not take the wire is not offered for it, and neither are notes and frames; modules always are.
 * */
static void
test_dropped_wire (Fixture *f, gconstpointer data)
{
  StudioScene *scene = canvas_board_scene (board (f));
  guint64 fc = scene->item[studio_scene_find_id (scene, "fc")].serial;
  StudioLoose output = { fc, TRUE, "out" }, input = { fc, FALSE, "input" };
  guint modules = offered (f, NULL) - 2, n;

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    modules -= (*op)->category != LOOM_CATEGORY_HIDDEN;
  n = fitting (f, &output);
  g_assert_cmpuint (n, >, 50);
  g_assert_cmpuint (offered (f, &output), ==, n + modules);
  n = fitting (f, &input);
  g_assert_cmpuint (n, >, 50);
  g_assert_cmpuint (offered (f, &input), ==, n + modules);
}

/* As if the key were pressed in the popover's entry. */
static void
press (Fixture *f, guint key, GdkModifierType state)
{
  GtkWidget *entry = find_widget (open_popover (f), GTK_TYPE_ENTRY);
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (entry);
  gboolean done = FALSE;

  for (guint i = 0; i < g_list_model_get_n_items (controllers) && !done; i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_EVENT_CONTROLLER_KEY (controller)
          && gtk_event_controller_get_propagation_phase (controller) == GTK_PHASE_CAPTURE)
        g_signal_emit_by_name (controller, "key-pressed", key, 0, state, &done);
    }
  g_assert_true (done);
  settle ();
}

static void
type_in (Fixture *f, const char *text)
{
  gtk_editable_set_text (GTK_EDITABLE (find_widget (open_popover (f), GTK_TYPE_ENTRY)), text);
}

static gboolean
says (Fixture *f, const char *words)
{
  g_autoptr (GPtrArray) labels = g_ptr_array_new ();

  find_widgets (open_popover (f), GTK_TYPE_LABEL, labels);
  for (guint i = 0; i < labels->len; i++)
    if (strstr (gtk_label_get_text (labels->pdata[i]), words) != NULL)
      return TRUE;
  return FALSE;
}

/* An invalid number keeps the prompt open with the reason, and with how to add another layer unless those were the
 * keys. */
static void
test_prompt (Fixture *f, gconstpointer data)
{
  StudioScene *scene = canvas_board_scene (board (f));
  guint64 fc = scene->item[studio_scene_find_id (scene, "fc")].serial;
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (f->document), fc);

  g_assert_true (quick_add_prompt (board (f), fc, "out_features"));
  type_in (f, "4x");
  press (f, GDK_KEY_Return, 0);
  g_assert_nonnull (open_popover (f));
  g_assert_cmpstr (loom_element_get (node, "out_features"), ==, "4");
  g_assert_true (says (f, "“4x” is not a whole number.") && says (f, "to add the next layer"));
  press (f, GDK_KEY_Return, GDK_CONTROL_MASK);
  g_assert_true (says (f, "“4x” is not a whole number.") && !says (f, "to add the next layer"));
  g_assert_true (gtk_widget_has_css_class (find_widget (open_popover (f), GTK_TYPE_ENTRY), "error"));
  type_in (f, "16");
  g_assert_false (gtk_widget_has_css_class (find_widget (open_popover (f), GTK_TYPE_ENTRY), "error"));
  press (f, GDK_KEY_Return, 0);
  g_assert_null (open_popover (f));
  g_assert_cmpstr (loom_element_get (node, "out_features"), ==, "16");
}

/* Enter inserts a typed layer between the selected card and what it feeds, Shift+Enter begins a branch. */
static void
test_typed (Fixture *f, gconstpointer data)
{
  for (guint branch = 0; branch < 2; branch++)
    {
      StudioScene *scene;
      guint tanh, fc;

      g_assert_true (studio_canvas_focus_path (f->canvas, "act"));
      act (f, "canvas.quick-add");
      type_in (f, "tanh");
      press (f, GDK_KEY_Return, branch ? GDK_SHIFT_MASK : 0);
      studio_document_get_net (f->document);
      scene = canvas_board_scene (board (f));
      tanh = studio_scene_find_id (scene, "tanh");
      fc = studio_scene_find_id (scene, "fc");
      g_assert_true (tanh != STUDIO_NO_ITEM && fc != STUDIO_NO_ITEM);
      g_assert_cmpuint (scene->item[tanh].output[0].n_links, ==, branch ? 0 : 1);
      g_assert_cmpuint (scene->item[studio_scene_find_id (scene, "act")].output[0].n_links, ==, branch ? 2 : 1);
      g_assert_true (studio_document_undo (f->document));
      settle ();
    }
}

static void
test_hangs (Fixture *f, gconstpointer data)
{
  GtkWidget *pin = gtk_label_new ("a value");
  graphene_rect_t at;
  graphene_point_t port;

  act (f, "canvas.zoom-to-fit");
  act (f, "canvas.zoom-normal");
  studio_canvas_set_pin_widget (f->canvas, "fc", pin);
  studio_canvas_set_live (f->canvas, "fc", "loss 0.342");
  studio_canvas_set_progress (f->canvas, "fc", 0.5);
  g_assert_true (studio_canvas_focus_path (f->canvas, "fc"));
  settle ();
  g_assert_true (gtk_widget_get_child_visible (pin));
  g_assert_true (studio_canvas_get_card_rect (f->canvas, "fc", &at));
  g_assert_cmpfloat (gtk_widget_get_width (pin), >=, at.size.width - 1);
  g_assert_true (studio_canvas_get_port_point (f->canvas, "fc", FALSE, "input", &port));
  g_assert_cmpfloat_with_epsilon (port.x, at.origin.x, 0.01);
  g_assert_false (studio_canvas_get_port_point (f->canvas, "fc", FALSE, "none", &port));
  studio_canvas_set_pin_widget (f->canvas, "fc", NULL);
  studio_canvas_set_live (f->canvas, "fc", NULL);
  studio_canvas_set_progress (f->canvas, "fc", -1);
  settle ();
}

/* Stages from the planner are shown, and removed with the planner's result. */
static void
test_stages (Fixture *f, gconstpointer data)
{
  g_autoptr (GHashTable) stages = g_hash_table_new (g_str_hash, g_str_equal);
  StudioScene *scene;

  g_hash_table_insert (stages, (gpointer) "fc", GINT_TO_POINTER (2));
  studio_canvas_set_stages (f->canvas, stages);
  scene = canvas_board_scene (board (f));
  g_assert_cmpstr (scene->item[studio_scene_card_of (scene, "fc")].mark, ==, "1");
  studio_canvas_set_stages (f->canvas, NULL);
  scene = canvas_board_scene (board (f));
  g_assert_cmpuint (scene->item[studio_scene_card_of (scene, "fc")].tint, ==, 0);
}

/* A pin of a node inside a module is shown at the module's card, unless that has its own. */
static void
test_hangs_inside (Fixture *f, gconstpointer data)
{
  GtkWidget *inner = gtk_label_new ("inside"), *own = gtk_label_new ("outside");

  act (f, "canvas.zoom-to-fit");
  act (f, "canvas.zoom-normal");
  studio_canvas_set_pin_widget (f->canvas, "block.fc", inner);
  g_assert_true (studio_canvas_focus_path (f->canvas, "block"));
  settle ();
  g_assert_true (gtk_widget_get_child_visible (inner));
  studio_canvas_set_pin_widget (f->canvas, "block", own);
  settle ();
  g_assert_false (gtk_widget_get_child_visible (inner));
  g_assert_true (gtk_widget_get_child_visible (own));
  studio_canvas_set_pin_widget (f->canvas, "block", NULL);
  studio_canvas_set_pin_widget (f->canvas, "block.fc", NULL);
  settle ();
}

static GtkWidget *
find_labelled (GtkWidget *parent, GType type, const char *placeholder)
{
  for (GtkWidget *child = gtk_widget_get_first_child (parent); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      GtkWidget *found;

      if (G_TYPE_CHECK_INSTANCE_TYPE (child, type)
          && g_strcmp0 (gtk_entry_get_placeholder_text (GTK_ENTRY (child)), placeholder) == 0)
        return child;
      found = find_labelled (child, type, placeholder);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static void
count_cb (gpointer inspector, guint *left)
{
  ++*left;
}

static void
test_inspector (Fixture *f, gconstpointer data)
{
  GtkWidget *entry;
  StudioScene *scene;
  guint left = 0;

  g_assert_true (studio_canvas_focus_path (f->canvas, "fc"));
  settle ();
  entry = find_labelled (GTK_WIDGET (f->inspector), GTK_TYPE_ENTRY, "required");
  g_assert_nonnull (entry);
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, "4");
  gtk_editable_set_text (GTK_EDITABLE (entry), "32");
  settle ();
  studio_document_get_net (f->document);
  scene = studio_document_get_scene (f->document);
  g_assert_cmpstr (scene->item[studio_scene_find_id (scene, "fc")].summary, !=, NULL);
  g_assert_cmpint (scene->item[studio_scene_find_id (scene, "fc")].output[0].type.shape.dim[1].coef, ==, 32);
  /* Enter returns the focus to the canvas, but not while the value is invalid. */
  g_signal_connect (f->inspector, "left", G_CALLBACK (count_cb), &left);
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpuint (left, ==, 1);
  /* An invalid value is reported and not written. */
  gtk_editable_set_text (GTK_EDITABLE (entry), "32x");
  settle ();
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpuint (left, ==, 1);
  gtk_test_accessible_assert_state (entry, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  g_assert_cmpstr (studio_document_undo_name (f->document), ==, "Set out_features of fc");
  g_assert_true (studio_document_undo (f->document));
  settle ();
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, "4");
  studio_document_select_only (f->document, 0);
  studio_inspector_set_empty_widget (f->inspector, gtk_label_new ("training"));
  settle ();
}

static void
test_zooms (Fixture *f, gconstpointer data)
{
  GdkPaintable *paintable = gtk_widget_paintable_new (GTK_WIDGET (f->canvas));

  /* Each level of detail, light and dark, is drawn once without a warning. */
  for (guint dark = 0; dark < 2; dark++)
    {
      adw_style_manager_set_color_scheme (adw_style_manager_get_default (),
                                          dark ? ADW_COLOR_SCHEME_FORCE_DARK : ADW_COLOR_SCHEME_FORCE_LIGHT);
      for (double zoom = 0.1; zoom <= 4; zoom *= 1.5)
        {
          GtkSnapshot *snapshot = gtk_snapshot_new ();
          GskRenderNode *node;

          studio_canvas_zoom_at (f->canvas, zoom, 100, 100);
          studio_document_select_all (f->document);
          settle ();
          gdk_paintable_snapshot (paintable, snapshot, 800, 600);
          node = gtk_snapshot_free_to_node (snapshot);
          g_assert_nonnull (node);
          gsk_render_node_unref (node);
        }
    }
  adw_style_manager_set_color_scheme (adw_style_manager_get_default (), ADW_COLOR_SCHEME_DEFAULT);
  g_object_unref (paintable);
}

static GtkWidget *
annotation_view (Fixture *f)
{
  for (GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (f->canvas)); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (STUDIO_IS_ANNOTATION_VIEW (child))
      return child;
  return NULL;
}

/* A frame around two cards is there for the screen reader and the keyboard, and goes without a trace. */
static void
test_frames (Fixture *f, gconstpointer data)
{
  StudioScene *scene = studio_document_get_scene (f->document);
  guint64 two[2] = { scene->item[0].serial, scene->item[1].serial };

  studio_document_select (f->document, two, 2);
  g_assert_null (annotation_view (f));
  act (f, "canvas.add-frame");
  g_assert_nonnull (annotation_view (f));
  gtk_test_accessible_assert_property (GTK_ACCESSIBLE (annotation_view (f)), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                       "Frame Frame");
  gtk_test_accessible_assert_property (GTK_ACCESSIBLE (annotation_view (f)), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                       "contains x, block");
  gtk_test_accessible_assert_state (GTK_ACCESSIBLE (annotation_view (f)), GTK_ACCESSIBLE_STATE_SELECTED, TRUE);
  act (f, "canvas.delete");
  g_assert_null (annotation_view (f));
  act (f, "canvas.undo");
  act (f, "canvas.undo");
  g_assert_null (studio_document_undo_name (f->document));
  act (f, "canvas.show-cost");
  act (f, "canvas.show-cost");
}

/* A spotlight dims wires with the cards that they join, also when the graph has changed since. */
static void
test_spotlight (Fixture *f, gconstpointer data)
{
  const char *const both[] = { "x", "block", NULL };
  StudioScene *scene;

  studio_canvas_set_spotlight (f->canvas, "", both);
  for (guint round = 0; round < 2; round++)
    {
      scene = canvas_board_scene (board (f));
      for (guint i = 0; i < scene->n_links; i++)
        {
          const char *from = scene->item[scene->link[i].from].id;

          g_assert_cmpuint (scene->link[i].n_dark, ==,
                            g_str_equal (from, "x")       ? 0
                            : g_str_equal (from, "block") ? 1
                                                          : 2);
        }
      g_assert_cmpfloat (gtk_widget_get_opacity (card (f, "x")), ==, 1);
      g_assert_cmpfloat (gtk_widget_get_opacity (card (f, "fc")), <, 0.5);
      studio_document_set_attribute (f->document, scene->item[0].serial, "title", "Data");
      settle ();
    }
  studio_canvas_set_spotlight (f->canvas, "", NULL);
  scene = canvas_board_scene (board (f));
  for (guint i = 0; i < scene->n_links; i++)
    g_assert_cmpuint (scene->link[i].n_dark, ==, 0);
}

/* While the pointer passes from one widget to another GTK keeps pointers to both, so a card that has left the graph
 * stays until the next frame. */
static void
test_passing (Fixture *f, gconstpointer data)
{
  StudioScene *scene = studio_document_get_scene (f->document);
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (f->canvas));
  g_autoptr (GtkWidget) gone = NULL;
  GtkEventController *motion = NULL;
  guint64 serial = scene->item[0].serial;

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_EVENT_CONTROLLER_MOTION (controller))
        motion = controller;
    }
  g_assert_nonnull (motion);
  canvas_board_scene (board (f));
  gone = g_object_ref (GTK_WIDGET (canvas_cards_find (board (f)->cards, serial)));
  studio_document_select (f->document, &serial, 1);
  studio_document_delete_selection (f->document);
  g_signal_emit_by_name (motion, "motion", 10.0, 10.0);
  g_signal_emit_by_name (motion, "leave");
  g_assert_true (gtk_widget_get_parent (gone) == GTK_WIDGET (f->canvas));
  while (gtk_widget_get_parent (gone) != NULL)
    g_main_context_iteration (NULL, TRUE);
}

/* Enter goes to the first card that the words in the search find at that moment. */
static void
test_search (Fixture *f, gconstpointer data)
{
  GtkWidget *entry = find_widget (GTK_WIDGET (f->outline), GTK_TYPE_SEARCH_ENTRY);

  for (guint i = 0; i < 2; i++)
    {
      const char *id = i == 0 ? "act" : "fc";
      guint64 selected;

      gtk_editable_set_text (GTK_EDITABLE (entry), id);
      g_signal_emit_by_name (entry, "activate");
      g_assert_cmpuint (studio_document_n_selected (f->document), ==, 1);
      selected = studio_document_get_selected (f->document, 0);
      g_assert_cmpstr (
          loom_element_get (loom_graph_by_serial (studio_document_get_graph (f->document), selected), "id"), ==, id);
    }
}

/* Cards know their items after others before them came or went. */
static void
test_items_of_cards (Fixture *f, gconstpointer data)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (guint i = 0; i < 40; i++)
    {
      g_autoptr (GPtrArray) cards = g_ptr_array_new ();
      StudioScene *scene;

      if (i < 5)
        studio_document_add_node (f->document, "input", 0, 0);
      else if (i == 5)
        {
          studio_document_select_only (f->document, document_serial (f->document, "input"));
          studio_document_delete_selection (f->document);
        }
      else
        document_random_edit (f->document, rand);
      canvas_sync_now (board (f)->sync);
      scene = studio_document_get_scene (f->document);
      find_widgets (GTK_WIDGET (f->canvas), STUDIO_TYPE_NODE, cards);
      g_assert_cmpuint (cards->len, ==, scene->n_items);
      for (guint k = 0; k < cards->len; k++)
        g_assert_cmpuint (studio_scene_find (scene, studio_node_get_serial (cards->pdata[k])), ==,
                          studio_node_get_item (cards->pdata[k]));
    }
}

static guint
n_rows (Fixture *f)
{
  GtkWidget *view = find_widget (GTK_WIDGET (f->outline), GTK_TYPE_LIST_VIEW);

  return g_list_model_get_n_items (G_LIST_MODEL (gtk_list_view_get_model (GTK_LIST_VIEW (view))));
}

/* Panes that are hidden follow no edit until they are shown. */
static void
test_hidden_panes (Fixture *f, gconstpointer data)
{
  const guint n = n_rows (f);

  g_assert_true (studio_canvas_focus_path (f->canvas, "fc"));
  while (find_labelled (GTK_WIDGET (f->inspector), GTK_TYPE_ENTRY, "required") == NULL)
    g_main_context_iteration (NULL, TRUE);
  gtk_widget_set_visible (GTK_WIDGET (f->outline), FALSE);
  gtk_widget_set_visible (GTK_WIDGET (f->inspector), FALSE);
  studio_document_add_node (f->document, "dropout", 0, 0);
  settle ();
  studio_document_get_net (f->document);
  settle ();
  g_assert_cmpuint (n_rows (f), ==, n);
  g_assert_nonnull (find_labelled (GTK_WIDGET (f->inspector), GTK_TYPE_ENTRY, "required"));
  gtk_widget_set_visible (GTK_WIDGET (f->outline), TRUE);
  gtk_widget_set_visible (GTK_WIDGET (f->inspector), TRUE);
  g_assert_cmpuint (n_rows (f), ==, n + 1);
  while (find_labelled (GTK_WIDGET (f->inspector), GTK_TYPE_ENTRY, "0.5") == NULL)
    g_main_context_iteration (NULL, TRUE);
}

TEST_FILE (argc, argv)
{
  g_setenv ("GTK_A11Y", "test", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
#define ADD(name, func) g_test_add ("/ui/canvas/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("spotlight", test_spotlight);
  ADD ("passing", test_passing);
  ADD ("accessible", test_accessible);
  ADD ("actions", test_actions);
  ADD ("modules", test_modules);
  ADD ("fix", test_fix);
  ADD ("focus", test_focus);
  ADD ("popovers", test_popovers);
  ADD ("dropped-wire", test_dropped_wire);
  ADD ("prompt", test_prompt);
  ADD ("typed", test_typed);
  ADD ("hangs", test_hangs);
  ADD ("stages", test_stages);
  ADD ("hangs-inside", test_hangs_inside);
  ADD ("inspector", test_inspector);
  ADD ("zooms", test_zooms);
  ADD ("frames", test_frames);
  ADD ("search", test_search);
  ADD ("items-of-cards", test_items_of_cards);
  ADD ("hidden-panes", test_hidden_panes);
  return g_test_run ();
}
