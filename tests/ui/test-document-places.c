/* Positions in a document, which do not change its meaning: frames and notes, waypoints of wires, arranging. */
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-chain.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-arrange.h"
#include "ui/scene/studio-geometry.h"

/* Arranging or aligning the selection is one undo step and moves nothing else. */
static void
test_arrange (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *after = NULL;
  guint64 two[2] = { document_serial (document, "b1"), document_serial (document, "b2") };
  StudioScene *scene = studio_document_get_scene (document);
  guint x = studio_scene_find_id (scene, "x"), b1 = studio_scene_find_id (scene, "b1");
  guint b2 = studio_scene_find_id (scene, "b2");
  double x_x = scene->item[x].x;

  g_assert_true (studio_document_arrange (document, 2000, 300, STUDIO_LAYOUT_AUTOMATIC));
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[b2].y, ==, scene->item[x].y); /* all in one row */
  studio_document_move (document, two, 2, 24, 240);
  studio_document_select (document, two, 2);
  studio_document_align (document, STUDIO_ALIGN_LEFT);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Align left");
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[b1].x, ==, scene->item[b2].x);
  g_assert_cmpfloat (scene->item[b2].y, >=, scene->item[b1].y + scene->item[b1].height);
  g_assert_false (studio_document_arrange (document, 2000, 300, STUDIO_LAYOUT_AUTOMATIC));
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[b1].y, ==, scene->item[b2].y);
  g_assert_cmpfloat (scene->item[b1].x, <, scene->item[b2].x);
  g_assert_cmpfloat (scene->item[x].x, ==, x_x);
  for (guint i = 0; i < 4; i++)
    g_assert_true (studio_document_undo (document));
  g_assert_false (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (before, ==, after);
}

/* Adding, moving and deleting frames and notes can be undone exactly. */
static void
test_annotations (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *after = NULL, *hash = NULL, *hash_after = NULL;
  guint64 nodes[2] = { document_serial (document, "fc"), document_serial (document, "act") }, frame, note;
  StudioScene *scene = studio_document_get_scene (document);
  guint fc = studio_scene_find_id (scene, "fc"), x = studio_scene_find_id (scene, "x"), f;
  double fc_x = scene->item[fc].x, fc_y = scene->item[fc].y, x_x = scene->item[x].x;

  hash = loom_graph_hash (studio_document_get_graph (document));
  studio_document_select (document, nodes, 2);
  frame = studio_document_add_frame (document, "Pair", 0, 0);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_annotations, ==, 1);
  f = studio_scene_find_annotation (scene, frame);
  g_assert_cmpuint (f, ==, 0);
  g_assert_true (
      studio_geometry_is_within (&scene->annotation[f], fc_x, fc_y, scene->item[fc].width, scene->item[fc].height));
  studio_document_move (document, &frame, 1, 48, 24);
  scene = studio_document_get_scene (document);
  g_assert_cmpfloat (scene->item[fc].x, ==, fc_x + 48);
  g_assert_cmpfloat (scene->item[fc].y, ==, fc_y + 24);
  g_assert_cmpfloat (scene->item[x].x, ==, x_x);
  note = studio_document_add_note (document, "one\ntwo", 0, 500);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_annotations, ==, 2);
  g_assert_true (scene->annotation[1].serial == note && scene->annotation[1].is_note);
  g_assert_cmpstr (scene->annotation[1].text, ==, "one\ntwo");
  hash_after = loom_graph_hash (studio_document_get_graph (document));
  g_assert_cmpstr (hash, ==, hash_after); /* no meaning */
  studio_document_delete_selection (document);
  g_assert_cmpuint (studio_document_get_scene (document)->n_annotations, ==, 1);
  while (studio_document_undo (document))
    ;
  after = document_text (document);
  g_assert_cmpstr (before, ==, after);
}

/* Points that a wire is led through: named steps in the file's <route>, which go with the two cards of their wire, with
 * its copy, and with its end. */
static void
test_points (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autofree char *before = document_text (document), *with = NULL, *after = NULL, *text = NULL;
  StudioScene *scene = studio_document_get_scene (document);
  guint64 wire = scene->link[1].serial,
          both[2] = { document_serial (document, "fc"), document_serial (document, "act") };
  g_autofree char *hash = loom_graph_hash (studio_document_get_graph (document)), *hash_after = NULL;
  g_autoptr (GError) error = NULL;
  const StudioLink *link;

  g_assert_cmpuint (studio_document_add_point (document, wire, 100.2, 300), ==, 0);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Add reroute point");
  scene = studio_document_get_scene (document);
  /* After the first, because it is nearer to the end of the wire. */
  g_assert_cmpuint (studio_document_add_point (document, wire, scene->item[scene->link[1].to].x, 310), ==, 1);
  studio_document_move_point (document, wire, 0, 96, 288);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Move reroute point");
  link = &studio_document_get_scene (document)->link[1];
  g_assert_cmpuint (link->n_points, ==, 2);
  g_assert_cmpfloat (link->point[0].x, ==, 96);
  g_assert_cmpfloat (link->point[0].y, ==, 288);
  with = document_text (document);
  g_assert_nonnull (strstr (with, "<route from=\"fc\" to=\"act\" points=\"96,288 "));
  hash_after = loom_graph_hash (studio_document_get_graph (document));
  g_assert_cmpstr (hash, ==, hash_after); /* no meaning */

  /* They stay if one card moves, and move along if both do. */
  studio_document_move (document, both, 1, 24, 48);
  g_assert_cmpfloat (studio_document_get_scene (document)->link[1].point[0].x, ==, 96);
  studio_document_move (document, both, 2, 24, 48);
  g_assert_cmpfloat (studio_document_get_scene (document)->link[1].point[0].x, ==, 120);
  g_assert_cmpfloat (studio_document_get_scene (document)->link[1].point[0].y, ==, 336);
  studio_document_select (document, both, 2);
  text = studio_clipboard_copy (document);
  g_assert_true (studio_clipboard_paste (document, text, NAN, NAN, &error));
  g_assert_no_error (error);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->link[scene->n_links - 1].n_points, ==, 2);
  g_assert_cmpfloat (scene->link[scene->n_links - 1].point[0].x - 120, ==,
                     scene->item[scene->link[scene->n_links - 1].from].x - scene->item[scene->link[1].from].x);

  g_assert_true (studio_document_rename (document, both[0], "dense", &error));
  g_assert_cmpuint (studio_document_get_scene (document)->link[1].n_points, ==, 2);
  studio_document_remove_point (document, wire, 1);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Remove reroute point");
  g_assert_cmpuint (studio_document_get_scene (document)->link[1].n_points, ==, 1);
  studio_document_remove_points (document, wire);
  g_clear_pointer (&text, g_free);
  text = document_text (document);
  g_assert_null (strstr (text, "from=\"dense\" to=\"act\" points"));
  while (studio_document_undo (document))
    ;
  after = document_text (document);
  g_assert_cmpstr (before, ==, after);
}

/* A text that is no point is left out, and the others stay. */
static void
test_point_texts (void)
{
  guint n;
  g_autofree StudioPoint *point = studio_points_parse ("12,40 x,3  7 96.5,-40 1e9,0 nan,3", &n);
  g_autofree char *text = studio_points_format (point, n);

  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpstr (text, ==, "12,40 96.5,-40");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/document/arrange", test_arrange);
  g_test_add_func ("/ui/document/annotations", test_annotations);
  g_test_add_func ("/ui/document/points", test_points);
  g_test_add_func ("/ui/document/point-texts", test_point_texts);
  return g_test_run ();
}
