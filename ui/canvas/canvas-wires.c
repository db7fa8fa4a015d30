/* Draws wires, their shapes and the grid.
 *
 * Below the zoom where cards become rectangles, wires become straight lines without
 * antialiasing, joined into one path per colour: 3,000 strokes would cost more than all the
 * rest of the frame. */
#include "ui/canvas/canvas-wires.h"

#include <math.h>
#include <string.h>

static void
set_colour (cairo_t *cr, const GdkRGBA *c)
{
  cairo_set_source_rgba (cr, c->red, c->green, c->blue, c->alpha);
}

static void
curve_path (cairo_t *cr, const StudioCurve *c, const StudioView *view)
{
  double x[4], y[4];

  for (int i = 0; i < 4; i++)
    studio_view_to_screen (view, c->x[i], c->y[i], &x[i], &y[i]);
  cairo_move_to (cr, x[0], y[0]);
  cairo_curve_to (cr, x[1], y[1], x[2], y[2], x[3], y[3]);
}

/* Two thin lines beside each other: the wide one, hollowed by the background. */
static void
stroke_link (cairo_t *cr, const StudioLink *link, const StudioTheme *theme, double width, gboolean selected)
{
  StudioLine line = link->typed ? studio_dtype_line (link->type.dtype) : STUDIO_LINE_SOLID;

  set_colour (cr, selected ? &theme->accent : studio_theme_wire (theme, link));
  if (line == STUDIO_LINE_DOUBLE)
    {
      studio_line_apply (line, cr, width * 2.2);
      cairo_stroke_preserve (cr);
      set_colour (cr, &theme->background);
      cairo_set_line_width (cr, width * 0.8);
      cairo_stroke (cr);
      return;
    }
  studio_line_apply (line, cr, selected ? width * 1.6 : width);
  cairo_stroke (cr);
}

/* A mark for a wire that a card refuses, so that red is not the only sign. */
static void
fault_mark (cairo_t *cr, const StudioTheme *theme, double x, double y)
{
  cairo_new_sub_path (cr);
  cairo_arc (cr, x, y, 8, 0, 2 * G_PI);
  set_colour (cr, &theme->error);
  cairo_fill (cr);
  set_colour (cr, &theme->background);
  cairo_rectangle (cr, x - 1, y - 5, 2, 6);
  cairo_rectangle (cr, x - 1, y + 3, 2, 2);
  cairo_fill (cr);
}

static void
draw_curves (cairo_t *cr, const StudioScene *scene, const StudioView *view, const StudioTheme *theme, guint64 hidden,
             StudioIsSelected is_selected, gpointer data)
{
  StudioRect seen = studio_view_visible (view);
  double width = MAX (1.2, 2 * MIN (view->zoom, 2));

  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < scene->n_links; i++)
      {
        const StudioLink *link = &scene->link[i];
        gboolean selected = is_selected != NULL && is_selected (link->serial, data);
        StudioCurve curve;
        StudioRect bounds;

        /* Selected ones last, on top. */
        if (link->serial == hidden || selected != (pass == 1))
          continue;
        curve = studio_geometry_link (scene, i);
        bounds = studio_curve_bounds (&curve);
        bounds.width += 4;
        bounds.height += 4;
        if (!studio_rect_intersects (&bounds, &seen))
          continue;
        curve_path (cr, &curve, view);
        stroke_link (cr, link, theme, width, selected);
        if (link->fault && view->zoom >= STUDIO_ZOOM_PILLS)
          {
            double x, y, sx, sy;

            studio_curve_at (&curve, 0.8, &x, &y);
            studio_view_to_screen (view, x, y, &sx, &sy);
            fault_mark (cr, theme, sx, sy);
          }
      }
}

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
  g_autofree guint8 *group = g_malloc0 (scene->n_links + 1);

  for (guint i = 0; i < scene->n_links; i++)
    {
      const StudioLink *link = &scene->link[i];
      StudioRect r;
      double x0, y0, x1, y1;

      group[i] = 0xff;
      if (link->serial == hidden)
        continue;
      studio_geometry_port (&scene->item[link->from], TRUE, link->output, &x0, &y0);
      studio_geometry_port (&scene->item[link->to], FALSE, link->input, &x1, &y1);
      r = studio_rect_between (x0, y0, x1, y1);
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
          const StudioLink *link = &scene->link[i];
          double x0, y0, x1, y1;

          if (group[i] != g)
            continue;
          studio_geometry_port (&scene->item[link->from], TRUE, link->output, &x0, &y0);
          studio_geometry_port (&scene->item[link->to], FALSE, link->input, &x1, &y1);
          studio_view_to_screen (view, x0, y0, &x0, &y0);
          studio_view_to_screen (view, x1, y1, &x1, &y1);
          cairo_move_to (cr, x0, y0);
          cairo_line_to (cr, x1, y1);
        }
      set_colour (cr, g < LOOM_N_DTYPES        ? &theme->dtype[g]
                      : g == LOOM_N_DTYPES     ? &theme->untyped
                      : g == LOOM_N_DTYPES + 1 ? &theme->error
                                               : &theme->accent);
      cairo_stroke (cr);
    }
}

static PangoLayout *
pill_layout (const char *text, GtkWidget *widget, GHashTable *layouts)
{
  PangoLayout *layout = g_hash_table_lookup (layouts, text);

  if (layout == NULL)
    {
      PangoAttrList *attributes = pango_attr_list_new ();

      layout = gtk_widget_create_pango_layout (widget, text);
      pango_attr_list_insert (attributes, pango_attr_scale_new (0.82));
      pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
      pango_layout_set_attributes (layout, attributes);
      pango_attr_list_unref (attributes);
      g_hash_table_insert (layouts, g_strdup (text), layout);
    }
  return layout;
}

static gboolean
is_clear (const GArray *placed, const StudioRect *r)
{
  for (guint i = 0; i < placed->len; i++)
    if (studio_rect_intersects (&g_array_index (placed, StudioRect, i), r))
      return FALSE;
  return TRUE;
}

/* placed: where others stand already, in canvas units. */
static void
snapshot_pill (GtkSnapshot *snapshot, const StudioView *view, const StudioTheme *theme, const StudioLink *link,
               const StudioCurve *curve, GtkWidget *widget, GHashTable *layouts, GArray *placed)
{
  double x, y, sx, sy, gap = fabs (curve->x[3] - curve->x[0]);
  PangoLayout *layout = pill_layout (link->label, widget, layouts);
  StudioRect room;
  gboolean raised;
  int w, h;

  /* Between the cards where it fits there, and above the wire where it is too long: a shape that is cut off says
   * something false. */
  pango_layout_get_pixel_size (layout, &w, &h);
  raised = w + 12 > gap - 4 && curve->x[3] > curve->x[0];
  for (guint choice = 0; studio_curve_pill_at (curve, choice, &x, &y); choice++)
    {
      if (raised)
        y = MIN (curve->y[0], curve->y[3]) - STUDIO_CARD_HEIGHT / 2 - h / 2.0 - 6 - choice * (h + 6);
      room = (StudioRect){ x - w / 2.0 - 8, y - h / 2.0 - 4, w + 16, h + 8 };
      if (is_clear (placed, &room))
        break;
    }
  g_array_append_val (placed, room);
  studio_view_to_screen (view, x, y, &sx, &sy);

  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (floor (sx), floor (sy)));
  gtk_snapshot_scale (snapshot, view->zoom, view->zoom);
  {
    graphene_rect_t r = GRAPHENE_RECT_INIT (-floor (w / 2.0) - 6, -floor (h / 2.0) - 2, w + 12, h + 4);
    GskRoundedRect outline;
    const float one[4] = { 1, 1, 1, 1 };
    const GdkRGBA colours[4] = { theme->pill, theme->pill, theme->pill, theme->pill };

    gsk_rounded_rect_init_from_rect (&outline, &r, r.size.height / 2);
    gtk_snapshot_push_rounded_clip (snapshot, &outline);
    gtk_snapshot_append_color (snapshot, &theme->background, &r);
    gtk_snapshot_pop (snapshot);
    gtk_snapshot_append_border (snapshot, &outline, one, colours);
    gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (-floor (w / 2.0), -floor (h / 2.0)));
    gtk_snapshot_append_layout (snapshot, layout, link->fault ? &theme->error : &theme->dim);
  }
  gtk_snapshot_restore (snapshot);
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
      /* A fifth of a pixel is not seen, and halves the lines that a curve becomes. */
      cairo_set_tolerance (cr, 0.25);
      if (view->zoom < STUDIO_ZOOM_DETAIL)
        draw_lines (cr, scene, view, theme, hidden, is_selected, data);
      else
        draw_curves (cr, scene, view, theme, hidden, is_selected, data);
      cairo_destroy (cr);
    }
  return gtk_snapshot_free_to_node (snapshot);
}

GskRenderNode *
studio_wires_render_pills (const StudioScene *scene, const StudioView *view, const StudioTheme *theme, guint named,
                           GtkWidget *widget, GHashTable *layouts)
{
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  StudioRect seen = studio_view_visible (view);
  g_autoptr (GArray) placed = g_array_new (FALSE, FALSE, sizeof (StudioRect));

  for (guint i = 0; i < scene->n_links && view->zoom >= STUDIO_ZOOM_PILLS; i++)
    {
      const StudioLink *link = &scene->link[i];
      StudioCurve curve;
      StudioRect bounds;

      if (link->label == NULL || link->from == named || link->to == named)
        continue;
      curve = studio_geometry_link (scene, i);
      bounds = studio_curve_bounds (&curve);
      bounds.x -= 64;
      bounds.width += 128;
      bounds.y -= 64;
      bounds.height += 72;
      if (studio_rect_intersects (&bounds, &seen))
        snapshot_pill (snapshot, view, theme, link, &curve, widget, layouts, placed);
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
studio_wires_snapshot_loose (GtkSnapshot *snapshot, const StudioView *view, const StudioTheme *theme, double x0,
                             double y0, double x1, double y1, const GdkRGBA *colour)
{
  StudioCurve curve = studio_geometry_curve (x0, y0, x1, y1);
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, view->width, view->height));
  double sx, sy;

  set_colour (cr, colour);
  cairo_set_line_width (cr, MAX (1.5, 2 * view->zoom));
  curve_path (cr, &curve, view);
  cairo_stroke (cr);
  studio_view_to_screen (view, x1, y1, &sx, &sy);
  cairo_arc (cr, sx, sy, 4, 0, 2 * G_PI);
  cairo_fill (cr);
  cairo_destroy (cr);
}
