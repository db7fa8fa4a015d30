/* Geometry of the canvas: views, curves, hit testing, and the arrow keys. No display. */
#include <math.h>

#include "tests/test-program.h"
#include "tests/ui/scene-test.h"
#include "ui/canvas/canvas-hit.h"
#include "ui/scene/studio-flow.h"
#include "ui/scene/studio-routes.h"
#include "ui/canvas/canvas-wires.h"

static const char three[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                            "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                            "  <node id=\"act\" op=\"relu\"/>\n"
                            "  <node id=\"sum\" op=\"add\"/>\n"
                            "  <wire from=\"x\" to=\"fc\"/>\n"
                            "  <wire from=\"fc\" to=\"act\"/>\n"
                            "  <wire from=\"act\" to=\"sum.input\"/>\n"
                            "  <wire from=\"fc\" to=\"sum.other\"/>\n"
                            "  <layout>\n"
                            "    <place node=\"x\" x=\"0\" y=\"0\"/>\n"
                            "    <place node=\"fc\" x=\"240\" y=\"0\"/>\n"
                            "    <place node=\"act\" x=\"480\" y=\"0\"/>\n"
                            "    <place node=\"sum\" x=\"720\" y=\"120\"/>\n"
                            "  </layout>\n"
                            "</graph>\n";

static void
test_scene (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (three, "test");
  guint sum = studio_scene_find_id (scene, "sum"), fc = studio_scene_find_id (scene, "fc");

  g_assert_cmpuint (scene->n_items, ==, 4);
  g_assert_cmpuint (scene->n_links, ==, 4);
  g_assert_cmpuint (scene->item[sum].n_inputs, ==, 2);
  g_assert_cmpuint (scene->item[fc].n_inputs, ==, 1); /* weights are no ports until they are wired */
  g_assert_cmpuint (scene->item[fc].output[0].n_links, ==, 2);
  g_assert_true (scene->link[1].typed);
  g_assert_cmpstr (scene->link[1].label, ==, "B × 4");
  g_assert_null (scene->item[sum].fault);
  /* Back along the wires is a circle; forwards is none. */
  g_assert_false (studio_scene_can_link (scene, sum, 0, fc, 0));
  g_assert_false (studio_scene_can_link (scene, fc, 0, fc, 0));
  g_assert_true (studio_scene_can_link (scene, studio_scene_find_id (scene, "x"), 0, sum, 0));
}

static void
test_view (void)
{
  StudioView view = { 1, 10, 20, 800, 600 };
  StudioRect wide = { 0, 0, 4000, 100 }, small = { 0, 0, 100, 100 }, far_off = { 5000, 5000, 100, 50 };
  double x, y, before_x, before_y;

  for (double zoom = 0.02; zoom < 9; zoom *= 1.7)
    {
      studio_view_to_canvas (&view, 321, 123, &before_x, &before_y);
      studio_view_zoom_at (&view, zoom, 321, 123);
      studio_view_to_canvas (&view, 321, 123, &x, &y);
      g_assert_cmpfloat_with_epsilon (x, before_x, 1e-6);
      g_assert_cmpfloat_with_epsilon (y, before_y, 1e-6);
      g_assert_cmpfloat (view.zoom, >=, STUDIO_ZOOM_MIN);
      g_assert_cmpfloat (view.zoom, <=, STUDIO_ZOOM_MAX);
    }
  studio_view_fit (&view, &wide);
  studio_view_to_screen (&view, wide.x + wide.width, wide.y, &x, &y);
  g_assert_cmpfloat (x, <=, 800);
  studio_view_to_screen (&view, wide.x, wide.y, &x, &y);
  g_assert_cmpfloat (x, >=, 0);
  studio_view_fit (&view, &small);
  g_assert_cmpfloat (view.zoom, ==, 1); /* never enlarged */
  g_assert_true (studio_view_reveal (&view, &far_off));
  g_assert_false (studio_view_reveal (&view, &far_off));
  studio_view_to_screen (&view, far_off.x + far_off.width, far_off.y + far_off.height, &x, &y);
  g_assert_cmpfloat (x, <=, 800);
  g_assert_cmpfloat (y, <=, 600);
  g_assert_cmpfloat (studio_geometry_snap (17.9), ==, 12);
  g_assert_cmpfloat (studio_geometry_snap (18.1), ==, 24);
  g_assert_cmpfloat (studio_geometry_snap (-7), ==, -12);
}

static void
test_curve (void)
{
  const double ends[][4] = { { 0, 0, 200, 0 }, { 0, 0, 64, 300 }, { 500, 0, 0, 100 }, { 0, 0, 0, 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      StudioCurve c = studio_geometry_curve (ends[i][0], ends[i][1], ends[i][2], ends[i][3]);
      StudioRect r = studio_curve_bounds (&c);

      for (double t = 0; t <= 1; t += 0.05)
        {
          double x, y;

          studio_curve_at (&c, t, &x, &y);
          g_assert_cmpfloat (x, >=, r.x - 1e-9);
          g_assert_cmpfloat (x, <=, r.x + r.width + 1e-9);
          g_assert_cmpfloat (y, >=, r.y - 1e-9);
          g_assert_cmpfloat (y, <=, r.y + r.height + 1e-9);
          g_assert_cmpfloat (studio_curve_distance (&c, x, y), <, 2);
        }
      /* It leaves to the right and arrives from the left. */
      g_assert_cmpfloat (c.x[1], >, c.x[0]);
      g_assert_cmpfloat (c.x[2], <, c.x[3]);
    }
}

static void
test_hit (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (three, "test");
  StudioView view = { 1, -50, -50, 1200, 600 };
  guint fc = studio_scene_find_id (scene, "fc"), sum = studio_scene_find_id (scene, "sum");
  StudioHit hit;
  double x, y;

  hit = studio_geometry_hit (scene, &view, 50 + 240 + 88, 50 + 28);
  g_assert_cmpint (hit.kind, ==, STUDIO_HIT_CARD);
  g_assert_cmpuint (hit.item, ==, fc);
  /* The whole 24 pixels around a port are the port, at every zoom that shows ports. */
  for (double zoom = 0.5; zoom < 4; zoom *= 1.6)
    for (guint p = 0; p < 2; p++)
      {
        view.zoom = zoom;
        studio_geometry_port (&scene->item[sum], FALSE, p, &x, &y);
        studio_view_to_screen (&view, x, y, &x, &y);
        hit = studio_geometry_hit (scene, &view, x - 11, y);
        g_assert_cmpint (hit.kind, ==, STUDIO_HIT_INPUT);
        g_assert_cmpuint (hit.item, ==, sum);
        g_assert_cmpuint (hit.port, ==, p);
        hit = studio_geometry_hit (scene, &view, x - 40, y + 70);
        g_assert_cmpint (hit.kind, !=, STUDIO_HIT_INPUT);
      }
  view.zoom = 1;
  /* A wire is hit where it is drawn, around the card between its ends. */
  for (guint l = 2; l < 4; l++)
    {
      studio_route_at (&studio_scene_routes (scene)[l], 0.5, &x, &y);
      studio_view_to_screen (&view, x, y, &x, &y);
      hit = studio_geometry_hit (scene, &view, x, y + 4);
      g_assert_cmpint (hit.kind, ==, STUDIO_HIT_LINK);
      g_assert_cmpuint (hit.item, ==, l);
    }
  g_assert_true (studio_scene_routes (scene)[3].routed);
  hit = studio_geometry_hit (scene, &view, 30, 400);
  g_assert_cmpint (hit.kind, ==, STUDIO_HIT_NOTHING);
  /* Far away a port is too small to mean. */
  view.zoom = 0.3;
  studio_geometry_port (&scene->item[fc], FALSE, 0, &x, &y);
  studio_view_to_screen (&view, x + 2, y, &x, &y);
  g_assert_cmpint (studio_geometry_hit (scene, &view, x, y).kind, ==, STUDIO_HIT_CARD);
}

static void
test_fault_room (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (three, "test");
  StudioItem *item = &scene->item[0];
  StudioRect none = studio_geometry_fault (item), fault, button;
  StudioView view = { 1, 0, 0, 1000, 600 };

  g_assert_cmpfloat (none.height, ==, 0);
  item->fault = g_strdup ("The input has 8 features, and the weight that is tied to it wants 12 of them.");
  item->fix = g_strdup ("Set it");
  fault = studio_geometry_fault (item);
  button = studio_geometry_fix_button (item);
  g_assert_cmpfloat (fault.y, >, item->y + item->height);
  g_assert_cmpfloat (button.y + button.height, <, fault.y + fault.height);
  g_assert_cmpint (studio_geometry_hit (scene, &view, button.x + 20, button.y + 10).kind, ==, STUDIO_HIT_FIX);
}

static void
test_neighbours (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (three, "test");
  guint x = studio_scene_find_id (scene, "x"), fc = studio_scene_find_id (scene, "fc");
  guint act = studio_scene_find_id (scene, "act"), sum = studio_scene_find_id (scene, "sum");

  g_assert_cmpuint (studio_geometry_neighbour (scene, x, STUDIO_RIGHT), ==, fc);
  g_assert_cmpuint (studio_geometry_neighbour (scene, fc, STUDIO_RIGHT), ==, act);
  g_assert_cmpuint (studio_geometry_neighbour (scene, sum, STUDIO_LEFT), ==, act); /* the first port's wire */
  g_assert_cmpuint (studio_geometry_neighbour (scene, act, STUDIO_DOWN), ==, sum);
  g_assert_cmpuint (studio_geometry_neighbour (scene, x, STUDIO_LEFT), ==, STUDIO_NO_ITEM);
}

static void
test_free (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (three, "test");
  double px = 250, py = 10;

  studio_geometry_free_place (scene, &px, &py);
  for (guint i = 0; i < 4; i++)
    {
      StudioRect card = studio_geometry_card (&scene->item[i]),
                 made = { px, py, STUDIO_CARD_WIDTH, STUDIO_CARD_HEIGHT };

      g_assert_false (studio_rect_intersects (&card, &made));
    }
}

/* A card that is dropped on another moves as little as it can. */
static void
test_near (void)
{
  g_autoptr (StudioScene) scene = scene_from_text (three, "test");
  const StudioItem *item = &scene->item[0];
  double x = item->x + 12, y = item->y + 36, px, py;

  studio_geometry_free_place (scene, &x, &y);
  g_assert_cmpfloat (hypot (x - item->x - 12, y - item->y - 36), <=, 48);
  /* Nor does it come to lie on a wire that it has no part in. */
  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioRoute *route = &studio_scene_routes (scene)[l];

      studio_route_at (route, 0.5, &x, &y);
      x -= STUDIO_CARD_WIDTH / 2;
      y -= STUDIO_CARD_HEIGHT / 2;
      studio_geometry_free_place (scene, &x, &y);
      for (int i = 0; i <= 100; i++)
        {
          studio_route_at (route, i / 100.0, &px, &py);
          g_assert_false (px > x && px < x + STUDIO_CARD_WIDTH && py > y && py < y + STUDIO_CARD_HEIGHT);
        }
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/geometry/scene", test_scene);
  g_test_add_func ("/ui/geometry/view", test_view);
  g_test_add_func ("/ui/geometry/curve", test_curve);
  g_test_add_func ("/ui/geometry/hit", test_hit);
  g_test_add_func ("/ui/geometry/fault-room", test_fault_room);
  g_test_add_func ("/ui/geometry/neighbours", test_neighbours);
  g_test_add_func ("/ui/geometry/free", test_free);
  g_test_add_func ("/ui/geometry/near", test_near);
  return g_test_run ();
}
