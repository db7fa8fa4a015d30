/* Cards are drawn once into a picture, which is kept until the graph changes: panning moves only the rectangle. */
#include "ui/canvas/studio-minimap.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/canvas/canvas-board.h"
#include "ui/drawing/draw-card.h"
#include "ui/scene/studio-map.h"

#define EDGE 12

struct _StudioMinimap
{
  GtkWidget parent_instance;

  StudioCanvas *canvas; /* a weak pointer */
  CanvasBoard *board;   /* of the canvas, and as long as that */
  StudioMap map;
  cairo_surface_t *cards; /* NULL: to be drawn */
  StudioMapDrag drag;
  GtkGesture *gesture;
  gboolean wanted;
  guint update; /* an idle's source */
};

G_DEFINE_FINAL_TYPE (StudioMinimap, studio_minimap, GTK_TYPE_WIDGET)

/* ---- drawing -------------------------------------------------------------- */

static void
draw_frames (cairo_t *cr, const StudioMap *map, const StudioScene *scene, const StudioTheme *theme)
{
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *frame = &scene->annotation[i];
      StudioRect whole = { frame->x, frame->y, frame->width, frame->height }, r = studio_map_rect (map, &whole);
      StudioColor fill = theme->dim;

      if (frame->color != NULL)
        studio_color_parse (frame->color, &fill);
      fill.alpha = 0.18f;
      studio_draw_box (cr, r.x, r.y, r.width, r.height, 2, &fill, 0, NULL);
    }
}

/* One path for each colour: thousands of cards are a few fills. */
static void
draw_cards (cairo_t *cr, const StudioMap *map, const StudioScene *scene, const StudioTheme *theme)
{
  for (int c = 0; c <= LOOM_N_CATEGORIES + 1; c++)
    {
      gboolean any = FALSE;

      for (guint i = 0; i < scene->n_items; i++)
        {
          const StudioItem *item = &scene->item[i];
          StudioRect card = studio_geometry_card (item), r = studio_map_rect (map, &card);
          int category = studio_item_tone (item) == STUDIO_TONE_ERROR ? LOOM_N_CATEGORIES + 1
                         : item->is_module || item->is_frame          ? LOOM_N_CATEGORIES
                         : item->op != NULL                           ? (int)item->op->category
                                                                      : LOOM_CATEGORY_HIDDEN;

          if (category != c)
            continue;
          cairo_rectangle (cr, r.x, r.y, MAX (r.width, 2), MAX (r.height, 1.5));
          any = TRUE;
        }
      if (!any)
        continue;
      studio_color_set (c > LOOM_N_CATEGORIES ? &theme->error : &theme->category[c], cr);
      cairo_fill (cr);
    }
}

static void
draw_picture (StudioMinimap *self)
{
  int factor = gtk_widget_get_scale_factor (GTK_WIDGET (self));
  const StudioTheme *theme = canvas_board_theme (self->board);
  StudioScene *scene = canvas_board_scene (self->board);
  cairo_t *cr;

  self->cards
      = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int)self->map.width * factor, (int)self->map.height * factor);
  cairo_surface_set_device_scale (self->cards, factor, factor);
  cr = cairo_create (self->cards);
  draw_frames (cr, &self->map, scene, theme);
  draw_cards (cr, &self->map, scene, theme);
  cairo_destroy (cr);
}

static void
studio_minimap_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioMinimap *self = STUDIO_MINIMAP (widget);
  const StudioTheme *theme;
  StudioColor ground, fill;
  StudioRect seen;
  cairo_t *cr;

  if (self->canvas == NULL)
    return;
  theme = canvas_board_theme (self->board);
  if (self->cards == NULL)
    draw_picture (self);
  ground = theme->background;
  ground.alpha = 0.92f;
  fill = theme->accent;
  fill.alpha = 0.12f;
  seen = studio_map_visible (&self->map, canvas_board_view (self->board));
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, self->map.width, self->map.height));
  studio_draw_box (cr, 0, 0, self->map.width, self->map.height, 8, &ground, 1, &theme->border);
  cairo_set_source_surface (cr, self->cards, 0, 0);
  cairo_paint (cr);
  studio_draw_box (cr, floor (seen.x), floor (seen.y), ceil (seen.width), ceil (seen.height), 3, &fill, 1.5,
                   &theme->accent);
  cairo_destroy (cr);
}

/* ---- visibility ------------------------------------------------------------ */

/* A pin has what the user wants to see, so the map does not cover one, but it stays while it is dragged. */
static gboolean
update_cb (gpointer data)
{
  StudioMinimap *self = data;
  StudioRect bounds;
  StudioScene *scene;
  StudioMap map;
  gboolean shown;

  self->update = 0;
  if (self->canvas == NULL || self->board->document == NULL)
    return G_SOURCE_REMOVE;
  scene = canvas_board_scene (self->board);
  bounds = studio_map_bounds (scene);
  studio_map_init (&map, &bounds, studio_text_enlargement (gtk_widget_get_pango_context (GTK_WIDGET (self))),
                   canvas_board_view (self->board));
  shown = self->wanted && !self->board->is_bare && !canvas_view_is_presented (self->board->view)
          && studio_map_is_needed (&bounds, canvas_board_view (self->board))
          && (gtk_gesture_is_active (self->gesture)
              || !studio_map_covers_pin (&map, scene, canvas_board_view (self->board), EDGE));
  if (shown)
    {
      if (map.width != self->map.width || map.height != self->map.height)
        gtk_widget_queue_resize (GTK_WIDGET (self));
      self->map = map;
    }
  gtk_widget_set_visible (GTK_WIDGET (self), shown);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  return G_SOURCE_REMOVE;
}

/* The view also changes while the canvas is being allocated, when no widget may appear or disappear. */
static void
view_changed_cb (StudioMinimap *self)
{
  if (self->update == 0)
    self->update = g_idle_add_full (G_PRIORITY_HIGH_IDLE + 15, update_cb, self, NULL);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
graph_changed_cb (StudioMinimap *self)
{
  g_clear_pointer (&self->cards, cairo_surface_destroy);
  view_changed_cb (self);
}

void
studio_minimap_set_wanted (StudioMinimap *self, gboolean wanted)
{
  self->wanted = wanted;
  view_changed_cb (self);
}

/* ---- the pointer ----------------------------------------------------------- */

static void
move_to (StudioMinimap *self, double x, double y)
{
  StudioView view = *canvas_board_view (self->board);

  studio_map_move (&self->map, &self->drag, x, y, &view);
  canvas_view_move_to (self->board->view, view.x, view.y);
}

static void
drag_begin_cb (GtkGestureDrag *gesture, double x, double y, StudioMinimap *self)
{
  if (self->canvas == NULL)
    return;
  studio_map_press (&self->map, canvas_board_view (self->board), x, y, &self->drag);
  move_to (self, x, y);
  gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
}

static void
drag_update_cb (GtkGestureDrag *gesture, double dx, double dy, StudioMinimap *self)
{
  double x, y;

  if (self->canvas != NULL && gtk_gesture_drag_get_start_point (gesture, &x, &y))
    move_to (self, x + dx, y + dy);
}

/* ---- widget ----------------------------------------------------------------- */

static void
studio_minimap_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                        int *minimum_baseline, int *natural_baseline)
{
  StudioMinimap *self = STUDIO_MINIMAP (widget);

  *minimum = *natural = (int)(orientation == GTK_ORIENTATION_HORIZONTAL ? self->map.width : self->map.height);
}

static void
studio_minimap_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (studio_minimap_parent_class)->css_changed (widget, change);
  graph_changed_cb (STUDIO_MINIMAP (widget));
}

static void
studio_minimap_dispose (GObject *object)
{
  StudioMinimap *self = STUDIO_MINIMAP (object);

  g_clear_handle_id (&self->update, g_source_remove);
  g_clear_weak_pointer (&self->canvas);
  g_clear_pointer (&self->cards, cairo_surface_destroy);
  G_OBJECT_CLASS (studio_minimap_parent_class)->dispose (object);
}

static void
studio_minimap_class_init (StudioMinimapClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_minimap_dispose;
  widget_class->snapshot = studio_minimap_snapshot;
  widget_class->measure = studio_minimap_measure;
  widget_class->css_changed = studio_minimap_css_changed;
  gtk_widget_class_set_css_name (widget_class, "studiominimap");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
studio_minimap_init (StudioMinimap *self)
{
  GtkGesture *drag = gtk_gesture_drag_new ();

  /* It belongs to the canvas, which is not mirrored: at the left, cards and the legend of costs would be below it. */
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  gtk_widget_set_halign (GTK_WIDGET (self), GTK_ALIGN_END);
  gtk_widget_set_valign (GTK_WIDGET (self), GTK_ALIGN_END);
  gtk_widget_set_margin_end (GTK_WIDGET (self), EDGE);
  gtk_widget_set_margin_bottom (GTK_WIDGET (self), EDGE);
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), _ ("Drag to move the view"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Minimap"),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  _ ("The whole graph; the rectangle is what the canvas shows"), -1);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect_swapped (drag, "end", G_CALLBACK (view_changed_cb), self);
  self->gesture = drag;
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
}

StudioMinimap *
studio_minimap_new (StudioCanvas *canvas)
{
  StudioMinimap *self = g_object_new (STUDIO_TYPE_MINIMAP, NULL);

  g_set_weak_pointer (&self->canvas, canvas);
  self->board = canvas_board_of (GTK_WIDGET (canvas));
  /* The canvas may be gone before this, and the document after it. */
  g_signal_connect_object (canvas, "view-changed", G_CALLBACK (view_changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->board->document, "changed", G_CALLBACK (graph_changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->board->document, "net-changed", G_CALLBACK (graph_changed_cb), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->board->document, "scope-changed", G_CALLBACK (graph_changed_cb), self,
                           G_CONNECT_SWAPPED);
  return self;
}
