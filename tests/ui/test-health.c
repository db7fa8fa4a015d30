/* Health as Studio shows it: figures of cards, widths of wires, words, the drawing, and what the history says. No
 * display. */
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "ui/drawing/draw-health.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/studio-export.h"
#include "ui/pins/health-history.h"

static const char GRAPH[]
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><module name=\"m\"><node id=\"in\" op=\"module_input\"/>"
      "<node id=\"fc\" op=\"linear\" out_features=\"8\"/><node id=\"out\" op=\"module_output\"/>"
      "<wire from=\"in\" to=\"fc\"/><wire from=\"fc\" to=\"out\"/></module>"
      "<node id=\"x\" op=\"input\" shape=\"B,8\"/><node id=\"twice\" module=\"m\" repeat=\"2\"/>"
      "<node id=\"act\" op=\"relu\"/><node id=\"head\" op=\"linear\" out_features=\"2\"/>"
      "<wire from=\"x\" to=\"twice\"/><wire from=\"twice\" to=\"act\"/><wire from=\"act\" to=\"head\"/></graph>";

typedef struct
{
  LoomGraph *graph;
  LoomNet *net;
  StudioScene *scene;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  f->graph = loom_graph_read_data (GRAPH, strlen (GRAPH), "test", faults, &error);
  g_assert_no_error (error);
  f->net = loom_net_new (f->graph, NULL, faults);
  f->scene = studio_scene_new (f->graph, loom_graph_root (f->graph), "", f->net, faults, NULL, NULL);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  studio_scene_free (f->scene);
  loom_net_free (f->net);
  loom_graph_unref (f->graph);
}

static GPtrArray *
nodes_of (const char *text)
{
  GPtrArray *nodes = loom_health_from_text (text, strlen (text));

  g_assert_nonnull (nodes);
  return nodes;
}

static StudioItem *
card (Fixture *f, const char *id)
{
  const guint at = studio_scene_find_id (f->scene, id);

  g_assert_cmpint (at, <, f->scene->n_items);
  return &f->scene->item[at];
}

#define REPORT(DEAD)                                                                                                   \
  "{\"node\":\"twice.0.fc\",\"weight\":3,\"gradient\":0.3,\"update\":0.003,\"wires\":{\"twice.0.fc\":1}}\n"            \
  "{\"node\":\"twice.1.fc\",\"weight\":4,\"gradient\":0.4,\"update\":0.004,\"wires\":{\"twice.1.fc\":0.001}}\n"        \
  "{\"node\":\"act\",\"units\":8,\"dead\":" DEAD ",\"wires\":{\"act\":1}}\n"                                           \
  "{\"node\":\"head\",\"weight\":1,\"gradient\":0.5,\"update\":0.001,\"wires\":{\"head\":0.5}}\n"

static void
expect (char *text, const char *expected)
{
  g_assert_cmpstr (text, ==, expected);
  g_free (text);
}

/* Nodes of a card count together, as one vector; a wire has the width of its own gradient. */
static void
test_cards (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) nodes = nodes_of (REPORT ("6"));
  double at, low, high;

  studio_health_set (f->scene, f->net, nodes);
  g_assert_cmpfloat_with_epsilon (card (f, "twice")->health.weight, 5, 1e-9);
  g_assert_cmpfloat_with_epsilon (card (f, "twice")->health.gradient, 0.5, 1e-9);
  g_assert_true (studio_health_bar (&card (f, "twice")->health, &at));
  studio_health_bands (&card (f, "twice")->health, &low, &high);
  g_assert_cmpfloat (low, <, at);
  g_assert_cmpfloat (at, <, high);
  g_assert_cmpfloat_with_epsilon (at, 8.0 / 12, 1e-9); /* 0.1 on the bar from 1e-9 to 1e3 */
  expect (studio_health_figure (&card (f, "twice")->health), "∇ 0.1");
  expect (studio_health_figure (&card (f, "act")->health), "6 of 8 dead");
  expect (studio_health_words (&card (f, "act")->health), "dead; 6 of 8 units dead");
  expect (studio_health_complaint ("act", &card (f, "act")->health), "act: 6 of 8 units are dead");
  g_assert_cmpint (card (f, "act")->health.verdict, ==, LOOM_HEALTH_DEAD);
  g_assert_cmpint (card (f, "head")->health.verdict, ==, LOOM_HEALTH_WELL);
  g_assert_false (card (f, "x")->health.is_known);
  g_assert_null (studio_health_words (&card (f, "x")->health));
  for (guint i = 0; i < f->scene->n_links; i++)
    {
      const StudioLink *link = &f->scene->link[i];
      const char *from = f->scene->item[link->from].id;

      if (g_str_equal (from, "x"))
        g_assert_cmpfloat (link->thickness, ==, 0); /* not measured */
      else if (g_str_equal (from, "act"))
        g_assert_cmpfloat_with_epsilon (link->thickness, 3, 1e-9); /* the largest */
      else
        g_assert_cmpfloat_with_epsilon (link->thickness, 0.4 + 2.6 / 2, 1e-9); /* three decades less, of six */
    }
  studio_health_set (f->scene, f->net, NULL);
  g_assert_false (card (f, "act")->health.is_known);
  g_assert_cmpfloat (f->scene->link[2].thickness, ==, 0);
}

/* Every verdict has its words. */
static void
test_words (void)
{
  StudioCardHealth health = { .is_known = TRUE, .weight = 1, .gradient = 1, .update = 1, .units = 4, .dead = 2 };

  health.saturated = 0.75;
  for (int v = LOOM_HEALTH_WELL + 1; v < LOOM_N_HEALTH; v++)
    {
      g_autofree char *complaint = NULL, *words = NULL;

      health.verdict = (LoomHealthVerdict)v;
      complaint = studio_health_complaint ("fc", &health);
      words = studio_health_words (&health);
      g_assert_true (g_str_has_prefix (complaint, "fc: "));
      g_assert_cmpint (strlen (words), >, 20);
    }
}

/* ---- drawing ---------------------------------------------------------------- */

typedef struct
{
  guchar *pixel;
  int stride;
  cairo_surface_t *surface;
} Picture;

static Picture
draw (const StudioItem *item, gboolean dark, PangoLayout *text)
{
  Picture picture = { .surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 240, 140) };
  cairo_t *cr = cairo_create (picture.surface);
  StudioTheme theme;

  studio_theme_init (&theme, dark, FALSE);
  studio_color_set (&theme.background, cr);
  cairo_paint (cr);
  cairo_translate (cr, 20, 20);
  studio_draw_health (cr, item, 176, 80, 10, &theme, text);
  cairo_destroy (cr);
  cairo_surface_flush (picture.surface);
  picture.pixel = cairo_image_surface_get_data (picture.surface);
  picture.stride = cairo_image_surface_get_stride (picture.surface);
  return picture;
}

static guint
difference (const Picture *a, const Picture *b)
{
  guint n = 0;

  for (int y = 0; y < 140; y++)
    for (int x = 0; x < 240; x++)
      n += memcmp (a->pixel + y * a->stride + 4 * x, b->pixel + y * b->stride + 4 * x, 4) != 0;
  return n;
}

/* The mark moves with the figure; a sick card has a sign, also without colour: its box is wider. A card of which
 * nothing is known has nothing. */
static void
test_drawing (Fixture *f, gconstpointer data)
{
  PangoContext *context = studio_export_context_new ();
  PangoLayout *text = studio_small_text_new (context, "");

  for (int dark = 0; dark < 2; dark++)
    {
      g_autoptr (GPtrArray) well = nodes_of (REPORT ("0")), sick = nodes_of (REPORT ("6"));
      StudioItem *act = card (f, "act");
      Picture none = draw (card (f, "x"), dark, text), a, b, c;

      studio_health_set (f->scene, f->net, well);
      a = draw (act, dark, text);
      b = draw (card (f, "head"), dark, text);
      studio_health_set (f->scene, f->net, sick);
      c = draw (act, dark, text);
      g_assert_cmpint (difference (&none, &a), >, 200);
      g_assert_cmpint (difference (&a, &b), >, 50);
      g_assert_cmpint (difference (&a, &c), >, 100);
      cairo_surface_destroy (none.surface);
      cairo_surface_destroy (a.surface);
      cairo_surface_destroy (b.surface);
      cairo_surface_destroy (c.surface);
      studio_health_set (f->scene, f->net, NULL);
      none = draw (act, dark, text);
      b = draw (card (f, "x"), dark, text);
      g_assert_cmpint (difference (&none, &b), ==, 0);
      cairo_surface_destroy (none.surface);
      cairo_surface_destroy (b.surface);
    }
  g_object_unref (text);
  g_object_unref (context);
}

/* Wherever the mark is on the bar, the figure next to it does not cover it: its middle has the same colour without a
 * figure. */
static void
test_mark (Fixture *f, gconstpointer data)
{
  PangoContext *context = studio_export_context_new ();
  PangoLayout *text = studio_small_text_new (context, "");
  StudioItem *item = card (f, "head");

  for (int decades = -8; decades <= 2; decades++)
    {
      double at;

      item->health = (StudioCardHealth){ .is_known = TRUE, .weight = 1, .gradient = pow (10, decades), .update = 1 };
      g_assert_true (studio_health_bar (&item->health, &at));
      Picture bare = draw (item, FALSE, NULL), named = draw (item, FALSE, text);
      const int x = 20 + (int)(6 + at * (176 - 12)), y = 20 + 80;
      g_assert_cmpmem (bare.pixel + y * bare.stride + 4 * x, 4, named.pixel + y * named.stride + 4 * x, 4);
      g_assert_cmpint (difference (&bare, &named), >, 50);
      cairo_surface_destroy (bare.surface);
      cairo_surface_destroy (named.surface);
    }
  g_object_unref (text);
  g_object_unref (context);
}

/* ---- history ---------------------------------------------------------------- */

static HealthDiagnosis
add (HealthHistory *history, gint64 step, const GPtrArray *nodes)
{
  health_history_add (history, step, nodes);
  return health_history_diagnose (history, nodes);
}

static void
test_history (void)
{
  g_autoptr (HealthHistory) history = health_history_new ();
  g_autoptr (GPtrArray) well = nodes_of (REPORT ("0")), sick = nodes_of (REPORT ("6"));
  HealthDiagnosis d;

  /* Sick from the first report on: nothing is known of before. */
  d = add (history, 50, sick);
  g_assert_cmpstr (d.node->node, ==, "act");
  g_assert_cmpint (d.well, ==, -1);
  g_assert_cmpint (d.since, ==, -1);
  health_history_clear (history);

  /* Without a change, since the first report that says so. */
  g_assert_null (add (history, 100, well).node);
  g_assert_null (add (history, 200, well).node);
  d = add (history, 300, sick);
  g_assert_cmpint (d.well, ==, 200);
  g_assert_cmpint (d.since, ==, 300);
  g_assert_null (d.changed);
  d = add (history, 400, sick);
  g_assert_cmpint (d.since, ==, 300);

  /* A change between the last reports that were well, or shortly before, is what is blamed; the last of them. */
  health_history_add_change (history, 90, "momentum", 0.5);
  health_history_add_change (history, 210, "lr", 1);
  health_history_add_change (history, 220, "lr", 50);
  health_history_add_change (history, 350, "lr", 0.1);
  d = health_history_diagnose (history, sick);
  g_assert_cmpstr (d.changed, ==, "lr");
  g_assert_cmpfloat (d.value, ==, 50);
  g_assert_cmpint (d.change, ==, 220);

  /* Long before, it is not. */
  g_assert_null (add (history, 500, well).node);
  g_assert_null (add (history, 600, well).node);
  g_assert_null (add (history, 700, well).node);
  d = add (history, 800, sick);
  g_assert_null (d.changed);
  g_assert_cmpint (d.since, ==, 800);

  /* The run goes back: what was seen after that step is forgotten. */
  health_history_clear_changes (history);
  g_assert_null (add (history, 550, well).node);
  d = add (history, 560, sick);
  g_assert_cmpint (d.well, ==, 550);
  g_assert_cmpint (d.since, ==, 560);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/ui/health/cards", Fixture, NULL, set_up, test_cards, tear_down);
  g_test_add_func ("/ui/health/words", test_words);
  g_test_add ("/ui/health/drawing", Fixture, NULL, set_up, test_drawing, tear_down);
  g_test_add ("/ui/health/mark", Fixture, NULL, set_up, test_mark, tear_down);
  g_test_add_func ("/ui/health/history", test_history);
  return g_test_run ();
}
