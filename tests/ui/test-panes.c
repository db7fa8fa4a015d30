/* The layout of panes: next to the content in a wide window, over it in a narrow one. No display. */
#include "ui/shell/panes-layout.h"
#include "tests/test-program.h"

#define EM 13.0

static PanesRequest
request_of (double start, double end)
{
  return (PanesRequest){ .least = { 200, 200 }, .natural = { 220, 300 }, .shown = { start, end } };
}

static void
expect_span (PanesSpan span, int at, int width)
{
  g_assert_cmpint (span.at, ==, at);
  g_assert_cmpint (span.width, ==, width);
}

static void
test_docked (void)
{
  PanesPlaces places;
  PanesRequest both = request_of (1, 1), none = request_of (0, 0), half = request_of (0.5, 1);
  panes_place (&places, &both, 1280, EM);
  g_assert_false (places.narrow);
  g_assert_cmpfloat (places.scrim, ==, 0);
  expect_span (places.pane[STUDIO_PANE_START], 0, 220);
  expect_span (places.content, 220, 760);
  expect_span (places.pane[STUDIO_PANE_END], 980, 300);
  panes_place (&places, &none, 1280, EM);
  expect_span (places.content, 0, 1280);
  expect_span (places.pane[STUDIO_PANE_START], -220, 220);
  expect_span (places.pane[STUDIO_PANE_END], 1280, 300);
  /* On its way a pane slides as a whole, and the content takes what it leaves. */
  panes_place (&places, &half, 1280, EM);
  expect_span (places.pane[STUDIO_PANE_START], -110, 220);
  expect_span (places.content, 110, 870);
}

static void
test_drawers (void)
{
  PanesPlaces places;
  PanesRequest start = request_of (1, 0), wide = request_of (0, 1);
  panes_place (&places, &start, 640, EM);
  g_assert_true (places.narrow);
  g_assert_cmpfloat (places.scrim, ==, 1);
  expect_span (places.content, 0, 640);
  expect_span (places.pane[STUDIO_PANE_START], 0, 220);
  expect_span (places.pane[STUDIO_PANE_END], 640, 300);
  /* There is always space next to a drawer to press, unless the drawer is at its minimum width. */
  wide.natural[STUDIO_PANE_END] = 900;
  panes_place (&places, &wide, 640, EM);
  expect_span (places.pane[STUDIO_PANE_END], 39, 601);
  expect_span (places.pane[STUDIO_PANE_START], -220, 220);
  wide.least[STUDIO_PANE_END] = 640;
  panes_place (&places, &wide, 640, EM);
  expect_span (places.pane[STUDIO_PANE_END], 0, 640);
}

/* A wide window of large text is a narrow one. */
static void
test_text (void)
{
  g_assert_cmpint (panes_size_class (832, EM), ==, STUDIO_SIZE_CLASS_WIDE);
  g_assert_cmpint (panes_size_class (831, EM), ==, STUDIO_SIZE_CLASS_NARROW);
  g_assert_cmpint (panes_size_class (519, EM), ==, STUDIO_SIZE_CLASS_TINY);
  g_assert_cmpint (panes_size_class (1280, 2 * EM), ==, STUDIO_SIZE_CLASS_NARROW);
  g_assert_cmpint (panes_size_class (640, 2 * EM), ==, STUDIO_SIZE_CLASS_TINY);
  g_assert_cmpint (panes_size_class (3840, 2 * EM), ==, STUDIO_SIZE_CLASS_WIDE);
}

/* For every width: panes have their minimum, nothing overlaps, nothing is missing. */
static void
test_all_widths (void)
{
  for (int natural = 200; natural <= 1000; natural += 100)
    for (int width = 832; width <= 3840; width += 7)
      {
        PanesPlaces places;
        PanesRequest request = request_of (1, 1);
        request.natural[STUDIO_PANE_END] = natural;
        panes_place (&places, &request, width, EM);
        const PanesSpan *start = &places.pane[STUDIO_PANE_START], *end = &places.pane[STUDIO_PANE_END];
        g_assert_cmpint (start->at, ==, 0);
        g_assert_cmpint (places.content.at, ==, start->width);
        g_assert_cmpint (end->at, ==, places.content.at + places.content.width);
        g_assert_cmpint (end->at + end->width, ==, width);
        g_assert_cmpint (start->width, >=, 200);
        g_assert_cmpint (end->width, >=, 200);
        g_assert_cmpint (places.content.width, >=, 20 * EM);
      }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/panes/docked", test_docked);
  g_test_add_func ("/panes/drawers", test_drawers);
  g_test_add_func ("/panes/text", test_text);
  g_test_add_func ("/panes/all-widths", test_all_widths);
  return g_test_run ();
}
