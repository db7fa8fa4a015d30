/* The chart widget.
 *
 * It holds no data: the series belong to the run and are only referenced, so a chart can be destroyed and created
 * again. It redraws when studio_chart_update() is called (four times a second during a run), not for each point. Arrow
 * keys move a cursor along the curves and to their extremes, whose values are read aloud. */
#include "ui/charts/studio-chart.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#define STRIDES 100 /* key presses from the first point to the last, at most */
#define LEAP    10  /* strides of Page Up and Page Down */

struct _StudioChart
{
  GtkWidget parent_instance;
  StudioPlot *plot;
  char *label, *description;
  double hover_x;
  double cursor; /* a step, moved by keys; NaN: none */
  double scale;
};

G_DEFINE_TYPE (StudioChart, studio_chart, GTK_TYPE_WIDGET)

enum
{
  PICKED,
  RELEASED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

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

/* ---- the cursor ------------------------------------------------------------------ */

/* The curve that the cursor follows: the first with points, of this run if it has any, then of the previous one. */
static const LoomSeries *
followed (StudioChart *self)
{
  const LoomSeries *previous = NULL, *other = NULL;

  for (guint i = 0; i < self->plot->curves->len; i++)
    {
      const StudioPlotCurve *c = self->plot->curves->pdata[i];

      if (loom_series_length (c->series) == 0)
        continue;
      if (c->style < STUDIO_PLOT_CURVE_PREVIOUS)
        return c->series;
      if (c->style == STUDIO_PLOT_CURVE_PREVIOUS)
        previous = c->series;
      else if (other == NULL)
        other = c->series;
    }
  return previous != NULL ? previous : other;
}

/* The number of strides by which a key moves the cursor; G_MAXINT: to the end; 0: another key. */
static int
strides_of (guint key)
{
  static const struct
  {
    guint key;
    int strides;
  } keys[] = {
    { GDK_KEY_Left, -1 },        { GDK_KEY_Right, 1 },        { GDK_KEY_Page_Up, -LEAP },
    { GDK_KEY_Page_Down, LEAP }, { GDK_KEY_Home, -G_MAXINT }, { GDK_KEY_End, G_MAXINT },
  };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (keys[i].key == key)
      return keys[i].strides;
  return 0;
}

/* The index of the greatest (sign 1) or least (-1) point. */
static gsize
extreme (const LoomSeries *series, int sign)
{
  gsize best = 0;
  double most = -INFINITY;

  for (gsize i = 0; i < loom_series_length (series); i++)
    {
      double y;

      loom_series_get (series, i, NULL, &y);
      if (sign * y > most)
        {
          most = sign * y;
          best = i;
        }
    }
  return best;
}

/* At first the cursor is at the last point. */
static void
move_cursor (StudioChart *self, const LoomSeries *series, int strides)
{
  const gint64 last = (gint64)loom_series_length (series) - 1, stride = MAX (1, last / STRIDES);
  gsize at = (gsize)last;

  if (isnan (self->cursor) ? strides == -G_MAXINT : loom_series_nearest (series, self->cursor, &at))
    at = (gsize)CLAMP ((gint64)at + strides * stride, 0, last);
  loom_series_get (series, at, &self->cursor, NULL);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioChart *self)
{
  const int strides = strides_of (key);
  const LoomSeries *series = followed (self);

  if ((key == GDK_KEY_Return || key == GDK_KEY_KP_Enter) && !isnan (self->cursor))
    {
      g_signal_emit (self, signals[PICKED], 0, self->cursor);
      return GDK_EVENT_STOP;
    }
  if (key == GDK_KEY_Escape)
    g_signal_emit (self, signals[RELEASED], 0);
  if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK) || series == NULL
      || (strides == 0 && key != GDK_KEY_Up && key != GDK_KEY_Down && (key != GDK_KEY_Escape || isnan (self->cursor))))
    return GDK_EVENT_PROPAGATE;
  if (strides != 0)
    move_cursor (self, series, strides);
  else if (key == GDK_KEY_Up || key == GDK_KEY_Down)
    loom_series_get (series, extreme (series, key == GDK_KEY_Up ? 1 : -1), &self->cursor, NULL);
  else
    self->cursor = NAN;
  studio_chart_update (self);
  return GDK_EVENT_STOP;
}

/* ---- dragging -------------------------------------------------------------------- */

static void
pick (StudioChart *self, double pixel)
{
  GtkWidget *widget = GTK_WIDGET (self);
  const StudioPlotStyle style = { .scale = self->scale * studio_text_scale (widget) };
  const double x = studio_plot_from_pixel (self->plot, gtk_widget_get_pango_context (widget), &style,
                                           gtk_widget_get_width (widget), gtk_widget_get_height (widget), pixel);

  if (!isnan (x))
    g_signal_emit (self, signals[PICKED], 0, x);
}

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, StudioChart *self)
{
  gtk_widget_grab_focus (GTK_WIDGET (self));
  pick (self, x);
}

static void
drag_update_cb (GtkGestureDrag *drag, double by_x, double by_y, StudioChart *self)
{
  double x, y;

  if (by_x != 0 && gtk_gesture_drag_get_start_point (drag, &x, &y))
    pick (self, x + by_x);
}

/* ---- the widget ------------------------------------------------------------------ */

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
  PangoContext *context = gtk_widget_get_pango_context (widget);
  const double mark = self->hover_x >= 0 || isnan (self->cursor)
                          ? self->hover_x
                          : studio_plot_to_pixel (self->plot, context, &style, width, height, self->cursor);
  studio_plot_draw (self->plot, cr, context, &style, width, height, mark);
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
  g_clear_pointer (&self->plot, studio_plot_free);
  g_clear_pointer (&self->label, g_free);
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
  signals[PICKED] = studio_signal_new ("picked", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_DOUBLE);
  signals[RELEASED] = studio_signal_new ("released", G_TYPE_FROM_CLASS (klass), 0);
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "chart");
}

static void
studio_chart_init (StudioChart *self)
{
  self->hover_x = -1;
  self->cursor = NAN;
  self->scale = 1;
  GtkEventController *motion = gtk_event_controller_motion_new (), *keys = gtk_event_controller_key_new ();
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "enter", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  GtkGesture *drag = gtk_gesture_drag_new ();
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self,
                           G_CONNECT_SWAPPED);
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

const char *
studio_chart_get_label (StudioChart *self)
{
  return self->label;
}

void
studio_chart_update (StudioChart *self)
{
  g_autofree char *all = studio_plot_describe (self->plot);
  g_autofree char *point = isnan (self->cursor) ? NULL : studio_plot_describe_at (self->plot, self->cursor);
  g_autofree char *words = point != NULL ? g_strdup_printf ("%s. %s", point, all) : g_steal_pointer (&all);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (g_strcmp0 (words, self->description) == 0)
    return;
  g_free (self->description);
  self->description = g_steal_pointer (&words);
  g_free (self->label);
  self->label = g_strdup_printf (_ ("%s chart"), studio_plot_title (self->plot));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, self->label,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, self->description, -1);
}

void
studio_chart_set_text_scale (StudioChart *self, double scale)
{
  self->scale = scale;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}
