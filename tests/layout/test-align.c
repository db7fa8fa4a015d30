/* Cards on common lines: by command, while one is dragged, and one more card next to another. */
#include "ui/layout/studio-align.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#include "ui/layout/studio-layout.h"

static void
assert_apart (const StudioRect *r, guint n)
{
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < i; k++)
      g_assert_false (studio_rect_intersects (&r[i], &r[k]));
}

static void
test_align (void)
{
  const StudioRect was[] = { { 0, 0, 176, 56 }, { 200, 300, 176, 112 }, { 50, 150, 100, 56 } };
  StudioRect r[3];

  for (StudioAlign how = STUDIO_ALIGN_LEFT; how <= STUDIO_ALIGN_BOTTOM; how++)
    {
      memcpy (r, was, sizeof r);
      studio_align (r, 3, how);
      assert_apart (r, 3);
      for (guint i = 1; i < 3; i++)
        switch (how)
          {
          case STUDIO_ALIGN_LEFT:
            g_assert_cmpfloat (r[i].x, ==, 0);
            break;
          case STUDIO_ALIGN_CENTRE:
            g_assert_cmpfloat (r[i].x + r[i].width / 2, ==, r[0].x + r[0].width / 2);
            break;
          case STUDIO_ALIGN_RIGHT:
            g_assert_cmpfloat (r[i].x + r[i].width, ==, 376);
            break;
          case STUDIO_ALIGN_TOP:
            g_assert_cmpfloat (r[i].y, ==, 0);
            break;
          case STUDIO_ALIGN_MIDDLE:
            g_assert_cmpfloat (r[i].y + r[i].height / 2, ==, r[0].y + r[0].height / 2);
            break;
          default:
            g_assert_cmpfloat (r[i].y + r[i].height, ==, 412);
            break;
          }
      /* Aligning left moves cards vertically only if they would overlap. */
      if (how <= STUDIO_ALIGN_RIGHT)
        for (guint i = 0; i < 3; i++)
          g_assert_cmpfloat (r[i].y, ==, was[i].y);
    }
}

static void
test_distribute (void)
{
  StudioRect r[] = { { 0, 0, 100, 56 }, { 110, 10, 200, 56 }, { 900, 20, 100, 56 }, { 400, 0, 50, 56 } };
  StudioRect crowded[] = { { 0, 0, 176, 56 }, { 20, 0, 176, 56 }, { 60, 0, 176, 56 } };

  studio_align (r, 4, STUDIO_DISTRIBUTE_HORIZONTALLY);
  g_assert_cmpfloat (r[0].x, ==, 0);
  g_assert_cmpfloat (r[2].x, ==, 900);
  g_assert_cmpfloat_with_epsilon (r[1].x - 100, r[3].x - r[1].x - 200, 1.5);
  g_assert_cmpfloat_with_epsilon (r[3].x - r[1].x - 200, 900 - r[3].x - 50, 1.5);
  g_assert_cmpfloat (r[1].y, ==, 10);
  /* Cards without space between them are moved apart. */
  studio_align (crowded, 3, STUDIO_DISTRIBUTE_HORIZONTALLY);
  assert_apart (crowded, 3);
  /* Two have nothing between them. */
  studio_align (crowded, 2, STUDIO_DISTRIBUTE_VERTICALLY);
  g_assert_cmpfloat (crowded[1].y, ==, 0);
}

static const char text[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                           "  <node id=\"a\" op=\"input\" shape=\"B,8\"/>\n"
                           "  <node id=\"b\" op=\"linear\" out_features=\"4\"/>\n"
                           "  <node id=\"c\" op=\"add\"/>\n"
                           "  <node id=\"d\" op=\"linear\" out_features=\"4\"/>\n"
                           "  <wire from=\"a\" to=\"b\"/>\n"
                           "  <wire from=\"b\" to=\"c.input\"/>\n"
                           "  <layout>\n"
                           "    <place node=\"a\" x=\"0\" y=\"0\"/>\n"
                           "    <place node=\"b\" x=\"240\" y=\"0\"/>\n"
                           "    <place node=\"c\" x=\"480\" y=\"300\"/>\n"
                           "    <place node=\"d\" x=\"240\" y=\"600\"/>\n"
                           "  </layout>\n"
                           "</graph>\n";

static StudioScene *
load (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "test", faults, &error);

  g_assert_no_error (error);
  return studio_scene_new (graph, loom_graph_root (graph), "", NULL, NULL, NULL, NULL);
}

static void
test_snap (void)
{
  g_autoptr (StudioScene) scene = load ();
  const StudioRect sight = { -1000, -1000, 4000, 4000 }, nothing = { -1000, -1000, 10, 10 };
  StudioRect rect = { 1003, 1001, 176, 56 };
  StudioSnapped s;
  gboolean moving[] = { FALSE, FALSE, FALSE, TRUE };

  /* Far from everything it is the grid of 24, and no line. */
  s = studio_align_snap (scene, 2, NULL, &rect, -500, -500, 7, &sight);
  g_assert_cmpfloat (s.x, ==, 1008);
  g_assert_cmpfloat (s.y, ==, 1008);
  g_assert_cmpuint (s.n_guides, ==, 0);
  /* Near the left edges of b and d it is those. */
  rect.x = 244;
  s = studio_align_snap (scene, 2, NULL, &rect, -500, -500, 7, &sight);
  g_assert_cmpfloat (s.x, ==, 240);
  g_assert_cmpuint (s.n_guides, ==, 1);
  g_assert_true (s.guide[0].is_upright);
  g_assert_cmpfloat (s.guide[0].at, ==, 240);
  g_assert_cmpfloat (s.guide[0].to, >, 1008);
  g_assert_cmpfloat (s.guide[0].from, >, 500); /* from d, which is nearer than b */
  /* A horizontal wire from b has precedence over aligned edges: port 0 of two is 12 above the middle. */
  rect = (StudioRect){ 485, 9, 176, 56 };
  s = studio_align_snap (scene, 2, NULL, &rect, -500, -500, 7, &sight);
  g_assert_cmpfloat (s.y, ==, 12);
  /* Cards that move along, or are not visible, give no guide. */
  rect = (StudioRect){ 900, 603, 176, 56 };
  s = studio_align_snap (scene, 2, NULL, &rect, -500, -500, 7, &sight);
  g_assert_cmpuint (s.n_guides, ==, 1);
  s = studio_align_snap (scene, 2, moving, &rect, -500, -500, 7, &sight);
  g_assert_cmpuint (s.n_guides, ==, 0);
  s = studio_align_snap (scene, 2, NULL, &rect, -500, -500, 7, &nothing);
  g_assert_cmpuint (s.n_guides, ==, 0);
  /* Level with its start, even if that is not on the grid. */
  rect = (StudioRect){ 1003, 307, 176, 56 };
  s = studio_align_snap (scene, 2, NULL, &rect, 480, 303, 7, &nothing);
  g_assert_cmpfloat (s.y, ==, 303);
}

/* One more card: if there is space nothing moves; else only cards to the right of it in its row. */
static void
test_new (void)
{
  g_autoptr (StudioScene) scene = load ();
  double x, y, dx[4];
  StudioRect card;

  studio_layout_place_new (scene, 2, FALSE, 176, 56, 300, &x, &y, dx);
  g_assert_cmpfloat (x, ==, 480 + 176 + 40);
  g_assert_cmpfloat (y, ==, 300);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat (dx[i], ==, 0);
  studio_layout_place_new (scene, 0, FALSE, 176, 56, 0, &x, &y, dx);
  card = (StudioRect){ x, y, 176, 56 };
  g_assert_cmpfloat (x, ==, 216);
  g_assert_cmpfloat (dx[0], ==, 0);
  g_assert_cmpfloat (dx[1], >, 0); /* b, which was there */
  g_assert_cmpfloat (dx[2], ==, 0);
  g_assert_cmpfloat (dx[3], ==, 0);
  for (guint i = 0; i < 4; i++)
    {
      StudioRect other = studio_geometry_card (&scene->item[i]);

      other.x += dx[i];
      g_assert_false (studio_rect_intersects (&card, &other));
    }
  /* Before a card: there if it fits, else the card moves on. */
  studio_layout_place_new (scene, 2, TRUE, 176, 56, 288, &x, &y, dx);
  g_assert_cmpfloat (x, ==, 480 - 176 - 40);
  g_assert_cmpfloat (dx[2], ==, 0);
  studio_layout_place_new (scene, 1, TRUE, 176, 56, 0, &x, &y, dx);
  g_assert_cmpfloat (x, ==, 240);
  g_assert_cmpfloat (dx[1], ==, 216);
  g_assert_cmpfloat (dx[0], ==, 0);
}

/* Chains to which cards are added at random positions: only cards of the row move, and none overlaps another. */
static void
test_many_new (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  for (guint turn = 0; turn < 100; turn++)
    {
      g_autoptr (StudioScene) scene = load ();
      g_autoptr (StudioLayout) layout = NULL;
      double x, y, dx[4], port_x, port_y;
      guint neighbour = g_rand_int_range (rand, 0, 4);
      gboolean before = g_rand_boolean (rand);
      StudioRect card;

      for (guint i = 0; i < 4; i++)
        scene->item[i].is_placed = FALSE;
      studio_layout_fill (scene);
      studio_geometry_port (&scene->item[neighbour], !before, 0, &port_x, &port_y);
      studio_layout_place_new (scene, neighbour, before, 176, 56, port_y - 28, &x, &y, dx);
      card = (StudioRect){ x, y, 176, 56 };
      for (guint i = 0; i < 4; i++)
        {
          StudioRect other = studio_geometry_card (&scene->item[i]);

          g_assert_cmpfloat (dx[i], >=, 0);
          if (dx[i] > 0)
            g_assert_true (other.y < card.y + 56 + 56 && card.y < other.y + other.height + 56);
          other.x += dx[i];
          g_assert_false (studio_rect_intersects (&card, &other));
        }
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/align/lines", test_align);
  g_test_add_func ("/align/distribute", test_distribute);
  g_test_add_func ("/align/snap", test_snap);
  g_test_add_func ("/align/new", test_new);
  g_test_add_func ("/align/many-new", test_many_new);
  return g_test_run ();
}
