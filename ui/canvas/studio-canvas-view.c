/* The visible part of the canvas: zoom, fitting, and cards that are being moved. */
#include "ui/canvas/studio-canvas-private.h"
#include "ui/scene/studio-shapes.h"
#include "ui/drawing/draw-card.h"

void
studio_canvas_zoomed (StudioCanvas *self, double before)
{
  GHashTableIter iter;
  gpointer node;

  if (self->view.zoom != before)
    {
      g_hash_table_iter_init (&iter, self->annotations);
      while (g_hash_table_iter_next (&iter, NULL, &node))
        gtk_widget_queue_draw (node);
      g_hash_table_remove_all (self->sprites);
      g_hash_table_iter_init (&iter, self->nodes);
      while (g_hash_table_iter_next (&iter, NULL, &node))
        gtk_widget_queue_draw (node);
    }
  studio_canvas_view_changed (self);
}

void
studio_canvas_view_changed (StudioCanvas *self)
{
  self->fitted = self->part_kept = FALSE;
  studio_canvas_redraw_wires (self);
  studio_canvas_place_again (self);
  g_signal_emit (self, studio_canvas_signals[STUDIO_CANVAS_VIEW_CHANGED], 0);
}

double
studio_canvas_get_zoom (StudioCanvas *self)
{
  return self->view.zoom;
}

void
studio_canvas_zoom_at (StudioCanvas *self, double zoom, double x, double y)
{
  double before = self->view.zoom;

  studio_canvas_drop_flight (self);
  studio_view_zoom_at (&self->view, zoom, x, y);
  studio_canvas_zoomed (self, before);
}

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

/* How much larger than on a desk things are for the back row. */
#define PRESENTED 1.6

/* start: where to begin if all of it would be too small to read; NULL: never mind. */
static void
fit (StudioCanvas *self, const StudioRect *bounds, const StudioRect *start)
{
  double larger = studio_text_enlargement (gtk_widget_get_pango_context (GTK_WIDGET (self)));
  double before = self->view.zoom, most;
  StudioView view = self->view;

  /* A presented graph is written larger on the same cards: all of it at once is worth more than still larger text. */
  if (start != NULL)
    studio_view_fit_from (&view, bounds, start,
                          studio_geometry_readable_zoom (self->presentation ? larger / PRESENTED : larger));
  else
    studio_view_fit (&view, bounds);
  /* For the back row everything may be larger than life, and cards grow with the text that somebody wants larger. */
  most = MAX (self->presentation ? PRESENTED : 1, MIN (larger, 2));
  /* A very large canvas has made it larger already. */
  most = MAX (most, view.zoom * (self->presentation ? PRESENTED : 1));
  if (most > 1 && bounds->width > 0)
    {
      double room = MIN (view.width / (bounds->width + 48), view.height / (bounds->height + 48));

      studio_view_zoom_at (&view, CLAMP (room, view.zoom, most), view.width / 2, view.height / 2);
    }
  self->view = view;
  studio_canvas_zoomed (self, before);
}

/* readable: where all of it would be too small to read, its beginning. */
static void
fit_all (StudioCanvas *self, gboolean readable)
{
  StudioRect bounds, start;

  self->fits_all = !readable;
  if (self->view.width <= 0 || self->view.height <= 0)
    {
      self->fit_pending = TRUE;
      return;
    }
  studio_canvas_drop_flight (self);
  self->fit_pending = FALSE;
  bounds = studio_geometry_bounds_with_pins (studio_canvas_scene (self));
  start = first_card (studio_canvas_scene (self));
  fit (self, &bounds, readable ? &start : NULL);
  self->fitted = TRUE;
}

void
studio_canvas_zoom_to_fit (StudioCanvas *self)
{
  fit_all (self, FALSE);
}

void
studio_canvas_fit_readable (StudioCanvas *self)
{
  fit_all (self, TRUE);
}

/* The rectangle around all that is selected; FALSE where nothing is. */
static gboolean
selected_bounds (StudioCanvas *self, StudioRect *bounds)
{
  StudioScene *scene = studio_canvas_scene (self);
  gboolean any = FALSE;

  for (guint i = 0; i < scene->n_items; i++)
    if (studio_document_is_selected (self->document, scene->item[i].serial))
      {
        StudioRect extent = studio_geometry_extent (&scene->item[i]);

        *bounds = any ? studio_rect_union (*bounds, extent) : extent;
        any = TRUE;
      }
  for (guint i = 0; i < scene->n_annotations; i++)
    if (studio_document_is_selected (self->document, scene->annotation[i].serial))
      {
        const StudioAnnotation *m = &scene->annotation[i];
        StudioRect extent = { m->x, m->y, m->width, m->height };

        *bounds = any ? studio_rect_union (*bounds, extent) : extent;
        any = TRUE;
      }
  return any;
}

void
studio_canvas_zoom_to_selection (StudioCanvas *self)
{
  StudioRect bounds;

  if (self->view.width > 0 && selected_bounds (self, &bounds))
    fit (self, &bounds, NULL);
  else
    studio_canvas_zoom_to_fit (self);
}

void
studio_canvas_set_presentation (StudioCanvas *self, gboolean on)
{
  if (self->presentation == on)
    return;
  self->presentation = on;
  studio_canvas_fit_readable (self);
}

void
studio_canvas_set_bare (StudioCanvas *self, gboolean bare)
{
  if (self->bare == bare)
    return;
  self->bare = bare;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_canvas_set_right_angles (StudioCanvas *self, gboolean on)
{
  self->right_angles = on;
  studio_routes_set_right_angles (studio_canvas_scene (self)->routes, on);
  studio_canvas_redraw_wires (self);
}

void
studio_canvas_set_shapes (StudioCanvas *self, StudioShapes shapes)
{
  self->shapes = shapes;
  studio_scene_set_shapes (studio_canvas_scene (self), shapes);
  studio_canvas_redraw_wires (self);
}

void
studio_canvas_set_devices (StudioCanvas *self, const char *const *devices)
{
  g_strfreev (self->devices);
  self->devices = g_strdupv ((char **)devices);
  studio_document_refresh_scene (self->document);
  self->stale = TRUE;
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

void
studio_canvas_set_types_legend (StudioCanvas *self, gboolean on)
{
  self->types_legend = on;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

gboolean
studio_canvas_get_right_angles (StudioCanvas *self)
{
  return studio_routes_get_right_angles (studio_canvas_scene (self)->routes);
}

void
studio_canvas_get_centre (StudioCanvas *self, double *x, double *y)
{
  studio_view_to_canvas (&self->view, self->view.width / 2, self->view.height / 2, x, y);
}

void
studio_canvas_place_faults (StudioCanvas *self, StudioScene *scene)
{
  studio_geometry_place_faults (scene);
  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].fault != NULL && studio_canvas_node (self, scene->item[i].serial) != NULL)
      studio_node_update (studio_canvas_node (self, scene->item[i].serial), scene, i,
                          studio_document_is_selected (self->document, scene->item[i].serial));
}

void
studio_canvas_shift (StudioCanvas *self, double dx, double dy)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  double by_x = dx - self->shift_dx, by_y = dy - self->shift_dy;

  if (by_x == 0 && by_y == 0)
    return;
  self->shift_dx = dx;
  self->shift_dy = dy;
  if (self->moving_items == NULL)
    {
      /* The cards that a frame moves along are settled when it is taken, not by what it is dragged across. */
      guint n = studio_document_n_selected (self->document);
      g_autofree guint64 *serials = g_new (guint64, n + 1);

      for (guint i = 0; i < n; i++)
        serials[i] = studio_document_get_selected (self->document, i);
      self->moving_items = g_new0 (gboolean, scene->n_items + 1);
      self->moving_annotations = g_new0 (gboolean, scene->n_annotations + 1);
      studio_document_moving (self->document, serials, n, self->moving_items, self->moving_annotations);
    }
  for (guint i = 0; i < scene->n_items; i++)
    if (self->moving_items[i])
      {
        scene->item[i].x += by_x;
        scene->item[i].y += by_y;
      }
  for (guint l = 0; l < scene->n_links; l++)
    if (self->moving_items[scene->link[l].from] && self->moving_items[scene->link[l].to])
      for (guint k = 0; k < scene->link[l].n_points; k++)
        {
          scene->link[l].point[k].x += by_x;
          scene->link[l].point[k].y += by_y;
        }
  for (guint i = 0; i < scene->n_annotations; i++)
    if (self->moving_annotations[i])
      {
        scene->annotation[i].x += by_x;
        scene->annotation[i].y += by_y;
      }
  if (dx == 0 && dy == 0)
    studio_canvas_forget_moving (self);
  studio_canvas_place_faults (self, scene);
  studio_canvas_redraw_wires (self);
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}
