/* Implements studio-sparkline.h. */
#include "ui/runs/studio-sparkline.h"

#include <adwaita.h>

#include "ui/charts/studio-plot.h"
#include "ui/charts/studio-text-scale.h"

#define WIDTH  72 /* pixels at the default text size */
#define HEIGHT 28
#define EDGE   2

struct _StudioSparkline
{
  GtkWidget parent_instance;
  StudioRunEntry *entry;
};

G_DEFINE_FINAL_TYPE (StudioSparkline, studio_sparkline, GTK_TYPE_WIDGET)

static void
sparkline_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioSparkline *self = STUDIO_SPARKLINE (widget);
  const double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  LoomSeries *series = self->entry != NULL ? studio_run_entry_get_series (self->entry) : NULL;
  const gsize n = series != NULL ? loom_series_length (series) : 0;
  const gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  double first, last, low, high, rgb[3] = { dark ? 0.8 : 0.3, dark ? 0.8 : 0.3, dark ? 0.8 : 0.3 };

  if (n < 2 || !loom_series_range (series, 0, n, &low, &high, NULL))
    return;
  loom_series_get (series, 0, &first, NULL);
  loom_series_get (series, n - 1, &last, NULL);
  if (studio_run_entry_get_colour (self->entry) >= 0)
    studio_plot_get_colour ((guint)studio_run_entry_get_colour (self->entry), dark, rgb);
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float)width, (float)height));
  for (gsize i = 0; i < n; i++)
    {
      const double y = loom_series_mean (series, i);
      double x;

      loom_series_get (series, i, &x, NULL);
      cairo_line_to (cr, EDGE + (x - first) / (last - first) * (width - 2 * EDGE),
                     high > low ? EDGE + (high - y) / (high - low) * (height - 2 * EDGE) : height / 2);
    }
  cairo_set_source_rgb (cr, rgb[0], rgb[1], rgb[2]);
  cairo_set_line_width (cr, 1.25);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

static void
sparkline_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                   int *minimum_baseline, int *natural_baseline)
{
  const double scale = studio_text_scale (widget);

  *minimum = *natural = (int)((orientation == GTK_ORIENTATION_HORIZONTAL ? WIDTH : HEIGHT) * scale);
}

static void
sparkline_dispose (GObject *object)
{
  StudioSparkline *self = STUDIO_SPARKLINE (object);

  g_clear_object (&self->entry);
  G_OBJECT_CLASS (studio_sparkline_parent_class)->dispose (object);
}

static void
studio_sparkline_class_init (StudioSparklineClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = sparkline_dispose;
  widget_class->snapshot = sparkline_snapshot;
  widget_class->measure = sparkline_measure;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
studio_sparkline_init (StudioSparkline *self)
{
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self,
                           G_CONNECT_SWAPPED);
}

void
studio_sparkline_set (StudioSparkline *self, StudioRunEntry *entry)
{
  g_set_object (&self->entry, entry);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}
