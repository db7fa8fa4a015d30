/* The stepper when a run does not begin, or ends while a command waits. The tests set the states of the run. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/drawing/draw-wires.h"
#include "ui/stepper/chip-places.h"
#include "ui/stepper/step-words.h"
#include "ui/stepper/studio-stepper.h"

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"parameter\" shape=\"3\"/>"                    \
  "<node id=\"f\" op=\"sum\"/><wire from=\"a\" to=\"f\"/></graph>"

typedef struct
{
  StudioRun *run;
  gboolean can_begin;
  guint n;
} Beginning;

/* As the page starts a run that waits. */
static void
begin_cb (Beginning *self)
{
  self->n++;
  if (self->can_begin)
    studio_run_take_state (self->run, "preparing", NULL);
}

static StudioStepper *
new_stepper (Beginning *beginning, gboolean can_begin)
{
  g_autoptr (StudioDocument) document = document_load (GRAPH);
  StudioStepper *stepper;

  *beginning = (Beginning){ studio_run_new (), can_begin, 0 };
  stepper = studio_stepper_new (document, NULL, beginning->run);
  g_signal_connect_swapped (stepper, "begin", G_CALLBACK (begin_cb), beginning);
  return stepper;
}

/* A command that waits for a run does not begin another one after Stop, also if the worker is gone. */
static void
test_stop (void)
{
  static const char *const ends[] = { "stopped", "failed" };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      Beginning beginning;
      g_autoptr (StudioStepper) stepper = new_stepper (&beginning, TRUE);

      studio_stepper_next (stepper);
      g_assert_cmpuint (beginning.n, ==, 1);
      studio_stepper_next (stepper);
      g_assert_cmpuint (beginning.n, ==, 1);
      studio_run_take_state (beginning.run, ends[i], NULL);
      g_assert_cmpuint (beginning.n, ==, 1);
      g_assert_false (studio_run_is_live (beginning.run));
      studio_stepper_next (stepper);
      g_assert_cmpuint (beginning.n, ==, 2);
      g_object_unref (beginning.run);
    }
}

/* The same for a page that closes. */
static void
test_close (void)
{
  Beginning beginning;
  g_autoptr (StudioStepper) stepper = new_stepper (&beginning, TRUE);

  studio_stepper_forward (stepper);
  studio_run_close (beginning.run);
  g_assert_cmpuint (beginning.n, ==, 1);
  g_assert_cmpint (studio_run_get_state (beginning.run), ==, STUDIO_RUN_STOPPED);
  g_object_unref (beginning.run);
}

/* A command for which no run begins is forgotten. */
static void
test_no_run (void)
{
  Beginning beginning;
  g_autoptr (StudioStepper) stepper = new_stepper (&beginning, FALSE);

  studio_stepper_next (stepper);
  g_assert_cmpuint (beginning.n, ==, 1);
  /* The user trains and pauses. */
  studio_run_take_state (beginning.run, "running", NULL);
  studio_run_take_state (beginning.run, "paused", NULL);
  g_assert_cmpuint (beginning.n, ==, 1);
  g_assert_false (studio_stepper_is_on (stepper));
  g_object_unref (beginning.run);
}

/* Every kind of breakpoint is read aloud at its card, and at the card of a module around it. */
static void
test_words (void)
{
  g_autoptr (StudioDocument) document = document_load (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><module name=\"block\"><node id=\"x\" op=\"module_input\"/>"
      "<node id=\"act\" op=\"relu\"/><node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"act\"/>"
      "<wire from=\"act\" to=\"y\"/></module><node id=\"a\" op=\"parameter\" shape=\"3\"/>"
      "<node id=\"m\" module=\"block\"/><node id=\"f\" op=\"sum\"/><wire from=\"a\" to=\"m\"/>"
      "<wire from=\"m\" to=\"f\"/><view>"
      "<chart kind=\"breakpoint\" node=\"a\" when=\"not_finite\"/>"
      "<chart kind=\"breakpoint\" node=\"m\" when=\"gradient_above\" value=\"10\"/>"
      "<chart kind=\"breakpoint\" node=\"m.act\" when=\"dead_above\" value=\"0.5\"/>"
      "<chart kind=\"breakpoint\" node=\"f\" when=\"equals\" value=\"3\"/></view></graph>");
  static const char *const words[]
      = { "stops training if a value or gradient is NaN or infinite",
          "stops training if the norm of the gradient is above 10.00; act stops training if "
          "the share of dead units is above 0.500",
          "value 6; stops training if a value is equal to 3.000" };
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (StudioBreakpoints) breakpoints = studio_breakpoints_new (document, run);
  g_autoptr (GHashTable) chips = step_chips_new ();
  const StudioScene *scene = studio_document_get_scene (document);
  StudioChip *chip = g_new0 (StudioChip, 1);
  const StepChip value = { chip, NULL };

  chip->text = g_strdup ("6");
  g_hash_table_insert (chips, g_memdup2 (&scene->item[2].output[0].source, sizeof (LoomNetSource)),
                       g_memdup2 (&value, sizeof value));
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *said = step_words_of (&scene->item[i], chips, breakpoints);

      g_assert_cmpstr (said, ==, words[i]);
    }
}

static gboolean
is_inside (const StudioRect *r, const StudioRect *view)
{
  return r->x >= view->x && r->y >= view->y && r->x + r->width <= view->x + view->width
         && r->y + r->height <= view->y + view->height;
}

/* The edge of the view goes through the chip of a card in it: the chip moves inside, and covers no card. A chip of a
 * card that is out of sight stays. */
static void
test_chips_within (void)
{
  g_autoptr (StudioDocument) document
      = document_load ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"parameter\" shape=\"3\"/>"
                       "<node id=\"b\" op=\"relu\"/><node id=\"f\" op=\"sum\"/><wire from=\"a\" to=\"b\"/><wire "
                       "from=\"b\" to=\"f\"/></graph>");
  const StudioScene *scene = studio_document_get_scene (document);
  g_autofree StudioShapeLabel *labels = g_new0 (StudioShapeLabel, scene->n_links + 1);
  ChipPlace base[3] = { { { 0, 0, 70, 14 } }, { { 0, 0, 70, 14 } }, { { 0, 0, 70, 14 } } }, place[3];
  const StudioRect card = studio_geometry_card (&scene->item[0]);

  chip_places (scene, labels, base);
  memcpy (place, base, sizeof place);
  const StudioRect *r = &base[0].rect;
  const StudioRect right = { card.x - 400, card.y - 400, r->x + r->width - 5 - card.x + 400, 1000 };
  const StudioRect bottom = { card.x - 400, card.y - 400, 1000, r->y + r->height - 5 - card.y + 400 };
  const StudioRect far = { card.x - 1000, card.y - 1000, 500, 500 };
  for (guint i = 0; i < 2; i++)
    {
      const StudioRect *view = i == 0 ? &right : &bottom;

      memcpy (place, base, sizeof place);
      g_assert_true (studio_rect_intersects (&card, view));
      g_assert_false (is_inside (&place[0].rect, view));
      chip_places_within (scene, labels, place, view);
      g_assert_true (is_inside (&place[0].rect, view));
      for (guint k = 0; k < scene->n_items; k++)
        {
          const StudioRect other = studio_geometry_card (&scene->item[k]);

          g_assert_false (studio_rect_intersects (&place[0].rect, &other));
        }
    }
  memcpy (place, base, sizeof place);
  chip_places_within (scene, labels, place, &far);
  g_assert_cmpmem (place, sizeof place, base, sizeof base);
}

/* The size of a chip with a value and a gradient. */
#define CHIP_WIDTH  112
#define CHIP_HEIGHT 36

/* Every output with a gradient has a chip, on no card and on no other chip; that of the targets, which gets what is
 * left, is next to its own card. */
static void
test_shipped (void)
{
  static const char *const names[] = { "models/fashion-lenet", "models/fashion-cnn-bn", "lessons/spirals" };
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());

  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    {
      g_autoptr (StudioDocument) document = studio_document_new ();
      g_autoptr (GHashTable) layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
      g_autoptr (GError) error = NULL;
      g_autofree char *file = g_strdup_printf ("%s.xml", names[k]);
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", file, NULL);
      g_autofree ChipPlace *place = g_new0 (ChipPlace, 200);
      guint n = 0;

      studio_document_open (document, path, &error);
      g_assert_no_error (error);
      LoomNet *net = studio_document_get_net (document);
      const StudioScene *scene = studio_document_get_scene (document);
      for (guint i = 0; i < scene->n_items; i++)
        for (guint o = 0; o < scene->item[i].n_outputs; o++, n++)
          {
            const StudioPort *port = &scene->item[i].output[o];
            const LoomOp *op = loom_net_node (net, port->source.node)->op;
            const gboolean has_gradient = op == NULL || op->role != LOOM_ROLE_DATASET;

            place[n].rank = chip_rank (net, port, has_gradient);
            place[n].rect = (StudioRect){ 0, 0, CHIP_WIDTH, has_gradient ? CHIP_HEIGHT : CHIP_HEIGHT / 2 };
          }
      chip_places (scene, studio_drawn_shape_labels (scene, context, layouts), place);
      for (guint i = 0, a = 0; i < scene->n_items; i++)
        for (guint o = 0; o < scene->item[i].n_outputs; o++, a++)
          {
            const StudioItem *item = &scene->item[i];
            const StudioRect near = { item->x - 200, item->y - 120, item->width + 400, item->height + 240 };
            const StudioRect *r = &place[a].rect;

            g_test_message ("%s %s", item->path, item->output[o].name);
            if (place[a].rank == CHIP_GRADIENT)
              g_assert_cmpfloat (r->width, ==, CHIP_WIDTH);
            if (place[a].rank == CHIP_TARGET && r->width > 0)
              g_assert_true (is_inside (r, &near));
            for (guint b = 0; b < a; b++)
              g_assert_false (r->width > 0 && place[b].rect.width > 0 && studio_rect_intersects (r, &place[b].rect));
            for (guint b = 0; b < scene->n_items; b++)
              {
                const StudioRect card = studio_geometry_card (&scene->item[b]);

                g_assert_false (r->width > 0 && studio_rect_intersects (r, &card));
              }
          }
    }
  g_object_unref (context);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/stepper/stop", test_stop);
  g_test_add_func ("/stepper/close", test_close);
  g_test_add_func ("/stepper/chips-within", test_chips_within);
  g_test_add_func ("/stepper/shipped", test_shipped);
  g_test_add_func ("/stepper/no-run", test_no_run);
  g_test_add_func ("/stepper/words", test_words);
  return g_test_run ();
}
