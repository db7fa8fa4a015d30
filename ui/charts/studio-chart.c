/* The chart widget.
 *
 * It holds no data: the series belong to the run and are only referenced, so a chart can be destroyed and created
 * again. It redraws when studio_chart_update() is called (four times a second during a run), not for each point. */
#include "ui/charts/studio-chart.h"
#include "ui/charts/studio-text-scale.h"

#include <adwaita.h>
#include <glib/gi18n.h>

struct _StudioChart
{
  GtkWidget parent_instance;
  StudioPlot *plot;
  char *description;
  double hover_x;
  double scale;
};

G_DEFINE_TYPE (StudioChart, studio_chart, GTK_TYPE_WIDGET)

static void
motion_cb (GtkEventControllerMotion *controller, double x, double y, StudioChart *self)
{
  self->hover_x = x;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
leave_cb (GtkEventControllerMotion *controller, StudioChart *self)
{
  self->hover_x = -1;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
chart_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioChart *self = STUDIO_CHART (widget);
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  if (width <= 0 || height <= 0)
    return;
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  StudioPlotStyle style = { .dark = adw_style_manager_get_dark (adw_style_manager_get_default ()),
                            .scale = self->scale * studio_text_scale (widget) };
  studio_plot_draw (self->plot, cr, gtk_widget_get_pango_context (widget), &style, width, height, self->hover_x);
  cairo_destroy (cr);
}

static void
chart_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
               int *minimum_baseline, int *natural_baseline)
{
  gboolean wide = orientation == GTK_ORIENTATION_HORIZONTAL;
  double scale = studio_text_scale (widget);
  *minimum = wide ? 140 : (int)(60 * scale);
  *natural = (int)((wide ? 320 : 160) * scale);
}

static void
chart_dispose (GObject *object)
{
  StudioChart *self = STUDIO_CHART (object);
  g_signal_handlers_disconnect_by_data (adw_style_manager_get_default (), self);
  g_clear_pointer (&self->plot, studio_plot_free);
  g_clear_pointer (&self->description, g_free);
  G_OBJECT_CLASS (studio_chart_parent_class)->dispose (object);
}

static void
studio_chart_class_init (StudioChartClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = chart_dispose;
  widget_class->snapshot = chart_snapshot;
  widget_class->measure = chart_measure;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "chart");
}

static void
studio_chart_init (StudioChart *self)
{
  self->hover_x = -1;
  self->scale = 1;
  GtkEventController *motion = gtk_event_controller_motion_new ();
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "enter", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  g_signal_connect_swapped (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self);
}

StudioChart *
studio_chart_new (const char *title)
{
  StudioChart *self = g_object_new (STUDIO_TYPE_CHART, NULL);
  self->plot = studio_plot_new (title);
  studio_chart_update (self);
  return self;
}

StudioPlot *
studio_chart_get_plot (StudioChart *self)
{
  return self->plot;
}

void
studio_chart_update (StudioChart *self)
{
  g_autofree char *words = studio_plot_describe (self->plot);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (g_strcmp0 (words, self->description) == 0)
    return;
  g_free (self->description);
  self->description = g_steal_pointer (&words);
  g_autofree char *label = g_strdup_printf (_ ("%s chart"), studio_plot_translate (self->plot->title));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, self->description, -1);
}

void
studio_chart_set_text_scale (StudioChart *self, double scale)
{
  self->scale = scale;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}
