/* Routes of wires, over all example graphs and 200 random ones: none passes under a card or along another, and moving a
 * card gives the same routes as routing from scratch. No display. */
#include <math.h>
#include <string.h>

#include "tests/layout/layout-test.h"
#include "tests/test-program.h"
#include "tests/ui/scene-test.h"
#include "ui/scene/studio-routes.h"

enum
{
  RANDOM_GRAPHS = 200,
  COLUMNS = 50, /* of the large graph */
  SAMPLES = 32
};

/* ---- graphs --------------------------------------------------------------- */

enum
{
  MOST_LAYERS = 20
};

/* The layer of each card. */
typedef struct
{
  guint per_row, n_layers, first[MOST_LAYERS + 1], count[MOST_LAYERS + 1];
  double channel;
} Layers;

/* A data set, layers of one to three cards, and a loss. Most wires go to the next layer; some skip a few, and the
 * targets come from the first card to the last. */
static char *
random_text (GRand *rand, Layers *layers)
{
  GString *nodes = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                                 "<node id=\"n0\" op=\"dataset\" source=\"fashion-mnist\"/>\n");
  GString *wires = g_string_new (NULL);
  guint n = 1;

  layers->per_row = (guint)g_rand_int_range (rand, 3, 8);
  layers->n_layers = (guint)g_rand_int_range (rand, 4, MOST_LAYERS);
  layers->channel = 40 + 8 * g_rand_int_range (rand, 0, 5);
  layers->first[0] = 0;
  layers->count[0] = 1;
  for (guint layer = 1; layer <= layers->n_layers; layer++)
    {
      gboolean is_last = layer == layers->n_layers;

      layers->first[layer] = n;
      layers->count[layer] = is_last ? 1 : (guint)g_rand_int_range (rand, 1, 4);
      for (guint c = 0; c < layers->count[layer]; c++, n++)
        {
          gboolean two = is_last || g_rand_int_range (rand, 0, 3) == 0;

          g_string_append_printf (nodes, "<node id=\"n%u\" op=\"%s\"/>\n", n,
                                  is_last ? "cross_entropy"
                                  : two   ? "add"
                                          : "relu");
          for (guint port = 0; port < (two ? 2u : 1u); port++)
            {
              gboolean skips = g_rand_int_range (rand, 0, 4) == 0 && layer > 2;
              guint from_layer = skips ? (guint)g_rand_int_range (rand, 1, (gint32)layer) : layer - 1;
              guint from
                  = layers->first[from_layer] + (guint)g_rand_int_range (rand, 0, (gint32)layers->count[from_layer]);

              if (is_last && port == 1)
                from = 0;
              g_string_append_printf (wires, "<wire from=\"n%u%s\" to=\"n%u.%s\"/>\n", from,
                                      from > 0               ? ""
                                      : is_last && port == 1 ? ".y"
                                                             : ".x",
                                      n,
                                      port == 0 ? "input"
                                      : is_last ? "target"
                                                : "other");
            }
        }
    }
  g_string_append (nodes, wires->str);
  g_string_append (nodes, "</graph>\n");
  g_string_free (wires, TRUE);
  return g_string_free (nodes, FALSE);
}

/* In wrapped rows as a layout makes them: 40 px and more between layers, 28 between cards, 56 between rows; or in
 * columns, where the layers are below each other. */
static StudioScene *
random_scene_along (guint32 seed, const char *name, StudioFlow flow)
{
  gboolean down = flow == STUDIO_FLOW_DOWN;
  double step = down ? STUDIO_CARD_HEIGHT + STUDIO_CARD_FIGURE : STUDIO_CARD_WIDTH;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  Layers layers;
  g_autofree char *text = random_text (rand, &layers);
  StudioScene *scene = scene_from_text (text, name);
  double top = 0, bottom = 0;

  studio_scene_set_flow (scene, flow);
  for (guint layer = 0; layer <= layers.n_layers; layer++)
    {
      double y = layer % layers.per_row == 0 && layer > 0 ? bottom + 56 : top;

      top = y;
      for (guint c = 0; c < layers.count[layer]; c++)
        {
          StudioItem *item = &scene->item[layers.first[layer] + c];

          *(down ? &item->y : &item->x) = layer % layers.per_row * (step + layers.channel);
          *(down ? &item->x : &item->y) = y;
          y += (down ? item->width : item->height) + 28;
        }
      bottom = MAX (bottom, y - 28);
    }
  return scene;
}

static StudioScene *
random_scene (guint32 seed, const char *name)
{
  return random_scene_along (seed, name, STUDIO_FLOW_RIGHT);
}

static GPtrArray *
example_files (void)
{
  static const char *const folders[] = { "lessons", "models" };
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);

  g_assert_nonnull (root);
  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = g_build_filename (root, "graphs", folders[f], NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char *name;

      g_assert_nonnull (dir);
      while ((name = g_dir_read_name (dir)) != NULL)
        if (g_str_has_suffix (name, ".xml"))
          g_ptr_array_add (files, g_build_filename (folder, name, NULL));
    }
  g_assert_cmpuint (files->len, >, 10);
  return files;
}

typedef void (*Check) (StudioScene *scene, const char *name);

static void
check_both (Check check, StudioScene *scene, const char *name)
{
  check (scene, name);
  studio_routes_set_right_angles (scene->routes, TRUE);
  check (scene, name);
}

/* As Arrange would put it from top to bottom. */
static void
turn_down (StudioScene *scene)
{
  g_autoptr (StudioLayout) layout
      = studio_layout_new (scene, NULL, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_DOWN);

  scene_take_layout (scene, layout);
  studio_routes_set_right_angles (scene->routes, FALSE);
}

static void
foreach_graph (Check check)
{
  g_autoptr (GPtrArray) files = example_files ();

  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = NULL;
      g_autoptr (StudioScene) scene = NULL;

      g_assert_true (g_file_get_contents (files->pdata[i], &text, NULL, NULL));
      scene = scene_from_text (text, files->pdata[i]);
      check_both (check, scene, files->pdata[i]);
      turn_down (scene);
      check_both (check, scene, files->pdata[i]);
    }
  for (guint32 seed = 1; seed <= RANDOM_GRAPHS; seed++)
    {
      g_autofree char *name = g_strdup_printf ("random graph %u", seed);
      g_autofree char *down_name = g_strdup_printf ("random graph %u from top to bottom", seed);
      g_autoptr (StudioScene) scene = random_scene (seed, name);
      g_autoptr (StudioScene) down = random_scene (seed, name);

      check_both (check, scene, name);
      turn_down (down);
      check_both (check, down, down_name);
    }
}

/* ---- invariants ----------------------------------------------------------- */

static char *
name_of (const StudioScene *scene, guint link)
{
  const StudioLink *l = &scene->link[link];

  return g_strdup_printf ("%s.%s → %s.%s", scene->item[l->from].id, scene->item[l->from].output[l->output].name,
                          scene->item[l->to].id, scene->item[l->to].input[l->input].name);
}

static gboolean
lies_in (const StudioCurve *curve, const StudioRect *card, double *x, double *y)
{
  for (guint t = 0; t <= SAMPLES; t++)
    {
      studio_curve_at (curve, t / (double)SAMPLES, x, y);
      if (*x > card->x + 1 && *x < card->x + card->width - 1 && *y > card->y + 1 && *y < card->y + card->height - 1)
        return TRUE;
    }
  return FALSE;
}

static void
check_under_rect (StudioScene *scene, const char *name, const StudioItem *item, StudioRect rect)
{
  const StudioRoute *route = studio_scene_routes (scene);

  for (guint l = 0; l < scene->n_links; l++)
    {
      StudioRect bounds = route[l].bounds;
      double x, y;

      bounds.width += 1;
      bounds.height += 1;
      if (!studio_rect_intersects (&rect, &bounds))
        continue;
      for (guint k = 0; k < route[l].n_pieces; k++)
        if (lies_in (&route[l].piece[k], &rect, &x, &y))
          {
            g_autofree char *wire = name_of (scene, l);

            g_error ("%s: %s lies under %s at %g, %g", name, wire, item->id, x, y);
          }
    }
}

static void
check_under (StudioScene *scene, const char *name)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      check_under_rect (scene, name, &scene->item[i], studio_geometry_card (&scene->item[i]));
      if (scene->item[i].hanging > 0)
        check_under_rect (scene, name, &scene->item[i], studio_geometry_pins (&scene->item[i]));
    }
}

typedef struct
{
  guint link;
  gboolean upright;
  double at, a, b;
} Straight;

/* Horizontal and vertical segments of different nets share no more than a crossing: two may be within two pixels of
 * each other only for less than the width of a lane. */
static GArray *
straights_of (StudioScene *scene)
{
  const StudioRoute *route = studio_scene_routes (scene);
  GArray *all = g_array_new (FALSE, FALSE, sizeof (Straight));

  for (guint l = 0; l < scene->n_links; l++)
    for (guint k = 0; k < route[l].n_pieces; k++)
      {
        const StudioCurve *c = &route[l].piece[k];
        gboolean upright = c->x[0] == c->x[3];
        Straight s
            = { l, upright, upright ? c->x[0] : c->y[0], upright ? MIN (c->y[0], c->y[3]) : MIN (c->x[0], c->x[3]),
                upright ? MAX (c->y[0], c->y[3]) : MAX (c->x[0], c->x[3]) };

        if (studio_curve_is_straight (c) && (upright || c->y[0] == c->y[3]))
          g_array_append_val (all, s);
      }
  return all;
}

/* Of different nets, in one direction. */
static gboolean
are_parallel (const StudioScene *scene, const Straight *p, const Straight *q)
{
  const StudioLink *lp = &scene->link[p->link], *lq = &scene->link[q->link];

  return p->upright == q->upright && (lp->from != lq->from || lp->output != lq->output);
}

static double
common (const Straight *p, const Straight *q)
{
  return MIN (p->b, q->b) - MAX (p->a, q->a);
}

static void
check_apart (StudioScene *scene, const char *name)
{
  g_autoptr (GArray) all = straights_of (scene);

  for (guint i = 0; i < all->len; i++)
    for (guint j = i + 1; j < all->len; j++)
      {
        const Straight *p = &g_array_index (all, Straight, i), *q = &g_array_index (all, Straight, j);

        if (are_parallel (scene, p, q) && fabs (p->at - q->at) < 1.9 && common (p, q) > 12)
          {
            g_autofree char *one = name_of (scene, p->link), *other = name_of (scene, q->link);

            g_error ("%s: %s and %s lie on each other at %s %g from %g to %g", name, one, other, p->upright ? "x" : "y",
                     p->at, MAX (p->a, q->a), MIN (p->b, q->b));
          }
      }
}

/* How many pairs of long parallel neighbours are in one bundle, and how many are not. */
static guint n_bundled, n_separate;

static void
count_bundles (StudioScene *scene, const char *name)
{
  g_autoptr (GArray) all = straights_of (scene);

  for (guint i = 0; i < all->len; i++)
    for (guint j = i + 1; j < all->len; j++)
      {
        const Straight *p = &g_array_index (all, Straight, i), *q = &g_array_index (all, Straight, j);
        double apart = fabs (p->at - q->at);

        if (!are_parallel (scene, p, q) || common (p, q) < 100 || common (p, q) < 0.7 * MIN (p->b - p->a, q->b - q->a))
          continue;
        n_bundled += apart < 4.1;
        n_separate += apart >= 4.1 && apart < 12;
      }
}

static void check_shape_labels (StudioScene *scene, const char *name);

/* Pins hang on every third card, and a layout has made space for them. */
static void
check_hanging (StudioScene *scene, const char *name)
{
  g_autoptr (StudioLayout) layout = NULL;

  for (guint i = 0; i < scene->n_items; i += 3)
    {
      scene->item[i].hanging = studio_geometry_pin_height (STUDIO_CARD_WIDTH);
      scene->item[i].hanging_width = i % 2 == 0 ? 264 : STUDIO_CARD_WIDTH;
    }
  layout = studio_layout_new (scene, NULL, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT,
                              scene->flow == STUDIO_FLOW_DOWN ? STUDIO_LAYOUT_DOWN : STUDIO_LAYOUT_RIGHT);
  scene_take_layout (scene, layout);
  check_under (scene, name);
  check_shape_labels (scene, name);
}

static void
test_hanging (void)
{
  foreach_graph (check_hanging);
}

static void
test_under (void)
{
  foreach_graph (check_under);
}

static void
test_apart (void)
{
  foreach_graph (check_apart);
}

static void
test_bundles (void)
{
  foreach_graph (count_bundles);
  g_test_message ("%u neighbours are in one bundle, %u are separate", n_bundled, n_separate);
  g_assert_cmpuint (n_bundled, >, 2 * n_separate);
}

/* Ways hang together and go from port to port. */
static void
check_ends (StudioScene *scene, const char *name)
{
  const StudioRoute *route = studio_scene_routes (scene);

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      const StudioCurve *last = &route[l].piece[route[l].n_pieces - 1];
      double x0, y0, x1, y1;

      g_assert_cmpuint (route[l].n_pieces, >, 0);
      studio_geometry_port (&scene->item[link->from], TRUE, link->output, &x0, &y0);
      studio_geometry_port (&scene->item[link->to], FALSE, link->input, &x1, &y1);
      g_assert_cmpfloat (route[l].piece[0].x[0], ==, x0);
      g_assert_cmpfloat (route[l].piece[0].y[0], ==, y0);
      g_assert_cmpfloat (last->x[3], ==, x1);
      g_assert_cmpfloat (last->y[3], ==, y1);
      for (guint k = 1; k < route[l].n_pieces; k++)
        {
          const StudioCurve *c = &route[l].piece[k];

          g_assert_cmpfloat_with_epsilon (c->x[0], c[-1].x[3], 0.01);
          g_assert_cmpfloat_with_epsilon (c->y[0], c[-1].y[3], 0.01);
        }
    }
}

static void
test_ends (void)
{
  foreach_graph (check_ends);
}

/* ---- shapes on wires ------------------------------------------------------ */

/* As wide as a small font makes them. */
static gboolean
shape_label_size (const char *label, StudioShapeLabelForm form, double *width, double *height, gpointer data)
{
  g_autofree char *text = studio_shape_label_text (label, form);
  g_auto (GStrv) lines = text != NULL ? g_strsplit (text, "\n", -1) : NULL;

  if (text == NULL)
    return FALSE;
  *width = 0;
  for (guint i = 0; lines[i] != NULL; i++)
    *width = MAX (*width, 12 + 6.5 * g_utf8_strlen (lines[i], -1));
  *height = 6 + 14 * g_strv_length (lines);
  return TRUE;
}

/* Parallel wires of one output have one shape label. */
static gboolean
is_said_elsewhere (StudioScene *scene, guint link, const StudioShapeLabel *shape_label)
{
  const StudioRoute *route = studio_scene_routes (scene);
  const StudioLink *own = &scene->link[link];

  for (guint k = 0; k < scene->n_links; k++)
    if (shape_label[k].rect.width > 0 && scene->link[k].from == own->from && scene->link[k].output == own->output
        && studio_route_intersects (&route[link], &shape_label[k].rect))
      return TRUE;
  return FALSE;
}

static guint n_labels, n_shape_labels;

static void
check_shape_labels (StudioScene *scene, const char *name)
{
  const StudioRoute *route = studio_scene_routes (scene);
  const StudioShapeLabel *shape_label = studio_scene_shape_labels (scene, 1, shape_label_size, NULL);

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioRect *r = &shape_label[l].rect;
      const StudioRect middle = { r->x + 8, r->y + r->height / 2 - 1, r->width - 16, 2 };
      g_autofree char *wire = name_of (scene, l);

      n_labels += scene->link[l].label != NULL;
      if (r->width == 0)
        {
          n_shape_labels += is_said_elsewhere (scene, l, shape_label);
          continue;
        }
      n_shape_labels++;
      if (!studio_route_intersects (&route[l], &middle))
        g_error ("%s: the shape of %s is not on its wire", name, wire);
      for (guint i = 0; i < scene->n_items; i++)
        {
          StudioRect card = studio_geometry_card (&scene->item[i]), fault = studio_geometry_fault (&scene->item[i]);

          StudioRect pins = studio_geometry_pins (&scene->item[i]);

          if (studio_rect_intersects (&card, r) || (fault.height > 0 && studio_rect_intersects (&fault, r))
              || (pins.width > 0 && studio_rect_intersects (&pins, r)))
            g_error ("%s: the shape of %s covers %s", name, wire, scene->item[i].id);
        }
      for (guint k = 0; k < l; k++)
        if (shape_label[k].rect.width > 0 && studio_rect_intersects (&shape_label[k].rect, r))
          {
            g_autofree char *other = name_of (scene, k);

            g_error ("%s: the shapes of %s and %s cover each other", name, wire, other);
          }
    }
}

static void
test_shape_labels (void)
{
  n_labels = n_shape_labels = 0;
  foreach_graph (check_shape_labels);
  g_test_message ("%u of %u shapes have room", n_shape_labels, n_labels);
  g_assert_cmpuint (n_shape_labels * 10, >, n_labels * 8);
}

static void
test_shape_label_texts (void)
{
  g_autofree char *line = studio_shape_label_text ("B × 16 × 14 × 14", STUDIO_SHAPE_LABEL_LINE);
  g_autofree char *two = studio_shape_label_text ("B × 16 × 14 × 14", STUDIO_SHAPE_LABEL_TWO_LINES);
  g_autofree char *column = studio_shape_label_text ("B × 16 × 14 × 14", STUDIO_SHAPE_LABEL_COLUMN);

  g_assert_cmpstr (line, ==, "B × 16 × 14 × 14");
  g_assert_cmpstr (two, ==, "B × 16 ×\n14 × 14");
  g_assert_cmpstr (column, ==, "B\n16\n14\n14");
  g_assert_null (studio_shape_label_text ("B × 10", STUDIO_SHAPE_LABEL_TWO_LINES));
  g_assert_null (studio_shape_label_text ("scalar", STUDIO_SHAPE_LABEL_COLUMN));
}

/* ---- moving --------------------------------------------------------------- */

static void
assert_same (const StudioScene *scene, const StudioScene *other, const char *name)
{
  const StudioRoute *a = studio_scene_routes (scene), *b = studio_scene_routes (other);

  for (guint l = 0; l < scene->n_links; l++)
    {
      g_autofree char *wire = name_of (scene, l);

      if (a[l].n_pieces != b[l].n_pieces || memcmp (a[l].piece, b[l].piece, a[l].n_pieces * sizeof (StudioCurve)) != 0)
        g_error ("%s: the route of %s differs from routing from scratch", name, wire);
    }
}

static void
test_moving (void)
{
  guint kept = 0, all = 0;

  for (guint32 seed = 1; seed <= 60; seed++)
    {
      g_autofree char *name = g_strdup_printf ("random graph %u", seed);
      g_autoptr (StudioScene) scene = random_scene (seed, name);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

      studio_scene_routes (scene);
      for (guint move = 0; move < 12; move++)
        {
          g_autoptr (StudioScene) fresh = random_scene (seed, name);
          StudioItem *item = &scene->item[g_rand_int_range (rand, 0, (gint32)scene->n_items)];
          guint before;

          item->x += 12 * g_rand_int_range (rand, -8, 9);
          item->y += 12 * g_rand_int_range (rand, -8, 9);
          before = studio_routes_n_searched (scene->routes);
          studio_scene_routes (scene);
          kept += scene->n_links - (studio_routes_n_searched (scene->routes) - before);
          all += scene->n_links;
          for (guint i = 0; i < scene->n_items; i++)
            {
              fresh->item[i].x = scene->item[i].x;
              fresh->item[i].y = scene->item[i].y;
            }
          assert_same (scene, fresh, name);
          check_shape_labels (scene, name);
        }
    }
  /* These graphs are small: most of a wire's neighbourhood is most of the graph. */
  g_test_message ("%u of %u ways were kept", kept, all);
  g_assert_cmpuint (kept * 4, >, all);
}

/* The next version of a graph takes over what was found for the last. */
static void
test_next_version (void)
{
  g_autoptr (StudioScene) scene = random_scene (7, "a"), next = random_scene (7, "b"), fresh = random_scene (7, "c");
  guint before;

  studio_scene_routes (scene);
  before = studio_routes_n_searched (scene->routes);
  studio_scene_set_routes (next, studio_scene_steal_routes (scene));
  for (guint l = 0; l < next->n_links; l++)
    g_assert_cmpuint (next->link[l].serial, ==, scene->link[l].serial);
  assert_same (next, fresh, "the next version");
  g_assert_cmpuint (studio_routes_n_searched (next->routes), ==, before);
}

/* ---- points ---------------------------------------------------------------- */

/* A wire goes through its points in their order, and round cards between them; one that moves changes its wire alone.
 */
static void
test_points (void)
{
  for (guint32 seed = 1; seed <= 40; seed++)
    {
      g_autofree char *name = g_strdup_printf ("random graph %u with points", seed);
      g_autoptr (StudioScene) scene = random_scene (seed, name), fresh = random_scene (seed, name);
      guint l = seed % scene->n_links, before;
      StudioLink *link = &scene->link[l];
      StudioRect all = studio_geometry_bounds (scene);
      const StudioRoute *route;

      studio_scene_routes (scene);
      link->n_points = 2;
      link->point = g_new (StudioPoint, 2);
      link->point[0] = (StudioPoint){ all.x + all.width + 60, all.y + all.height / 2 };
      link->point[1] = (StudioPoint){ all.x - 60, all.y + all.height + 40 };
      before = studio_routes_n_searched (scene->routes);
      route = &studio_scene_routes (scene)[l];
      g_assert_cmpuint (studio_routes_n_searched (scene->routes) - before, ==, 3);
      g_assert_true (route->routed);
      for (guint k = 0; k < 2; k++)
        g_assert_cmpfloat (studio_route_distance (route, link->point[k].x, link->point[k].y), <, 0.1);
      check_under (scene, name);
      check_ends (scene, name);

      link->point[0].y += 48;
      route = &studio_scene_routes (scene)[l];
      g_assert_cmpfloat (studio_route_distance (route, link->point[0].x, link->point[0].y), <, 0.1);
      fresh->link[l].n_points = 2;
      fresh->link[l].point = g_memdup2 (link->point, 2 * sizeof *link->point);
      assert_same (scene, fresh, name);
      check_shape_labels (scene, name);
    }
}

/* The fitted view shows the wires that go round the outermost cards, too. */
static void
check_bounds (StudioScene *scene, const char *name)
{
  const StudioRoute *route = studio_scene_routes (scene);
  StudioRect all = studio_geometry_bounds (scene);

  for (guint l = 0; l < scene->n_links; l++)
    {
      StudioRect b = route[l].bounds;

      if (b.x < all.x - 24 || b.y < all.y - 24 || b.x + b.width > all.x + all.width + 24
          || b.y + b.height > all.y + all.height + 24)
        g_error ("%s: %u lies outside of all", name, l);
    }
}

static void
test_bounds (void)
{
  foreach_graph (check_bounds);
}

/* ---- size ----------------------------------------------------------------- */

static char *
big_graph (guint nodes, guint columns)
{
  GString *s = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                             "<node id=\"n0\" op=\"input\" shape=\"B,16\"/>\n");

  for (guint i = 1; i < nodes; i++)
    g_string_append_printf (s, "<node id=\"n%u\" op=\"%s\"/>\n", i, i % 2 == 0 ? "add" : "relu");
  for (guint i = 1; i < nodes; i++)
    {
      g_string_append_printf (s, "<wire from=\"n%u\" to=\"n%u%s\"/>\n", i - 1, i, i % 2 == 0 ? ".input" : "");
      if (i % 2 == 0)
        g_string_append_printf (s, "<wire from=\"n%u\" to=\"n%u.other\"/>\n", i >= columns ? i - columns : 0, i);
    }
  g_string_append (s, "</graph>\n");
  return g_string_free (s, FALSE);
}

static void
test_size (void)
{
  g_autofree char *text = big_graph (2000, COLUMNS);
  g_autoptr (StudioScene) scene = scene_from_text (text, "2,000 nodes");
  guint before;

  g_assert_cmpuint (scene->n_links, >=, 2990);
  for (guint i = 0; i < scene->n_items; i++)
    {
      scene->item[i].x = i % COLUMNS * 240;
      scene->item[i].y = i / COLUMNS * (scene->item[1].height + 56);
    }
  studio_scene_routes (scene);
  before = studio_routes_n_searched (scene->routes);
  for (guint i = 0; i < 20; i++)
    {
      scene->item[1030].x += 12;
      studio_scene_routes (scene);
    }
  /* A step of a drag searches again for the wires near the card alone. */
  g_test_message ("%u wires, %.0f of them searched for in a step of a drag", scene->n_links,
                  (studio_routes_n_searched (scene->routes) - before) / 20.0);
  g_assert_cmpuint (studio_routes_n_searched (scene->routes) - before, <, 20 * 300);
  check_under (scene, "2,000 nodes");
}

/* A data set and wide layers, whose nodes read from one or two random nodes of the layer before or of an earlier one.
 */
static char *
wide_text (GRand *rand, guint n_layers, guint width)
{
  GString *text = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                                "<node id=\"n0\" op=\"dataset\" source=\"fashion-mnist\"/>\n");
  GString *wires = g_string_new (NULL);

  for (guint i = 1; i <= n_layers * width; i++)
    {
      const guint layer = (i - 1) / width;
      const gboolean two = layer > 0 && g_rand_int_range (rand, 0, 3) == 0;

      g_string_append_printf (text, "<node id=\"n%u\" op=\"%s\"/>\n", i, two ? "add" : "relu");
      for (guint port = 0; port < (two ? 2u : 1u); port++)
        {
          const guint before = layer == 0 ? 0 : port == 0 ? layer - 1 : (guint)g_rand_int_range (rand, 0, (gint)layer);
          const guint from = layer == 0 ? 0 : 1 + before * width + (guint)g_rand_int_range (rand, 0, (gint)width);

          g_string_append_printf (wires, "<wire from=\"n%u%s\" to=\"n%u%s\"/>\n", from, from == 0 ? ".x" : "", i,
                                  two ? port == 0 ? ".input" : ".other" : "");
        }
    }
  g_string_append (text, wires->str);
  g_string_append (text, "</graph>\n");
  g_string_free (wires, TRUE);
  return g_string_free (text, FALSE);
}

/* Arranged: hundreds of cards in rows, past which wires go that skip layers. The search leaves out lines along most of
 * the cards in between. */
static void
test_wide (void)
{
  static const struct
  {
    guint n_layers, width;
    StudioLayoutDirection direction;
  } cases[] = { { 4, 50, STUDIO_LAYOUT_RIGHT }, { 100, 5, STUDIO_LAYOUT_RIGHT }, { 100, 5, STUDIO_LAYOUT_DOWN } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (1);
      g_autofree char *text = wide_text (rand, cases[i].n_layers, cases[i].width);
      g_autofree char *name = g_strdup_printf ("%u layers of %u", cases[i].n_layers, cases[i].width);
      g_autoptr (StudioScene) scene = scene_from_text (text, name);
      g_autoptr (StudioLayout) layout
          = studio_layout_new (scene, NULL, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, cases[i].direction);

      scene_take_layout (scene, layout);
      check_under (scene, name);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/routes/ends", test_ends);
  g_test_add_func ("/routes/under-no-card", test_under);
  g_test_add_func ("/routes/under-no-pin", test_hanging);
  g_test_add_func ("/routes/nets-apart", test_apart);
  g_test_add_func ("/routes/bundles", test_bundles);
  g_test_add_func ("/routes/shape-labels", test_shape_labels);
  g_test_add_func ("/routes/shape-label-texts", test_shape_label_texts);
  g_test_add_func ("/routes/moving", test_moving);
  g_test_add_func ("/routes/next-version", test_next_version);
  g_test_add_func ("/routes/points", test_points);
  g_test_add_func ("/routes/bounds", test_bounds);
  g_test_add_func ("/routes/size", test_size);
  g_test_add_func ("/routes/wide", test_wide);
  return g_test_run ();
}
