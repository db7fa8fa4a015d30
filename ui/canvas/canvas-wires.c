/* Draws wires, their shape labels and the grid.
 *
 * Below the zoom where cards become rectangles, wires become straight lines from corner to corner without
 * antialiasing, joined into one path per colour: 3,000 strokes would cost more than all the
 * rest of the frame. */
#include "ui/canvas/canvas-wires.h"

#include <math.h>

#include "ui/drawing/draw-card.h"
#include "ui/scene/studio-flow.h"

static void
draw_lines (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme, guint64 hidden,
            StudioIsSelected is_selected, gpointer data)
{
  enum
  {
    N_GROUPS = LOOM_N_DTYPES + 3
  };
  StudioRect seen = studio_view_visible (view);
  gboolean used[N_GROUPS] = { FALSE };
  const StudioRoute *route = studio_scene_routes (scene);
  g_autofree guint8 *group = g_malloc0 (scene->n_links + 1);

  for (guint i = 0; i < scene->n_links; i++)
    {
      const StudioLink *link = &scene->link[i];
      StudioRect r = route[i].bounds;

      group[i] = 0xff;
      if (link->serial == hidden)
        continue;
      r.width += 1;
      r.height += 1;
      if (!studio_rect_intersects (&r, &seen))
        continue;
      group[i] = link->fault                                               ? LOOM_N_DTYPES + 1
                 : is_selected != NULL && is_selected (link->serial, data) ? LOOM_N_DTYPES + 2
                 : link->typed                                             ? link->type.dtype
                                                                           : LOOM_N_DTYPES;
      used[group[i]] = TRUE;
    }
  cairo_set_antialias (cr, CAIRO_ANTIALIAS_NONE);
  cairo_set_line_width (cr, 1);
  for (guint g = 0; g < N_GROUPS; g++)
    {
      if (!used[g])
        continue;
      for (guint i = 0; i < scene->n_links; i++)
        {
          double x, y;

          if (group[i] != g)
            continue;
          studio_view_to_screen (view, route[i].piece[0].x[0], route[i].piece[0].y[0], &x, &y);
          cairo_move_to (cr, x, y);
          for (guint k = 0; k < route[i].n_pieces; k++)
            {
              studio_view_to_screen (view, route[i].piece[k].x[3], route[i].piece[k].y[3], &x, &y);
              cairo_line_to (cr, x, y);
            }
        }
      studio_color_set (g < LOOM_N_DTYPES        ? &theme->dtype[g]
                        : g == LOOM_N_DTYPES     ? &theme->untyped
                        : g == LOOM_N_DTYPES + 1 ? &theme->error
                                                 : &theme->accent,
                        cr);
      cairo_stroke (cr);
    }
}

GskRenderNode *
studio_wires_render (const StudioScene *scene, const StudioView *view, const StudioTheme *theme, guint64 hidden,
                     StudioIsSelected is_selected, gpointer data)
{
  GtkSnapshot *snapshot = gtk_snapshot_new ();

  if (scene->n_links > 0 && view->width > 0 && view->height > 0)
    {
      cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, view->width, view->height));

      cairo_set_line_cap (cr, CAIRO_LINE_CAP_BUTT);
      /* A quarter of a pixel is invisible, and halves the number of lines of a curve. */
      cairo_set_tolerance (cr, 0.25);
      if (view->zoom < STUDIO_ZOOM_DETAIL)
        draw_lines (cr, scene, view, theme, hidden, is_selected, data);
      else
        studio_draw_wires (cr, scene, view, theme, hidden, is_selected, data);
      cairo_destroy (cr);
    }
  return gtk_snapshot_free_to_node (snapshot);
}

GskRenderNode *
studio_wires_render_shape_labels (const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                                  guint named, PangoContext *context, GHashTable *layouts)
{
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  /* Larger text is readable at a smaller zoom. */
  double least = MAX (STUDIO_ZOOM_SHAPE_LABELS / studio_text_enlargement (context), STUDIO_ZOOM_DETAIL);

  if (scene->n_links > 0 && view->zoom >= least && view->width > 0 && view->height > 0)
    {
      cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, view->width, view->height));

      studio_draw_shape_labels (cr, scene, view, theme, named, context, layouts);
      cairo_destroy (cr);
    }
  return gtk_snapshot_free_to_node (snapshot);
}

void
studio_wires_snapshot_grid (GtkSnapshot *snapshot, const StudioView *view, const StudioTheme *theme)
{
  double fade = CLAMP ((view->zoom - 0.4) / 0.2, 0, 1), step = STUDIO_GRID * view->zoom;
  double size = view->zoom >= 1.5 ? 3 : 2, x0, y0;

  if (fade <= 0)
    return;
  x0 = (ceil (view->x / STUDIO_GRID) * STUDIO_GRID - view->x) * view->zoom;
  y0 = (ceil (view->y / STUDIO_GRID) * STUDIO_GRID - view->y) * view->zoom;
  {
    /* Every row is the same: one is drawn, and copied down. Whole pixels, so that dots are boxes without blur. */
    int width = MAX (1, (int)ceil (view->width)), height = (int)size;
    cairo_surface_t *row = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
    cairo_t *dots = cairo_create (row), *cr;

    for (double x = x0; x < view->width; x += step)
      cairo_rectangle (dots, floor (x) - 1, 0, size, size);
    cairo_set_source_rgba (dots, theme->dot.red, theme->dot.green, theme->dot.blue,
                           MIN (1, theme->dot.alpha * 1.6) * fade);
    cairo_fill (dots);
    cairo_destroy (dots);
    cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, view->width, view->height));
    for (double y = y0; y < view->height; y += step)
      {
        cairo_set_source_surface (cr, row, 0, floor (y) - 1);
        cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
        cairo_rectangle (cr, 0, floor (y) - 1, width, height);
        cairo_fill (cr);
      }
    cairo_destroy (cr);
    cairo_surface_destroy (row);
  }
}

void
studio_wires_snapshot_loose (GtkSnapshot *snapshot, const StudioView *view, const StudioTheme *theme, StudioFlow flow,
                             double x0, double y0, double x1, double y1, const StudioColor *color)
{
  StudioCurve curve = studio_flow_curve (flow, x0, y0, x1, y1);
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, view->width, view->height));
  double sx, sy;

  studio_color_set (color, cr);
  cairo_set_line_width (cr, MAX (1.5, 2 * view->zoom));
  studio_curve_path (cr, &curve, view);
  cairo_stroke (cr);
  studio_view_to_screen (view, x1, y1, &sx, &sy);
  cairo_arc (cr, sx, sy, 4, 0, 2 * G_PI);
  cairo_fill (cr);
  cairo_destroy (cr);
}
