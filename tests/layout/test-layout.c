/* Layouts of all example graphs and of random ones: invariants of each layout. */
#include "tests/layout/layout-test.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#define CHANNEL 40.0
#define ROW_GAP 28.0
#define GUTTER  56.0

static StudioScene *
scene_of (LoomGraph *graph, const LoomElement *scope, const char *path, const LoomNet *net)
{
  StudioScene *scene = studio_scene_new (graph, scope, path, net, NULL, NULL, NULL);

  studio_layout_fill (scene);
  return scene;
}

static double
bottom (const StudioItem *item)
{
  return item->y + item->height + item->hanging;
}

static void
assert_apart (const StudioScene *scene, const char *name)
{
  for (guint i = 0; i < scene->n_items; i++)
    for (guint j = 0; j < i; j++)
      {
        const StudioItem *a = &scene->item[i], *b = &scene->item[j];
        double dx = MAX (b->x - a->x - a->width, a->x - b->x - b->width);
        double dy = MAX (b->y - bottom (a), a->y - bottom (b));

        if (dx < CHANNEL && dy < ROW_GAP)
          g_error ("%s: %s and %s are %g and %g apart", name, a->id, b->id, dx, dy);
      }
}

static guint *
components (const StudioScene *scene)
{
  guint *root = g_new (guint, scene->n_items + 1);
  gboolean joined = TRUE;

  for (guint i = 0; i < scene->n_items; i++)
    root[i] = i;
  while (joined)
    {
      joined = FALSE;
      for (guint l = 0; l < scene->n_links; l++)
        {
          guint *a = &root[scene->link[l].from], *b = &root[scene->link[l].to];

          joined |= *a != *b;
          *a = *b = MIN (*a, *b);
        }
    }
  return root;
}

/* A wire leads to the right, or to a later row with a free gutter before it: nothing else. */
static void
assert_forwards (const StudioScene *scene, const char *name)
{
  g_autofree guint *component = components (scene);

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioItem *from = &scene->item[scene->link[l].from], *to = &scene->item[scene->link[l].to];
      double line;
      gboolean found = FALSE;

      if (to->x >= from->x + from->width + CHANNEL)
        continue;
      /* A gutter's upper edge is the lower edge of some card. */
      for (guint i = 0; i < scene->n_items && !found; i++)
        {
          line = bottom (&scene->item[i]);
          if (line < bottom (from) || line + GUTTER > to->y)
            continue;
          found = TRUE;
          for (guint k = 0; k < scene->n_items && found; k++)
            found = component[k] != component[scene->link[l].from] || scene->item[k].y >= line + GUTTER
                    || bottom (&scene->item[k]) <= line;
        }
      if (!found)
        g_error ("%s: the wire from %s to %s leads back within a row", name, from->id, to->id);
    }
}

/* Of a new window between its panes, and of one whose panes are folded. */
static const struct
{
  double width, height;
} canvases[] = { { STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT }, { 1000, 560 } };

static double
zoom_of (const StudioScene *scene, guint canvas)
{
  StudioRect r = { 0 };

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_with_pins (&scene->item[i]);

      r = i == 0 ? card : studio_rect_union (r, card);
    }
  return studio_layout_zoom (r.width, r.height, canvases[canvas].width, canvases[canvas].height);
}

/* Whether even a plain layout would be readable: layers by longest path, as many to a row as fit but one (each row may
 * begin with weights), each row as high as the highest layer and half of it more for weights and passing wires. */
static gboolean
must_be_readable (const StudioScene *scene, double canvas_width, double canvas_height)
{
  g_autofree guint *layer = g_new0 (guint, scene->n_items + 1);
  g_autofree double *height = g_new0 (double, scene->n_items + 1);
  double tallest = 0, widest = 0, room = (canvas_height - 48) / STUDIO_LAYOUT_READABLE - 16, columns;
  guint deepest = 0;
  gboolean moved = TRUE;

  while (moved)
    {
      moved = FALSE;
      for (guint l = 0; l < scene->n_links; l++)
        if (layer[scene->link[l].to] <= layer[scene->link[l].from])
          {
            layer[scene->link[l].to] = layer[scene->link[l].from] + 1;
            deepest = MAX (deepest, layer[scene->link[l].to]);
            moved = TRUE;
          }
    }
  for (guint i = 0; i < scene->n_items; i++)
    {
      height[layer[i]] += scene->item[i].height + scene->item[i].hanging + ROW_GAP;
      tallest = MAX (tallest, height[layer[i]]);
      widest = MAX (widest, scene->item[i].width);
    }
  columns = floor (((canvas_width - 48) / STUDIO_LAYOUT_READABLE - 16 + CHANNEL) / (widest + CHANNEL)) - 1;
  if (columns < 1)
    return FALSE;
  return ceil ((deepest + 1) / columns) * (1.5 * tallest + 72) <= room;
}

static guint
count_changes (const StudioScene *scene, const StudioLayout *layout)
{
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i++)
    n += scene->item[i].x != layout->x[i] || scene->item[i].y != layout->y[i];
  for (guint a = 0; a < scene->n_annotations; a++)
    n += scene->annotation[a].x != layout->annotation[a].x || scene->annotation[a].y != layout->annotation[a].y
         || scene->annotation[a].width != layout->annotation[a].width
         || scene->annotation[a].height != layout->annotation[a].height;
  return n;
}

/* Asserts the same of cards that run down as of cards that run to the right, mirrored. */
static void
assert_in_order (const StudioScene *scene, const char *name)
{
  StudioScene *places = studio_scene_copy_places (scene, scene->flow == STUDIO_FLOW_DOWN);

  assert_apart (places, name);
  assert_forwards (places, name);
  studio_scene_free_places (places);
}

static gboolean
is_due (const StudioScene *scene, guint canvas)
{
  gboolean down = scene->flow == STUDIO_FLOW_DOWN;
  StudioScene *places = studio_scene_copy_places (scene, down);
  double width = canvases[canvas].width, height = canvases[canvas].height;
  gboolean due = must_be_readable (places, down ? height : width, down ? width : height);

  studio_scene_free_places (places);
  return due;
}

static guint
check_direction (StudioScene *scene, const char *name, guint c, StudioLayoutDirection direction)
{
  g_autoptr (StudioLayout) layout = studio_layout_new (scene, NULL, canvases[c].width, canvases[c].height, direction);
  g_autoptr (StudioLayout) again = NULL;

  scene_take_layout (scene, layout);
  scene->flow_stated = layout->stated;
  if (direction == STUDIO_LAYOUT_RIGHT || direction == STUDIO_LAYOUT_DOWN)
    g_assert_cmpint (scene->flow, ==, direction == STUDIO_LAYOUT_DOWN ? STUDIO_FLOW_DOWN : STUDIO_FLOW_RIGHT);
  assert_in_order (scene, name);
  again = studio_layout_new (scene, NULL, canvases[c].width, canvases[c].height, direction);
  g_assert_cmpint (again->flow, ==, layout->flow);
  g_assert_cmpint (again->stated, ==, layout->stated);
  g_assert_cmpuint (count_changes (scene, again), ==, 0);
  if (!is_due (scene, c))
    return 0;
  if (zoom_of (scene, c) < STUDIO_LAYOUT_READABLE)
    g_error ("%s: could be read, and has a zoom of %g", name, zoom_of (scene, c));
  return 1;
}

/* Returns for how many canvases and directions it had to be readable. */
static guint
check (StudioScene *scene, const char *name)
{
  static const StudioLayoutDirection directions[]
      = { STUDIO_LAYOUT_DOWN, STUDIO_LAYOUT_AUTOMATIC, STUDIO_LAYOUT_RIGHT };
  guint n = 0;

  /* The default last, so that it stays. */
  for (guint c = G_N_ELEMENTS (canvases); c-- > 0;)
    for (guint w = 0; w < G_N_ELEMENTS (directions); w++)
      {
        if (directions[w] == STUDIO_LAYOUT_AUTOMATIC)
          scene->flow_stated = FALSE;
        n += check_direction (scene, name, c, directions[w]);
      }
  return n;
}

#define MANY 26 /* cards */

/* ---- the example graphs ------------------------------------------------------ */

static void
check_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  g_autoptr (LoomNet) net = NULL;
  const LoomElement *root;

  g_assert_no_error (error);
  net = loom_net_new (graph, NULL, faults);
  root = loom_graph_root (graph);
  for (guint i = 0; i <= loom_element_n_children (root); i++)
    {
      const LoomElement *scope = i > 0 ? loom_element_child (root, i - 1) : root;
      g_autoptr (StudioScene) scene = NULL;

      if (i > 0 && loom_element_tag (scope) != LOOM_TAG_MODULE)
        continue;
      scene = scene_of (graph, scope, i > 0 ? loom_element_get (scope, "name") : "", net);
      /* As in the file. */
      for (guint k = 0; k < scene->n_items; k++)
        g_assert_true (scene->item[k].is_placed);
      assert_in_order (scene, path);
      check (scene, path);
      /* All of them are small enough, in the direction that suits the canvas. */
      for (guint c = 0; c < G_N_ELEMENTS (canvases); c++)
        for (guint w = STUDIO_LAYOUT_AUTOMATIC; w <= STUDIO_LAYOUT_DOWN; w++)
          {
            g_autoptr (StudioLayout) layout = studio_layout_new (scene, NULL, canvases[c].width, canvases[c].height, w);

            scene_take_layout (scene, layout);
            g_test_message ("%s %s, %s: zoom %.2f for %g × %g", path, i > 0 ? loom_element_get (scope, "name") : "",
                            w == STUDIO_LAYOUT_AUTOMATIC ? "automatic" : studio_flow_name (layout->flow),
                            zoom_of (scene, c), canvases[c].width, canvases[c].height);
            /* Cards of 27 nodes and their wires do not fit at a size that is read with ease. */
            if (w != STUDIO_LAYOUT_DOWN)
              g_assert_cmpfloat (zoom_of (scene, c), >=, scene->n_items > MANY ? 0.5 : STUDIO_LAYOUT_READABLE);
            /* Each begins as the file has it. */
            studio_scene_set_flow (scene, STUDIO_FLOW_RIGHT);
            scene->flow_stated = FALSE;
          }
    }
}

static void
test_examples (void)
{
  static const char *const folders[] = { "lessons", "models" };
  guint n = 0;

  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", folders[f], NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char *name;

      g_assert_nonnull (dir);
      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *path = g_build_filename (folder, name, NULL);

          if (!g_str_has_suffix (name, ".xml"))
            continue;
          check_file (path);
          n++;
        }
    }
  g_assert_cmpuint (n, >=, 18);
}

/* ---- random graphs ----------------------------------------------------------- */

static LoomGraph *
read_text (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomGraph *graph = loom_graph_read_data (text, strlen (text), "test", faults, &error);

  g_assert_no_error (error);
  return graph;
}

/* Networks similar to real ones: chains with skips, weights, sums, a few outputs; and some that are not. */
static char *
random_graph (GRand *rand, guint n)
{
  static const char *const ops[] = { "relu", "relu", "linear", "add", "concat", "parameter" };
  GString *s = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"), *wires = g_string_new (NULL);
  guint back = g_rand_int_range (rand, 1, 8);

  for (guint i = 0; i < n; i++)
    {
      const char *op = i == 0 ? "dataset" : ops[g_rand_int_range (rand, 0, G_N_ELEMENTS (ops))];
      guint inputs = strcmp (op, "add") == 0      ? 2
                     : strcmp (op, "concat") == 0 ? 3
                                                  : i > 0 && strcmp (op, "parameter") != 0;

      g_string_append_printf (s, "<node id=\"n%u\" op=\"%s\"/>\n", i, op);
      for (guint k = 0; k < inputs; k++)
        {
          guint from = g_rand_int_range (rand, MAX (0, (int)i - (int)back), i);

          /* Now and then a part of its own. */
          if (g_rand_int_range (rand, 0, 12) == 0)
            continue;
          if (strcmp (op, "add") == 0)
            g_string_append_printf (wires, "<wire from=\"n%u%s\" to=\"n%u.%s\"/>\n", from, from == 0 ? ".x" : "", i,
                                    k == 0 ? "input" : "other");
          else if (strcmp (op, "concat") == 0)
            g_string_append_printf (wires, "<wire from=\"n%u%s\" to=\"n%u.%u\"/>\n", from, from == 0 ? ".x" : "", i, k);
          else
            g_string_append_printf (wires, "<wire from=\"n%u%s\" to=\"n%u\"/>\n", from, from == 0 ? ".x" : "", i);
        }
    }
  g_string_append (s, wires->str);
  g_string_append (s, "</graph>\n");
  g_string_free (wires, TRUE);
  return g_string_free (s, FALSE);
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint readable = 0;

  for (guint i = 0; i < 200; i++)
    {
      g_autofree char *text = random_graph (rand, g_rand_int_range (rand, 2, i % 4 == 0 ? 90 : 30));
      g_autofree char *name = g_strdup_printf ("random graph %u", i);
      g_autoptr (LoomGraph) graph = read_text (text);
      g_autoptr (StudioScene) scene = scene_of (graph, loom_graph_root (graph), "", NULL);

      readable += check (scene, name);
    }
  g_test_message ("%u of 1,200 have to be readable", readable);
  g_assert_cmpuint (readable, >, 50);
}

static char *
chain (guint n)
{
  GString *s = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n");

  for (guint i = 0; i < n; i++)
    g_string_append_printf (s, "<node id=\"n%u\" op=\"%s\"/>\n", i, i > 0 ? "linear" : "input");
  for (guint i = 1; i < n; i++)
    g_string_append_printf (s, "<wire from=\"n%u\" to=\"n%u\"/>\n", i - 1, i);
  g_string_append (s, "</graph>\n");
  return g_string_free (s, FALSE);
}

/* A chain wraps like text: four columns and seven rows are readable. */
static void
test_chains (void)
{
  for (guint n = 1; n <= 28; n++)
    {
      g_autofree char *text = chain (n);
      g_autoptr (LoomGraph) graph = read_text (text);
      g_autoptr (StudioScene) scene = scene_of (graph, loom_graph_root (graph), "", NULL);

      check (scene, "chain");
      g_assert_cmpfloat (zoom_of (scene, 0), >=, STUDIO_LAYOUT_READABLE);
      for (guint i = 1; i < n; i++)
        g_assert_true (scene->item[i].x > scene->item[i - 1].x || scene->item[i].x <= scene->item[0].x);
    }
}

/* Wires that close a cycle cannot all lead forwards; the cards are still apart. */
static void
test_circle (void)
{
  g_autoptr (LoomGraph) graph
      = read_text ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n<node id=\"a\" op=\"add\"/>\n"
                   "<node id=\"b\" op=\"relu\"/>\n<node id=\"c\" op=\"relu\"/>\n<wire from=\"a\" to=\"b\"/>\n"
                   "<wire from=\"b\" to=\"c\"/>\n<wire from=\"c\" to=\"a.input\"/>\n</graph>\n");
  g_autoptr (StudioScene) scene = scene_of (graph, loom_graph_root (graph), "", NULL);

  g_assert_cmpuint (scene->n_links, ==, 3);
  assert_apart (scene, "circle");
}

/* ---- expected layouts ---------------------------------------------------------- */

static const StudioItem *
item (const StudioScene *scene, const char *id)
{
  return &scene->item[studio_scene_find_id (scene, id)];
}

static StudioScene *
example (const char *name)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", name, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  StudioScene *scene = scene_of (graph, loom_graph_root (graph), "", net);
  g_autoptr (StudioLayout) layout
      = studio_layout_new (scene, NULL, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_RIGHT);

  scene_take_layout (scene, layout);
  return scene;
}

static double
port_y (const StudioScene *scene, const char *id, gboolean is_output, guint port)
{
  double x, y;

  studio_geometry_port (item (scene, id), is_output, port, &x, &y);
  return y;
}

static void
test_looks (void)
{
  g_autoptr (StudioScene) attention = example ("lessons/self-attention.xml");
  g_autoptr (StudioScene) relu = example ("lessons/two-layer-relu.xml");
  static const char *const products[][2] = { { "w_q", "q" }, { "w_k", "k" }, { "w_v", "v" } };

  /* A weight is before its product and not above it, in the column to the left. */
  for (guint i = 0; i < 3; i++)
    {
      const StudioItem *w = item (attention, products[i][0]), *p = item (attention, products[i][1]);

      g_assert_cmpfloat (p->x - w->x - w->width, <, 160);
      g_assert_cmpfloat (w->y, >=, p->y);
      g_assert_cmpfloat (w->y, <, p->y + 120);
    }
  /* Also if the product begins a row. */
  g_assert_cmpfloat (item (relu, "w2")->x, <, item (relu, "y_pred")->x);
  g_assert_cmpfloat (fabs (item (relu, "w2")->y - item (relu, "y_pred")->y), <, 100);
  /* The main stream is straight. */
  g_assert_cmpfloat (port_y (relu, "data", TRUE, 0), ==, port_y (relu, "h", FALSE, 0));
  g_assert_cmpfloat (port_y (relu, "h", TRUE, 0), ==, port_y (relu, "h_relu", FALSE, 0));
}

/* A frame stays around its cards, and around no other; a note stays next to its card. */
static void
test_frames (void)
{
  g_autofree char *text = chain (9);
  g_autoptr (GString) framed = g_string_new (text);
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (StudioScene) scene = NULL;
  g_autoptr (StudioLayout) layout = NULL;

  g_string_truncate (framed, framed->len - strlen ("</graph>\n"));
  g_string_append (framed, "<layout>\n");
  for (guint i = 0; i < 9; i++)
    g_string_append_printf (framed, "<place node=\"n%u\" x=\"%u\" y=\"%u\"/>\n", i, i * 300, i % 2 * 40);
  g_string_append (framed, "<frame title=\"middle\" x=\"800\" y=\"-100\" width=\"1000\" height=\"300\"/>\n"
                           "<note x=\"2400\" y=\"120\" text=\"the last\"/>\n</layout>\n</graph>\n");
  graph = read_text (framed->str);
  scene = scene_of (graph, loom_graph_root (graph), "", NULL);
  check (scene, "frame");
  for (guint i = 0; i < 9; i++)
    g_assert_cmpint (studio_geometry_is_within (&scene->annotation[0], scene->item[i].x, scene->item[i].y,
                                                scene->item[i].width, scene->item[i].height),
                     ==, i >= 3 && i <= 5);
  g_assert_cmpfloat (fabs (scene->annotation[1].x - scene->item[8].x), <, 200);
  g_assert_cmpfloat (fabs (scene->annotation[1].y - scene->item[8].y), <, 200);
}

/* Only chosen cards move, and cover nothing. */
static void
test_selection (void)
{
  g_autofree char *text = chain (8);
  g_autoptr (LoomGraph) graph = read_text (text);
  g_autoptr (StudioScene) scene = scene_of (graph, loom_graph_root (graph), "", NULL);
  gboolean chosen[8] = { 0, 0, 1, 1, 1, 0, 0, 0 };
  g_autoptr (StudioLayout) layout = NULL, again = NULL;

  for (guint i = 0; i < 8; i++)
    scene->item[i].x = scene->item[i].y = i * 70;
  layout = studio_layout_new (scene, chosen, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_RIGHT);
  for (guint i = 0; i < 8; i++)
    if (!chosen[i])
      {
        g_assert_cmpfloat (layout->x[i], ==, scene->item[i].x);
        g_assert_cmpfloat (layout->y[i], ==, scene->item[i].y);
      }
  g_assert_cmpfloat (layout->y[2], ==, layout->y[3]);
  for (guint i = 0; i < 8; i++)
    for (guint j = 0; j < 8; j++)
      if (chosen[i] && !chosen[j])
        g_assert_true (fabs (layout->x[i] - layout->x[j]) >= STUDIO_CARD_WIDTH
                       || fabs (layout->y[i] - layout->y[j]) >= STUDIO_CARD_HEIGHT);
  scene_take_layout (scene, layout);
  again = studio_layout_new (scene, chosen, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_RIGHT);
  g_assert_cmpuint (count_changes (scene, again), ==, 0);
}

/* Reported, not asserted: a loaded machine is no fault. */
static void
test_time (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autofree char *text = random_graph (rand, 2000), *long_chain = chain (2000);
  const char *const texts[] = { text, long_chain };

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LoomGraph) graph = read_text (texts[i]);
      g_autoptr (StudioScene) scene = studio_scene_new (graph, loom_graph_root (graph), "", NULL, NULL, NULL, NULL);
      gint64 start = g_get_monotonic_time ();
      g_autoptr (StudioLayout) layout
          = studio_layout_new (scene, NULL, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_RIGHT);

      g_test_message ("%s of 2,000 nodes: %.0f ms", i == 0 ? "a random graph" : "a chain",
                      (g_get_monotonic_time () - start) / 1000.0);
      scene_take_layout (scene, layout);
      assert_apart (scene, "2,000 nodes");
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/layout/examples", test_examples);
  g_test_add_func ("/layout/random", test_random);
  g_test_add_func ("/layout/chains", test_chains);
  g_test_add_func ("/layout/circle", test_circle);
  g_test_add_func ("/layout/looks", test_looks);
  g_test_add_func ("/layout/frames", test_frames);
  g_test_add_func ("/layout/selection", test_selection);
  g_test_add_func ("/layout/time", test_time);
  return g_test_run ();
}
