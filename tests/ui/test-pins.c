/* Every kind of pin in the table draws values of any rank, says what it shows, and finds its cells again. */
#include <adwaita.h>
#include <math.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/pin-sample.h"

/* Large text is reduced to type of 10 px before it is cut; text that fits, and small text, stays. */
static void
test_large_text (void)
{
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  PinDrawing d = { .context = context, .scale = 2 };
  double width;

  pin_text_size (&d, "−0.312", 1, &width, NULL);
  g_assert_cmpfloat (pin_text_scale (&d, "−0.312", 1, width), ==, 1);
  g_assert_cmpfloat_with_epsilon (pin_text_scale (&d, "−0.312", 1, 0.6 * width), 0.6, 0.07);
  g_assert_cmpfloat_with_epsilon (pin_text_scale (&d, "−0.312", 1, 0.1 * width), 10 / 22., 1e-9);
  d.scale = 0.5;
  g_assert_cmpfloat (pin_text_scale (&d, "−0.312", 1, 1), ==, 1);
  g_object_unref (context);
}

/* Draws onto an image of this size and returns the number of pixels that differ from the background. */
static guint
draw (const StudioPinKind *kind, PinValue *value, const PinHistory *history, int width, int height)
{
  PinImage image;
  const PinDrawing *d = &image.drawing;
  const guint32 *pixel;
  guint n = 0;

  pin_image_init (&image, value, history, width, height, 4);
  pixel = pin_image_draw (&image, kind);
  for (int i = 0; i < width * height; i++)
    n += pixel[i] != 0;
  /* A cell is found where its rectangle is, unless another kind of place stands for it (a line between two words). */
  for (gsize cell = 0; cell < studio_pin_n_cells (kind, d); cell += 1 + studio_pin_n_cells (kind, d) / 40)
    {
      g_autofree char *words = studio_pin_describe_cell (kind, d, cell);
      PinRect at;

      g_assert_cmpuint (strlen (words), >, 0);
      if (value->rank > MAX (2, kind->n_whole) || kind->cell_rect == NULL || !kind->cell_rect (d, cell, &at)
          || at.width < 1 || at.height < 1)
        continue;
      g_assert_cmpfloat (at.x, >=, -5);
      g_assert_cmpfloat (at.x + at.width, <=, width + 5);
      if (kind->n_whole >= MAX (2, value->rank) && kind->has_colors && !kind->chooses_tile)
        g_assert_cmpint (kind->cell_at (d, at.x + at.width / 2, at.y + at.height / 2), ==, (gint64)cell);
    }
  g_autofree char *words = studio_pin_describe (kind, d);
  g_assert_cmpuint (strlen (words), >, 0);
  pin_image_clear (&image);
  return n;
}

static const struct
{
  gsize rank;
  gint64 dims[4];
} shapes[] = { { 0, { 0 } },       { 1, { 7 } },         { 2, { 3, 4 } },
               { 2, { 1, 1 } },    { 2, { 6, 784 } },    { 2, { 1, PIN_SAMPLE_MAX } },
               { 3, { 4, 6, 6 } }, { 4, { 2, 3, 5, 5 } } };

static void
test_every_kind (void)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    {
      const StudioPinKind *kind = studio_pin_kind (i);

      g_test_message ("%s", kind->name);
      g_assert_true (g_hash_table_add (names, (gpointer)kind->name));
      g_assert_true (studio_pin_kind_find (kind->name) == kind);
      g_assert_cmpint (kind->height, >=, 40);
      g_assert_cmpint (kind->width, >=, 100);
      g_assert_cmpuint (strlen (kind->title), >, 0);
      g_assert_cmpuint (kind->n_whole, >=, 1);
      for (guint k = 0; k < G_N_ELEMENTS (shapes); k++)
        {
          PinHistory *history = pin_history_new ();
          g_autoptr (PinValue) value = pin_sample_new (1, shapes[k].rank, shapes[k].dims);
          g_autoptr (PinValue) later = pin_sample_new (5, shapes[k].rank, shapes[k].dims);

          pin_history_add (history, value);
          pin_history_add (history, later);
          g_assert_cmpuint (draw (kind, value, history, 176, 176), >, 0);
          g_assert_cmpuint (draw (kind, value, history, 900, 500), >, 0);
          draw (kind, value, history, 12, 12);
          for (gsize n = 0; n < value->n_values; n++)
            value->values[n] = n % 2 == 0 ? NAN : INFINITY;
          pin_history_clear (history);
          pin_history_add (history, value);
          draw (kind, value, history, 176, 176);
          pin_history_free (history);
        }
    }
}

/* No line goes from the caption, or a text in the picture, to the first thing that is drawn after it. */
static void
test_begins_of_paths (void)
{
  static const gint64 dims[] = { 2, 5, 5 };

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    {
      const StudioPinKind *kind = studio_pin_kind (i);
      PinHistory *history = pin_history_new ();
      g_autoptr (PinValue) value = pin_sample_new (1, 3, dims);
      PinImage one, other;
      const guint32 *pixels;

      g_test_message ("%s", kind->name);
      pin_history_add (history, value);
      pin_image_init (&one, value, history, 300, 200, 24);
      pixels = pin_image_draw (&one, kind);
      pin_image_init (&other, value, history, 300, 200, 24);
      pin_text (&other.drawing, " ", 8, 8, 0, 100, 1, 1);
      g_assert_false (cairo_has_current_point (other.drawing.cr));
      cairo_move_to (other.drawing.cr, 8, 8);
      g_assert_cmpmem (pixels, 300 * 200 * sizeof *pixels, pin_image_draw (&other, kind), 300 * 200 * sizeof *pixels);
      pin_image_clear (&one);
      pin_image_clear (&other);
      pin_history_free (history);
    }
}

/* The colour at the middle of a cell. */
static guint32
color_of (PinValue *value, PinScale colors, gsize cell)
{
  const StudioPinKind *kind = studio_pin_kind_find ("heatmap");
  PinImage image;
  PinRect at;
  const guint32 *pixel;
  guint32 color;

  pin_image_init (&image, value, NULL, 300, 200, 0);
  image.drawing.colors = colors;
  pixel = pin_image_draw (&image, kind);
  g_assert_true (kind->cell_rect (&image.drawing, cell, &at));
  color = pixel[300 * (int)(at.y + at.height / 2) + (int)(at.x + at.width / 2)] & 0xffffff;
  pin_image_clear (&image);
  return color;
}

/* The second row is a thousandth of the first: without colours of its own, or logarithmic ones, it is all the same. */
static void
test_colors (void)
{
  static const gint64 dims[] = { 2, 3 };
  static const float values[] = { 0, 500, 1000, 0, 0.5, 1 };
  g_autoptr (PinValue) value = pin_sample_new (1, 2, dims);
  const guint32 none = color_of (value, PIN_SCALE_LINEAR, 0);

  g_assert_true (pin_value_set (value, 2, dims, values, 6));
  g_assert_cmphex (color_of (value, PIN_SCALE_LINEAR, 5), ==, color_of (value, PIN_SCALE_LINEAR, 3));
  g_assert_cmphex (color_of (value, PIN_SCALE_LOG, 5), !=, color_of (value, PIN_SCALE_LOG, 3));
  for (gsize column = 0; column < 3; column++)
    g_assert_cmphex (color_of (value, PIN_SCALE_ROW, 3 + column), ==, color_of (value, PIN_SCALE_ROW, column));
  g_assert_cmphex (color_of (value, PIN_SCALE_ROW, 5), ==, color_of (value, PIN_SCALE_LINEAR, 2));
  g_assert_cmphex (none, !=, 0);
}

/* In a low pin the plot has the height of its captions: they would lie on the points. */
static void
test_low_surface (void)
{
  const StudioPinKind *kind = studio_pin_kind_find ("surface");
  static const float x[] = { -1, -1, 1, -1, -1, 1, 1, 1 }, y[] = { 0, 1, 1, 0 };
  StudioTaskPicture *plane = studio_task_picture_new ();
  StudioTaskData *data = g_new0 (StudioTaskData, 1);
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  g_autoptr (PinValue) value = pin_sample_new (1, 0, NULL);

  data->kind = LOOM_TASK_VIEW_PLANE;
  data->classes = TRUE;
  data->n = 4;
  data->x_size = 2;
  data->y_size = data->rank = 1;
  data->dim[0] = 2;
  data->n_classes = 2;
  data->x = g_memdup2 (x, sizeof x);
  data->y = g_memdup2 (y, sizeof y);
  plane->grid = 4;
  studio_task_picture_set_data (plane, data);
  g_autofree float *answer = g_new (float, 2 * (16 + 4));
  for (guint i = 0; i < 2 * (16 + 4); i++)
    answer[i] = 0.5f;
  g_assert_true (studio_task_picture_take (plane, LOOM_ANSWER_PROBABILITIES, (const gint64[]){ 16 + 4, 1, 2 }, answer,
                                           2 * (16 + 4), 1, 1));
  value->plane = plane;
  for (double height = 60; height <= 240; height += 60)
    {
      const PinDrawing d
          = { .value = value, .context = context, .scale = 1, .cell = -1, .room = { 0, 0, 160, height } };
      PinRect first, last;

      g_assert_true (kind->cell_rect (&d, 0, &first) && kind->cell_rect (&d, 15, &last));
      g_test_message ("%g: from %g to %g", height, first.y, last.y + last.height);
      g_assert_cmpfloat (first.y, >=, 0);
      g_assert_cmpfloat (last.y + last.height, <=, height - (height > 150 ? 2 * 11 : 0));
      g_assert_cmpfloat (last.y + last.height - first.y, >=, height / 4);
    }
  value->plane = NULL;
  studio_task_picture_free (plane);
  g_object_unref (context);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pins/every-kind", test_every_kind);
  g_test_add_func ("/pins/large-text", test_large_text);
  g_test_add_func ("/pins/begins-of-paths", test_begins_of_paths);
  g_test_add_func ("/pins/colors", test_colors);
  g_test_add_func ("/pins/low-surface", test_low_surface);
  return g_test_run ();
}
