/* Series, plots, colours and exports of charts, without a window. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ui/charts/studio-colormap.h"
#include "ui/charts/studio-plot.h"
#include "ui/drawing/studio-export.h"
#include "tests/test-program.h"

static double
noise (guint i)
{
  return sin (i * 0.37) + cos (i * 0.011) * 3 + (i * 2654435761u % 1000) / 1000.;
}

static void
test_nice_step (void)
{
  g_assert_cmpfloat_with_epsilon (studio_plot_nice_step (0, 1, 3), 0.5, 1e-12);
  g_assert_cmpfloat_with_epsilon (studio_plot_nice_step (0, 30, 3), 10, 1e-12);
  g_assert_cmpfloat_with_epsilon (studio_plot_nice_step (2.09, 2.41, 3), 0.1, 1e-9);
  g_assert_cmpfloat (studio_plot_nice_step (1, 1, 3), ==, 1);
}

/* No two ticks read the same, however close they are. */
static void
test_ticks (void)
{
  static const struct
  {
    double value, step;
    const char *text;
  } cases[] = {
    { 0.1014, 0.0002, "0.1014" },  { 0.1016, 0.0002, "0.1016" }, { 0.25, 0.25, "0.25" },
    { 0.5, 0.25, "0.50" },         { 500, 250, "500" },          { 2, 1, "2" },
    { 1e-20, 0.5, "0.0" },         { -0.5, 0.5, "−0.5" },        { 3e15, 1e15, "3e+15" },
    { 2.5e-5, 2.5e-5, "2.5e-05" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = studio_format_tick (cases[i].value, cases[i].step);
      g_assert_cmpstr (text, ==, cases[i].text);
    }
  for (double base = -2e7; base < 3e7; base = base < 0 ? base / 37 + 1e-9 : base * 37)
    for (double step = 1e-3; step < 1e5; step *= 2.5)
      {
        g_autofree char *here = studio_format_tick (base, step), *next = studio_format_tick (base + step, step);
        g_test_message ("%s %s", here, next);
        g_assert_cmpstr (here, !=, next);
      }
}

static StudioPlot *
sample_plot (guint n)
{
  StudioPlot *p = studio_plot_new ("loss");
  g_autoptr (LoomSeries) train = loom_series_new (LOOM_SERIES_MOST);
  g_autoptr (LoomSeries) val = loom_series_new (LOOM_SERIES_MOST);
  for (guint i = 1; i <= n; i++)
    loom_series_append (train, i, 2 * exp (-(double)i / n) + 0.1 * noise (i));
  for (guint i = 1; i <= 4; i++)
    loom_series_append (val, i * n / 4, 2.2 - i * 0.3);
  studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, train);
  studio_plot_add_curve (p, "validation", STUDIO_PLOT_CURVE_VALIDATION, val);
  studio_plot_add_mark (p, n / 2., "lr 0.01");
  return p;
}

/* A hundred thousand points cost at most one rectangle a pixel column, or one point of a dashed line. */
static void
expect_columns (StudioPlot *p)
{
  PangoContext *context = studio_export_context_new ();
  StudioPlotStyle style = { .scale = 1 };
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, 500, 200);
  cairo_t *cr = cairo_create (surface);
  guint rectangles = studio_plot_draw (p, cr, context, &style, 500, 200, 250);
  g_assert_cmpuint (rectangles, >, 200);
  g_assert_cmpuint (rectangles, <=, 501);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  g_object_unref (context);
}

static void
test_plot_columns (void)
{
  g_autoptr (StudioPlot) train = sample_plot (100000), dashed = studio_plot_new ("loss");
  g_autoptr (LoomSeries) val = loom_series_new (LOOM_SERIES_MOST);

  for (guint i = 1; i <= 100000; i++)
    loom_series_append (val, i, noise (i));
  studio_plot_add_curve (dashed, "validation", STUDIO_PLOT_CURVE_VALIDATION, val);
  expect_columns (train);
  expect_columns (dashed);
}

/* An outlier of one batch does not flatten the curve, and its value is still known. */
static void
test_plot_spike (void)
{
  g_autoptr (StudioPlot) p = studio_plot_new ("loss");
  g_autoptr (LoomSeries) train = loom_series_new (LOOM_SERIES_MOST);
  double x0, x1, y0, y1;
  for (int i = 1; i <= 400; i++)
    loom_series_append (train, i, i == 200 ? 551 : 0.5 + 0.1 * noise ((guint)i));
  studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, train);
  g_assert_true (studio_plot_bounds (p, &x0, &x1, &y0, &y1));
  g_assert_cmpfloat (y1, <, 2);
  g_assert_true (studio_plot_range (p, &x0, &x1, &y0, &y1));
  g_assert_cmpfloat (y1, ==, 551);
  /* A loss that falls is no spike. */
  g_autoptr (StudioPlot) falling = sample_plot (400);
  double top;
  g_assert_true (studio_plot_range (falling, &x0, &x1, &y0, &top));
  g_assert_true (studio_plot_bounds (falling, &x0, &x1, &y0, &y1));
  g_assert_cmpfloat (y1, >=, top);
}

/* A run before that was a hundred times as long does not stretch the axis beyond the run that is being watched. */
static void
test_plot_axis (void)
{
  g_autoptr (StudioPlot) p = studio_plot_new ("loss");
  g_autoptr (LoomSeries) before = loom_series_new (LOOM_SERIES_MOST), now = loom_series_new (LOOM_SERIES_MOST);
  double x0, x1, y0, y1;
  for (int i = 1; i <= 10000; i++)
    loom_series_append (before, i, i <= 100 ? 1 : 50);
  loom_series_append (now, 1, 1.5);
  loom_series_append (now, 2, 1.4);
  studio_plot_add_curve (p, "before", STUDIO_PLOT_CURVE_PREVIOUS, before);
  studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, now);
  g_assert_true (studio_plot_bounds (p, &x0, &x1, &y0, &y1));
  g_assert_cmpfloat (x1, ==, 10000);
  p->x_end = 100;
  g_assert_true (studio_plot_bounds (p, &x0, &x1, &y0, &y1));
  g_assert_cmpfloat (x1, ==, 100);
  g_assert_cmpfloat (y1, <, 2); /* hidden points do not extend the range */
}

/* How many pixels of these rows, left of a column, a plot has drawn on that has this mark, or none. */
static guint
drawn_left (StudioPlot *p, const char *mark, int from, int to, int right)
{
  PangoContext *context = studio_export_context_new ();
  StudioPlotStyle style = { .scale = 1 };
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 500, 200);
  cairo_t *cr = cairo_create (surface);
  guint drawn = 0;
  studio_plot_add_mark (p, 30, mark);
  studio_plot_draw (p, cr, context, &style, 500, 200, -1);
  g_ptr_array_set_size (p->marks, 0);
  cairo_surface_flush (surface);
  for (int y = from; y < to; y++)
    {
      const guint32 *row
          = (const void *)(cairo_image_surface_get_data (surface) + y * cairo_image_surface_get_stride (surface));
      for (int x = 0; x < right; x++)
        drawn += row[x] != 0;
    }
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  g_object_unref (context);
  return drawn;
}

static guint
drawn_pixels (StudioPlot *p, const char *mark, int from, int to)
{
  return drawn_left (p, mark, from, to, 500);
}

/* A label that is as wide as the chart covers no number of the axis. */
static void
test_plot_long_mark (void)
{
  static const char mark[] = "a mark whose label is nearly as long as the whole chart is wide, and longer than a half";
  g_autoptr (StudioPlot) p = studio_plot_new ("accuracy");
  g_autoptr (LoomSeries) s = loom_series_new (LOOM_SERIES_MOST);

  for (int i = 1; i <= 40; i++)
    loom_series_append (s, i, 1000 + i);
  studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, s);
  g_assert_cmpuint (drawn_left (p, mark, 27, 200, 20), ==, drawn_left (p, "", 27, 200, 20));
  g_assert_cmpuint (drawn_pixels (p, mark, 27, 200), !=, drawn_pixels (p, "", 27, 200));
}

/* The label of a mark is at the top, or at the bottom if a curve crosses it there. */
static void
test_plot_mark (void)
{
  for (int high = 0; high < 2; high++)
    {
      g_autoptr (StudioPlot) p = studio_plot_new ("accuracy");
      g_autoptr (LoomSeries) s = loom_series_new (LOOM_SERIES_MOST);
      for (int i = 1; i <= 100; i++)
        loom_series_append (s, i, (i < 20) == high ? 0 : 1);
      studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, s);
      gboolean top = drawn_pixels (p, "continued", 27, 39) != drawn_pixels (p, "", 27, 39);
      gboolean bottom = drawn_pixels (p, "continued", 167, 179) != drawn_pixels (p, "", 167, 179);
      g_assert_cmpint (top, ==, !high);
      g_assert_cmpint (bottom, ==, high);
    }
}

static void
test_plot_words (void)
{
  g_autoptr (StudioPlot) p = studio_plot_new ("loss");
  g_autofree char *empty = studio_plot_describe (p);
  g_assert_cmpstr (empty, ==, "loss: no points yet");
  g_autoptr (LoomSeries) s = loom_series_new (LOOM_SERIES_MOST);
  loom_series_append (s, 839, 0.5);
  loom_series_append (s, 840, 0.412);
  loom_series_append (s, 841, NAN);
  studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, s);
  g_autofree char *words = studio_plot_describe (p);
  g_assert_cmpstr (words, ==, "loss: train 0.412 at step 840; train between 0.412 and 0.500, falling");
  g_autofree char *first = studio_plot_describe_at (p, 0), *middle = studio_plot_describe_at (p, 839.6);
  g_assert_cmpstr (first, ==, "step 839 · train 0.500");
  g_assert_cmpstr (middle, ==, "step 840 · train 0.412");
  g_autoptr (LoomSeries) val = loom_series_new (LOOM_SERIES_MOST);
  loom_series_append (val, 840, 0.25);
  studio_plot_add_curve (p, "validation", STUDIO_PLOT_CURVE_VALIDATION, val);
  g_autofree char *csv = studio_plot_to_csv (p);
  g_assert_cmpstr (csv, ==, "step,loss train,loss validation\n839,0.5,\n840,0.41199999999999998,0.25\n841,,\n");
  /* The own run comes before others, and so does its test data. */
  studio_plot_clear (p);
  studio_plot_add_curve (p, "other", STUDIO_PLOT_CURVE_RANK, s);
  studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, s);
  g_autofree char *own = studio_plot_describe_at (p, 839);
  g_assert_cmpstr (own, ==, "step 839 · train 0.500 · other 0.500");
}

/* The trend is that of the second half, whatever came before. */
static void
test_trends (void)
{
  static const struct
  {
    double (*y) (double t); /* t from 0 to 1 */
    const char *trend;
  } cases[] = { { exp, "rising" }, { acos, "falling" }, { sin, "rising" }, { trunc, "level" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (StudioPlot) p = studio_plot_new ("loss");
      g_autoptr (LoomSeries) s = loom_series_new (LOOM_SERIES_MOST);

      for (int k = 0; k < 100; k++)
        loom_series_append (s, k, k < 50 ? 3 * (k % 2) : cases[i].y ((k - 50) / 50.));
      studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, s);
      g_autofree char *words = studio_plot_describe (p);
      g_assert_true (g_str_has_suffix (words, cases[i].trend));
    }
}

/* The curves cross where the test leaves training for the last time; batches that differ cross nothing. */
static void
test_crossing (void)
{
  static const struct
  {
    double test[5]; /* at steps 10, 20, …; train falls from 1 to 0.5, with a difference of 0.4 from batch to batch */
    const char *words;
  } cases[] = {
    { { 0.9, 0.8, 0.7, 0.7, 0.7 }, "; train crosses the test curve at step 40 and stays below" },
    { { 1.2, 1.1, 0.7, 0.6, 0.5 }, "; train crosses the test curve at step 30 and stays above" },
    { { 0.9, 0.95, 0.7, 0.8, 0.8 }, "; train crosses the test curve at step 40 and stays below" },
    { { 1.1, NAN, 0.9, 0.9, 0.9 }, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (StudioPlot) p = studio_plot_new ("loss");
      g_autoptr (LoomSeries) train = loom_series_new (LOOM_SERIES_MOST), test = loom_series_new (LOOM_SERIES_MOST);

      for (int k = 1; k <= 50; k++)
        loom_series_append (train, k, 1 - k / 100. + (k % 2 ? 0.2 : -0.2));
      for (int k = 0; k < 5; k++)
        loom_series_append (test, 10 * (k + 1), cases[i].test[k]);
      studio_plot_add_curve (p, "train", STUDIO_PLOT_CURVE_TRAIN, train);
      studio_plot_add_curve (p, "test", STUDIO_PLOT_CURVE_VALIDATION, test);
      g_autofree char *words = studio_plot_describe (p);
      g_assert_true (cases[i].words != NULL ? g_str_has_suffix (words, cases[i].words)
                                            : strstr (words, "crosses") == NULL);
    }
}

static void
test_export (void)
{
  g_autoptr (StudioPlot) p = sample_plot (50);
  g_autofree char *folder = g_dir_make_tmp ("gradloom-charts-XXXXXX", NULL);
  static const struct
  {
    const char *name, *magic;
  } files[] = { { "a.svg", "<?xml" }, { "a.pdf", "%PDF" }, { "a.png", "\x89PNG" }, { "a.csv", "step," } };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = g_build_filename (folder, files[i].name, NULL);
      g_autofree char *data = NULL;
      gsize length;
      g_assert_true (studio_plot_export (p, path, &error));
      g_assert_no_error (error);
      g_assert_true (g_file_get_contents (path, &data, &length, NULL));
      g_assert_cmpuint (length, >, 100);
      g_assert_true (memcmp (data, files[i].magic, strlen (files[i].magic)) == 0);
      g_unlink (path);
    }
  g_autoptr (GError) error = NULL;
  g_assert_false (studio_plot_export (p, "picture.bmp", &error));
  g_assert_nonnull (strstr (error->message, ".svg, .pdf or .png"));
  g_rmdir (folder);
}

static double
luminance (guint32 rgb)
{
  return 0.2126 * (rgb >> 16 & 255) + 0.7152 * (rgb >> 8 & 255) + 0.0722 * (rgb & 255);
}

/* Brighter always means more; NaN has a colour of its own. */
static void
test_colormap (void)
{
  for (int i = 1; i <= 50; i++)
    g_assert_cmpfloat (luminance (studio_colormap (i / 50.)), >, luminance (studio_colormap ((i - 1) / 50.)));
  g_assert_cmpuint (studio_colormap (NAN), ==, 0xffc01c28u);
  /* White at 0, and darker with the size of a number of either sign, equally in grey. */
  g_assert_cmpuint (studio_colormap_signed (0), ==, 0xffffffffu);
  for (int i = 1; i <= 50; i++)
    {
      g_assert_cmpfloat (luminance (studio_colormap_signed (i / 50.)), <,
                         luminance (studio_colormap_signed ((i - 1) / 50.)));
      g_assert_cmpfloat (luminance (studio_colormap_signed (-i / 50.)), <,
                         luminance (studio_colormap_signed ((1 - i) / 50.)));
      /* Blue below and more red above, which stays apart for every kind of colour vision. */
      g_assert_cmpuint (studio_colormap_signed (-i / 50.) & 255, >, studio_colormap_signed (i / 50.) & 255);
    }
  g_assert_cmpuint (studio_colormap (7), ==, studio_colormap (1));
}

static void
test_format (void)
{
  static const struct
  {
    double value;
    const char *text;
  } numbers[] = { { 0.412, "0.412" }, { -3.25, "−3.250" }, { 0.01, "0.0100" },
                  { 1234.5, "1234" }, { 0, "0" },          { 2.5e-7, "2.50e-07" } };
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      g_autofree char *text = studio_format_number (numbers[i].value);
      g_assert_cmpstr (text, ==, numbers[i].text);
    }
  g_autofree char *count = studio_format_count (61706);
  g_assert_cmpstr (count, ==, "61,706");
}

/* A locale's separators in its own encoding are shown in ours, whatever bytes they have. */
static void
test_separators (void)
{
  static const struct
  {
    const char *point, *separator, *charset, *number, *count;
  } cases[] = {
    { ",", ".", "UTF-8", "3,5", "61.706" },         { ",", "\xa0", "ISO-8859-1", "3,5", "61\u00a0706" },
    { ",", "\xac", "ISO-8859-6", "3,5", "61،706" }, { ",", "\xe2\x80\xaf", "UTF-8", "3,5", "61\u202f706" },
    { ",", "\x81", "ISO-8859-1", "3,5", "61,706" }, { ",", "\xff\xfe", "UTF-8", "3,5", "61,706" },
    { ".", "", "ISO-8859-1", "3.5", "61,706" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      studio_format_set_locale_separators (cases[i].point, cases[i].separator, cases[i].charset);
      g_autofree char *number = studio_format_local ("3.5"), *count = studio_format_count (61706);
      g_assert_true (g_utf8_validate (number, -1, NULL));
      g_assert_cmpstr (number, ==, cases[i].number);
      g_assert_cmpstr (count, ==, cases[i].count);
    }
  studio_format_set_separators (NULL, NULL);
}

/* A pixel and its x belong to each other; beyond the axis it is the nearest end. */
static void
test_pixels (void)
{
  const StudioPlotStyle style = { .scale = 1 };
  g_autoptr (StudioPlot) plot = studio_plot_new ("loss");
  g_autoptr (LoomSeries) series = loom_series_new (LOOM_SERIES_MOST);
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 400, 200);
  cairo_t *cr = cairo_create (surface);
  PangoContext *context = pango_cairo_create_context (cr);

  g_assert_true (isnan (studio_plot_from_pixel (plot, context, &style, 400, 200, 100)));
  for (guint i = 0; i <= 1000; i++)
    loom_series_append (series, i, 1 / (1 + (double)i));
  studio_plot_add_curve (plot, "train", STUDIO_PLOT_CURVE_TRAIN, series);
  for (double x = 0; x <= 1000; x += 125)
    {
      const double pixel = studio_plot_to_pixel (plot, context, &style, 400, 200, x);

      g_assert_cmpfloat_with_epsilon (studio_plot_from_pixel (plot, context, &style, 400, 200, pixel), x, 1e-6);
    }
  g_assert_cmpfloat (studio_plot_from_pixel (plot, context, &style, 400, 200, -5), ==, 0);
  g_assert_cmpfloat (studio_plot_from_pixel (plot, context, &style, 400, 200, 4000), ==, 1000);
  g_object_unref (context);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/charts/nice-step", test_nice_step);
  g_test_add_func ("/charts/ticks", test_ticks);
  g_test_add_func ("/charts/plot-spike", test_plot_spike);
  g_test_add_func ("/charts/plot/columns", test_plot_columns);
  g_test_add_func ("/charts/plot/axis", test_plot_axis);
  g_test_add_func ("/charts/plot/mark", test_plot_mark);
  g_test_add_func ("/charts/plot/long-mark", test_plot_long_mark);
  g_test_add_func ("/charts/plot/words", test_plot_words);
  g_test_add_func ("/charts/plot/trends", test_trends);
  g_test_add_func ("/charts/plot/crossing", test_crossing);
  g_test_add_func ("/charts/export", test_export);
  g_test_add_func ("/charts/pixels", test_pixels);
  g_test_add_func ("/charts/colormap", test_colormap);
  g_test_add_func ("/charts/format", test_format);
  g_test_add_func ("/charts/separators", test_separators);
  return g_test_run ();
}
