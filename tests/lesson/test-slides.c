/* Slides: read, compared, made, and without influence on a graph's meaning. */
#include "engine/lesson/loom-slides.h"
#include "tests/test-program.h"

#include <string.h>

#define GRAPH(slides)                                                                                                  \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"g\">\n"        \
  "  <node id=\"x\" op=\"input\" shape=\"B,4\"/>\n  <node id=\"act\" op=\"relu\"/>\n"                                  \
  "  <wire from=\"x\" to=\"act\"/>\n  <view>\n    <pin tensor=\"act\"/>\n" slides "  </view>\n</graph>\n"

#define SLIDES                                                                                                         \
  "    <slide title=\"One\" x=\"-12\" y=\"8\" width=\"640\" height=\"360\" spotlight=\"x act\" pins=\"\">First.\n"     \
  "      * a</slide>\n    <slide/>\n    <slide pins=\"act\" scope=\"missing\"/>\n"

static LoomGraph *
read_graph (const char *xml, LoomFaults *faults)
{
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_data (xml, strlen (xml), "g.xml", faults, &error);

  g_assert_no_error (error);
  return graph;
}

static void
test_reading (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = read_graph (GRAPH (SLIDES), faults);
  g_autoptr (GPtrArray) slides = loom_slides_new (graph, faults);
  const LoomSlide *one = slides->pdata[0], *bare = slides->pdata[1], *last = slides->pdata[2];

  g_assert_cmpuint (slides->len, ==, 3);
  g_assert_cmpstr (one->title, ==, "One");
  g_assert_cmpstr (one->text, ==, "First.\n* a");
  g_assert_false (one->whole);
  g_assert_cmpfloat (one->x, ==, -12);
  g_assert_cmpfloat (one->height, ==, 360);
  g_assert_cmpstr (one->spotlight[1], ==, "act");
  /* An empty list shows no pin, none at all shows every one. */
  g_assert_nonnull (one->pins);
  g_assert_null (one->pins[0]);
  g_assert_null (bare->pins);
  g_assert_true (bare->whole);
  g_assert_null (bare->spotlight);
  g_assert_cmpstr (bare->text, ==, "");
  g_assert_cmpstr (last->pins[0], ==, "act");
  /* A name that no longer exists in the graph causes a warning. */
  g_assert_cmpuint (loom_faults_count (faults), ==, 0);
  g_assert_cmpuint (loom_faults_length (faults), ==, 1);
  g_assert_cmpint (loom_faults_get (faults, 0)->line, ==, 11);
}

static void
test_round_trip (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = read_graph (GRAPH (SLIDES), faults);
  g_autofree char *text = loom_graph_write (graph, NULL);

  g_assert_cmpstr (text, ==, GRAPH (SLIDES));
}

static void
test_meaning (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) with = read_graph (GRAPH (SLIDES), faults);
  g_autoptr (LoomGraph) without = read_graph (GRAPH (""), faults);
  g_autofree char *a = loom_graph_hash (with), *b = loom_graph_hash (without);

  g_assert_cmpstr (a, ==, b);
}

static void
test_equal (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = read_graph (GRAPH (SLIDES), faults);
  g_autoptr (GPtrArray) slides = loom_slides_new (graph, NULL);
  g_autoptr (GPtrArray) same = loom_slides_new (graph, NULL);
  LoomSlide *slide = slides->pdata[0];

  for (guint i = 0; i < slides->len; i++)
    g_assert_true (loom_slide_equal (slides->pdata[i], same->pdata[i]));
  g_assert_false (loom_slide_equal (slides->pdata[0], same->pdata[1]));
  slide->width++;
  g_assert_false (loom_slide_equal (slide, same->pdata[0]));
  slide->width--;
  g_clear_pointer (&slide->pins, g_strfreev);
  g_assert_false (loom_slide_equal (slide, same->pdata[0]));
}

static void
test_making (void)
{
  char *none[] = { NULL }, *ids[] = { (char *)"x", (char *)"act", NULL };
  const LoomSlide slide = { .title = (char *)"A",
                            .text = (char *)"",
                            .scope = (char *)"",
                            .x = 10.4,
                            .y = -3.6,
                            .width = 0.2,
                            .height = 99.7,
                            .spotlight = ids,
                            .pins = none };
  g_autoptr (LoomElement) element = loom_slide_to_element (&slide);

  g_assert_cmpstr (loom_element_get (element, "x"), ==, "10");
  g_assert_cmpstr (loom_element_get (element, "y"), ==, "-4");
  g_assert_cmpstr (loom_element_get (element, "width"), ==, "1");
  g_assert_cmpstr (loom_element_get (element, "height"), ==, "100");
  g_assert_cmpstr (loom_element_get (element, "spotlight"), ==, "x act");
  g_assert_cmpstr (loom_element_get (element, "pins"), ==, "");
  g_assert_null (loom_element_get (element, "scope"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slides/reading", test_reading);
  g_test_add_func ("/slides/round-trip", test_round_trip);
  g_test_add_func ("/slides/meaning", test_meaning);
  g_test_add_func ("/slides/equal", test_equal);
  g_test_add_func ("/slides/making", test_making);
  return g_test_run ();
}
