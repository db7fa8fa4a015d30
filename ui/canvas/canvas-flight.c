#include "ui/canvas/canvas-flight.h"

#include <math.h>

#define DURATION 180.0 /* milliseconds */

struct _CanvasFlight
{
  GtkWidget *widget;
  CanvasFlightStep step;
  gpointer data;
  guint tick; /* 0: the view rests */
  gint64 start;
  StudioView from, to;
};

CanvasFlight *
canvas_flight_new (GtkWidget *widget, CanvasFlightStep step, gpointer data)
{
  CanvasFlight *self = g_new0 (CanvasFlight, 1);

  self->widget = widget;
  self->step = step;
  self->data = data;
  return self;
}

void
canvas_flight_free (CanvasFlight *self)
{
  canvas_flight_stop (self);
  g_free (self);
}

void
canvas_flight_stop (CanvasFlight *self)
{
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (self->widget, self->tick);
  self->tick = 0;
}

gboolean
canvas_flight_is_possible (const CanvasFlight *self)
{
  gboolean animated = FALSE;

  g_object_get (gtk_widget_get_settings (self->widget), "gtk-enable-animations", &animated, NULL);
  return animated && gtk_widget_get_mapped (self->widget);
}

static StudioPoint
middle_of (const StudioView *view)
{
  return (StudioPoint){ view->x + view->width / 2 / view->zoom, view->y + view->height / 2 / view->zoom };
}

static gboolean
tick_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  CanvasFlight *self = data;
  const StudioPoint a = middle_of (&self->from), b = middle_of (&self->to);
  gint64 now = gdk_frame_clock_get_frame_time (clock);
  double part, zoom;

  if (self->start == 0)
    self->start = now;
  part = MIN (1, (now - self->start) / (DURATION * 1000));
  part = 1 - pow (1 - part, 3);
  /* Even steps of zoom are equal factors. */
  zoom = self->from.zoom * pow (self->to.zoom / self->from.zoom, part);
  if (self->step (a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part, zoom, self->data) && part < 1)
    return G_SOURCE_CONTINUE;
  self->tick = 0;
  return G_SOURCE_REMOVE;
}

void
canvas_flight_start (CanvasFlight *self, const StudioView *from, const StudioView *to)
{
  canvas_flight_stop (self);
  self->from = *from;
  self->to = *to;
  self->start = 0;
  self->tick = gtk_widget_add_tick_callback (self->widget, tick_cb, self, NULL);
}
