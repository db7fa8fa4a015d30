/* Spotlight and pen without a display, and the list of views. */
#include "ui/present/studio-spotlight.h"
#include "ui/present/studio-ink.h"
#include "ui/present/studio-slides.h"
#include "tests/test-program.h"

#include <string.h>

/* A tile is what all of its pixels are, or else an edge. */
static void
test_beam (void)
{
  const StudioSpotlight beam = { 200, 150, 100, 300, 100, 176, 56 };
  const StudioSpotlight nothing = { 0, 0, 0, 0, 0, 0, 0 };

  for (double y = 0; y < 400; y += STUDIO_SPOTLIGHT_TILE)
    for (double x = 0; x < 640; x += STUDIO_SPOTLIGHT_TILE)
      {
        const StudioSpotlightTile tile
            = studio_spotlight_tile (&beam, x, y, STUDIO_SPOTLIGHT_TILE, STUDIO_SPOTLIGHT_TILE);
        guint lit = 0, n = 0;

        for (double py = y + 0.5; py < y + STUDIO_SPOTLIGHT_TILE; py += 1)
          for (double px = x + 0.5; px < x + STUDIO_SPOTLIGHT_TILE; px += 1, n++)
            lit += (px - 200) * (px - 200) + (py - 150) * (py - 150) < 100 * 100
                   || (px > 300 && px < 476 && py > 100 && py < 156);
        if (tile == STUDIO_SPOTLIGHT_LIT)
          g_assert_cmpuint (lit, ==, n);
        if (tile == STUDIO_SPOTLIGHT_DARK)
          g_assert_cmpuint (lit, ==, 0);
        /* Each edge tile costs a picture, so only tiles at the border of the light are edges, except where circle and
         * card meet. */
        if (tile == STUDIO_SPOTLIGHT_EDGE)
          g_assert_true (lit > 0 && (lit < n || (x < 300 && x + STUDIO_SPOTLIGHT_TILE > 300)));
        g_assert_true (studio_spotlight_tile (&nothing, x, y, 64, 64) == STUDIO_SPOTLIGHT_DARK);
      }
}

static void
test_ink (void)
{
  g_autoptr (StudioInk) ink = studio_ink_new ();

  studio_ink_begin (ink, 0, 4, 10, 10);
  studio_ink_extend (ink, 11, 10); /* too near to be visible */
  studio_ink_extend (ink, 110, 10);
  studio_ink_begin (ink, 3, 4, 200, 200);
  g_assert_cmpuint (studio_ink_n_strokes (ink), ==, 2);
  const StudioStroke *stroke = studio_ink_get_stroke (ink, 0);
  g_assert_cmpuint (stroke->points->len, ==, 2);
  g_assert_cmpfloat (stroke->x0, ==, 8);
  g_assert_cmpfloat (stroke->x1, ==, 112);
  g_assert_cmpfloat (stroke->y1, ==, 12);

  /* The eraser meets the line between two points, and a dot. */
  g_assert_false (studio_ink_erase (ink, 60, 23, 10));
  g_assert_false (studio_ink_erase (ink, 150, 10, 10));
  g_assert_true (studio_ink_erase (ink, 60, 21, 10));
  g_assert_cmpuint (studio_ink_n_strokes (ink), ==, 1);
  g_assert_true (studio_ink_erase (ink, 205, 200, 4));
  g_assert_cmpuint (studio_ink_n_strokes (ink), ==, 0);
  studio_ink_begin (ink, 1, 4, 0, 0);
  studio_ink_clear (ink);
  g_assert_cmpuint (studio_ink_n_strokes (ink), ==, 0);
}

/* However large a stroke is on the canvas, and wherever, no more than the view is drawn of it; and no less. */
static void
test_seen (void)
{
  g_autoptr (StudioInk) ink = studio_ink_new ();
  StudioInkArea seen;

  studio_ink_begin (ink, 0, 4, 100, 50);
  studio_ink_extend (ink, 300, 150);
  const StudioStroke *stroke = studio_ink_get_stroke (ink, 0);
  g_assert_true (studio_stroke_visible (stroke, 0, 0, 1, 640, 480, &seen));
  g_assert_cmpfloat (seen.x, ==, 97);
  g_assert_cmpfloat (seen.y, ==, 47);
  g_assert_cmpfloat (seen.x + seen.width, ==, 303);
  g_assert_cmpfloat (seen.y + seen.height, ==, 153);
  g_assert_true (studio_stroke_visible (stroke, 150, 75, 64, 640, 480, &seen));
  g_assert_cmpfloat (seen.x, ==, 0);
  g_assert_cmpfloat (seen.y, ==, 0);
  g_assert_cmpfloat (seen.width, ==, 640);
  g_assert_cmpfloat (seen.height, ==, 480);
  g_assert_false (studio_stroke_visible (stroke, 400, 0, 64, 640, 480, &seen));
  g_assert_false (studio_stroke_visible (stroke, 0, 200, 64, 640, 480, &seen));
  g_assert_false (studio_stroke_visible (stroke, -700, 0, 1, 640, 480, &seen));
}

static char *
dup_titles (StudioSlides *slides)
{
  GString *titles = g_string_new (NULL);

  for (guint i = 0; i < studio_slides_n (slides); i++)
    g_string_append (titles, studio_slides_get (slides, i)->title);
  return g_string_free (titles, FALSE);
}

static void
assert_titles (StudioSlides *slides, const char *titles)
{
  g_autofree char *is = dup_titles (slides);

  g_assert_cmpstr (is, ==, titles);
}

static char *
dup_file (StudioDocument *document)
{
  return loom_graph_write (studio_document_get_graph (document), NULL);
}

/* Every order of moves, and all of it undone byte for byte. */
static void
test_slides (void)
{
  static const char text[]
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" shape=\"B,4\"/>"
        "<view><pin tensor=\"x\"/></view></graph>";
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GError) error = NULL;

  studio_document_open_text (document, text, -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (StudioSlides) slides = studio_slides_new (document);
  g_autofree char *before = dup_file (document);
  for (guint i = 0; i < 3; i++)
    {
      char title[] = { (char)('a' + i), '\0' }, nothing[] = "";
      const LoomSlide slide = { .title = title, .text = nothing, .scope = nothing, .whole = TRUE };

      studio_slides_add (slides, &slide);
      g_assert_cmpint (studio_slides_get_current (slides), ==, (int)i);
    }
  assert_titles (slides, "abc");
  studio_slides_move (slides, 0, 2);
  assert_titles (slides, "bca");
  g_assert_cmpint (studio_slides_get_current (slides), ==, 2);
  studio_slides_move (slides, 2, 1);
  assert_titles (slides, "bac");
  studio_slides_set (slides, 1, "spotlight", "x");
  studio_slides_set (slides, 1, "pins", "");
  studio_slides_set_text (slides, 1, "Look *here*.");
  g_assert_cmpstr (studio_slides_get (slides, 1)->text, ==, "Look *here*.");
  g_assert_null (studio_slides_get (slides, 1)->pins[0]);
  /* Spotlight and shown nodes follow a new name. */
  const LoomElement *x = loom_scope_find_node (studio_document_get_scope (document), "x");
  g_assert_true (studio_document_rename (document, loom_element_serial (x), "input", &error));
  g_assert_cmpstr (studio_slides_get (slides, 1)->spotlight[0], ==, "input");
  studio_slides_remove (slides, 1);
  assert_titles (slides, "bc");
  g_assert_cmpint (studio_slides_get_current (slides), ==, 1);
  while (studio_document_undo_name (document) != NULL)
    studio_document_undo (document);
  assert_titles (slides, "");
  g_autofree char *after = dup_file (document);
  g_assert_cmpstr (before, ==, after);
}

/* Edits while an entry has the focus are one undo step; another entry begins another. */
static void
test_visits (void)
{
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GError) error = NULL;

  studio_document_open_text (document,
                             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><view><pin tensor=\"a\"/>"
                             "<pin tensor=\"b\"/><slide/></view></graph>",
                             -1, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (StudioSlides) slides = studio_slides_new (document);
  studio_slides_begin_visit (slides);
  studio_slides_set (slides, 0, "pins", "a");
  g_usleep (1200 * 1000);
  studio_slides_set (slides, 0, "pins", "");
  studio_slides_set (slides, 0, "pins", "b");
  g_assert_cmpuint (studio_document_n_steps (document), ==, 1);
  studio_slides_set (slides, 0, "spotlight", "x");
  g_assert_cmpuint (studio_document_n_steps (document), ==, 2);
  studio_slides_set (slides, 0, "spotlight", NULL);
  g_assert_cmpuint (studio_document_n_steps (document), ==, 2);
  studio_slides_begin_visit (slides);
  studio_slides_set (slides, 0, "spotlight", "y");
  g_assert_cmpuint (studio_document_n_steps (document), ==, 3);
  studio_document_undo (document);
  studio_document_undo (document);
  g_assert_cmpstr (studio_slides_get (slides, 0)->pins[0], ==, "b");
  studio_document_undo (document);
  g_assert_null (studio_slides_get (slides, 0)->pins);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/present/beam", test_beam);
  g_test_add_func ("/present/ink", test_ink);
  g_test_add_func ("/present/seen", test_seen);
  g_test_add_func ("/present/slides", test_slides);
  g_test_add_func ("/present/visits", test_visits);
  return g_test_run ();
}
