/* Collapsed frames: what the scene shows of them, and what commands on their card do. No display. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/canvas/canvas-gesture.h"
#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-arrange.h"

static const char net[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                          "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                          "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                          "  <node id=\"act\" op=\"relu\"/>\n"
                          "  <node id=\"sum\" op=\"add\"/>\n"
                          "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"
                          "  <wire from=\"x\" to=\"fc\"/>\n"
                          "  <wire from=\"fc\" to=\"act\"/>\n"
                          "  <wire from=\"act\" to=\"sum.input\"/>\n"
                          "  <wire from=\"fc\" to=\"sum.other\"/>\n"
                          "  <wire from=\"sum\" to=\"head\"/>\n"
                          "  <layout>\n"
                          "    <place node=\"x\" x=\"0\" y=\"0\"/>\n"
                          "    <place node=\"fc\" x=\"300\" y=\"0\"/>\n"
                          "    <place node=\"act\" x=\"540\" y=\"0\"/>\n"
                          "    <place node=\"sum\" x=\"900\" y=\"0\"/>\n"
                          "    <place node=\"head\" x=\"1200\" y=\"0\"/>\n"
                          "    <frame title=\"Hidden layer\" x=\"276\" y=\"-48\" width=\"500\" height=\"200\"/>\n"
                          "    <note x=\"300\" y=\"110\" text=\"A note\"/>\n"
                          "    <route from=\"fc\" to=\"act\" points=\"510,40\"/>\n"
                          "  </layout>\n"
                          "</graph>\n";

static guint64
frame_serial (StudioDocument *document)
{
  const LoomElement *layout = loom_element_find (studio_document_get_scope (document), LOOM_TAG_LAYOUT);

  return loom_element_serial (loom_element_find (layout, LOOM_TAG_FRAME));
}

static StudioDocument *
load_collapsed (void)
{
  StudioDocument *document = document_load (net);

  studio_document_select_only (document, frame_serial (document));
  g_assert_true (studio_document_fold_selection (document));
  return document;
}

static const StudioItem *
card (StudioDocument *document)
{
  StudioScene *scene = studio_document_get_scene (document);

  g_assert_cmpuint (studio_scene_n_frames (scene), ==, 1);
  return &scene->item[scene->n_items - 1];
}

static void
assert_text (StudioDocument *document, const char *what, gboolean there)
{
  g_autofree char *text = document_text (document);

  if ((strstr (text, what) != NULL) != there)
    g_error ("%s is %sin\n%s", what, there ? "not " : "", text);
}

static void
assert_undone (StudioDocument *document, guint steps)
{
  g_autofree char *text = NULL;

  for (guint i = 0; i < steps; i++)
    g_assert_true (studio_document_undo (document));
  text = document_text (document);
  g_assert_cmpstr (text, ==, net);
}

/* "x>fc" for each wire that is shown, by what the ports at frames are called. */
static char *
links (StudioDocument *document)
{
  StudioScene *scene = studio_document_get_scene (document);
  GString *s = g_string_new (NULL);

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      const StudioItem *from = &scene->item[link->from], *to = &scene->item[link->to];

      g_string_append_printf (s, "%s%s>%s", l > 0 ? " " : "",
                              from->is_frame ? from->output[link->output].name : from->id,
                              to->is_frame ? to->input[link->input].name : to->id);
    }
  return g_string_free (s, FALSE);
}

static void
test_card (void)
{
  g_autoptr (StudioDocument) document = load_collapsed ();
  g_autofree char *shown = NULL;
  StudioScene *scene;

  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Collapse Hidden layer");
  assert_text (document, "collapsed=\"fc act\"", TRUE);
  assert_text (document, "text=\"A note\" hidden=\"true\"", TRUE);
  g_assert_cmpuint (scene->n_items, ==, 4);
  g_assert_cmpuint (scene->n_hidden, ==, 2);
  g_assert_cmpuint (scene->n_annotations, ==, 0);
  shown = links (document);
  g_assert_cmpstr (shown, ==, "x>fc act>sum fc>sum sum>head");
  g_assert_cmpstr (card (document)->title, ==, "Hidden layer");
  g_assert_cmpfloat (card (document)->x, ==, 276);
  g_assert_cmpfloat (card (document)->y, ==, -48);
  g_assert_cmpuint (card (document)->n_inputs, ==, 1);
  g_assert_cmpuint (card (document)->n_outputs, ==, 2);
  g_assert_true (card (document)->output[0].typed);
  g_assert_cmpfloat (card (document)->costs.parameters, ==, 8 * 4 + 4);
  for (guint l = 0; l < scene->n_links; l++)
    g_assert_true (scene->link[l].typed);
  /* The nodes that are computed are another matter. */
  g_assert_cmpuint (loom_net_n_nodes (studio_document_get_net (document)), ==, 5);
  g_assert_true (studio_document_fold_selection (document));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Expand Hidden layer");
  assert_undone (document, 0);
  assert_undone (document, 2);
}

/* The nodes move with their frame's card, and other cards make space for them. */
static void
test_move (void)
{
  g_autoptr (StudioDocument) document = load_collapsed ();
  guint64 frame = frame_serial (document);
  StudioScene *scene;

  studio_document_move (document, &frame, 1, 600, 240);
  assert_text (document, "<place node=\"fc\" x=\"900\" y=\"240\"/>", TRUE);
  assert_text (document, "x=\"900\" y=\"350\" text=\"A note\"", TRUE);
  assert_text (document, "points=\"1110,280\"", TRUE);
  assert_text (document, "<place node=\"sum\" x=\"900\" y=\"0\"/>", TRUE);
  /* Other cards may be where the frame was without becoming part of it. */
  {
    guint64 head = document_serial (document, "head");

    studio_document_move (document, &head, 1, -600, 240);
    g_assert_cmpuint (studio_document_get_scene (document)->n_hidden, ==, 2);
    studio_document_move (document, &head, 1, 600, -24);
  }
  /* head, 1200 by 216, is in the way of the open frame. */
  g_assert_true (studio_document_fold_selection (document));
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_hidden, ==, 0);
  for (guint i = 0; i < scene->n_items; i++)
    for (guint k = 0; k < i; k++)
      {
        const StudioRect a = studio_geometry_card (&scene->item[i]), b = studio_geometry_card (&scene->item[k]);

        g_assert_false (studio_rect_intersects (&a, &b));
      }
  g_assert_cmpfloat (scene->item[studio_scene_find_id (scene, "head")].x, >, 876 + 500);
  g_assert_cmpuint (scene->n_annotations, ==, 2);
  assert_undone (document, 5);
}

static void
test_arrange (void)
{
  g_autoptr (StudioDocument) document = load_collapsed ();
  double dx, dy, fc_x, fc_y;
  StudioScene *scene;

  studio_document_select_only (document, 0);
  g_assert_true (studio_document_arrange (document, 900, 700, STUDIO_LAYOUT_AUTOMATIC));
  scene = studio_document_get_scene (document);
  dx = card (document)->x - 276;
  dy = card (document)->y + 48;
  fc_x = g_ascii_strtod (loom_element_get (loom_scope_find_place (studio_document_get_scope (document), "fc"), "x"),
                         NULL);
  fc_y = g_ascii_strtod (loom_element_get (loom_scope_find_place (studio_document_get_scope (document), "fc"), "y"),
                         NULL);
  g_assert_cmpfloat (fc_x, ==, 300 + dx);
  g_assert_cmpfloat (fc_y, ==, 0 + dy);
  g_assert_cmpfloat (scene->item[0].x, <, card (document)->x);
  assert_text (document, "node=\"frame", FALSE);
  assert_undone (document, 2);
}

static void
test_commands (void)
{
  g_autoptr (StudioDocument) document = load_collapsed ();
  g_autoptr (GError) error = NULL;
  g_autofree char *copy = NULL, *shown = NULL;

  copy = studio_clipboard_copy (document);
  g_assert_nonnull (strstr (copy, "<node id=\"fc\""));
  g_assert_nonnull (strstr (copy, "title=\"Hidden layer\""));
  g_assert_cmpuint (studio_document_n_steps (document), ==, 1);
  g_assert_true (studio_document_is_selected (document, frame_serial (document)));

  g_assert_true (studio_document_mute_selection (document));
  assert_text (document, "op=\"relu\" mute=\"true\"", TRUE);
  assert_text (document, "collapsed=\"fc act\"", TRUE);
  g_assert_true (studio_document_undo (document));

  studio_document_delete_selection (document);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Delete Hidden layer");
  assert_text (document, "<frame", FALSE);
  assert_text (document, "relu", FALSE);
  shown = links (document);
  g_assert_cmpstr (shown, ==, "sum>head");
  g_assert_true (studio_document_undo (document));

  studio_document_select_only (document, frame_serial (document));
  g_assert_true (studio_document_group_selection (document, "hidden", &error));
  g_assert_no_error (error);
  assert_text (document, "<node id=\"hidden\" module=\"hidden\"/>", TRUE);
  g_assert_true (studio_document_undo (document));
  studio_document_select_only (document, frame_serial (document));
  studio_document_dissolve_selection (document);
  assert_text (document, "<wire from=\"x\" to=\"sum.input\"/>", TRUE);
  g_assert_true (studio_document_undo (document));
  assert_undone (document, 1);
}

/* Who goes to a card within, from the list of faults or the outline, gets it shown; a new name is kept. */
static void
test_reveal (void)
{
  g_autoptr (StudioDocument) document = load_collapsed ();
  g_autoptr (GError) error = NULL;
  const LoomElement *act = loom_scope_find_node (studio_document_get_scope (document), "act");

  g_assert_true (studio_document_rename (document, loom_element_serial (act), "bend", &error));
  assert_text (document, "collapsed=\"fc bend\"", TRUE);
  g_assert_true (studio_document_reveal (document, "bend"));
  g_assert_cmpuint (studio_document_get_scene (document)->n_hidden, ==, 0);
  g_assert_true (studio_document_is_selected (document, document_serial (document, "bend")));
  assert_undone (document, 3);
}

/* The card of a frame offers the quick fix of a fault inside it. */
static void
test_fix (void)
{
  g_autoptr (StudioDocument) document = load_collapsed ();
  const LoomElement *fc = loom_scope_find_node (studio_document_get_scope (document), "fc");

  studio_document_set_attribute (document, loom_element_serial (fc), "op", "linaer");
  studio_document_get_net (document);
  g_assert_nonnull (card (document)->fault);
  g_assert_nonnull (card (document)->fix);
  g_assert_true (studio_document_apply_fix (document, card (document)->serial));
  g_assert_cmpuint (loom_faults_length (studio_document_get_faults (document)), ==, 0);
  assert_text (document, "linaer", FALSE);
}

/* A frame within a frame stays what it was. */
static void
test_nested (void)
{
  g_autoptr (StudioDocument) document = load_collapsed ();
  guint64 inner = frame_serial (document), outer;
  StudioScene *scene;

  studio_document_select_only (document, inner);
  studio_document_set_selected (document, document_serial (document, "sum"), TRUE);
  outer = studio_document_add_frame (document, "Outer", 0, 0);
  studio_document_select_only (document, outer);
  g_assert_true (studio_document_fold_selection (document));
  assert_text (document, "collapsed=\"sum fc act\"", TRUE);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_items, ==, 3);
  g_assert_cmpuint (scene->n_hidden, ==, 3);
  g_assert_true (studio_document_fold_selection (document));
  g_assert_cmpstr (card (document)->title, ==, "Hidden layer");
  g_assert_cmpuint (studio_document_get_scene (document)->n_hidden, ==, 2);
  g_assert_true (studio_document_undo (document));
  g_assert_true (studio_document_reveal (document, "act"));
  g_assert_cmpuint (studio_document_get_scene (document)->n_hidden, ==, 0);
  assert_undone (document, 5);
}

static gboolean
is_selected_cb (guint64 serial, gpointer document)
{
  return studio_document_is_selected (document, serial);
}

/* A press on the arrow collapses or expands; next to it, it selects. */
static void
test_arrow (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  StudioView view = { .zoom = 1, .width = 2000, .height = 1000, .x = -100, .y = -200 };
  StudioGesture gesture;

  for (guint pass = 0; pass < 2; pass++)
    {
      StudioScene *scene = studio_document_get_scene (document);
      const double right = pass == 0 ? 776 : card (document)->x + card (document)->width;
      StudioCommand command;

      studio_gesture_init (&gesture);
      studio_gesture_press (&gesture, scene, &view, right - 16 + 100, -48 + 12 + 200, 0, is_selected_cb, document);
      command = studio_gesture_release (&gesture, scene, &view);
      g_assert_cmpint (command.what, ==, STUDIO_DO_FOLD);
      g_assert_cmpuint (command.serial, ==, frame_serial (document));
      studio_gesture_init (&gesture);
      studio_gesture_press (&gesture, scene, &view, right - 60 + 100, -48 + 12 + 200, 0, is_selected_cb, document);
      command = studio_gesture_release (&gesture, scene, &view);
      g_assert_cmpint (command.what, !=, STUDIO_DO_FOLD);
      studio_document_select_only (document, frame_serial (document));
      g_assert_true (studio_document_fold_selection (document));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/frames/card", test_card);
  g_test_add_func ("/ui/frames/move", test_move);
  g_test_add_func ("/ui/frames/arrange", test_arrange);
  g_test_add_func ("/ui/frames/commands", test_commands);
  g_test_add_func ("/ui/frames/reveal", test_reveal);
  g_test_add_func ("/ui/frames/fix", test_fix);
  g_test_add_func ("/ui/frames/nested", test_nested);
  g_test_add_func ("/ui/frames/arrow", test_arrow);
  return g_test_run ();
}
