#include "ui/canvas/canvas-landing.h"

#include <math.h>

#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-icon.h"
#include "ui/drawing/draw-wires.h"

#define GHOST_ALPHA 0.8
#define FAR_AWAY    1e6

struct _CanvasLanding
{
  GtkWidget *widget;
  StudioDocument *document;
  gboolean is_shown; /* something below is set */
  guint64 card;      /* that is moved; 0: none, or more than one */
  GArray *routes;    /* StudioRoute of each wire without it */
  guint64 wire;      /* that takes what is dropped now; 0: none */
  guint64 fix;       /* the card over whose button the pointer is; 0: none */
  StudioScene *ghost;
};

CanvasLanding *
canvas_landing_new (GtkWidget *widget, StudioDocument *document)
{
  CanvasLanding *self = g_new0 (CanvasLanding, 1);

  self->widget = widget;
  self->document = document;
  return self;
}

static void
clear (CanvasLanding *self)
{
  g_clear_pointer (&self->routes, g_array_unref);
  g_clear_pointer (&self->ghost, studio_scene_free);
  self->card = self->wire = self->fix = 0;
  self->is_shown = FALSE;
}

void
canvas_landing_free (CanvasLanding *self)
{
  clear (self);
  g_free (self);
}

void
canvas_landing_forget (CanvasLanding *self)
{
  if (!self->is_shown)
    return;
  clear (self);
  gtk_widget_queue_draw (self->widget);
}

/* ---- cards that are moved ----------------------------------------------------- */

static void
clear_route (gpointer data)
{
  g_free ((gpointer)((StudioRoute *)data)->piece);
}

static GArray *
copy_routes (StudioScene *scene, guint without)
{
  GArray *routes = g_array_new (FALSE, FALSE, sizeof (StudioRoute));
  double x = scene->item[without].x;
  const StudioRoute *route;

  g_array_set_clear_func (routes, clear_route);
  scene->item[without].x = FAR_AWAY;
  route = studio_scene_routes (scene);
  for (guint l = 0; l < scene->n_links; l++)
    {
      StudioRoute copy = route[l];

      copy.piece = g_memdup2 (copy.piece, copy.n_pieces * sizeof *copy.piece);
      g_array_append_val (routes, copy);
    }
  scene->item[without].x = x;
  return routes;
}

/* The wire that passes nearest to a point and has no end at the item skip; STUDIO_NO_ITEM. */
static guint
wire_near (const StudioScene *scene, const StudioRoute *route, guint skip, double x, double y)
{
  guint best = STUDIO_NO_ITEM;
  double least = STUDIO_CARD_HEIGHT / 2;

  for (guint l = 0; l < scene->n_links; l++)
    {
      double distance;

      if (scene->link[l].from == skip || scene->link[l].to == skip || x < route[l].bounds.x - least
          || x > route[l].bounds.x + route[l].bounds.width + least || y < route[l].bounds.y - least
          || y > route[l].bounds.y + route[l].bounds.height + least)
        continue;
      distance = studio_route_distance (&route[l], x, y);
      if (distance >= least)
        continue;
      least = distance;
      best = l;
    }
  return best;
}

void
canvas_landing_aim (CanvasLanding *self, StudioScene *scene)
{
  guint item, link;
  guint64 wire = 0;

  self->is_shown = TRUE;
  if (self->routes == NULL)
    {
      item = studio_document_n_selected (self->document) == 1
                 ? studio_scene_find (scene, studio_document_get_selected (self->document, 0))
                 : STUDIO_NO_ITEM;
      self->card = item != STUDIO_NO_ITEM ? scene->item[item].serial : 0;
      self->routes
          = item != STUDIO_NO_ITEM ? copy_routes (scene, item) : g_array_new (FALSE, FALSE, sizeof (StudioRoute));
    }
  item = self->card != 0 ? studio_scene_find (scene, self->card) : STUDIO_NO_ITEM;
  if (item == STUDIO_NO_ITEM || self->routes->len != scene->n_links)
    return;
  link = wire_near (scene, (const StudioRoute *)(gpointer)self->routes->data, item,
                    scene->item[item].x + scene->item[item].width / 2,
                    scene->item[item].y + scene->item[item].height / 2);
  if (link != STUDIO_NO_ITEM
      && (scene->link[link].serial == self->wire
          || studio_document_can_insert (self->document, self->card, scene->link[link].serial)))
    wire = scene->link[link].serial;
  self->wire = wire;
}

gboolean
canvas_landing_land (CanvasLanding *self, double dx, double dy)
{
  guint64 card = self->card, wire = self->wire;

  canvas_landing_forget (self);
  return card != 0 && wire != 0 && studio_document_insert_in_wire (self->document, card, wire, dx, dy);
}

/* ---- what comes from the palette ------------------------------------------------- */

StudioAddPlace
canvas_landing_find_place (CanvasLanding *self, const StudioDragOp *drag, StudioScene *scene, const StudioView *view,
                           double x, double y)
{
  const LoomOp *op = drag->is_module ? NULL : loom_op (drag->name);
  StudioAddPlace place = { .kind = STUDIO_ADD_AT };
  guint link;

  studio_view_to_canvas (view, x, y, &place.x, &place.y);
  link = wire_near (scene, studio_scene_routes (scene), STUDIO_NO_ITEM, place.x, place.y);
  if (link == STUDIO_NO_ITEM)
    return place;
  place.kind = STUDIO_ADD_ON_WIRE;
  place.serial = scene->link[link].serial;
  if (op != NULL && studio_document_fit (self->document, op, &place) == LOOM_FIT_NOT)
    place = (StudioAddPlace){ .kind = STUDIO_ADD_AT, .x = place.x, .y = place.y };
  return place;
}

gboolean
canvas_landing_show (CanvasLanding *self, const StudioDragOp *drag, const StudioAddPlace *place, double *below)
{
  self->is_shown = TRUE;
  g_clear_pointer (&self->ghost, studio_scene_free);
  self->ghost = studio_document_preview (self->document, drag->name, drag->is_module, place);
  self->wire = place->kind == STUDIO_ADD_ON_WIRE ? place->serial : 0;
  gtk_widget_queue_draw (self->widget);
  if (self->ghost == NULL)
    return FALSE;
  *below = self->ghost->item[0].y + self->ghost->item[0].height - place->y;
  return TRUE;
}

/* An inserted node as a ghost on its wire. */
static void
show_insert (CanvasLanding *self, const LoomFix *fix)
{
  StudioAddPlace place;

  if (!studio_document_fix_place (self->document, fix, &place))
    return;
  self->is_shown = TRUE;
  self->ghost = studio_document_preview (self->document, fix->op, FALSE, &place);
  self->wire = place.serial;
  gtk_widget_queue_draw (self->widget);
}

void
canvas_landing_preview_fix (CanvasLanding *self, const LoomFix *fix)
{
  canvas_landing_forget (self);
  if (fix != NULL)
    show_insert (self, fix);
}

void
canvas_landing_show_fix (CanvasLanding *self, guint64 serial)
{
  LoomFix *fix;

  if (self->fix == serial)
    return;
  canvas_landing_forget (self);
  if (serial == 0)
    return;
  self->is_shown = TRUE;
  self->fix = serial;
  fix = studio_document_first_fix (self->document, serial);
  if (fix != NULL)
    show_insert (self, fix);
  g_clear_pointer (&fix, loom_fix_free);
}

/* ---- drawing ---------------------------------------------------------------------- */

static void
draw_text (PangoLayout *layout, double x, double y, const StudioColor *color, gpointer cr)
{
  cairo_move_to (cr, x, y);
  studio_color_set (color, cr);
  pango_cairo_show_layout (cr, layout);
}

static void
draw_ghost (const CanvasLanding *self, cairo_t *cr, const StudioView *view, const StudioTheme *theme)
{
  const StudioItem *item = &self->ghost->item[0];
  const StudioFrameStyle look = { .selected = TRUE, .ports = TRUE, .icon = studio_draw_own_icon };
  StudioCardTexts *texts = studio_card_texts_new (gtk_widget_get_pango_context (self->widget), item, NULL, 1);
  double x, y;

  studio_view_to_screen (view, item->x, item->y, &x, &y);
  cairo_save (cr);
  cairo_translate (cr, floor (x + 0.5), floor (y + 0.5));
  cairo_scale (cr, view->zoom, view->zoom);
  cairo_push_group (cr);
  studio_draw_card_frame (cr, item, theme, studio_card_texts_head (texts, item), &look);
  studio_card_texts_put (texts, item, theme, draw_text, cr);
  cairo_pop_group_to_source (cr);
  cairo_paint_with_alpha (cr, GHOST_ALPHA);
  cairo_restore (cr);
  studio_card_texts_free (texts);
}

void
canvas_landing_snapshot (const CanvasLanding *self, GtkSnapshot *snapshot, StudioScene *scene, const StudioView *view,
                         const StudioTheme *theme)
{
  guint link = self->wire != 0 ? studio_scene_find_link (scene, self->wire) : STUDIO_NO_ITEM;
  cairo_t *cr;

  if (link == STUDIO_NO_ITEM && self->ghost == NULL)
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, view->width, view->height));
  if (link != STUDIO_NO_ITEM)
    {
      const StudioRoute *route = self->routes != NULL && link < self->routes->len
                                     ? &g_array_index (self->routes, StudioRoute, link)
                                     : &studio_scene_routes (scene)[link];

      studio_route_path (cr, route, view);
      studio_color_set (&theme->accent, cr);
      cairo_set_line_width (cr, 4);
      cairo_stroke (cr);
    }
  if (self->ghost != NULL && self->ghost->n_items > 0)
    draw_ghost (self, cr, view, theme);
  cairo_destroy (cr);
}
