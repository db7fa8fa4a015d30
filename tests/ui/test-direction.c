/* Graphs from top to bottom in a document: arranging, adding, inserting, folding, watching, and hit testing. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/canvas/canvas-hit.h"
#include "ui/document/studio-document-add.h"
#include "ui/document/studio-document-arrange.h"
#include "ui/scene/studio-flow.h"
#include "ui/scene/studio-scene-part.h"

static const char chain[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                            "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                            "  <node id=\"act\" op=\"relu\"/>\n"
                            "  <node id=\"sum\" op=\"add\"/>\n"
                            "  <wire from=\"x\" to=\"fc\"/>\n"
                            "  <wire from=\"fc\" to=\"act\"/>\n"
                            "  <wire from=\"act\" to=\"sum.input\"/>\n"
                            "  <wire from=\"fc\" to=\"sum.other\"/>\n"
                            "</graph>\n";

static const StudioItem *
item (StudioDocument *document, const char *id)
{
  StudioScene *scene = studio_document_get_scene (document);

  return &scene->item[studio_scene_find_id (scene, id)];
}

static void
undo_to (StudioDocument *document, const char *before)
{
  g_autofree char *now = NULL;

  studio_document_undo (document);
  now = document_text (document);
  g_assert_cmpstr (now, ==, before);
}

static StudioDocument *
downwards (void)
{
  StudioDocument *document = document_load (chain);

  g_assert_true (studio_document_arrange (document, 720, 640, STUDIO_LAYOUT_DOWN));
  return document;
}

static void
test_arranged (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *hash = loom_graph_hash (studio_document_get_graph (document));
  g_autofree char *after = NULL, *same = NULL;

  studio_document_arrange (document, 720, 640, STUDIO_LAYOUT_DOWN);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Arrange top to bottom");
  after = document_text (document);
  g_assert_nonnull (strstr (after, "<layout direction=\"down\">"));
  same = loom_graph_hash (studio_document_get_graph (document));
  g_assert_cmpstr (hash, ==, same);
  g_assert_cmpint (studio_document_get_scene (document)->flow, ==, STUDIO_FLOW_DOWN);
  g_assert_cmpfloat (item (document, "fc")->y, >=, item (document, "x")->y + 56 + 40);
  /* Automatic keeps a readable direction, and a direction that was requested. */
  studio_document_arrange (document, 720, 640, STUDIO_LAYOUT_AUTOMATIC);
  g_assert_cmpint (studio_document_get_scene (document)->flow, ==, STUDIO_FLOW_DOWN);
  studio_document_arrange (document, 720, 640, STUDIO_LAYOUT_RIGHT);
  g_assert_cmpint (studio_document_get_scene (document)->flow, ==, STUDIO_FLOW_RIGHT);
  g_assert_cmpfloat (item (document, "fc")->x, >=, item (document, "x")->x + 176 + 40);
  studio_document_undo (document);
  undo_to (document, before);
}

/* A narrow and high canvas is one for a graph from top to bottom. */
static void
test_automatic (void)
{
  g_autoptr (StudioDocument) wide = document_load (chain), high = document_load (chain);

  studio_document_arrange (wide, 1000, 560, STUDIO_LAYOUT_AUTOMATIC);
  studio_document_arrange (high, 480, 900, STUDIO_LAYOUT_AUTOMATIC);
  g_assert_cmpint (studio_document_get_scene (wide)->flow, ==, STUDIO_FLOW_RIGHT);
  g_assert_false (studio_document_get_scene (wide)->flow_stated);
  g_assert_cmpint (studio_document_get_scene (high)->flow, ==, STUDIO_FLOW_DOWN);
}

static void
test_under_pointer (void)
{
  g_autoptr (StudioDocument) document = downwards ();
  StudioScene *scene = studio_document_get_scene (document);
  guint x = studio_scene_find_id (scene, "x"), fc = studio_scene_find_id (scene, "fc");
  guint act = studio_scene_find_id (scene, "act"), sum = studio_scene_find_id (scene, "sum");
  StudioView view = { 1, -50, -50, 1200, 900 };
  double px, py, sx, sy;
  StudioHit hit;

  studio_geometry_port (&scene->item[fc], TRUE, 0, &px, &py);
  g_assert_cmpfloat (py, ==, scene->item[fc].y + scene->item[fc].height);
  g_assert_cmpfloat (px, ==, scene->item[fc].x + scene->item[fc].width / 2);
  studio_view_to_screen (&view, px, py, &sx, &sy);
  hit = studio_geometry_hit (scene, &view, sx + 9, sy + 9);
  g_assert_cmpint (hit.kind, ==, STUDIO_HIT_OUTPUT);
  g_assert_cmpuint (hit.item, ==, fc);
  studio_geometry_port (&scene->item[sum], FALSE, 1, &px, &py);
  g_assert_cmpfloat (py, ==, scene->item[sum].y);
  studio_view_to_screen (&view, px, py, &sx, &sy);
  hit = studio_geometry_hit (scene, &view, sx, sy - 8);
  g_assert_cmpint (hit.kind, ==, STUDIO_HIT_INPUT);
  g_assert_cmpuint (hit.port, ==, 1);
  /* Weights that are offered are on the edge at the right, each on its own. */
  studio_geometry_port (&scene->item[fc], FALSE, 2, &px, &py);
  g_assert_cmpfloat (px, ==, scene->item[fc].x + scene->item[fc].width);
  g_assert_cmpfloat (py, <, scene->item[fc].y + scene->item[fc].height);
  g_assert_cmpuint (studio_geometry_neighbour (scene, x, STUDIO_DOWN), ==, fc);
  g_assert_cmpuint (studio_geometry_neighbour (scene, sum, STUDIO_UP), ==, act);
  g_assert_cmpuint (studio_geometry_neighbour (scene, x, STUDIO_UP), ==, STUDIO_NO_ITEM);
}

static void
test_added (void)
{
  g_autoptr (StudioDocument) document = downwards ();
  g_autofree char *before = document_text (document);
  StudioScene *scene = studio_document_get_scene (document);
  double act = item (document, "act")->y, fc = item (document, "fc")->y;
  StudioAddPlace insertion = { .kind = STUDIO_ADD_AFTER, .serial = document_serial (document, "sum") };
  StudioAddPlace within = { .kind = STUDIO_ADD_ON_WIRE, .serial = scene->link[1].serial };
  const StudioItem *made;

  g_assert_cmpuint (studio_document_add (document, "tanh", FALSE, NULL, &insertion, NULL), !=, 0);
  made = item (document, "tanh");
  g_assert_cmpfloat (made->y, >=, item (document, "sum")->y + 56);
  g_assert_cmpfloat (made->x, ==, item (document, "sum")->x); /* so that the wire is straight */
  undo_to (document, before);
  /* Inserting into a wire without space moves the cards after it down. */
  within.x = item (document, "fc")->x + 88;
  within.y = item (document, "fc")->y + 56;
  g_assert_cmpuint (studio_document_add (document, "tanh", FALSE, NULL, &within, NULL), !=, 0);
  g_assert_cmpfloat (item (document, "fc")->y, ==, fc);
  g_assert_cmpfloat (item (document, "act")->y, >, act);
  g_assert_cmpfloat (item (document, "tanh")->y, >, fc);
  g_assert_cmpfloat (item (document, "tanh")->y + 56, <, item (document, "act")->y);
  undo_to (document, before);
}

static void
test_folded (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (document)), *same = NULL, *before = NULL;
  g_autofree char *text = NULL;
  guint64 two[2] = { document_serial (document, "act"), document_serial (document, "sum") };
  double x, y, other_y;

  before = document_text (document);
  studio_document_select_only (document, 0);
  g_assert_false (studio_document_fold_selection (document));
  studio_document_select (document, two, 2);
  g_assert_true (studio_document_fold_selection (document));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Collapse 2 nodes");
  g_assert_cmpfloat (item (document, "act")->height, ==, STUDIO_CARD_FOLDED);
  g_assert_cmpfloat (item (document, "fc")->height, ==, STUDIO_CARD_HEIGHT);
  /* Its ports stay apart, and on it. */
  studio_geometry_port (item (document, "sum"), FALSE, 0, &x, &y);
  studio_geometry_port (item (document, "sum"), FALSE, 1, &x, &other_y);
  g_assert_cmpfloat (y, >, item (document, "sum")->y);
  g_assert_cmpfloat (other_y - y, >=, 2 * STUDIO_PORT_RADIUS);
  g_assert_cmpfloat (other_y, <, item (document, "sum")->y + STUDIO_CARD_FOLDED);
  text = document_text (document);
  g_assert_nonnull (strstr (text, "collapsed=\"true\""));
  same = loom_graph_hash (studio_document_get_graph (document));
  g_assert_cmpstr (hash, ==, same);
  /* One that is open among them: all are folded. */
  g_assert_true (studio_document_fold_selection (document));
  g_assert_false (item (document, "act")->folded);
  studio_document_undo (document);
  undo_to (document, before);
}

static void
check_pin (StudioDocument *document)
{
  StudioRect room;

  studio_document_begin (document, "Watch");
  studio_document_make_space_for_pin (document, "fc", 176, 0, 176);
  studio_document_end (document);
  room = studio_geometry_with_pins (item (document, "fc"));
  if (studio_document_get_scene (document)->flow == STUDIO_FLOW_DOWN)
    room = (StudioRect){ room.x + room.width + 8, room.y, 176, 176 };
  else
    room.height += 176 + 24;
  for (guint i = 0; i < studio_document_get_scene (document)->n_items; i++)
    {
      const StudioItem *other = &studio_document_get_scene (document)->item[i];
      StudioRect card = studio_geometry_card (other);

      if (strcmp (other->id, "fc") != 0 && studio_rect_intersects (&card, &room))
        g_error ("the pin of fc lies on %s", other->id);
    }
}

static void
test_pin (void)
{
  g_autoptr (StudioDocument) down = downwards (), right = document_load (chain);
  g_autofree char *before = NULL;
  guint64 sum = document_serial (down, "sum");
  double fc, sum_x, act = item (down, "act")->x;

  studio_document_arrange (right, 300, 2000, STUDIO_LAYOUT_RIGHT);
  before = document_text (right);
  fc = item (right, "fc")->y;
  check_pin (right);
  g_assert_cmpfloat (item (right, "fc")->y, ==, fc);
  undo_to (right, before);
  /* Neighbouring cards move aside for pins, which hang at the right. */
  studio_document_move (down, &sum, 1, item (down, "fc")->x + 200 - item (down, "sum")->x,
                        item (down, "fc")->y - item (down, "sum")->y);
  sum_x = item (down, "sum")->x;
  check_pin (down);
  g_assert_cmpfloat (item (down, "sum")->x, >, sum_x);
  g_assert_cmpfloat (item (down, "act")->x, ==, act); /* below the card, where no pin is */
}

/* Two cards above two others: each pin moves what is below it, no further than it must and in its order. */
static const char two_rows[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
                               "<node id=\"x\" op=\"input\" shape=\"B,8\"/><node id=\"a\" op=\"relu\"/>"
                               "<node id=\"b\" op=\"relu\"/><node id=\"c\" op=\"relu\"/><node id=\"d\" op=\"relu\"/>"
                               "<wire from=\"x\" to=\"a\"/><wire from=\"a\" to=\"b\"/><wire from=\"b\" to=\"c\"/>"
                               "<wire from=\"c\" to=\"d\"/><layout><place node=\"x\" x=\"0\" y=\"0\"/>"
                               "<place node=\"a\" x=\"240\" y=\"0\"/><place node=\"b\" x=\"480\" y=\"0\"/>"
                               "<place node=\"c\" x=\"240\" y=\"180\"/><place node=\"d\" x=\"240\" y=\"300\"/></layout>"
                               "</graph>";

static void
watch_wide (StudioDocument *document, const char *id, const char *width)
{
  LoomElement *view, *pin;

  studio_document_begin (document, "Watch");
  studio_document_make_space_for_pin (document, id, g_ascii_strtod (width, NULL), 0, 176);
  view = studio_document_ensure (document, LOOM_TAG_VIEW);
  pin = loom_element_new (LOOM_TAG_PIN, "tensor", id, "kind", "heat", "width", width, "height", "176", NULL);
  studio_document_edit (document, loom_edit_insert (view, 0, pin));
  studio_document_end (document);
}

static void
watch (StudioDocument *document, const char *id)
{
  watch_wide (document, id, "176");
}

static void
assert_apart (StudioDocument *document)
{
  StudioScene *scene = studio_document_get_scene (document);

  for (guint i = 0; i < scene->n_items; i++)
    for (guint k = i + 1; k < scene->n_items; k++)
      {
        StudioRect a = studio_geometry_with_pins (&scene->item[i]), b = studio_geometry_with_pins (&scene->item[k]);

        if (studio_rect_intersects (&a, &b))
          g_error ("%s and %s overlap", scene->item[i].id, scene->item[k].id);
      }
}

/* A pin that is wider than its card moves the rest of its row on, and what is below it down, in one step. */
static void
test_wide_pins (void)
{
  g_autoptr (StudioDocument) document = document_load (two_rows);
  g_autofree char *before = document_text (document);
  StudioRect whole;

  watch_wide (document, "a", "300");
  whole = studio_geometry_with_pins (item (document, "a"));
  g_assert_cmpfloat (whole.width, ==, 300);
  assert_apart (document);
  g_assert_cmpfloat (item (document, "b")->x, >=, whole.x + whole.width);
  g_assert_cmpfloat (item (document, "b")->y, ==, 0);
  g_assert_cmpfloat (item (document, "c")->y, >=, whole.y + whole.height);
  g_assert_cmpfloat (item (document, "c")->x, ==, 240);
  undo_to (document, before);
  for (guint i = 0; i < 5; i++)
    watch_wide (document, (const char *[]){ "a", "b", "x", "c", "d" }[i], "300");
  assert_apart (document);
  for (StudioLayoutDirection way = STUDIO_LAYOUT_AUTOMATIC; way <= STUDIO_LAYOUT_DOWN; way++)
    {
      studio_document_arrange (document, 1000, 600, way);
      assert_apart (document);
    }
}

static void
test_pins_in_rows (void)
{
  g_autoptr (StudioDocument) document = document_load (two_rows);
  const double pin = studio_geometry_pin_height (176);
  StudioAddPlace on_wire = { .kind = STUDIO_ADD_ON_WIRE }, at = { .kind = STUDIO_ADD_AT, .x = 330, .y = 120 };
  g_autofree char *before = document_text (document);
  StudioRect frame;

  watch (document, "a");
  assert_apart (document);
  g_assert_cmpfloat (item (document, "c")->y, <=, 180 + pin + STUDIO_SNAP);
  g_assert_cmpfloat (item (document, "d")->y, >, item (document, "c")->y);
  g_assert_cmpfloat (item (document, "d")->y, <=, 300 + pin + STUDIO_SNAP);
  undo_to (document, before);
  for (guint i = 0; i < 5; i++)
    watch (document, (const char *[]){ "a", "b", "x", "c", "d" }[i]);
  assert_apart (document);
  g_assert_cmpfloat (item (document, "d")->y, <=, 300 + 2 * pin + 2 * STUDIO_SNAP);

  /* What is added stands on no pin, a frame goes around them, and Arrange keeps them apart. */
  studio_document_add (document, "tanh", FALSE, NULL, &at, NULL);
  assert_apart (document);
  on_wire.serial = studio_document_get_scene (document)->link[1].serial;
  on_wire.x = 330;
  on_wire.y = 160;
  studio_document_add (document, "gelu", FALSE, NULL, &on_wire, NULL);
  assert_apart (document);
  studio_document_select_all (document);
  studio_document_add_frame (document, "all", 0, 0);
  frame = studio_geometry_bounds_with_pins (studio_document_get_scene (document));
  g_assert_cmpfloat (studio_document_get_scene (document)->annotation[0].height, >=, frame.height - STUDIO_FRAME_TITLE);
  for (StudioLayoutDirection way = STUDIO_LAYOUT_AUTOMATIC; way <= STUDIO_LAYOUT_DOWN; way++)
    {
      studio_document_arrange (document, 720, 640, way);
      assert_apart (document);
    }
}

/* If the whole graph cannot be readable, Fit shows its beginning with text of twelve pixels. */
static void
test_fit (void)
{
  double least = studio_geometry_readable_zoom (1);
  StudioRect small = { 0, 0, 500, 300 }, large = { -100, 50, 6000, 500 }, start = { 0, 300, 192, 72 }, seen;
  StudioView view = { 1, 0, 0, 800, 600 };

  g_assert_cmpfloat (40 / 3.0 * studio_geometry_text_scale (least, 1) * least, >=, 12 - 1e-9);
  g_assert_cmpfloat (40 / 3.0 * studio_geometry_text_scale (studio_geometry_readable_zoom (2), 2)
                         * studio_geometry_readable_zoom (2),
                     >=, 24 - 1e-9);
  for (double zoom = least; zoom < 1; zoom += 0.01)
    g_assert_cmpfloat (40 / 3.0 * studio_geometry_text_scale (zoom, 1) * zoom, >=, 12 - 1e-9);
  studio_view_fit_from (&view, &small, &start, least);
  g_assert_cmpfloat (view.zoom, ==, 1);
  studio_view_fit_from (&view, &large, &start, least);
  g_assert_cmpfloat (view.zoom, ==, least);
  seen = studio_view_visible (&view);
  g_assert_cmpfloat (seen.x, <=, large.x);
  g_assert_cmpfloat (seen.y, <, large.y);
  g_assert_cmpfloat (seen.y + seen.height, >, large.y + large.height); /* what fits is centred */
  start.x = 4000;
  studio_view_fit_from (&view, &large, &start, least);
  seen = studio_view_visible (&view);
  g_assert_cmpfloat (seen.x + seen.width, >, start.x + start.width);
}

static gboolean
is_same (guint64 serial, gpointer data)
{
  return serial == *(const guint64 *)data;
}

/* What is left is found at its new place, and nothing else is found. */
static void
test_part (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  StudioScene *shown = studio_document_get_scene (document), *scene;
  const guint last = shown->n_items - 1;
  guint64 kept = shown->item[last].serial, gone = shown->item[0].serial;

  g_assert_cmpuint (last, >, 0);
  scene = studio_scene_new_plain (studio_document_get_graph (document),
                                  loom_graph_root (studio_document_get_graph (document)));
  studio_scene_keep (scene, is_same, &kept);
  g_assert_cmpuint (scene->n_items, ==, 1);
  g_assert_cmpuint (studio_scene_find (scene, kept), ==, 0);
  g_assert_cmpuint (studio_scene_find (scene, gone), ==, STUDIO_NO_ITEM);
  studio_scene_free (scene);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/direction/arranged", test_arranged);
  g_test_add_func ("/ui/direction/automatic", test_automatic);
  g_test_add_func ("/ui/direction/under-pointer", test_under_pointer);
  g_test_add_func ("/ui/direction/added", test_added);
  g_test_add_func ("/ui/direction/folded", test_folded);
  g_test_add_func ("/ui/direction/pin", test_pin);
  g_test_add_func ("/ui/direction/wide-pins", test_wide_pins);
  g_test_add_func ("/ui/direction/pins-in-rows", test_pins_in_rows);
  g_test_add_func ("/ui/direction/fit", test_fit);
  g_test_add_func ("/ui/direction/part", test_part);
  return g_test_run ();
}
