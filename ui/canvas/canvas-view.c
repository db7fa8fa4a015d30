#include "ui/canvas/canvas-view.h"

#include "ui/canvas/canvas-flight.h"
#include "ui/drawing/draw-card.h"

#define MARGIN    48.0 /* around everything if it is shown as a part, at half the size */
#define LARGEST   1.6  /* zoom of a small graph that is shown as a part */
#define PRESENTED 1.6  /* how much larger things are for the back row than on a desk */

struct _CanvasView
{
  GtkWidget *widget;
  CanvasViewChanged changed;
  gpointer data;
  StudioView view;
  double legend; /* height of what is drawn over the lower edge */
  gboolean is_presented;
  gboolean needs_fit; /* until there is a size */
  gboolean is_fitted; /* nothing was moved since the graph, or the part that is kept, was fitted */
  gboolean keeps_part;
  gboolean fits_all; /* everything was fitted, however small */
  StudioRect part;   /* that is fitted instead of the graph, if it is kept */
  StudioRect chips;  /* around what is drawn next to cards; width 0: nothing is */
  gboolean holds_sight;
  StudioRect in_sight; /* stays in sight until the view is moved */

  CanvasFlight *flight;
  StudioView flown;                             /* as the flight left the view */
  gboolean flight_is_fitted, flight_keeps_part; /* what the flight is to */

  char *scope;       /* path */
  GHashTable *views; /* path of a scope → StudioView */
};

static gboolean fly_cb (double x, double y, double zoom, gpointer data);

CanvasView *
canvas_view_new (GtkWidget *widget, CanvasViewChanged changed, gpointer data)
{
  CanvasView *self = g_new0 (CanvasView, 1);

  self->widget = widget;
  self->changed = changed;
  self->data = data;
  self->view.zoom = 1;
  self->needs_fit = TRUE;
  self->flight = canvas_flight_new (widget, fly_cb, self);
  self->scope = g_strdup ("");
  self->views = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return self;
}

void
canvas_view_free (CanvasView *self)
{
  canvas_flight_free (self->flight);
  g_hash_table_unref (self->views);
  g_free (self->scope);
  g_free (self);
}

const StudioView *
canvas_view_get (const CanvasView *self)
{
  return &self->view;
}

static gboolean
has_size (const CanvasView *self)
{
  return self->view.width > 0 && self->view.height > 0;
}

static void
report (CanvasView *self, gboolean zoomed)
{
  self->is_fitted = self->keeps_part = self->holds_sight = FALSE;
  self->changed (zoomed, self->data);
}

/* ---- moving ---------------------------------------------------------------- */

gboolean
canvas_view_set_size (CanvasView *self, double width, double height)
{
  if (self->view.width == width && self->view.height == height)
    return FALSE;
  /* All of the graph was visible, and stays so. */
  if (self->is_fitted)
    self->needs_fit = TRUE;
  self->view.width = width;
  self->view.height = height;
  if (self->holds_sight)
    studio_view_reveal (&self->view, &self->in_sight);
  return TRUE;
}

void
canvas_view_pan (CanvasView *self, double dx, double dy)
{
  canvas_view_move_to (self, self->view.x + dx / self->view.zoom, self->view.y + dy / self->view.zoom);
}

void
canvas_view_move_to (CanvasView *self, double x, double y)
{
  self->view.x = x;
  self->view.y = y;
  report (self, FALSE);
}

void
canvas_view_center (CanvasView *self, double x, double y)
{
  canvas_view_move_to (self, x - self->view.width / 2 / self->view.zoom, y - self->view.height / 2 / self->view.zoom);
}

void
canvas_view_get_center (const CanvasView *self, double *x, double *y)
{
  studio_view_to_canvas (&self->view, self->view.width / 2, self->view.height / 2, x, y);
}

void
canvas_view_reveal (CanvasView *self, const StudioRect *rect)
{
  if (self->view.width > 0 && studio_view_reveal (&self->view, rect))
    report (self, FALSE);
}

void
canvas_view_keep_in_sight (CanvasView *self, const StudioRect *rect)
{
  canvas_view_reveal (self, rect);
  self->in_sight = *rect;
  self->holds_sight = TRUE;
}

void
canvas_view_zoom_at (CanvasView *self, double zoom, double x, double y)
{
  double before = self->view.zoom;

  canvas_view_stop (self);
  studio_view_zoom_at (&self->view, zoom, x, y);
  report (self, self->view.zoom != before);
}

/* ---- fitting --------------------------------------------------------------- */

/* The card that the computation begins with. */
static StudioRect
first_card (const StudioScene *scene)
{
  guint first = 0;

  for (guint i = 1; i < scene->n_items; i++)
    if (scene->item[i].order < scene->item[first].order)
      first = i;
  return scene->n_items > 0 ? studio_geometry_extent (&scene->item[first]) : (StudioRect){ 0, 0, 0, 0 };
}

/* start: where to begin if all of it would be too small to read; NULL: it may be too small. */
static void
fit (CanvasView *self, const StudioRect *bounds, const StudioRect *start)
{
  double larger = studio_text_enlargement (gtk_widget_get_pango_context (self->widget));
  double before = self->view.zoom, most;
  StudioView view = self->view;

  view.height = MAX (view.height - self->legend, view.height / 2);
  /* A presented graph has larger text on the same cards: all of it at once is worth more than still larger text. */
  if (start != NULL)
    studio_view_fit_from (&view, bounds, start,
                          studio_geometry_readable_zoom (self->is_presented ? larger / PRESENTED : larger));
  else
    studio_view_fit (&view, bounds);
  /* For the back row everything may be larger than life, and cards grow with the user's text size. */
  most = MAX (self->is_presented ? PRESENTED : 1, MIN (larger, 2));
  /* On a very large canvas it is larger already. */
  most = MAX (most, view.zoom * (self->is_presented ? PRESENTED : 1));
  if (most > 1 && bounds->width > 0)
    {
      double fits = MIN (view.width / (bounds->width + 48), view.height / (bounds->height + 48));

      studio_view_zoom_at (&view, CLAMP (fits, view.zoom, most), view.width / 2, view.height / 2);
    }
  view.height = self->view.height;
  self->view = view;
  report (self, self->view.zoom != before);
}

void
canvas_view_set_legend (CanvasView *self, double height)
{
  self->legend = height;
}

gboolean
canvas_view_needs_fit (const CanvasView *self)
{
  return self->needs_fit;
}

void
canvas_view_set_chips (CanvasView *self, const StudioRect *bounds)
{
  self->chips = *bounds;
}

static StudioRect
bounds_of (const CanvasView *self, const StudioScene *scene)
{
  const StudioRect bounds = studio_geometry_bounds_with_pins (scene);

  return self->chips.width > 0 ? studio_rect_union (bounds, self->chips) : bounds;
}

static void
fit_all (CanvasView *self, const StudioScene *scene, gboolean readable)
{
  StudioRect bounds, start;

  self->fits_all = !readable;
  if (!has_size (self))
    {
      self->needs_fit = TRUE;
      return;
    }
  canvas_view_stop (self);
  self->needs_fit = FALSE;
  bounds = bounds_of (self, scene);
  start = first_card (scene);
  fit (self, &bounds, readable ? &start : NULL);
  self->is_fitted = TRUE;
}

void
canvas_view_fit (CanvasView *self, const StudioScene *scene)
{
  fit_all (self, scene, FALSE);
}

void
canvas_view_fit_readable (CanvasView *self, const StudioScene *scene)
{
  fit_all (self, scene, TRUE);
}

void
canvas_view_fit_bounds (CanvasView *self, const StudioRect *bounds)
{
  fit (self, bounds, NULL);
}

void
canvas_view_forget_fit (CanvasView *self)
{
  self->is_fitted = FALSE;
}

gboolean
canvas_view_set_presented (CanvasView *self, gboolean presented)
{
  if (self->is_presented == presented)
    return FALSE;
  self->is_presented = presented;
  return TRUE;
}

gboolean
canvas_view_is_presented (const CanvasView *self)
{
  return self->is_presented;
}

/* ---- parts ------------------------------------------------------------------ */

void
canvas_view_stop (CanvasView *self)
{
  canvas_flight_stop (self->flight);
}

/* A step of the flight, which does not move the view away from what is kept. */
static void
fly_to (CanvasView *self, double x, double y, double zoom)
{
  double before = self->view.zoom;

  self->view.zoom = zoom;
  self->view.x = x - self->view.width / 2 / zoom;
  self->view.y = y - self->view.height / 2 / zoom;
  report (self, zoom != before);
  self->is_fitted = self->flight_is_fitted;
  self->keeps_part = self->flight_keeps_part;
  self->flown = self->view;
}

static gboolean
fly_cb (double x, double y, double zoom, gpointer data)
{
  CanvasView *self = data;

  if (self->flown.x != self->view.x || self->flown.y != self->view.y || self->flown.zoom != self->view.zoom)
    return FALSE;
  fly_to (self, x, y, zoom);
  return TRUE;
}

/* All of the part, as large as it fits; margins are the part's own. */
static StudioView
view_of (const CanvasView *self, const StudioRect *part)
{
  StudioView view = self->view;

  view.zoom = CLAMP (MIN (view.width / part->width, view.height / part->height), STUDIO_ZOOM_MIN, STUDIO_ZOOM_MAX);
  view.x = part->x + part->width / 2 - view.width / 2 / view.zoom;
  view.y = part->y + part->height / 2 - view.height / 2 / view.zoom;
  return view;
}

/* All of the graph, small as it may become, and of a small one no more than the back row needs. */
static StudioRect
everything (const CanvasView *self, const StudioScene *scene)
{
  StudioRect bounds = bounds_of (self, scene);
  const double width = MAX (bounds.width + 2 * MARGIN, self->view.width / LARGEST);
  const double height = MAX (bounds.height + 2 * MARGIN, self->view.height / LARGEST);

  return (StudioRect){ bounds.x - (width - bounds.width) / 2, bounds.y - (height - bounds.height) / 2, width, height };
}

static void
set_view (CanvasView *self, StudioView view)
{
  double before = self->view.zoom;

  self->view = view;
  report (self, view.zoom != before);
}

void
canvas_view_show_part (CanvasView *self, const graphene_rect_t *part, gboolean keep, const StudioScene *scene)
{
  StudioView before = self->view, after;

  canvas_view_stop (self);
  self->keeps_part = FALSE;
  if (part == NULL && keep)
    self->part = everything (self, scene);
  else if (part != NULL)
    self->part = (StudioRect){ part->origin.x, part->origin.y, part->size.width, part->size.height };
  if (part == NULL && !keep)
    canvas_view_fit_readable (self, scene);
  else if (!has_size (self))
    {
      self->needs_fit = self->keeps_part = keep;
      return;
    }
  else
    set_view (self, view_of (self, &self->part));
  self->flight_is_fitted = self->is_fitted = keep;
  self->flight_keeps_part = self->keeps_part = keep;
  if (before.width <= 0 || !canvas_flight_is_possible (self->flight))
    return;
  after = self->view;
  fly_to (self, before.x + before.width / 2 / before.zoom, before.y + before.height / 2 / before.zoom, before.zoom);
  canvas_flight_start (self->flight, &before, &after);
}

static void
fit_again (CanvasView *self, const StudioScene *scene)
{
  if (!self->keeps_part || self->view.width <= 0)
    {
      fit_all (self, scene, !self->fits_all);
      return;
    }
  canvas_view_stop (self);
  self->needs_fit = FALSE;
  set_view (self, view_of (self, &self->part));
  self->keeps_part = self->is_fitted = TRUE;
}

void
canvas_view_fit_again (CanvasView *self, const StudioScene *scene)
{
  const gboolean holds_sight = self->holds_sight;

  fit_again (self, scene);
  if (holds_sight)
    canvas_view_keep_in_sight (self, &self->in_sight);
}

/* ---- scopes ----------------------------------------------------------------- */

gboolean
canvas_view_enter_scope (CanvasView *self, const char *path)
{
  const StudioView *view = NULL;

  g_hash_table_replace (self->views, g_strdup (self->scope), g_memdup2 (&self->view, sizeof self->view));
  if (g_strcmp0 (path, self->scope) != 0)
    view = g_hash_table_lookup (self->views, path);
  g_free (self->scope);
  self->scope = g_strdup (path);
  if (view == NULL)
    return FALSE;
  self->view.zoom = view->zoom;
  self->view.x = view->x;
  self->view.y = view->y;
  report (self, TRUE);
  return TRUE;
}
