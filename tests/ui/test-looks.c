/* The appearance of cards: detail by zoom, severity of faults, position of their bubbles, and formulas. No display. */
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/scene-test.h"
#include "ui/drawing/draw-far.h"
#include "ui/drawing/draw-fault.h"
#include "ui/drawing/studio-export.h"
#include "ui/drawing/studio-formula.h"
#include "ui/scene/studio-map.h"
#include "ui/scene/studio-measure.h"

static StudioScene *
load (const char *nodes)
{
  g_autofree char *text = g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n%s\n</graph>\n", nodes);

  return scene_from_text (text, "test");
}

static void
test_detail (void)
{
  g_autoptr (StudioScene) scene = load ("<module name=\"m\"><node id=\"in\" op=\"module_input\"/></module>"
                                        "<node id=\"act\" op=\"relu\"/><node id=\"mod\" module=\"m\"/>");
  const StudioItem *card = &scene->item[0], *module = &scene->item[1];
  static const struct
  {
    double zoom;
    StudioDetail detail;
  } cases[] = { { 4, STUDIO_DETAIL_ALL },       { 1, STUDIO_DETAIL_ALL },      { 0.5, STUDIO_DETAIL_ALL },
                { 0.499, STUDIO_DETAIL_NAMES }, { 0.45, STUDIO_DETAIL_NAMES }, { 0.25, STUDIO_DETAIL_NAMES },
                { 0.2, STUDIO_DETAIL_BLOCKS },  { 0.1, STUDIO_DETAIL_BLOCKS } };

  g_assert_true (module->is_module);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpint (studio_geometry_detail (cases[i].zoom), ==, cases[i].detail);
      g_assert_true (studio_geometry_is_named (module, cases[i].zoom));
      g_assert_true (studio_geometry_is_named (card, cases[i].zoom) == (cases[i].detail != STUDIO_DETAIL_BLOCKS));
    }
}

/* The usual size of a card's name is 13 pixels and a third. */
static void
test_text_scale (void)
{
  for (double zoom = 0.5; zoom < 4; zoom += 0.01)
    for (double larger = 1; larger <= 3; larger += 0.25)
      {
        double scale = studio_geometry_text_scale (zoom, larger);

        g_assert_cmpfloat (40 / 3.0 * zoom * scale, >=, 9.99);
        g_assert_cmpfloat (scale, >=, 1);
        g_assert_cmpfloat (scale, <=, 1.7);
        g_assert_cmpfloat (scale, >=, studio_geometry_text_scale (zoom + 0.05, larger));
        /* As large as requested, or as the card has space for. */
        g_assert_true (zoom < 1 || scale * zoom >= larger - 1e-9 || scale == 1.7);
      }
  g_assert_cmpfloat (studio_geometry_text_scale (1, 1), ==, 1);
  g_assert_cmpfloat (studio_geometry_text_scale (2, 2), ==, 1);
}

#define CHAIN                                                                                                          \
  "<node id=\"x\" op=\"input\" shape=\"B,2\"/><node id=\"conv\" op=\"conv2d\" out_channels=\"4\" kernel_size=\"3\"/>"  \
  "<node id=\"act\" op=\"relu\"/><node id=\"fc\" op=\"linear\" out_features=\"2\"/>"                                   \
  "<node id=\"other\" op=\"relu\"/><wire from=\"x\" to=\"conv\"/><wire from=\"conv\" to=\"act\"/>"                     \
  "<wire from=\"act\" to=\"fc\"/><wire from=\"x\" to=\"other\"/>"

/* The convolution has the fault; later cards only have no shape, and wait. */
static void
test_root_cause (void)
{
  g_autoptr (StudioScene) scene = load (CHAIN);
  guint red = 0;

  for (guint i = 0; i < scene->n_items; i++)
    red += studio_item_tone (&scene->item[i]) == STUDIO_TONE_ERROR;
  g_assert_cmpuint (red, ==, 1);
  g_assert_cmpint (studio_item_tone (&scene->item[1]), ==, STUDIO_TONE_ERROR);
  g_assert_cmpstr (scene->item[2].waits_for, ==, "conv");
  g_assert_cmpstr (scene->item[3].waits_for, ==, "conv");
  g_assert_null (scene->item[0].waits_for);
  g_assert_null (scene->item[1].waits_for);
  g_assert_null (scene->item[4].waits_for);
  g_assert_cmpint (studio_item_tone (&scene->item[3]), ==, STUDIO_TONE_CALM);
}

static void
test_tones (void)
{
  StudioItem item = { .fault = NULL };

  g_assert_cmpint (studio_item_tone (&item), ==, STUDIO_TONE_CALM);
  item.fault = (char *)"x";
  g_assert_cmpint (studio_item_tone (&item), ==, STUDIO_TONE_ERROR);
  item.fault_is_todo = TRUE;
  g_assert_cmpint (studio_item_tone (&item), ==, STUDIO_TONE_TODO);
  item.fault_is_todo = FALSE;
  item.fault_is_warning = TRUE;
  g_assert_cmpint (studio_item_tone (&item), ==, STUDIO_TONE_ADVICE);
}

/* The colours of tones as light against the background, by the formula of WCAG 2. */
static double
luminance (const StudioColor *c)
{
  const float v[3] = { c->red, c->green, c->blue };
  double l[3];

  for (int i = 0; i < 3; i++)
    l[i] = v[i] <= 0.03928f ? v[i] / 12.92 : pow ((v[i] + 0.055) / 1.055, 2.4);
  return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
}

static void
test_contrast (void)
{
  for (guint dark = 0; dark < 2; dark++)
    for (StudioTone tone = STUDIO_TONE_TODO; tone <= STUDIO_TONE_ERROR; tone++)
      {
        StudioTheme theme;
        double a, b;

        studio_theme_init (&theme, dark, FALSE);
        a = luminance (studio_theme_tone (&theme, tone));
        b = luminance (&theme.background);
        g_assert_cmpfloat ((MAX (a, b) + 0.05) / (MIN (a, b) + 0.05), >=, 5.5);
      }
}

static void
expect_clear (const StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect bubble = studio_geometry_fault (&scene->item[i]);

      for (guint k = 0; bubble.height > 0 && k < scene->n_items; k++)
        {
          StudioRect card = studio_geometry_card (&scene->item[k]), other = studio_geometry_fault (&scene->item[k]);

          g_assert_false (studio_rect_intersects (&bubble, &card));
          g_assert_true (k == i || other.height <= 0 || !studio_rect_intersects (&bubble, &other));
        }
    }
}

static void
test_bubbles (void)
{
  g_autoptr (StudioScene) scene = load (CHAIN);
  StudioItem *conv = &scene->item[1], *act = &scene->item[2], *fc = &scene->item[3];

  expect_clear (scene);
  for (guint i = 0; i < scene->n_items; i++)
    {
      scene->item[i].x = 300 * i;
      scene->item[i].y = 0;
    }
  studio_geometry_place_faults (scene);
  g_assert_cmpint (conv->fault_place, ==, STUDIO_FAULT_BELOW);
  /* A card below drives the bubble above, one above as well leaves the sign alone. */
  act->x = conv->x + 40;
  act->y = conv->y + conv->height + 20;
  studio_geometry_place_faults (scene);
  g_assert_cmpint (conv->fault_place, ==, STUDIO_FAULT_ABOVE);
  g_assert_cmpfloat (studio_geometry_fault (conv).y, <, conv->y);
  expect_clear (scene);
  fc->x = conv->x - 60;
  fc->y = conv->y - fc->height - 30;
  studio_geometry_place_faults (scene);
  g_assert_cmpint (conv->fault_place, ==, STUDIO_FAULT_AS_SIGN);
  g_assert_cmpfloat (studio_geometry_fault (conv).height, ==, 0);
  g_assert_cmpfloat (studio_geometry_fix_button (conv).height, ==, 0);
  expect_clear (scene);
}

/* Wherever cards lie, and whichever have something to say. */
static void
test_bubbles_anywhere (void)
{
  for (guint round = 0; round < 200; round++)
    {
      g_autoptr (GString) nodes = g_string_new (NULL);
      g_autoptr (StudioScene) scene = NULL;
      guint shown = 0;

      for (guint i = 0; i < 24; i++)
        g_string_append_printf (nodes, "<node id=\"n%u\" op=\"%s\"/>", i, i % 3 ? "add" : "relu");
      scene = load (nodes->str);
      for (guint i = 0; i < scene->n_items; i++)
        {
          scene->item[i].x = g_test_rand_int_range (0, 1200);
          scene->item[i].y = g_test_rand_int_range (0, 1600);
        }
      studio_geometry_place_faults (scene);
      expect_clear (scene);
      for (guint i = 0; i < scene->n_items; i++)
        shown += studio_geometry_fault (&scene->item[i]).height > 0;
      g_assert_cmpuint (shown, >, 0);
    }
}

static void
expect_markup (const char *formula, const char *markup)
{
  g_autofree char *made = studio_formula_markup (formula);

  g_assert_cmpstr (made, ==, markup);
}

static void
test_formula (void)
{
  expect_markup ("y = x Wᵀ + b", "y = x W<sup>T</sup> + b");
  expect_markup ("yᵢ = eˣⁱ / Σⱼ eˣʲ",
                 "y<sub>i</sub> = e<sup>x<sub>i</sub></sup> / Σ<sub>j</sub> e<sup>x<sub>j</sub></sup>");
  expect_markup ("a < b & x²₀", "a &lt; b &amp; x<sup>2</sup><sub>0</sub>");
  expect_markup ("Σ꜀₍₁₋₂₎", "Σ<sub>c(1−2)</sub>");
  /* Every operator's formula is valid markup, and no letter is left that fonts lack. */
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      g_autofree char *markup = (*op)->formula != NULL ? studio_formula_markup ((*op)->formula) : NULL;
      g_autofree char *text = NULL;

      if (markup == NULL)
        continue;
      g_assert_true (pango_parse_markup (markup, -1, 0, NULL, &text, NULL, NULL));
      for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
        {
          gunichar c = g_utf8_get_char (p);

          if ((c >= 0x2070 && c <= 0x209f) || (c >= 0x1d2c && c <= 0x1d6a) || c == 0xb2 || c == 0xb3 || c == 0xb9
              || c >= 0xa700)
            g_error ("%s: the formula “%s” keeps “%.4s”, which few fonts have", (*op)->name, (*op)->formula, p);
        }
    }
}

/* No formula needs a letter that the fonts of a plain system lack. */
static void
test_formula_glyphs (void)
{
  PangoContext *context = studio_export_context_new ();

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      PangoLayout *layout = pango_layout_new (context);
      g_autofree char *markup = (*op)->formula != NULL ? studio_formula_markup ((*op)->formula) : g_strdup ("");

      pango_layout_set_markup (layout, markup, -1);
      if (pango_layout_get_unknown_glyphs_count (layout) > 0)
        g_error ("%s: “%s” has letters that no font has", (*op)->name, (*op)->formula);
      g_object_unref (layout);
    }
  g_object_unref (context);
}

static void
test_map (void)
{
  const StudioRect wide = { -200, 100, 4000, 500 }, high = { 0, 0, 300, 6000 }, point = { 5, 5, 0, 0 };
  const StudioRect *const all[] = { &wide, &high, &point };
  const StudioView large = { 1, 0, 0, 1200, 800 }, small = { 1, 0, 0, 480, 320 };
  double x, y, mx, my;

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      StudioMap map;
      StudioRect r;

      studio_map_init (&map, all[i], 2, &small);
      g_assert_cmpfloat (map.width, <=, 161);
      g_assert_cmpfloat (map.height, <=, 107.7);
      g_assert_cmpfloat (map.width, <=, studio_map_room (&small, 2));
      studio_map_init (&map, all[i], 1, &large);
      g_assert_cmpfloat (map.width, <=, studio_map_room (&large, 1));
      g_assert_cmpfloat (map.width, <=, STUDIO_MAP_WIDTH + 1);
      g_assert_cmpfloat (map.height, <=, STUDIO_MAP_HEIGHT + 1);
      g_assert_cmpfloat (MIN (map.width, map.height), >=, 40);
      r = studio_map_rect (&map, all[i]);
      g_assert_true (r.x >= 0 && r.y >= 0 && r.x + r.width <= map.width && r.y + r.height <= map.height);
      studio_map_to_map (&map, 123, 456, &mx, &my);
      studio_map_to_canvas (&map, mx, my, &x, &y);
      g_assert_cmpfloat_with_epsilon (x, 123, 1e-6);
      g_assert_cmpfloat_with_epsilon (y, 456, 1e-6);
    }
}

static void
test_map_is_needed (void)
{
  const StudioRect bounds = { 0, 0, 1000, 400 }, none = { 0, 0, 0, 0 };
  const StudioView fits = { 1, -50, -50, 1200, 600 }, near = { 2, -50, -50, 1200, 600 };
  const StudioView small = { 2, 0, 0, 400, 300 };

  g_assert_false (studio_map_is_needed (&bounds, &fits));
  g_assert_true (studio_map_is_needed (&bounds, &near));
  g_assert_false (studio_map_is_needed (&bounds, &small));
  g_assert_false (studio_map_is_needed (&none, &near));
  g_assert_cmpfloat (studio_map_room (&small, 2), ==, 0);
}

static void
test_map_covers_pin (void)
{
  StudioItem item = { .width = 100, .height = 50, .hanging = 80, .hanging_width = 100 };
  const StudioScene scene = { .item = &item, .n_items = 1 };
  const StudioMap map = { .width = 100, .height = 60 };
  const StudioView corner = { 1, -400, -290, 500, 400 }, left = { 1, 0, -290, 500, 400 };
  const StudioView edge = { 1, -488, -290, 500, 400 };

  g_assert_true (studio_map_covers_pin (&map, &scene, &corner, 12));
  g_assert_false (studio_map_covers_pin (&map, &scene, &left, 12));
  /* Between the map and the edge. */
  g_assert_false (studio_map_covers_pin (&map, &scene, &edge, 12));
  item.hanging = 0;
  g_assert_false (studio_map_covers_pin (&map, &scene, &corner, 12));
}

/* A drag that begins in the rectangle keeps its offset; one next to it first centres there; neither scrolls the graph
 * out of sight. */
static void
test_map_drag (void)
{
  const StudioRect bounds = { 0, 0, 4000, 2000 };
  StudioView view = { 1, 1000, 500, 800, 600 }, before = view;
  StudioMapDrag drag;
  StudioMap map;
  StudioRect seen;
  double x, y;

  studio_map_init (&map, &bounds, 1, &view);
  seen = studio_map_visible (&map, &view);
  studio_map_press (&map, &view, seen.x + 3, seen.y + 3, &drag);
  studio_map_move (&map, &drag, seen.x + 3, seen.y + 3, &view);
  g_assert_cmpfloat_with_epsilon (view.x, before.x, 1e-6);
  g_assert_cmpfloat_with_epsilon (view.y, before.y, 1e-6);
  studio_map_move (&map, &drag, seen.x + 13, seen.y + 3, &view);
  g_assert_cmpfloat_with_epsilon (view.x, before.x + 10 / map.scale, 1e-6);
  g_assert_cmpfloat_with_epsilon (view.y, before.y, 1e-6);
  studio_map_move (&map, &drag, 9999, -9999, &view);
  g_assert_cmpfloat_with_epsilon (view.x + 400, 4000, 1e-6);
  g_assert_cmpfloat_with_epsilon (view.y + 300, 0, 1e-6);
  studio_map_to_map (&map, 3000, 300, &x, &y);
  view = before;
  studio_map_press (&map, &view, x, y, &drag);
  studio_map_move (&map, &drag, x, y, &view);
  g_assert_cmpfloat_with_epsilon (view.x + 400, 3000, 1e-6);
  g_assert_cmpfloat_with_epsilon (view.y + 300, 300, 1e-6);
}

static void
expect_text (StudioMeasure measure, double value, const char *text)
{
  g_autofree char *made = studio_measure_text (measure, value);

  g_assert_cmpstr (made, ==, text);
}

static void
test_measures (void)
{
  g_autoptr (StudioScene) scene = load (
      "<module name=\"m\"><node id=\"in\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" out_features=\"8\"/>"
      "<node id=\"out\" op=\"module_output\"/><wire from=\"in\" to=\"fc\"/><wire from=\"fc\" to=\"out\"/></module>"
      "<node id=\"x\" op=\"input\" shape=\"B,8\"/><node id=\"twice\" module=\"m\" repeat=\"2\"/>"
      "<node id=\"head\" op=\"linear\" out_features=\"2\"/>"
      "<wire from=\"x\" to=\"twice\"/><wire from=\"twice\" to=\"head\"/>");
  g_autofree char *legend = studio_measure_legend (scene, STUDIO_MEASURE_PARAMETERS);
  g_autoptr (GHashTable) seconds = g_hash_table_new (g_str_hash, g_str_equal);
  double all = 0, one = 1e-3, two = 2e-3;

  g_hash_table_insert (seconds, (gpointer) "twice.0.fc", &one);
  g_hash_table_insert (seconds, (gpointer) "twice.1.fc", &two);
  g_hash_table_insert (seconds, (gpointer) "head", &one);
  /* All copies of a repeat count for its card. */
  g_assert_cmpfloat (studio_measure_of (&scene->item[1], STUDIO_MEASURE_PARAMETERS), ==, 2 * 72);
  g_assert_cmpfloat (studio_measure_of (&scene->item[2], STUDIO_MEASURE_PARAMETERS), ==, 18);
  g_assert_cmpfloat (studio_measure_total (scene, STUDIO_MEASURE_PARAMETERS), ==, 162);
  g_assert_cmpstr (legend, ==, "Share of 162 parameters");
  studio_measure_set_times (scene, seconds);
  g_assert_cmpfloat_with_epsilon (scene->item[1].seconds, 3e-3, 1e-9);
  expect_text (STUDIO_MEASURE_TIME, scene->item[2].seconds, "1 ms");
  for (StudioMeasure m = STUDIO_MEASURE_NONE + 1; m < STUDIO_N_MEASURES; m++, all = 0)
    {
      for (guint i = 0; i < scene->n_items; i++)
        all += studio_measure_share (scene, &scene->item[i], m);
      g_assert_cmpfloat_with_epsilon (all, 1, 1e-9);
      g_assert_cmpint (studio_measure_find (studio_measure_name (m)), ==, m);
    }
  studio_measure_set_times (scene, NULL);
  g_assert_cmpfloat (studio_measure_total (scene, STUDIO_MEASURE_TIME), ==, 0);
  g_assert_cmpint (studio_measure_find ("nonsense"), ==, STUDIO_MEASURE_NONE);
  expect_text (STUDIO_MEASURE_PARAMETERS, 61706, "61.7 k");
  expect_text (STUDIO_MEASURE_PARAMETERS, 12, "12");
  expect_text (STUDIO_MEASURE_OPERATIONS, 7.96e6, "7.96 MFLOP");
  expect_text (STUDIO_MEASURE_OPERATIONS, 999.7, "1 kFLOP");
}

/* A name that is enlarged, as in a presentation, is made smaller before it is cut, down to ten pixels. */
typedef struct
{
  const char *name;
  double bottom;
} PutName;

static void
put_name_cb (PangoLayout *layout, double x, double y, const StudioColor *color, gpointer data)
{
  PutName *put = data;
  int height;

  if (!g_str_equal (pango_layout_get_text (layout), put->name))
    return;
  pango_layout_get_pixel_size (layout, NULL, &height);
  put->bottom = y + height;
}

/* Also at the size of a presentation the name of a card stays in the coloured band at its top. */
static void
test_names_in_band (void)
{
  static const char *const names[] = { "q", "loss", "attention_with_a_long_name" };
  PangoContext *context = studio_export_context_new ();
  StudioTheme theme;

  studio_theme_init (&theme, FALSE, FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (double larger = 1; larger <= 1.7; larger += 0.1)
      {
        StudioItem item = { .title = (char *)names[i], .width = STUDIO_CARD_WIDTH, .height = STUDIO_CARD_HEIGHT };
        StudioCardTexts *texts = studio_card_texts_new (context, &item, "loss 0.342", larger);
        PutName put = { names[i], NAN };

        studio_card_texts_put (texts, &item, &theme, put_name_cb, &put);
        g_test_message ("%s at %.1f: %g of %g", names[i], larger, put.bottom,
                        studio_card_texts_head (texts, &item).height);
        g_assert_cmpfloat (put.bottom, <=, studio_card_texts_head (texts, &item).height);
        g_assert_cmpfloat (studio_card_texts_head (texts, &item).height, <, STUDIO_CARD_HEIGHT);
        studio_card_texts_free (texts);
      }
  g_object_unref (context);
}

static void
test_far_names (void)
{
  static const char *const names[] = { "q", "loss", "scaled", "root_d", "classes", "attention" };
  PangoContext *context = studio_export_context_new ();
  PangoFontDescription *font = pango_font_description_copy (pango_context_get_font_description (context));
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 100, 40);
  cairo_t *cr = cairo_create (surface);
  StudioTheme theme;
  const StudioFrameStyle look = { 0 };

  studio_theme_init (&theme, FALSE, FALSE);
  pango_font_description_set_size (font, (int)(1.6 * 10 * PANGO_SCALE));
  pango_context_set_font_description (context, font);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (double zoom = 0.42; zoom < STUDIO_ZOOM_DETAIL; zoom += 0.02)
      {
        PangoLayout *text = pango_layout_new (context);
        StudioItem item = { .title = (char *)names[i], .width = STUDIO_CARD_WIDTH, .height = STUDIO_CARD_HEIGHT };
        int w;

        studio_draw_card_far (cr, &item, &theme, zoom, item.width * zoom, item.height * zoom, text, &look);
        pango_layout_get_pixel_size (text, &w, NULL);
        g_test_message ("%s at %.2f", names[i], zoom);
        g_assert_cmpstr (pango_layout_get_text (text), ==, names[i]);
        g_assert_false (pango_layout_is_ellipsized (text));
        g_assert_cmpint (w, <=, item.width * zoom);
        g_assert_cmpint (pango_font_description_get_size (pango_layout_get_font_description (text)), >=,
                         10 * PANGO_SCALE);
        g_object_unref (text);
      }
  pango_font_description_free (font);
  g_object_unref (context);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/looks/detail", test_detail);
  g_test_add_func ("/looks/text-scale", test_text_scale);
  g_test_add_func ("/looks/root-cause", test_root_cause);
  g_test_add_func ("/looks/tones", test_tones);
  g_test_add_func ("/looks/contrast", test_contrast);
  g_test_add_func ("/looks/bubbles", test_bubbles);
  g_test_add_func ("/looks/bubbles-anywhere", test_bubbles_anywhere);
  g_test_add_func ("/looks/map", test_map);
  g_test_add_func ("/looks/map-is-needed", test_map_is_needed);
  g_test_add_func ("/looks/map-covers-pin", test_map_covers_pin);
  g_test_add_func ("/looks/map-drag", test_map_drag);
  g_test_add_func ("/looks/measures", test_measures);
  g_test_add_func ("/looks/formula", test_formula);
  g_test_add_func ("/looks/formula-glyphs", test_formula_glyphs);
  g_test_add_func ("/looks/names-in-band", test_names_in_band);
  g_test_add_func ("/looks/far-names", test_far_names);
  return g_test_run ();
}
