/* Large SVG files: what repeats is written once, and the picture stays the same. */
#include <cairo-svg.h>
#include <librsvg/rsvg.h>
#include <string.h>

#include "tests/test-program.h"
#include "ui/drawing/svg-compact.h"

#define CARDS  400
#define ACROSS 20
#define WIDTH  (ACROSS * 100)
#define HEIGHT (CARDS / ACROSS * 50)

static cairo_status_t
append (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
}

/* A card with rounded corners, filled through a clip path, with a bar, a border, a scaled line and a number. */
static void
draw_card (cairo_t *cr, int i)
{
  g_autofree char *text = g_strdup_printf ("card %d", i);

  cairo_save (cr);
  cairo_translate (cr, 100 * (i % ACROSS) + 4, 50 * (i / ACROSS) + 5.25);
  cairo_arc (cr, 10, 10, 10, G_PI, 1.5 * G_PI);
  cairo_line_to (cr, 80, 0);
  cairo_line_to (cr, 80, 40);
  cairo_line_to (cr, 0, 40);
  cairo_close_path (cr);
  cairo_save (cr);
  cairo_clip_preserve (cr);
  cairo_set_source_rgb (cr, 0.9, 0.9, i % 3 / 3.0);
  cairo_paint (cr);
  cairo_rectangle (cr, 0, 0, 4, 40);
  cairo_set_source_rgba (cr, 0.2, 0.2, 0.8, 0.5);
  cairo_fill (cr);
  cairo_restore (cr);
  cairo_new_path (cr);
  cairo_rectangle (cr, 20, 5, 30, 8);
  cairo_set_line_width (cr, 2);
  cairo_stroke (cr);
  cairo_scale (cr, 2, 1);
  cairo_move_to (cr, 5, 20);
  cairo_curve_to (cr, 10, 15, 20, 25, 35, 20);
  cairo_stroke (cr);
  cairo_scale (cr, 0.5, 1);
  cairo_move_to (cr, 10, 34);
  cairo_show_text (cr, text);
  cairo_restore (cr);
}

static GBytes *
draw_cards (gboolean has_gradient)
{
  GByteArray *out = g_byte_array_new ();
  cairo_surface_t *surface = cairo_svg_surface_create_for_stream (append, out, WIDTH, HEIGHT);
  cairo_t *cr = cairo_create (surface);

  cairo_set_source_rgb (cr, 1, 1, 1);
  cairo_paint (cr);
  for (int i = 0; i < CARDS; i++)
    draw_card (cr, i);
  if (has_gradient)
    {
      cairo_pattern_t *pattern = cairo_pattern_create_linear (0, 0, 100, 0);

      cairo_pattern_add_color_stop_rgb (pattern, 0, 1, 0, 0);
      cairo_pattern_add_color_stop_rgb (pattern, 1, 0, 0, 1);
      cairo_set_source (cr, pattern);
      cairo_rectangle (cr, 10, 10, 80, 80);
      cairo_fill (cr);
      cairo_pattern_destroy (pattern);
    }
  cairo_destroy (cr);
  cairo_surface_finish (surface);
  g_assert_cmpint (cairo_surface_status (surface), ==, CAIRO_STATUS_SUCCESS);
  cairo_surface_destroy (surface);
  return g_byte_array_free_to_bytes (out);
}

static cairo_surface_t *
render (GBytes *svg)
{
  g_autoptr (GError) error = NULL;
  RsvgHandle *handle = rsvg_handle_new_from_data (g_bytes_get_data (svg, NULL), g_bytes_get_size (svg), &error);
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
  cairo_t *cr = cairo_create (image);

  g_assert_no_error (error);
  rsvg_handle_render_document (handle, cr, &(RsvgRectangle){ 0, 0, WIDTH, HEIGHT }, &error);
  g_assert_no_error (error);
  cairo_destroy (cr);
  g_object_unref (handle);
  cairo_surface_flush (image);
  return image;
}

static void
test_same_picture (void)
{
  g_autoptr (GBytes) plain = draw_cards (FALSE), small = studio_svg_compact (plain);
  cairo_surface_t *a = render (plain), *b = render (small);
  const guchar *x = cairo_image_surface_get_data (a), *y = cairo_image_surface_get_data (b);
  const gsize n = (gsize)cairo_image_surface_get_stride (a) * HEIGHT;
  gsize painted = 0;

  g_test_message ("%" G_GSIZE_FORMAT " bytes, then %" G_GSIZE_FORMAT, g_bytes_get_size (plain),
                  g_bytes_get_size (small));
  g_assert_cmpuint (g_bytes_get_size (small), <, g_bytes_get_size (plain) / 5);
  for (gsize i = 0; i < n; i++)
    {
      painted += i % 4 < 3 && x[i] < 255;
      /* Coordinates are rounded to hundredths. */
      g_assert_cmpint (ABS ((int)x[i] - y[i]), <=, 6);
    }
  g_assert_cmpuint (painted, >, n / 20);
  cairo_surface_destroy (a);
  cairo_surface_destroy (b);
}

/* Cairo 1.16 writes the colour of glyphs as a style, 1.18 as properties. */
static void
test_colours (void)
{
  static const char *const colours[]
      = { "style=\"fill:rgb(100%,0%,0%);fill-opacity:1;\"", "fill=\"rgb(100%, 0%, 0%)\" fill-opacity=\"1\"" };
  for (guint i = 0; i < G_N_ELEMENTS (colours); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"9\" "
          "height=\"9\">"
          "<defs><g><g id=\"glyph\"><path d=\"M 0 0 L 1 0 L 1 1 Z \"/></g></g></defs>"
          "<g %s><use xlink:href=\"#glyph\" x=\"1\" y=\"2\"/><use xlink:href=\"#glyph\" x=\"3\" y=\"2\"/></g></svg>",
          colours[i]);
      g_autoptr (GBytes) plain = g_bytes_new (text, strlen (text)), small = studio_svg_compact (plain);
      const char *data = g_bytes_get_data (small, NULL);

      g_assert_nonnull (g_strstr_len (data, g_bytes_get_size (small), colours[i]));
    }
}

/* What has coordinates of its own stays as Cairo writes it, and so does what is no SVG. */
static void
test_left_alone (void)
{
  g_autoptr (GBytes) gradient = draw_cards (TRUE), same = studio_svg_compact (gradient);
  g_autoptr (GBytes) text = g_bytes_new_static ("<svg", 4), same_text = studio_svg_compact (text);

  g_assert_true (g_bytes_equal (gradient, same));
  g_assert_true (g_bytes_equal (text, same_text));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/svg/same-picture", test_same_picture);
  g_test_add_func ("/svg/colours", test_colours);
  g_test_add_func ("/svg/left-alone", test_left_alone);
  return g_test_run ();
}
