/* Another graph behind this one: what is new or changed is marked, what is gone stands there as a ghost. */
#include "ui/canvas/studio-canvas-private.h"
#include "ui/drawing/draw-mark.h"
#include "ui/drawing/draw-wires.h"

#define BAND 7.0 /* along a wire that differs, in pixels */

static StudioRect
on_screen (StudioCanvas *self, const StudioItem *item)
{
  StudioRect r = { 0, 0, item->width * self->view.zoom, item->height * self->view.zoom };

  studio_view_to_screen (&self->view, item->x, item->y, &r.x, &r.y);
  return r;
}

static gboolean
is_small (StudioCanvas *self)
{
  return studio_geometry_detail (self->view.zoom) != STUDIO_DETAIL_ALL;
}

static gboolean
is_seen (StudioCanvas *self, const StudioItem *item)
{
  StudioRect extent = studio_geometry_extent (item), seen = studio_view_visible (&self->view);

  return studio_rect_intersects (&extent, &seen);
}

static cairo_t *
begin (StudioCanvas *self, GtkSnapshot *snapshot)
{
  return gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, self->view.width, self->view.height));
}

/* A band beside the wire's own pattern, which still says what type flows there. */
static void
draw_wire_marks (StudioCanvas *self, cairo_t *cr, const StudioScene *scene)
{
  const StudioTheme *theme = studio_canvas_theme (self);
  StudioRect seen = studio_view_visible (&self->view);
  const StudioRoute *route = studio_scene_routes (scene);

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioChange *mark = studio_comparison_wire (self->comparison, scene->link[l].serial);
      StudioColor color;

      if (mark == NULL || !studio_rect_intersects (&route[l].bounds, &seen))
        continue;
      color = *studio_theme_mark (theme, (StudioMarkKind)mark->kind);
      color.alpha = theme->high_contrast ? 0.8f : 0.45f;
      studio_route_path (cr, &route[l], &self->view);
      studio_color_set (&color, cr);
      cairo_set_line_width (cr, BAND);
      cairo_stroke (cr);
    }
}

void
studio_canvas_snapshot_ghosts (StudioCanvas *self, GtkSnapshot *snapshot)
{
  PangoContext *context = gtk_widget_get_pango_context (GTK_WIDGET (self));
  const StudioScene *ghosts, *scene = studio_canvas_scene (self);
  const StudioLostWire *lost;
  const gboolean *gone;
  cairo_t *cr;
  guint n;

  if (self->comparison == NULL)
    return;
  ghosts = studio_comparison_get_ghosts (self->comparison, &gone);
  lost = studio_comparison_get_lost_wires (self->comparison, &n);
  cr = begin (self, snapshot);
  draw_wire_marks (self, cr, scene);
  for (guint i = 0; i < n; i++)
    {
      StudioCurve curve = studio_geometry_curve (lost[i].x0, lost[i].y0, lost[i].x1, lost[i].y1);

      studio_draw_lost_wire (cr, &curve, &self->view, studio_canvas_theme (self));
    }
  for (guint i = 0; ghosts != NULL && i < ghosts->n_items; i++)
    if (gone[i] && is_seen (self, &ghosts->item[i]))
      {
        StudioRect card = on_screen (self, &ghosts->item[i]);

        studio_draw_ghost (cr, &card, ghosts->item[i].title, is_small (self), context, studio_canvas_theme (self));
      }
  cairo_destroy (cr);
}

void
studio_canvas_snapshot_marks (StudioCanvas *self, GtkSnapshot *snapshot)
{
  PangoContext *context = gtk_widget_get_pango_context (GTK_WIDGET (self));
  const StudioScene *scene = studio_canvas_scene (self);
  cairo_t *cr;

  if (self->comparison == NULL)
    return;
  cr = begin (self, snapshot);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioChange *mark = studio_comparison_card (self->comparison, scene->item[i].id);
      StudioRect card;

      if (mark == NULL || !is_seen (self, &scene->item[i]))
        continue;
      card = on_screen (self, &scene->item[i]);
      studio_draw_mark (cr, &card, (StudioMarkKind)mark->kind, mark->words, is_small (self), context,
                        studio_canvas_theme (self));
    }
  cairo_destroy (cr);
}

char *
studio_canvas_dup_mark (StudioCanvas *self, const char *id)
{
  const StudioChange *mark = self->comparison != NULL ? studio_comparison_card (self->comparison, id) : NULL;

  if (mark == NULL)
    return NULL;
  return mark->words != NULL ? g_strdup_printf ("%s: %s", studio_mark_word ((StudioMarkKind)mark->kind), mark->words)
                             : g_strdup (studio_mark_word ((StudioMarkKind)mark->kind));
}

/* Cards say to a screen reader how they differ. Of a document that changes, they do so with the next sync. */
static void
tell_cards (StudioCanvas *self)
{
  const StudioScene *scene = studio_canvas_scene (self);

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioNode *node = studio_canvas_node (self, scene->item[i].serial);

      if (node != NULL)
        studio_node_update_accessible (node, scene,
                                       studio_document_is_selected (self->document, scene->item[i].serial));
    }
}

void
studio_canvas_set_comparison (StudioCanvas *self, StudioComparison *comparison)
{
  if (self->comparison == comparison)
    return;
  if (self->comparison != NULL)
    g_signal_handlers_disconnect_by_data (self->comparison, self);
  g_set_object (&self->comparison, comparison);
  if (comparison != NULL)
    g_signal_connect_swapped (comparison, "changed", G_CALLBACK (gtk_widget_queue_draw), self);
  if (self->document == NULL || gtk_widget_in_destruction (GTK_WIDGET (self)))
    return;
  tell_cards (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_canvas_look_at (StudioCanvas *self, double x, double y)
{
  self->view.x = x - self->view.width / 2 / self->view.zoom;
  self->view.y = y - self->view.height / 2 / self->view.zoom;
  studio_canvas_view_changed (self);
}
