/* Going to a part of the canvas, as a slide of a lecture does: the view flies there where animations are on, and stays
 * on that part when the canvas gets another size. */
#include <math.h>

#include "ui/canvas/studio-canvas-private.h"

#define DURATION 180.0 /* milliseconds */
#define MARGIN   48.0  /* that revealing a card has, at half the size */
#define LARGEST  1.6   /* zoom */

typedef struct
{
  double x, y, zoom; /* of the middle of what is seen */
} Look;

static Look
look_of (const StudioView *view)
{
  return (Look){ view->x + view->width / 2 / view->zoom, view->y + view->height / 2 / view->zoom, view->zoom };
}

static void
look_at (StudioCanvas *self, Look look)
{
  double before = self->view.zoom;

  self->view.zoom = look.zoom;
  self->view.x = look.x - self->view.width / 2 / look.zoom;
  self->view.y = look.y - self->view.height / 2 / look.zoom;
  studio_canvas_zoomed (self, before);
}

void
studio_canvas_drop_flight (StudioCanvas *self)
{
  if (self->flight.tick != 0)
    gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->flight.tick);
  self->flight.tick = 0;
}

/* A step of the flight, which is no moving away from what is kept. */
static void
fly_to (StudioCanvas *self, Look look)
{
  look_at (self, look);
  self->fitted = self->flight.keeps;
  self->part_kept = self->flight.keeps_part;
  self->flight.last = self->view;
}

static gboolean
fly_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  const StudioView *from = &self->flight.from, *to = &self->flight.to;
  const Look a = look_of (from), b = look_of (to);
  const StudioView *last = &self->flight.last;
  gint64 now = gdk_frame_clock_get_frame_time (clock);
  double part;

  if (last->x != self->view.x || last->y != self->view.y || last->zoom != self->view.zoom)
    {
      /* Somebody has moved on. */
      self->flight.tick = 0;
      return G_SOURCE_REMOVE;
    }
  if (self->flight.start == 0)
    self->flight.start = now;
  part = MIN (1, (now - self->flight.start) / (DURATION * 1000));
  part = 1 - pow (1 - part, 3);
  /* Even steps of zoom are equal factors. */
  fly_to (self, (Look){ a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part, a.zoom * pow (b.zoom / a.zoom, part) });
  if (part < 1)
    return G_SOURCE_CONTINUE;
  self->flight.tick = 0;
  return G_SOURCE_REMOVE;
}

/* All of the part, as large as it fits; margins are the part's own. */
static StudioView
view_of (StudioCanvas *self, const StudioRect *part)
{
  StudioView view = self->view;

  view.zoom = CLAMP (MIN (view.width / part->width, view.height / part->height), STUDIO_ZOOM_MIN, STUDIO_ZOOM_MAX);
  view.x = part->x + part->width / 2 - view.width / 2 / view.zoom;
  view.y = part->y + part->height / 2 - view.height / 2 / view.zoom;
  return view;
}

/* All of the graph, small as it may become, and of a small one no more than the back row needs. */
static StudioRect
everything (StudioCanvas *self)
{
  StudioRect bounds = studio_geometry_bounds_with_pins (studio_canvas_scene (self));
  const double width = MAX (bounds.width + 2 * MARGIN, self->view.width / LARGEST);
  const double height = MAX (bounds.height + 2 * MARGIN, self->view.height / LARGEST);

  return (StudioRect){ bounds.x - (width - bounds.width) / 2, bounds.y - (height - bounds.height) / 2, width, height };
}

static gboolean
is_animated (StudioCanvas *self)
{
  gboolean animated = FALSE;

  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-enable-animations", &animated, NULL);
  return animated && gtk_widget_get_mapped (GTK_WIDGET (self));
}

void
studio_canvas_show_part (StudioCanvas *self, const graphene_rect_t *part, gboolean keep)
{
  StudioView before = self->view;
  gboolean has_part;

  studio_canvas_scene (self);
  studio_canvas_drop_flight (self);
  self->part_kept = FALSE;
  if (part == NULL && keep)
    self->part = everything (self);
  else if (part != NULL)
    self->part = (StudioRect){ part->origin.x, part->origin.y, part->size.width, part->size.height };
  has_part = part != NULL || keep;
  if (has_part && (self->view.width <= 0 || self->view.height <= 0))
    {
      self->fit_pending = self->part_kept = keep;
      return;
    }
  if (has_part)
    {
      self->view = view_of (self, &self->part);
      studio_canvas_zoomed (self, before.zoom);
    }
  else
    studio_canvas_fit_readable (self);
  self->flight.keeps = self->fitted = keep;
  self->flight.keeps_part = self->part_kept = keep;
  if (!is_animated (self) || before.width <= 0)
    return;
  self->flight.from = before;
  self->flight.to = self->view;
  self->flight.start = 0;
  fly_to (self, look_of (&before));
  self->flight.tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), fly_cb, NULL, NULL);
}

void
studio_canvas_fit_again (StudioCanvas *self)
{
  double before = self->view.zoom;

  if (!self->part_kept || self->view.width <= 0)
    {
      if (self->fits_all)
        studio_canvas_zoom_to_fit (self);
      else
        studio_canvas_fit_readable (self);
      return;
    }
  studio_canvas_drop_flight (self);
  self->fit_pending = FALSE;
  self->view = view_of (self, &self->part);
  studio_canvas_zoomed (self, before);
  self->part_kept = self->fitted = TRUE;
}

void
studio_canvas_get_view (StudioCanvas *self, double *x, double *y, double *zoom)
{
  *x = self->view.x;
  *y = self->view.y;
  *zoom = self->view.zoom;
}
