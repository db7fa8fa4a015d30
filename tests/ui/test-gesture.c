/* The state machine of the pointer, with the events that the widget would send. No display. */
#include "ui/canvas/canvas-gesture.h"
#include "tests/test-program.h"

static const char pair[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                           "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                           "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                           "  <node id=\"act\" op=\"relu\"/>\n"
                           "  <wire from=\"x\" to=\"fc\"/>\n"
                           "  <layout>\n"
                           "    <place node=\"x\" x=\"0\" y=\"0\"/>\n"
                           "    <place node=\"fc\" x=\"300\" y=\"0\"/>\n"
                           "    <place node=\"act\" x=\"600\" y=\"0\"/>\n"
                           "  </layout>\n"
                           "</graph>\n";

typedef struct
{
  StudioScene *scene;
  StudioView view;
  StudioGesture gesture;
  guint64 selected; /* the one thing that is */
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (pair, strlen (pair), "test", faults, &error);
  g_autoptr (LoomNet) net = NULL;

  g_assert_no_error (error);
  net = loom_net_new (graph, NULL, faults);
  f->scene = studio_scene_new (graph, loom_graph_root (graph), "", net, faults, NULL, NULL);
  f->view = (StudioView){ 1, 0, 0, 1000, 600 };
  studio_gesture_init (&f->gesture);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  studio_scene_free (f->scene);
}

static gboolean
is_selected (guint64 serial, gpointer data)
{
  return serial == ((Fixture *)data)->selected;
}

static gboolean
all_lit (guint item, guint port, gpointer data)
{
  return TRUE;
}

static gboolean
none_lit (guint item, guint port, gpointer data)
{
  return FALSE;
}

static StudioCommand
press (Fixture *f, double x, double y, StudioPressFlags flags)
{
  return studio_gesture_press (&f->gesture, f->scene, &f->view, x, y, flags, is_selected, f);
}

static StudioCommand
drag (Fixture *f, double x, double y, StudioLit lit)
{
  return studio_gesture_motion (&f->gesture, f->scene, &f->view, x, y, lit, f);
}

static StudioCommand
release (Fixture *f)
{
  StudioCommand command = studio_gesture_release (&f->gesture, f->scene, &f->view);

  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_IDLE);
  return command;
}

static guint64
serial_of (Fixture *f, const char *id)
{
  return f->scene->item[studio_scene_find_id (f->scene, id)].serial;
}

static void
test_click (Fixture *f, gconstpointer data)
{
  StudioCommand c = press (f, 380, 20, 0);

  g_assert_cmpint (c.what, ==, STUDIO_DO_SELECT);
  g_assert_cmpuint (c.serial, ==, serial_of (f, "fc"));
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_NOTHING);
  /* Of several that are selected a plain click leaves one, at the release. */
  f->selected = serial_of (f, "fc");
  g_assert_cmpint (press (f, 380, 20, 0).what, ==, STUDIO_DO_NOTHING);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_SELECT);
  g_assert_cmpuint (c.serial, ==, f->selected);
  c = press (f, 380, 20, STUDIO_PRESS_EXTEND);
  g_assert_cmpint (c.what, ==, STUDIO_DO_TOGGLE);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_NOTHING);
  press (f, 500, 400, 0);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_SELECT);
  g_assert_cmpuint (c.serial, ==, 0);
}

static void
test_move (Fixture *f, gconstpointer data)
{
  StudioCommand c;

  press (f, 380, 20, 0);
  g_assert_cmpint (drag (f, 382, 21, NULL).what, ==, STUDIO_DO_NOTHING); /* a tremble is no drag */
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_PRESSED);
  g_assert_cmpint (drag (f, 400, 50, NULL).what, ==, STUDIO_DO_REDRAW);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_MOVING);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_MOVE);
  g_assert_cmpfloat (c.dx, ==, 12); /* from 300 to 312, which is on the grid of 24 */
  g_assert_cmpfloat (c.dy, ==, 24);
  press (f, 380, 20, STUDIO_PRESS_FREE);
  drag (f, 387, 31, NULL);
  c = release (f);
  g_assert_cmpfloat (c.dx, ==, 7);
  g_assert_cmpfloat (c.dy, ==, 11);
  /* Returning to the start is no undo step. */
  press (f, 380, 20, 0);
  drag (f, 480, 20, NULL);
  drag (f, 381, 20, NULL);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_REDRAW);
}

static void
test_box (Fixture *f, gconstpointer data)
{
  StudioCommand c;

  press (f, 290, 300, 0);
  drag (f, 700, -10, NULL);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_BOXING);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_SELECT_BOX);
  g_assert_cmpfloat (c.box.x, ==, 290);
  g_assert_cmpfloat (c.box.width, ==, 410);
  g_assert_false (c.extend);
}

static void
test_pan (Fixture *f, gconstpointer data)
{
  StudioCommand c;

  press (f, 380, 20, STUDIO_PRESS_PAN);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_PANNING);
  c = drag (f, 390, 25, NULL);
  g_assert_cmpint (c.what, ==, STUDIO_DO_PAN);
  g_assert_cmpfloat (c.dx, ==, 10);
  c = drag (f, 391, 25, NULL);
  g_assert_cmpfloat (c.dx, ==, 1);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_NOTHING);
}

static void
test_wire (Fixture *f, gconstpointer data)
{
  guint fc = studio_scene_find_id (f->scene, "fc"), act = studio_scene_find_id (f->scene, "act");
  StudioCommand c;

  press (f, 476, 28, 0);
  g_assert_cmpint (f->gesture.pressed.kind, ==, STUDIO_HIT_OUTPUT);
  drag (f, 520, 40, all_lit);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_WIRING);
  g_assert_cmpint (f->gesture.target.kind, ==, STUDIO_HIT_NOTHING);
  drag (f, 595, 30, all_lit);
  g_assert_cmpint (f->gesture.target.kind, ==, STUDIO_HIT_INPUT);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_CONNECT);
  g_assert_cmpuint (c.from, ==, fc);
  g_assert_cmpuint (c.to, ==, act);
  g_assert_cmpuint (c.link, ==, 0);
  /* From an input backwards to an output. */
  press (f, 600, 28, 0);
  drag (f, 480, 28, all_lit);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_CONNECT);
  g_assert_cmpuint (c.from, ==, fc);
  g_assert_cmpuint (c.to, ==, act);
  /* Dropping on the empty canvas asks for a layer. */
  press (f, 476, 28, 0);
  drag (f, 520, 40, none_lit);
  drag (f, 540, 200, none_lit);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_WIRE_DROPPED);
  g_assert_cmpuint (c.from, ==, fc);
}

static void
test_rewire (Fixture *f, gconstpointer data)
{
  guint x = studio_scene_find_id (f->scene, "x"), act = studio_scene_find_id (f->scene, "act");
  StudioCommand c;

  /* A drag from a connected input picks up the end of its wire. */
  press (f, 300, 28, 0);
  g_assert_cmpint (f->gesture.pressed.kind, ==, STUDIO_HIT_INPUT);
  drag (f, 340, 200, all_lit);
  g_assert_cmpuint (f->gesture.link, ==, f->scene->link[0].serial);
  drag (f, 600, 28, all_lit);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_CONNECT);
  g_assert_cmpuint (c.from, ==, x);
  g_assert_cmpuint (c.to, ==, act);
  g_assert_cmpuint (c.link, ==, f->scene->link[0].serial);
  press (f, 300, 28, 0);
  drag (f, 340, 200, all_lit);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_DISCONNECT);
  g_assert_cmpuint (c.link, ==, f->scene->link[0].serial);
  /* Put back it is no change. */
  press (f, 300, 28, 0);
  drag (f, 340, 200, all_lit);
  drag (f, 301, 28, all_lit);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_REDRAW);
}

/* Alt cuts the wire that it presses, at once; elsewhere it only frees from the grid. */
static void
test_cut_one (Fixture *f, gconstpointer data)
{
  StudioCommand c = press (f, 238, 28, STUDIO_PRESS_FREE);

  g_assert_cmpint (c.what, ==, STUDIO_DO_DISCONNECT);
  g_assert_cmpuint (c.link, ==, f->scene->link[0].serial);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_IDLE);
  g_assert_cmpint (drag (f, 300, 100, NULL).what, ==, STUDIO_DO_NOTHING);
  g_assert_cmpint (press (f, 380, 20, STUDIO_PRESS_FREE).what, ==, STUDIO_DO_SELECT);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_NOTHING);
}

/* A line drawn with the cutting press names all that it crosses; a click with it changes nothing, not even what is
 * selected. */
static void
test_cut_line (Fixture *f, gconstpointer data)
{
  StudioCommand c;

  g_assert_cmpint (press (f, 220, -60, STUDIO_PRESS_CUT | STUDIO_PRESS_FREE | STUDIO_PRESS_EXTEND).what, ==,
                   STUDIO_DO_NOTHING);
  g_assert_cmpint (drag (f, 250, 120, NULL).what, ==, STUDIO_DO_REDRAW);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_CUTTING);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_CUT);
  g_assert_cmpfloat (c.x, ==, 220);
  g_assert_cmpfloat (c.y, ==, -60);
  g_assert_cmpfloat (c.dx, ==, 30);
  g_assert_cmpfloat (c.dy, ==, 180);
  g_assert_true (studio_geometry_crosses (f->scene, 0, c.x, c.y, c.x + c.dx, c.y + c.dy));
  g_assert_false (studio_geometry_crosses (f->scene, 0, 220, -60, 250, 20));
  press (f, 380, 20, STUDIO_PRESS_CUT);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_NOTHING);
}

/* Ctrl takes all wires of an output, whose other ends stay; dropped on nothing they are as they were. */
static void
test_all_wires (Fixture *f, gconstpointer data)
{
  guint x = studio_scene_find_id (f->scene, "x"), act = studio_scene_find_id (f->scene, "act");
  StudioCommand c;

  press (f, 176, 28, STUDIO_PRESS_ALL | STUDIO_PRESS_EXTEND);
  drag (f, 300, 200, all_lit);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_WIRING);
  g_assert_true (f->gesture.all);
  g_assert_false (f->gesture.from_output);
  drag (f, 776, 28, all_lit);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_MOVE_WIRES);
  g_assert_cmpuint (c.from, ==, act);
  g_assert_cmpuint (c.output, ==, 0);
  g_assert_cmpuint (c.to, ==, x);
  g_assert_cmpuint (c.input, ==, 0);
  press (f, 176, 28, STUDIO_PRESS_ALL);
  drag (f, 300, 200, all_lit);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_REDRAW);
  /* Back at the port that they come from. */
  press (f, 176, 28, STUDIO_PRESS_ALL);
  drag (f, 300, 200, all_lit);
  drag (f, 176, 28, all_lit);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_REDRAW);
  /* An output without wires begins one, as without Ctrl. */
  press (f, 476, 28, STUDIO_PRESS_ALL);
  drag (f, 520, 40, all_lit);
  g_assert_false (f->gesture.all);
  drag (f, 600, 28, all_lit);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_CONNECT);
}

/* A port that refuses the wire is known, so that the reason can be shown. */
static void
test_refused (Fixture *f, gconstpointer data)
{
  guint act = studio_scene_find_id (f->scene, "act");
  StudioCommand c;

  press (f, 476, 28, 0);
  drag (f, 520, 40, none_lit);
  g_assert_cmpint (f->gesture.refused.kind, ==, STUDIO_HIT_NOTHING);
  drag (f, 595, 30, none_lit);
  g_assert_cmpint (f->gesture.target.kind, ==, STUDIO_HIT_NOTHING);
  g_assert_cmpint (f->gesture.refused.kind, ==, STUDIO_HIT_INPUT);
  g_assert_cmpuint (f->gesture.refused.item, ==, act);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_REFUSE);
  g_assert_cmpuint (c.to, ==, act);
}

/* A card stays visible although the pointer is outside the canvas; when the view scrolls, it follows. */
static void
test_edge (Fixture *f, gconstpointer data)
{
  const StudioItem *item = &f->scene->item[studio_scene_find_id (f->scene, "fc")];
  static const double far[][2] = { { 5000, 20 }, { -5000, 20 }, { 380, 5000 }, { 380, -5000 } };

  for (guint i = 0; i < G_N_ELEMENTS (far); i++)
    for (guint flag = 0; flag < 2; flag++)
      {
        StudioRect seen;
        StudioCommand c;

        f->view = (StudioView){ 1, 0, 0, 1000, 600 };
        press (f, 380, 20, flag != 0 ? STUDIO_PRESS_FREE : 0);
        drag (f, far[i][0], far[i][1], NULL);
        f->view.x += far[i][0] > 0 ? 333 : -333;
        drag (f, far[i][0], far[i][1], NULL);
        seen = studio_view_visible (&f->view);
        c = release (f);
        g_assert_cmpint (c.what, ==, STUDIO_DO_MOVE);
        if (far[i][1] == 20)
          {
            g_assert_cmpfloat (item->x + c.dx, >=, seen.x);
            g_assert_cmpfloat (item->x + c.dx + item->width, <=, seen.x + seen.width);
          }
        g_assert_cmpfloat (item->y + c.dy, >=, seen.y);
        g_assert_cmpfloat (item->y + c.dy + item->height, <=, seen.y + seen.height);
      }
  /* At low zoom guide lines reach further than the grid, but only visible positions count. */
  for (guint k = 0; k < 60; k++)
    {
      StudioRect seen;
      StudioCommand c;

      f->view = (StudioView){ 0.3, 40.0 - 3 * k, -300, 1000, 600 };
      seen = studio_view_visible (&f->view);
      press (f, (380 - f->view.x) * 0.3, (20 - f->view.y) * 0.3, 0);
      drag (f, -5000, (20 - f->view.y) * 0.3, NULL);
      c = release (f);
      g_assert_cmpfloat (item->x + c.dx, >=, seen.x);
    }
  /* A partly visible card stays where it is until it is dragged into view. */
  f->view = (StudioView){ 1, 400, 0, 1000, 600 };
  press (f, 50, 20, 0);
  drag (f, 50, 120, NULL);
  g_assert_cmpfloat (release (f).dx, ==, 0);
}

static void
test_cancel (Fixture *f, gconstpointer data)
{
  press (f, 476, 28, 0);
  drag (f, 595, 30, all_lit);
  studio_gesture_cancel (&f->gesture);
  g_assert_cmpint (release (f).what, ==, STUDIO_DO_NOTHING);
  g_assert_cmpint (drag (f, 1, 1, all_lit).what, ==, STUDIO_DO_NOTHING);
}

/* A point that a wire is led through is taken, comes to lie on the grid, and is no box around cards. */
static void
test_bend (Fixture *f, gconstpointer data)
{
  StudioLink *link = &f->scene->link[0];
  StudioCommand command;
  StudioHit hit;

  link->point = g_new0 (StudioPoint, 1);
  link->point[0] = (StudioPoint){ 240, 200 };
  link->n_points = 1;
  hit = studio_geometry_hit (f->scene, &f->view, 246, 204);
  g_assert_cmpint (hit.kind, ==, STUDIO_HIT_LINK);
  g_assert_cmpuint (hit.port, ==, 0);
  command = studio_gesture_press (&f->gesture, f->scene, &f->view, 242, 201, 0, is_selected, f);
  g_assert_cmpint (command.what, ==, STUDIO_DO_SELECT);
  g_assert_true (command.serial == link->serial);
  command = studio_gesture_motion (&f->gesture, f->scene, &f->view, 283, 240, all_lit, f);
  g_assert_cmpint (f->gesture.state, ==, STUDIO_GESTURE_BENDING);
  command = studio_gesture_release (&f->gesture, f->scene, &f->view);
  g_assert_cmpint (command.what, ==, STUDIO_DO_MOVE_POINT);
  g_assert_true (command.link == link->serial);
  g_assert_cmpuint (command.input, ==, 0);
  g_assert_cmpfloat (command.x, ==, 276);
  g_assert_cmpfloat (command.y, ==, 240);
  /* The wire next to it is no waypoint. */
  hit = studio_geometry_hit (f->scene, &f->view, 178, 26);
  g_assert_cmpuint (hit.kind == STUDIO_HIT_LINK ? hit.port : STUDIO_NO_ITEM, ==, STUDIO_NO_ITEM);
}

static void
test_fix (Fixture *f, gconstpointer data)
{
  StudioItem *item = &f->scene->item[studio_scene_find_id (f->scene, "act")];
  StudioRect button;
  StudioCommand c;

  g_free (item->fault);
  g_free (item->fix);
  item->fault = g_strdup ("The input is not wired.");
  item->fix = g_strdup ("Reconnect");
  button = studio_geometry_fix_button (item);
  g_assert_cmpint (press (f, button.x + 5, button.y + 5, 0).what, ==, STUDIO_DO_NOTHING);
  c = release (f);
  g_assert_cmpint (c.what, ==, STUDIO_DO_FIX);
  g_assert_cmpuint (c.serial, ==, item->serial);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, func) g_test_add ("/ui/gesture/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("click", test_click);
  ADD ("move", test_move);
  ADD ("box", test_box);
  ADD ("pan", test_pan);
  ADD ("wire", test_wire);
  ADD ("rewire", test_rewire);
  ADD ("cut-one", test_cut_one);
  ADD ("cut-line", test_cut_line);
  ADD ("all-wires", test_all_wires);
  ADD ("refused", test_refused);
  ADD ("edge", test_edge);
  ADD ("cancel", test_cancel);
  ADD ("fix", test_fix);
  ADD ("bend", test_bend);
  return g_test_run ();
}
