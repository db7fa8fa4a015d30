#include "ui/canvas/canvas-marks.h"

#include "ui/drawing/draw-mark.h"
#include "ui/drawing/draw-wires.h"

#define BAND 7.0 /* along a wire that differs, in pixels */

struct _CanvasMarks
{
  GtkWidget *widget;
  StudioComparison *comparison; /* NULL: there is none */
};

CanvasMarks *
canvas_marks_new (GtkWidget *widget)
{
  CanvasMarks *self = g_new0 (CanvasMarks, 1);

  self->widget = widget;
  return self;
}

void
canvas_marks_free (CanvasMarks *self)
{
  canvas_marks_set (self, NULL);
  g_free (self);
}

gboolean
canvas_marks_set (CanvasMarks *self, StudioComparison *comparison)
{
  if (self->comparison == comparison)
    return FALSE;
  if (self->comparison != NULL)
    g_signal_handlers_disconnect_by_data (self->comparison, self->widget);
  g_set_object (&self->comparison, comparison);
  if (comparison != NULL)
    g_signal_connect_swapped (comparison, "changed", G_CALLBACK (gtk_widget_queue_draw), self->widget);
  return TRUE;
}

gboolean
canvas_marks_are_empty (const CanvasMarks *self)
{
  return self->comparison == NULL;
}

char *
canvas_marks_dup_words (const CanvasMarks *self, const char *id)
{
  const StudioChange *mark = self->comparison != NULL ? studio_comparison_card (self->comparison, id) : NULL;

  if (mark == NULL)
    return NULL;
  return mark->words != NULL ? g_strdup_printf ("%s: %s", studio_mark_word ((StudioMarkKind)mark->kind), mark->words)
                             : g_strdup (studio_mark_word ((StudioMarkKind)mark->kind));
}

/* ---- drawing --------------------------------------------------------------- */

static StudioRect
on_screen (const StudioView *view, const StudioItem *item)
{
  StudioRect r = { 0, 0, item->width * view->zoom, item->height * view->zoom };

  studio_view_to_screen (view, item->x, item->y, &r.x, &r.y);
  return r;
}

static gboolean
is_small (const StudioView *view)
{
  return studio_geometry_detail (view->zoom) != STUDIO_DETAIL_ALL;
}

static gboolean
is_visible (const StudioView *view, const StudioItem *item)
{
  StudioRect extent = studio_geometry_extent (item), visible = studio_view_visible (view);

  return studio_rect_intersects (&extent, &visible);
}

static cairo_t *
begin (GtkSnapshot *snapshot, const StudioView *view)
{
  return gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, view->width, view->height));
}

/* Draws a band along the wire, whose own pattern still shows the type. */
static void
draw_wire_marks (const CanvasMarks *self, cairo_t *cr, StudioScene *scene, const StudioView *view,
                 const StudioTheme *theme)
{
  StudioRect visible = studio_view_visible (view);
  const StudioRoute *route = studio_scene_routes (scene);

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioChange *mark = studio_comparison_wire (self->comparison, scene->link[l].serial);
      StudioColor color;

      if (mark == NULL || !studio_rect_intersects (&route[l].bounds, &visible))
        continue;
      color = *studio_theme_mark (theme, (StudioMarkKind)mark->kind);
      color.alpha = theme->high_contrast ? 0.8f : 0.45f;
      studio_route_path (cr, &route[l], view);
      studio_color_set (&color, cr);
      cairo_set_line_width (cr, BAND);
      cairo_stroke (cr);
    }
}

void
canvas_marks_snapshot_ghosts (const CanvasMarks *self, GtkSnapshot *snapshot, StudioScene *scene,
                              const StudioView *view, const StudioTheme *theme)
{
  PangoContext *context = gtk_widget_get_pango_context (self->widget);
  const StudioScene *ghosts;
  const StudioLostWire *lost;
  const gboolean *gone;
  cairo_t *cr;
  guint n;

  if (self->comparison == NULL)
    return;
  ghosts = studio_comparison_get_ghosts (self->comparison, &gone);
  lost = studio_comparison_get_lost_wires (self->comparison, &n);
  cr = begin (snapshot, view);
  draw_wire_marks (self, cr, scene, view, theme);
  for (guint i = 0; i < n; i++)
    {
      StudioCurve curve = studio_geometry_curve (lost[i].x0, lost[i].y0, lost[i].x1, lost[i].y1);

      studio_draw_lost_wire (cr, &curve, view, theme);
    }
  for (guint i = 0; ghosts != NULL && i < ghosts->n_items; i++)
    if (gone[i] && is_visible (view, &ghosts->item[i]))
      {
        StudioRect card = on_screen (view, &ghosts->item[i]);

        studio_draw_ghost (cr, &card, ghosts->item[i].title, is_small (view), context, theme);
      }
  cairo_destroy (cr);
}

void
canvas_marks_snapshot (const CanvasMarks *self, GtkSnapshot *snapshot, const StudioScene *scene, const StudioView *view,
                       const StudioTheme *theme)
{
  PangoContext *context = gtk_widget_get_pango_context (self->widget);
  cairo_t *cr;

  if (self->comparison == NULL)
    return;
  cr = begin (snapshot, view);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioChange *mark = studio_comparison_card (self->comparison, scene->item[i].id);
      StudioRect card;

      if (mark == NULL || !is_visible (view, &scene->item[i]))
        continue;
      card = on_screen (view, &scene->item[i]);
      studio_draw_mark (cr, &card, (StudioMarkKind)mark->kind, mark->words, is_small (view), context, theme);
    }
  cairo_destroy (cr);
}
