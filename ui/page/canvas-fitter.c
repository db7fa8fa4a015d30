/* Implements canvas-fitter.h: a pane that is shown or hidden changes the size of the canvas one or two frames later. */
#include "ui/page/canvas-fitter.h"

#define SETTLE_FRAMES 3

struct _CanvasFitter
{
  StudioCanvas *canvas;
  CanvasFitterSettled settled;
  gpointer data;
  guint tick;
  int frames; /* to wait */
};

static gboolean
tick_cb (GtkWidget *canvas, GdkFrameClock *clock, gpointer data)
{
  CanvasFitter *self = data;
  if (gtk_widget_get_width (canvas) <= 1 || --self->frames > 0)
    return G_SOURCE_CONTINUE;
  if (self->settled (self->data))
    {
      self->frames = SETTLE_FRAMES;
      return G_SOURCE_CONTINUE;
    }
  self->tick = 0;
  studio_canvas_fit_again (self->canvas);
  return G_SOURCE_REMOVE;
}

void
canvas_fitter_start (CanvasFitter *self)
{
  if (self->tick == 0)
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (self->canvas), tick_cb, self, NULL);
  self->frames = SETTLE_FRAMES;
}

CanvasFitter *
canvas_fitter_new (StudioCanvas *canvas, CanvasFitterSettled settled, gpointer data)
{
  CanvasFitter *self = g_new0 (CanvasFitter, 1);
  self->canvas = g_object_ref (canvas);
  self->settled = settled;
  self->data = data;
  return self;
}

void
canvas_fitter_free (CanvasFitter *self)
{
  if (self->tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self->canvas), self->tick);
  g_object_unref (self->canvas);
  g_free (self);
}
