/* The parts of a canvas that need no widget, each without a canvas: values, options, spotlight, ports, shift,
 * waypoints, samples, tooltips and menus. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-chain.h"
#include "tests/ui/document-test.h"
#include "ui/canvas/canvas-menu-model.h"
#include "ui/canvas/canvas-options.h"
#include "ui/canvas/canvas-points.h"
#include "ui/canvas/canvas-ports.h"
#include "ui/canvas/canvas-samples.h"
#include "ui/canvas/canvas-shift.h"
#include "ui/scene/studio-scene-spotlight.h"
#include "ui/canvas/canvas-tooltip.h"
#include "ui/canvas/card-values.h"
#include "ui/scene/studio-routes.h"

typedef struct
{
  StudioDocument *document;
  StudioScene *scene;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  f->document = document_load (chain);
  studio_document_get_net (f->document);
  f->scene = studio_document_get_scene (f->document);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_assert_finalize_object (f->document);
}

static guint
item (Fixture *f, const char *id)
{
  return studio_scene_find_id (f->scene, id);
}

static void
test_values (void)
{
  CardValues *values = card_values_new ();

  g_assert_null (card_values_get_text (values, "fc"));
  g_assert_true (card_values_set_text (values, "fc", "loss 0.5"));
  g_assert_false (card_values_set_text (values, "fc", "loss 0.5"));
  g_assert_cmpstr (card_values_get_text (values, "fc"), ==, "loss 0.5");
  g_assert_true (card_values_set_text (values, "fc", NULL));
  g_assert_false (card_values_set_text (values, "fc", NULL));
  g_assert_true (card_values_set_words (values, "fc", "value 0.5"));
  g_assert_false (card_values_set_words (values, "fc", "value 0.5"));
  g_assert_cmpstr (card_values_get_words (values, "fc"), ==, "value 0.5");
  g_assert_null (card_values_get_text (values, "fc"));
  g_assert_null (card_values_get_progress (values, "fc"));
  g_assert_true (card_values_set_progress (values, "fc", 1.5));
  g_assert_cmpfloat (*card_values_get_progress (values, "fc"), ==, 1);
  g_assert_true (card_values_set_progress (values, "fc", -1));
  g_assert_false (card_values_set_progress (values, "fc", -1));
  g_assert_null (card_values_get_progress (values, "fc"));
  card_values_free (values);
}

/* Options are set on the scene at hand, and on each new one. */
static void
test_options (Fixture *f, gconstpointer data)
{
  CanvasOptions *options = canvas_options_new ();
  g_autoptr (GHashTable) stages = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) times = g_hash_table_new (g_str_hash, g_str_equal);
  double second = 1;

  g_hash_table_insert (stages, (gpointer) "fc", GINT_TO_POINTER (2));
  g_hash_table_insert (times, (gpointer) "fc", &second);
  canvas_options_set_right_angles (options, TRUE, f->scene);
  g_assert_true (studio_routes_get_right_angles (f->scene->routes));
  canvas_options_set_shapes (options, STUDIO_SHAPES_NUMBERS, f->scene);
  g_assert_cmpint (f->scene->shapes, ==, STUDIO_SHAPES_NUMBERS);
  g_assert_true (canvas_options_set_stages (options, stages));
  g_assert_false (canvas_options_set_stages (options, stages));
  g_assert_false (canvas_options_set_times (options, NULL, f->scene));
  g_assert_true (canvas_options_set_times (options, times, f->scene));
  g_assert_cmpuint (f->scene->item[item (f, "fc")].tint, ==, 0);

  studio_document_set_attribute (f->document, f->scene->item[0].serial, "title", "Data");
  studio_document_get_net (f->document);
  f->scene = studio_document_get_scene (f->document);
  studio_routes_set_right_angles (f->scene->routes, FALSE);
  canvas_options_apply (options, f->scene);
  canvas_options_apply_measured (options, studio_document_get_net (f->document), f->scene);
  g_assert_true (studio_routes_get_right_angles (f->scene->routes));
  g_assert_cmpint (f->scene->shapes, ==, STUDIO_SHAPES_NUMBERS);
  g_assert_cmpstr (f->scene->item[item (f, "fc")].mark, ==, "1");
  g_assert_true (canvas_options_set_stages (options, NULL));
  canvas_options_free (options);
}

static void
test_spotlight (Fixture *f, gconstpointer data)
{
  StudioSceneSpotlight *spotlight = studio_scene_spotlight_new ();
  const char *const ids[] = { "x", "fc", NULL };

  g_assert_false (studio_scene_spotlight_set (spotlight, "", NULL));
  g_assert_true (studio_scene_spotlight_set (spotlight, "", ids));
  g_assert_false (studio_scene_spotlight_set (spotlight, "", ids));
  g_assert_cmpfloat (studio_scene_spotlight_opacity (spotlight, "", f->scene, item (f, "fc")), ==, 1);
  g_assert_cmpfloat (studio_scene_spotlight_opacity (spotlight, "", f->scene, item (f, "act")), <, 0.5);
  g_assert_cmpfloat (studio_scene_spotlight_opacity (spotlight, "b1", f->scene, item (f, "act")), ==, 1);
  studio_scene_spotlight_mark_wires (spotlight, "", f->scene);
  for (guint l = 0; l < f->scene->n_links; l++)
    {
      const char *from = f->scene->item[f->scene->link[l].from].id;

      g_assert_cmpuint (f->scene->link[l].n_dark, ==, g_str_equal (from, "x") ? 0 : g_str_equal (from, "fc") ? 1 : 2);
    }
  g_assert_true (studio_scene_spotlight_set (spotlight, "", NULL));
  studio_scene_spotlight_mark_wires (spotlight, "", f->scene);
  g_assert_cmpuint (f->scene->link[0].n_dark + f->scene->link[1].n_dark, ==, 0);
  studio_scene_spotlight_free (spotlight);
}

/* Displacements are relative to the document's positions, however often they change. */
static void
test_shift (Fixture *f, gconstpointer data)
{
  CanvasShift *shift = canvas_shift_new (f->document);
  guint fc = item (f, "fc"), act = item (f, "act");
  double x = f->scene->item[fc].x, y = f->scene->item[fc].y, other = f->scene->item[act].x, dx, dy;

  studio_document_select_only (f->document, f->scene->item[fc].serial);
  g_assert_false (canvas_shift_to (shift, 0, 0));
  g_assert_null (canvas_shift_get_items (shift));
  g_assert_true (canvas_shift_to (shift, 10, 5));
  g_assert_true (canvas_shift_to (shift, 20, -5));
  g_assert_false (canvas_shift_to (shift, 20, -5));
  g_assert_cmpfloat (f->scene->item[fc].x, ==, x + 20);
  g_assert_cmpfloat (f->scene->item[fc].y, ==, y - 5);
  g_assert_cmpfloat (f->scene->item[act].x, ==, other);
  g_assert_true (canvas_shift_get_items (shift)[fc] && !canvas_shift_get_items (shift)[act]);
  canvas_shift_get (shift, &dx, &dy);
  g_assert_true (dx == 20 && dy == -5);
  g_assert_true (canvas_shift_to (shift, 0, 0));
  g_assert_cmpfloat (f->scene->item[fc].x, ==, x);
  g_assert_null (canvas_shift_get_items (shift));
  g_assert_true (canvas_shift_to (shift, 7, 0));
  canvas_shift_forget (shift);
  g_assert_false (canvas_shift_to (shift, 0, 0));
  g_assert_cmpfloat (f->scene->item[fc].x, ==, x + 7);
  canvas_shift_free (shift);
}

/* Only the waypoint of the only selected wire is the one that keys act on. */
static void
test_points (Fixture *f, gconstpointer data)
{
  CanvasPoints *points = canvas_points_new (f->document);
  guint64 wire = f->scene->link[0].serial;
  guint added = studio_document_add_point (f->document, wire, 10, 20), link, point;
  StudioGesture gesture;

  f->scene = studio_document_get_scene (f->document);
  canvas_points_set (points, wire, added);
  g_assert_false (canvas_points_get (points, f->scene, &link, &point));
  studio_document_select_only (f->document, wire);
  g_assert_true (canvas_points_get (points, f->scene, &link, &point));
  g_assert_cmpuint (f->scene->link[link].serial, ==, wire);
  g_assert_cmpuint (point, ==, added);

  studio_gesture_init (&gesture);
  gesture.pressed_serial = wire;
  gesture.pressed.port = added;
  gesture.anchor_x = 10;
  gesture.anchor_y = 20;
  g_assert_false (canvas_points_bend (points, &gesture, 0, 0));
  g_assert_true (canvas_points_bend (points, &gesture, 3, 4));
  g_assert_cmpfloat (f->scene->link[link].point[point].x, ==, 13);
  g_assert_cmpfloat (f->scene->link[link].point[point].y, ==, 24);
  g_assert_true (canvas_points_bend (points, &gesture, 0, 0));
  g_assert_cmpfloat (f->scene->link[link].point[point].x, ==, 10);
  g_assert_true (canvas_points_bend (points, &gesture, 3, 4));
  canvas_points_forget_bend (points);
  g_assert_false (canvas_points_bend (points, &gesture, 0, 0));
  canvas_points_set (points, wire, STUDIO_NO_ITEM);
  g_assert_false (canvas_points_get (points, f->scene, &link, &point));
  canvas_points_free (points);
}

/* A wire from an output lights inputs, and a port that is not lit has a reason. */
static void
test_ports (Fixture *f, gconstpointer data)
{
  CanvasPorts *ports = canvas_ports_new (f->document);
  guint x = item (f, "x"), fc = item (f, "fc"), act = item (f, "act");
  StudioGesture gesture;

  studio_gesture_init (&gesture);
  gesture.state = STUDIO_GESTURE_WIRING;
  gesture.from_output = TRUE;
  gesture.fixed_item = act;
  gesture.fixed_port = 0;
  g_assert_false (canvas_ports_is_lit (ports, &gesture, fc, FALSE, 0));
  g_assert_true (canvas_ports_is_lit (ports, &gesture, act, TRUE, 0));
  canvas_ports_light (ports, f->scene, &gesture);
  g_assert_true (canvas_ports_is_lit (ports, &gesture, item (f, "b2"), FALSE, 0));
  g_assert_false (canvas_ports_is_lit (ports, &gesture, fc, FALSE, 0)); /* it would be a cycle */
  g_assert_false (canvas_ports_is_lit (ports, &gesture, x, FALSE, 0));  /* there is none */
  g_assert_false (canvas_ports_is_lit (ports, &gesture, f->scene->n_items, FALSE, 0));

  canvas_ports_explain (ports, f->scene, &gesture);
  g_assert_null (canvas_ports_get_refusal (ports));
  gesture.refused = (StudioHit){ STUDIO_HIT_INPUT, fc, 0 };
  canvas_ports_explain (ports, f->scene, &gesture);
  g_assert_nonnull (canvas_ports_get_refusal (ports));
  gesture.refused.kind = STUDIO_HIT_NOTHING;
  canvas_ports_explain (ports, f->scene, &gesture);
  g_assert_null (canvas_ports_get_refusal (ports));
  canvas_ports_forget_lit (ports);
  g_assert_false (canvas_ports_is_lit (ports, &gesture, item (f, "b2"), FALSE, 0));
  canvas_ports_free (ports);
}

static const char spirals[] = "<graph xmlns='urn:gradloom:graph' version='1'>"
                              "<node id='data' op='dataset' source='spirals'/></graph>";

static void
read_cb (const char *key, StudioFigure *figure, gpointer n_read)
{
  g_assert_nonnull (figure);
  ++*(guint *)n_read;
}

/* A sample is read once, and not reported after the part is freed. */
static void
test_samples (void)
{
  g_autoptr (StudioDocument) document = document_load (spirals);
  StudioScene *scene = studio_document_get_scene (document);
  LoomGraph *graph = studio_document_get_graph (document);
  guint n_read = 0, never = 0;
  CanvasSamples *samples = canvas_samples_new (read_cb, &n_read), *freed = canvas_samples_new (read_cb, &never);

  canvas_samples_read (samples, scene, graph);
  canvas_samples_read (samples, scene, graph);
  canvas_samples_read (freed, scene, graph);
  g_assert_cmpuint (canvas_samples_n_reading (samples), ==, 1);
  canvas_samples_free (freed);
  while (n_read == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (n_read, ==, 1);
  g_assert_cmpuint (canvas_samples_n_reading (samples), ==, 0);
  /* The figure is cached now. */
  canvas_samples_read (samples, scene, graph);
  g_assert_cmpuint (canvas_samples_n_reading (samples), ==, 0);
  canvas_samples_free (samples);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_cmpuint (never, ==, 0);
}

static void
request_cb (const char *path, gpointer requested)
{
  g_string_append (requested, path);
}

static void
expect_tooltip (CanvasTooltip *tooltip, Fixture *f, StudioHit hit, const char *words)
{
  g_autofree char *markup = canvas_tooltip_dup_markup (tooltip, f->scene, &hit, 1);

  if (words == NULL)
    g_assert_null (markup);
  else
    g_assert_nonnull (strstr (markup, words));
}

static void
test_tooltip (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) requested = g_string_new (NULL);
  CanvasTooltip *tooltip = canvas_tooltip_new (f->document, request_cb, requested);
  StudioHit card = { STUDIO_HIT_CARD, item (f, "fc"), STUDIO_NO_ITEM };

  expect_tooltip (tooltip, f, (StudioHit){ STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM }, NULL);
  expect_tooltip (tooltip, f, card, "<b>Linear</b>");
  g_assert_cmpstr (requested->str, ==, "fc");
  expect_tooltip (tooltip, f, (StudioHit){ STUDIO_HIT_INPUT, item (f, "fc"), 0 }, "<b>fc.input</b>");
  expect_tooltip (tooltip, f, (StudioHit){ STUDIO_HIT_LINK, 0, STUDIO_NO_ITEM }, " → ");
  g_assert_true (canvas_tooltip_set_numbers (tooltip, "fc", "mean 0.25"));
  g_assert_false (canvas_tooltip_set_numbers (tooltip, "fc", "mean 0.25"));
  expect_tooltip (tooltip, f, card, "mean 0.25");
  g_assert_true (canvas_tooltip_set_numbers (tooltip, "act", "mean 0.75"));
  {
    g_autofree char *markup = canvas_tooltip_dup_markup (tooltip, f->scene, &card, 1);

    g_assert_null (strstr (markup, "mean"));
  }
  g_assert_true (canvas_tooltip_set_numbers (tooltip, "act", NULL));
  g_assert_false (canvas_tooltip_is_paused (tooltip));
  canvas_tooltip_pause (tooltip);
  g_assert_true (canvas_tooltip_is_paused (tooltip));
  canvas_tooltip_free (tooltip);
}

/* Whether a menu or one of its sections has an entry with this action. */
static gboolean
offers (GMenuModel *menu, const char *action)
{
  for (int i = 0; i < g_menu_model_get_n_items (menu); i++)
    {
      g_autoptr (GMenuModel) section = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SECTION);
      g_autofree char *name = NULL;

      if (section != NULL && offers (section, action))
        return TRUE;
      if (g_menu_model_get_item_attribute (menu, i, G_MENU_ATTRIBUTE_ACTION, "s", &name) && g_str_equal (name, action))
        return TRUE;
    }
  return FALSE;
}

static void
expect_entry (Fixture *f, CanvasMenuTarget target, const char *action, gboolean offered)
{
  g_autoptr (GMenuModel) menu = canvas_menu_model_new (f->document, f->scene, &target);

  g_assert_cmpint (offers (menu, action), ==, offered);
}

/* The entries are those of the kind of target, as far as its state allows them. */
static void
test_menu (Fixture *f, gconstpointer data)
{
  const StudioItem *fc = &f->scene->item[item (f, "fc")], *b1 = &f->scene->item[item (f, "b1")];
  CanvasMenuTarget layer = { STUDIO_HIT_CARD, fc->serial, NULL, 0, 0 }, module = layer, port = layer, wire = layer;

  module.serial = b1->serial;
  port.kind = STUDIO_HIT_OUTPUT;
  port.port = fc->output[0].name;
  wire = (CanvasMenuTarget){ STUDIO_HIT_LINK, f->scene->link[0].serial, NULL, 0, 0 };
  g_assert_true (canvas_menu_target_item (&layer, f->scene) == fc);
  g_assert_true (canvas_menu_target_port (&port, f->scene) == &fc->output[0]);
  g_assert_null (canvas_menu_target_port (&layer, f->scene));
  g_assert_null (canvas_menu_target_item (&wire, f->scene));
  expect_entry (f, layer, "canvas.swap", TRUE);
  expect_entry (f, layer, "canvas.enter", FALSE);
  expect_entry (f, layer, "canvas.fix", FALSE);
  expect_entry (f, module, "canvas.enter", TRUE);
  expect_entry (f, module, "canvas.swap", FALSE);
  expect_entry (f, port, "menu.disconnect", TRUE);
  expect_entry (f, wire, "menu.add-point", TRUE);
  expect_entry (f, wire, "menu.remove-points", FALSE);
  expect_entry (f, (CanvasMenuTarget){ STUDIO_HIT_NOTHING }, "menu.paste", TRUE);
  expect_entry (f, (CanvasMenuTarget){ STUDIO_HIT_NOTHING }, "canvas.leave", FALSE);
  studio_document_disconnect (f->document, f->scene->link[fc->output[0].link].serial);
  f->scene = studio_document_get_scene (f->document);
  expect_entry (f, port, "menu.disconnect", FALSE);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/canvas-parts/values", test_values);
  g_test_add ("/canvas-parts/options", Fixture, NULL, set_up, test_options, tear_down);
  g_test_add ("/canvas-parts/spotlight", Fixture, NULL, set_up, test_spotlight, tear_down);
  g_test_add ("/canvas-parts/shift", Fixture, NULL, set_up, test_shift, tear_down);
  g_test_add ("/canvas-parts/points", Fixture, NULL, set_up, test_points, tear_down);
  g_test_add ("/canvas-parts/ports", Fixture, NULL, set_up, test_ports, tear_down);
  g_test_add_func ("/canvas-parts/samples", test_samples);
  g_test_add ("/canvas-parts/tooltip", Fixture, NULL, set_up, test_tooltip, tear_down);
  g_test_add ("/canvas-parts/menu", Fixture, NULL, set_up, test_menu, tear_down);
  return g_test_run ();
}
