/* Where a drag will land: the ghost of a card that comes from the palette, and the wire that takes what is dropped on
 * it.
 *
 * Wires make way for a card that is moved across them. What it may be dropped on is therefore judged by the ways that
 * the wires would take without it, which are kept while the drag goes on. */
#include <math.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-icon.h"
#include "ui/drawing/draw-wires.h"

#define GHOST_ALPHA 0.8
#define FAR_AWAY    1e6

struct _StudioLanding
{
  guint64 card; /* that is moved; 0: none, or not one alone */
  GArray *ways; /* StudioRoute of each wire without it */
  guint64 wire; /* that takes what is dropped now; 0: none */
  guint64 fix;  /* the card over whose button the pointer is; 0: none */
  StudioScene *ghost;
};

static void
clear_way (gpointer data)
{
  g_free ((gpointer)((StudioRoute *)data)->piece);
}

static StudioLanding *
landing_of (StudioCanvas *self)
{
  if (self->landing == NULL)
    self->landing = g_new0 (StudioLanding, 1);
  return self->landing;
}

void
studio_canvas_forget_landing (StudioCanvas *self)
{
  StudioLanding *landing = g_steal_pointer (&self->landing);

  if (landing == NULL)
    return;
  g_clear_pointer (&landing->ways, g_array_unref);
  g_clear_pointer (&landing->ghost, studio_scene_free);
  g_free (landing);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* ---- cards that are moved ----------------------------------------------------- */

static GArray *
copy_ways (StudioScene *scene, guint without)
{
  GArray *ways = g_array_new (FALSE, FALSE, sizeof (StudioRoute));
  double x = scene->item[without].x;
  const StudioRoute *route;

  g_array_set_clear_func (ways, clear_way);
  scene->item[without].x = FAR_AWAY;
  route = studio_scene_routes (scene);
  for (guint l = 0; l < scene->n_links; l++)
    {
      StudioRoute way = route[l];

      way.piece = g_memdup2 (way.piece, way.n_pieces * sizeof *way.piece);
      g_array_append_val (ways, way);
    }
  scene->item[without].x = x;
  return ways;
}

/* The wire that passes nearest to a point, where none of its ends is this item; STUDIO_NO_ITEM. */
static guint
wire_near (const StudioScene *scene, const StudioRoute *way, guint skip, double x, double y)
{
  guint best = STUDIO_NO_ITEM;
  double least = STUDIO_CARD_HEIGHT / 2;

  for (guint l = 0; l < scene->n_links; l++)
    {
      double distance;

      if (scene->link[l].from == skip || scene->link[l].to == skip || x < way[l].bounds.x - least
          || x > way[l].bounds.x + way[l].bounds.width + least || y < way[l].bounds.y - least
          || y > way[l].bounds.y + way[l].bounds.height + least)
        continue;
      distance = studio_route_distance (&way[l], x, y);
      if (distance >= least)
        continue;
      least = distance;
      best = l;
    }
  return best;
}

void
studio_canvas_aim (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  StudioLanding *landing = landing_of (self);
  guint item, link;
  guint64 wire = 0;

  if (landing->ways == NULL)
    {
      item = studio_document_n_selected (self->document) == 1
                 ? studio_scene_find (scene, studio_document_get_selected (self->document, 0))
                 : STUDIO_NO_ITEM;
      landing->card = item != STUDIO_NO_ITEM ? scene->item[item].serial : 0;
      landing->ways
          = item != STUDIO_NO_ITEM ? copy_ways (scene, item) : g_array_new (FALSE, FALSE, sizeof (StudioRoute));
    }
  item = landing->card != 0 ? studio_scene_find (scene, landing->card) : STUDIO_NO_ITEM;
  if (item == STUDIO_NO_ITEM || landing->ways->len != scene->n_links)
    return;
  link = wire_near (scene, (const StudioRoute *)(gpointer)landing->ways->data, item,
                    scene->item[item].x + scene->item[item].width / 2,
                    scene->item[item].y + scene->item[item].height / 2);
  if (link != STUDIO_NO_ITEM
      && (scene->link[link].serial == landing->wire
          || studio_document_can_insert (self->document, landing->card, scene->link[link].serial)))
    wire = scene->link[link].serial;
  landing->wire = wire;
}

gboolean
studio_canvas_land (StudioCanvas *self, double dx, double dy)
{
  guint64 card = self->landing != NULL ? self->landing->card : 0;
  guint64 wire = self->landing != NULL ? self->landing->wire : 0;

  studio_canvas_forget_landing (self);
  return card != 0 && wire != 0 && studio_document_insert_in_wire (self->document, card, wire, dx, dy);
}

/* ---- what comes from the palette ------------------------------------------------- */

/* At this point of the widget: in a wire that passes there and takes it, else alone. */
static StudioAddPlace
place_at (StudioCanvas *self, const StudioDragOp *drag, double x, double y)
{
  StudioScene *scene = studio_canvas_scene (self);
  const LoomOp *op = drag->is_module ? NULL : loom_op (drag->name);
  StudioAddPlace place = { .kind = STUDIO_ADD_AT };
  guint link;

  studio_view_to_canvas (&self->view, x, y, &place.x, &place.y);
  link = wire_near (scene, studio_scene_routes (scene), STUDIO_NO_ITEM, place.x, place.y);
  if (link == STUDIO_NO_ITEM)
    return place;
  place.kind = STUDIO_ADD_ON_WIRE;
  place.serial = scene->link[link].serial;
  if (op != NULL && studio_document_fit (self->document, op, &place) == STUDIO_FIT_NOT)
    place = (StudioAddPlace){ .kind = STUDIO_ADD_AT, .x = place.x, .y = place.y };
  return place;
}

#define HOT 12 /* where the palette's row hangs at the pointer */

/* Over the canvas the row that hangs at the pointer would hide the ghost: it is held below it. */
static void
hold_row (GtkDropTarget *target, double below)
{
  GdkDrop *drop = gtk_drop_target_get_current_drop (target);
  GdkDrag *drag = drop != NULL ? gdk_drop_get_drag (drop) : NULL;

  if (drag != NULL)
    gdk_drag_set_hotspot (drag, HOT, below > 0 ? -(int)below - HOT : HOT);
}

static GdkDragAction
motion_cb (GtkDropTarget *target, double x, double y, StudioCanvas *self)
{
  const GValue *value = gtk_drop_target_get_value (target);
  const StudioDragOp *drag = value != NULL ? g_value_get_boxed (value) : NULL;
  StudioLanding *landing = landing_of (self);
  StudioAddPlace place;

  if (drag == NULL)
    return GDK_ACTION_COPY;
  place = place_at (self, drag, x, y);
  g_clear_pointer (&landing->ghost, studio_scene_free);
  landing->ghost = studio_document_preview (self->document, drag->name, drag->is_module, &place);
  if (landing->ghost != NULL)
    {
      const StudioItem *card = &landing->ghost->item[0];

      hold_row (target, (card->y + card->height - place.y) * self->view.zoom);
    }
  landing->wire = place.kind == STUDIO_ADD_ON_WIRE ? place.serial : 0;
  gtk_widget_queue_draw (GTK_WIDGET (self));
  return GDK_ACTION_COPY;
}

static void
leave_cb (GtkDropTarget *target, StudioCanvas *self)
{
  hold_row (target, 0);
  studio_canvas_forget_landing (self);
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, StudioCanvas *self)
{
  const StudioDragOp *drag = g_value_get_boxed (value);
  g_autofree char *said = NULL;
  StudioAddPlace place;
  guint64 serial;

  studio_canvas_forget_landing (self);
  if (drag == NULL)
    return FALSE;
  place = place_at (self, drag, x, y);
  serial = studio_document_add (self->document, drag->name, drag->is_module, NULL, &place, &said);
  if (said != NULL)
    studio_canvas_say (self, said);
  if (serial == 0)
    return FALSE;
  studio_canvas_focus_item (self, studio_scene_find (studio_canvas_scene (self), serial), FALSE);
  return TRUE;
}

void
studio_canvas_init_landing (StudioCanvas *self)
{
  GtkDropTarget *drop = gtk_drop_target_new (STUDIO_TYPE_DRAG_OP, GDK_ACTION_COPY);

  /* The dragged operator is known while it is over the canvas, and not only when it is dropped. */
  gtk_drop_target_set_preload (drop, TRUE);
  g_signal_connect (drop, "enter", G_CALLBACK (motion_cb), self);
  g_signal_connect (drop, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (drop, "leave", G_CALLBACK (leave_cb), self);
  g_signal_connect (drop, "drop", G_CALLBACK (drop_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drop));
}

/* ---- remedies ---------------------------------------------------------------------- */

/* While the pointer is over a card's button, what would come of it stands there already. */
void
studio_canvas_preview_fix (StudioCanvas *self, guint64 serial)
{
  StudioMend *mend;
  StudioAddPlace place;

  if ((self->landing != NULL ? self->landing->fix : 0) == serial)
    return;
  studio_canvas_forget_landing (self);
  if (serial == 0)
    return;
  landing_of (self)->fix = serial;
  mend = studio_document_first_mend (self->document, serial);
  if (mend != NULL && studio_document_mend_place (self->document, mend, &place))
    {
      self->landing->ghost = studio_document_preview (self->document, mend->op, FALSE, &place);
      self->landing->wire = place.serial;
      gtk_widget_queue_draw (GTK_WIDGET (self));
    }
  g_clear_pointer (&mend, studio_mend_free);
}

void
studio_canvas_apply_mend (StudioCanvas *self, const StudioMend *mend)
{
  studio_canvas_forget_landing (self);
  if (mend->kind == STUDIO_MEND_ASK)
    studio_quick_add_ask (self, mend->node, mend->port);
  else if (mend->kind == STUDIO_MEND_OPEN)
    studio_canvas_focus_path (self, mend->value);
  else
    studio_document_apply_mend (self->document, mend);
}

void
studio_canvas_fix (StudioCanvas *self, guint64 serial)
{
  StudioMend *mend = studio_document_first_mend (self->document, serial);

  if (mend == NULL || mend->kind == STUDIO_MEND_FIX)
    {
      studio_canvas_forget_landing (self);
      studio_document_apply_fix (self->document, serial);
    }
  else
    studio_canvas_apply_mend (self, mend);
  g_clear_pointer (&mend, studio_mend_free);
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
draw_ghost (StudioCanvas *self, cairo_t *cr, const StudioItem *item)
{
  const StudioFrameStyle look = { .selected = TRUE, .ports = TRUE, .icon = studio_draw_own_icon };
  const StudioTheme *theme = studio_canvas_theme (self);
  StudioCardTexts *texts = studio_card_texts_new (gtk_widget_get_pango_context (GTK_WIDGET (self)), item, NULL, 1);
  double x, y;

  studio_view_to_screen (&self->view, item->x, item->y, &x, &y);
  cairo_save (cr);
  cairo_translate (cr, floor (x + 0.5), floor (y + 0.5));
  cairo_scale (cr, self->view.zoom, self->view.zoom);
  cairo_push_group (cr);
  studio_draw_card_frame (cr, item, theme, studio_card_texts_head (texts, item), &look);
  studio_card_texts_put (texts, item, theme, draw_text, cr);
  cairo_pop_group_to_source (cr);
  cairo_paint_with_alpha (cr, GHOST_ALPHA);
  cairo_restore (cr);
  studio_card_texts_free (texts);
}

void
studio_canvas_snapshot_landing (StudioCanvas *self, GtkSnapshot *snapshot)
{
  const StudioLanding *landing = self->landing;
  StudioScene *scene = studio_canvas_scene (self);
  guint link = landing != NULL && landing->wire != 0 ? studio_scene_find_link (scene, landing->wire) : STUDIO_NO_ITEM;
  cairo_t *cr;

  if (landing == NULL || (link == STUDIO_NO_ITEM && landing->ghost == NULL))
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, self->view.width, self->view.height));
  if (link != STUDIO_NO_ITEM)
    {
      const StudioRoute *way = landing->ways != NULL && link < landing->ways->len
                                   ? &g_array_index (landing->ways, StudioRoute, link)
                                   : &studio_scene_routes (scene)[link];

      studio_route_path (cr, way, &self->view);
      studio_color_set (&studio_canvas_theme (self)->accent, cr);
      cairo_set_line_width (cr, 4);
      cairo_stroke (cr);
    }
  if (landing->ghost != NULL && landing->ghost->n_items > 0)
    draw_ghost (self, cr, &landing->ghost->item[0]);
  cairo_destroy (cr);
}
