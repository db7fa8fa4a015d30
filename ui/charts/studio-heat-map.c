/* The heat map widget. Each value becomes a Cairo image once, one pixel per cell, and is drawn enlarged without
 * smoothing. Files get one rectangle per cell up to a limit, so that an SVG scales. */
#include "ui/charts/studio-heat-map.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/charts/chart-text.h"
#include "ui/charts/heat-map-labels.h"
#include "ui/charts/heat-map-labels.h"
#include "ui/charts/studio-colormap.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/drawing/studio-export.h"

#define LEAST_HEIGHT     40
#define NATURAL_WIDTH    162
#define CAPTION_LINE     15
#define LEGEND_HEIGHT    20
#define LEGEND_BAR       6
#define MAX_VECTOR_CELLS 16384

struct _StudioHeatMap
{
  GtkWidget parent_instance;
  guint rows, columns;
  float *values;
  double min, max;
  guint n_bad; /* cells that are not finite */
  gint64 step;
  char *caption; /* both lines, for a screen reader */
  char *what, *when;
  char *step_words; /* the end of when: the part that fits on a narrow card */
  HeatMapLabels words;
  cairo_surface_t *image;
  int map_height;
  double scale;
};

G_DEFINE_TYPE (StudioHeatMap, studio_heat_map, GTK_TYPE_WIDGET)

static double
position (const StudioHeatMap *self, double v)
{
  if (!isfinite (v))
    return NAN;
  return self->max > self->min ? (v - self->min) / (self->max - self->min) : 0.5;
}

static cairo_surface_t *
make_image (const StudioHeatMap *self)
{
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int)self->columns, (int)self->rows);
  cairo_surface_flush (image);
  guchar *pixels = cairo_image_surface_get_data (image);
  int stride = cairo_image_surface_get_stride (image);
  for (guint r = 0; r < self->rows; r++)
    {
      guint32 *line = (guint32 *)(void *)(pixels + (gsize)r * stride);
      for (guint c = 0; c < self->columns; c++)
        line[c] = studio_colormap (position (self, self->values[(gsize)r * self->columns + c]));
    }
  cairo_surface_mark_dirty (image);
  return image;
}

static void
set_rgb (cairo_t *cr, guint32 rgb)
{
  cairo_set_source_rgb (cr, (rgb >> 16 & 255) / 255., (rgb >> 8 & 255) / 255., (rgb & 255) / 255.);
}

static void
draw_cells (const StudioHeatMap *self, cairo_t *cr, double width, double height)
{
  double w = width / self->columns, h = height / self->rows;
  for (guint r = 0; r < self->rows; r++)
    for (guint c = 0; c < self->columns; c++)
      {
        set_rgb (cr, studio_colormap (position (self, self->values[(gsize)r * self->columns + c])));
        cairo_rectangle (cr, c * w, r * h, w, h);
        cairo_fill (cr);
      }
}

static void
draw_image (const StudioHeatMap *self, cairo_t *cr, double width, double height)
{
  cairo_save (cr);
  cairo_scale (cr, width / self->columns, height / self->rows);
  cairo_set_source_surface (cr, self->image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_restore (cr);
}

typedef struct
{
  StudioHeatMap *self;
  PangoContext *context;
  double scale; /* of text and its space */
  gboolean dark, vector;
} Drawing;

static gboolean
fits (const Drawing *d, const char *text, double width)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (d->context, d->scale, FALSE, text);
  int w;
  pango_layout_get_pixel_size (layout, &w, NULL);
  return w <= width;
}

static void
draw_words (const Drawing *d, cairo_t *cr, const char *text, double x, double y, double align, double most,
            double alpha)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (d->context, d->scale, FALSE, text);
  int w, h;
  pango_layout_get_pixel_size (layout, &w, &h);
  if (w > most)
    {
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_MIDDLE);
      pango_layout_set_width (layout, (int)(most * PANGO_SCALE));
      w = (int)most;
    }
  double ink = d->dark ? 1 : 0.14;
  cairo_set_source_rgba (cr, ink, ink, ink, alpha);
  cairo_move_to (cr, floor (x - align * w), floor (y - h / 2.));
  pango_cairo_show_layout (cr, layout);
}

/* As many decimals as distinguish the ends of the range: there is no space for more. */
static char *
short_number (double v, double range)
{
  const char *format = range >= 100 ? "%.0f" : range >= 10 ? "%.1f" : range >= 0.1 ? "%.2f" : "%.2g";
  return g_strdup_printf (format, v);
}

static void
draw_legend (const Drawing *d, cairo_t *cr, double width, double y)
{
  StudioHeatMap *self = d->self;
  g_autofree char *low = short_number (self->min, self->max - self->min);
  g_autofree char *high = short_number (self->max, self->max - self->min);
  double s = d->scale, third = width * 0.36;
  draw_words (d, cr, low, 0, y, 0, width * 0.3, 0.8);
  draw_words (d, cr, high, width, y, 1, width * 0.3, 0.8);
  double left = (width - third) / 2;
  for (int i = 0; i < (int)third; i++)
    {
      set_rgb (cr, studio_colormap (i / (third - 1)));
      cairo_rectangle (cr, left + i, y - LEGEND_BAR * s / 2, 1.2, LEGEND_BAR * s);
      cairo_fill (cr);
    }
}

/* The rectangle of the cells in a picture of this size. */
static HeatMapCells
fit_cells (const Drawing *d, double width, double height)
{
  const StudioHeatMap *self = d->self;
  const double top = 2 * CAPTION_LINE * d->scale;

  return heat_map_labels_fit (&self->words, d->context, d->scale, self->rows, self->columns, width,
                              height - top - LEGEND_HEIGHT * d->scale);
}

static void
draw_map (cairo_t *cr, double width, double height, gpointer data)
{
  const Drawing *d = data;
  StudioHeatMap *self = d->self;
  double s = d->scale, top = 2 * CAPTION_LINE * s, bottom = height - LEGEND_HEIGHT * s;
  double ink = d->dark ? 1 : 0.14;
  draw_words (d, cr, self->what, 0, top * 0.25 - 1, 0, width, 0.9);
  draw_words (d, cr, fits (d, self->when, width) ? self->when : self->step_words, 0, top * 0.75 - 1, 0, width, 0.72);
  if (self->values == NULL)
    {
      cairo_set_source_rgba (cr, ink, ink, ink, 0.06);
      cairo_rectangle (cr, 0, top, width, bottom - top);
      cairo_fill (cr);
      draw_words (d, cr, _ ("no values yet"), width / 2, (top + bottom) / 2, 0.5, width - 12, 0.72);
      return;
    }
  HeatMapCells cells = fit_cells (d, width, height);
  cairo_save (cr);
  cairo_translate (cr, 0, top);
  cairo_set_source_rgba (cr, ink, ink, ink, 0.8);
  heat_map_labels_draw (&self->words, d->context, &cells, self->rows, self->columns, cr);
  cairo_translate (cr, cells.x, cells.y);
  if (d->vector && (gsize)self->rows * self->columns <= MAX_VECTOR_CELLS)
    draw_cells (self, cr, cells.width, cells.height);
  else
    draw_image (self, cr, cells.width, cells.height);
  cairo_restore (cr);
  draw_legend (d, cr, width, bottom + LEGEND_HEIGHT * s / 2 + 1);
}

static Drawing
drawing_of (StudioHeatMap *self)
{
  GtkWidget *widget = GTK_WIDGET (self);

  return (Drawing){ .self = self,
                    .context = gtk_widget_get_pango_context (widget),
                    .scale = self->scale * studio_text_scale (widget),
                    .dark = adw_style_manager_get_dark (adw_style_manager_get_default ()) };
}

static void
heat_map_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioHeatMap *self = STUDIO_HEAT_MAP (widget);
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  if (width <= 0 || height <= 0)
    return;
  Drawing d = drawing_of (self);
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  draw_map (cr, width, height, &d);
  cairo_destroy (cr);
}

static GtkSizeRequestMode
heat_map_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

/* The map keeps its shape when the canvas is zoomed; text keeps its size. */
static void
heat_map_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                  int *minimum_baseline, int *natural_baseline)
{
  StudioHeatMap *self = STUDIO_HEAT_MAP (widget);
  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = 40;
      *natural = NATURAL_WIDTH;
      return;
    }
  double shrink = for_size > 0 ? for_size / (double)NATURAL_WIDTH : 1;
  double words = (2 * CAPTION_LINE + LEGEND_HEIGHT) * self->scale * studio_text_scale (widget);
  *natural = (int)(self->map_height * shrink + words);
  /* If there is not enough space, the map is lower, not cut. */
  *minimum = MIN (*natural, (int)(LEAST_HEIGHT + words));
}

static char *
name_of (char *const *words, guint n, guint i, const char *number)
{
  const char *word = heat_map_label (words, n, i);

  return word != NULL && *word != '\0' ? g_strdup_printf (_ ("“%s”"), word) : g_strdup_printf (number, i + 1);
}

static gboolean
heat_map_query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  StudioHeatMap *self = STUDIO_HEAT_MAP (widget);
  Drawing d = drawing_of (self);

  if (keyboard || self->values == NULL)
    return FALSE;
  HeatMapCells cells = fit_cells (&d, gtk_widget_get_width (widget), gtk_widget_get_height (widget));
  double column = (x - cells.x) / cells.width * self->columns;
  double row = (y - 2 * CAPTION_LINE * d.scale - cells.y) / cells.height * self->rows;
  if (!(row >= 0 && row < self->rows && column >= 0 && column < self->columns))
    return FALSE;
  const guint r = (guint)row, c = (guint)column;
  g_autofree char *row_name = name_of (self->words.rows, self->rows, r, _ ("row %u"));
  g_autofree char *column_name = name_of (self->words.columns, self->columns, c, _ ("column %u"));
  g_autofree char *number = studio_format_number (self->values[(gsize)r * self->columns + c]);
  /* Translators: a cell of a map: its row, its column and its number. */
  g_autofree char *text = g_strdup_printf (_ ("%1$s, %2$s: %3$s"), row_name, column_name, number);
  gtk_tooltip_set_text (tooltip, text);
  return TRUE;
}

static void
clear_values (StudioHeatMap *self)
{
  g_clear_pointer (&self->values, g_free);
  g_clear_pointer (&self->image, cairo_surface_destroy);
  self->rows = self->columns = 0;
  self->step = -1;
}

/* (transfer full) when, and step_words, its part that always fits. */
static void
set_words (StudioHeatMap *self, const char *what, char *when, char *step_words)
{
  g_free (self->caption);
  g_free (self->what);
  g_free (self->when);
  g_free (self->step_words);
  self->what = g_strdup (what);
  self->when = when;
  self->step_words = step_words;
  self->caption = *when != '\0' ? g_strdup_printf ("%s · %s", what, when) : g_strdup (what);
}

static void
heat_map_dispose (GObject *object)
{
  StudioHeatMap *self = STUDIO_HEAT_MAP (object);
  g_signal_handlers_disconnect_by_data (adw_style_manager_get_default (), self);
  clear_values (self);
  heat_map_labels_clear (&self->words);
  g_clear_pointer (&self->caption, g_free);
  g_clear_pointer (&self->what, g_free);
  g_clear_pointer (&self->when, g_free);
  g_clear_pointer (&self->step_words, g_free);
  G_OBJECT_CLASS (studio_heat_map_parent_class)->dispose (object);
}

static void
studio_heat_map_class_init (StudioHeatMapClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = heat_map_dispose;
  widget_class->snapshot = heat_map_snapshot;
  widget_class->measure = heat_map_measure;
  widget_class->query_tooltip = heat_map_query_tooltip;
  widget_class->get_request_mode = heat_map_request_mode;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "heatmap");
}

static void
studio_heat_map_init (StudioHeatMap *self)
{
  self->map_height = NATURAL_WIDTH;
  self->scale = 1;
  self->step = -1;
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  set_words (self, "", g_strdup (""), g_strdup (""));
  g_signal_connect_swapped (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self);
}

StudioHeatMap *
studio_heat_map_new (void)
{
  return g_object_new (STUDIO_TYPE_HEAT_MAP, NULL);
}

static void
describe (StudioHeatMap *self)
{
  g_autofree char *words = NULL;
  if (self->values != NULL)
    {
      g_autofree char *low = studio_format_number (self->min), *high = studio_format_number (self->max);
      g_autofree char *rows = g_strdup_printf (ngettext ("%u row", "%u rows", self->rows), self->rows);
      g_autofree char *columns = g_strdup_printf (ngettext ("%u column", "%u columns", self->columns), self->columns);
      /* Translators: "3 rows, 4 columns, from 0 to 1"; read aloud. */
      words = g_strdup_printf (_ ("%1$s, %2$s, from %3$s to %4$s"), rows, columns, low, high);
      if (self->n_bad > 0)
        {
          g_autofree char *more
              = g_strdup_printf (ngettext ("%s, %u cell is not a number", "%s, %u cells are not numbers", self->n_bad),
                                 words, self->n_bad);
          g_free (words);
          words = g_steal_pointer (&more);
        }
    }
  else
    words = g_strdup (_ ("no values yet"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, self->caption,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words, -1);
}

void
studio_heat_map_set (StudioHeatMap *self, const char *what, const char *where, gint64 step, const char *when,
                     guint rows, guint columns, const float *values)
{
  g_return_if_fail (STUDIO_IS_HEAT_MAP (self) && rows > 0 && columns > 0);
  clear_values (self);
  gsize n = (gsize)rows * columns;
  self->values = g_memdup2 (values, n * sizeof (float));
  self->rows = rows;
  self->columns = columns;
  self->step = step;
  self->min = INFINITY;
  self->max = -INFINITY;
  self->n_bad = 0;
  for (gsize i = 0; i < n; i++)
    {
      if (!isfinite (values[i]))
        {
          self->n_bad++;
          continue;
        }
      self->min = MIN (self->min, values[i]);
      self->max = MAX (self->max, values[i]);
    }
  if (self->min > self->max)
    self->min = self->max = NAN;
  self->image = make_image (self);
  set_words (self, what, where != NULL ? g_strdup_printf ("%s · %s", where, when) : g_strdup (when), g_strdup (when));
  describe (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_heat_map_set_labels (StudioHeatMap *self, const char *const *rows, const char *const *columns)
{
  heat_map_labels_set (&self->words, rows, columns);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_heat_map_clear (StudioHeatMap *self, const char *what)
{
  clear_values (self);
  set_words (self, what, g_strdup (""), g_strdup (""));
  describe (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

gboolean
studio_heat_map_get_range (StudioHeatMap *self, double *min, double *max)
{
  if (self->values == NULL)
    return FALSE;
  *min = self->min;
  *max = self->max;
  return TRUE;
}

gint64
studio_heat_map_get_step (StudioHeatMap *self)
{
  return self->step;
}

const char *
studio_heat_map_get_caption (StudioHeatMap *self)
{
  return self->caption;
}

void
studio_heat_map_set_map_height (StudioHeatMap *self, int pixels)
{
  self->map_height = CLAMP (pixels, 24, 2000);
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

void
studio_heat_map_set_text_scale (StudioHeatMap *self, double scale)
{
  self->scale = scale;
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

/* One line per row. Labels of columns are a header, those of rows a first field. */
static GString *
csv_of (const StudioHeatMap *self)
{
  GString *text = g_string_new (NULL);
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  const gboolean named = heat_map_label (self->words.rows, self->rows, 0) != NULL;

  if (heat_map_label (self->words.columns, self->columns, 0) != NULL)
    for (guint c = 0; c < self->columns; c++)
      {
        g_string_append (text, c > 0 || named ? "," : "");
        loom_text_append_csv (text, self->words.columns[c]);
      }
  g_string_append (text, text->len > 0 ? "\n" : "");
  for (gsize i = 0; i < (gsize)self->rows * self->columns; i++)
    {
      if (named && i % self->columns == 0)
        {
          loom_text_append_csv (text, self->words.rows[i / self->columns]);
          g_string_append_c (text, ',');
        }
      g_string_append (text, g_ascii_formatd (number, sizeof number, "%.9g", self->values[i]));
      g_string_append_c (text, (i + 1) % self->columns == 0 ? '\n' : ',');
    }
  return text;
}

gboolean
studio_heat_map_export (StudioHeatMap *self, const char *path, GError **error)
{
  if (self->values == NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA,
                           _ ("The map is empty. Train or step once, then save it again."));
      return FALSE;
    }
  if (g_str_has_suffix (path, ".csv"))
    {
      g_autoptr (GString) text = csv_of (self);
      return loom_file_replace (path, text->str, text->len, error);
    }
  PangoContext *context = studio_export_context_new ();
  Drawing d = { .self = self, .context = context, .scale = 1, .vector = TRUE };
  gboolean done = studio_export_drawing (
      path, 352, 352. * self->rows / self->columns + 2 * CAPTION_LINE + LEGEND_HEIGHT, draw_map, &d, error);
  g_object_unref (context);
  return done;
}
