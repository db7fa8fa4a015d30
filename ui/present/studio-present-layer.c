/* Spotlight and pen over the canvas; see the header. */
#include "ui/present/studio-present-layer.h"

#include <math.h>

#include "ui/charts/studio-type.h"
#include "ui/present/studio-spotlight.h"
#include "ui/present/studio-ink.h"

#define BEAM_RADIUS  120.0 /* pixels, and more on a large screen */
#define BEAM_SHARE   0.17  /* of the canvas's smaller side */
#define PEN_WIDTH    4.0
#define ERASER_REACH 10.0

static const GdkRGBA dark = { 0, 0, 0, 0.62 };
/* Red, blue, green and orange of GNOME's palette, which are distinguishable on light and on dark backgrounds. */
static const GdkRGBA colours[STUDIO_INK_COLOURS] = { { 0.878f, 0.106f, 0.141f, 1 },
                                                     { 0.208f, 0.518f, 0.894f, 1 },
                                                     { 0.180f, 0.639f, 0.439f, 1 },
                                                     { 0.902f, 0.380f, 0, 1 } };

struct _StudioPresentLayer
{
  GtkWidget parent_instance;
  StudioCanvas *canvas; /* weak */
  StudioInk *ink;
  StudioTool tool;
  guint colour;
  gboolean spotlight, inside;
  double x, y;               /* of the pointer */
  double erased_x, erased_y; /* the last position of the eraser */
};

G_DEFINE_FINAL_TYPE (StudioPresentLayer, studio_present_layer, GTK_TYPE_WIDGET)

static guint changed_signal;

static void
changed (StudioPresentLayer *self)
{
  gtk_widget_queue_draw (GTK_WIDGET (self));
  g_signal_emit (self, changed_signal, 0);
}

/* ---- drawing -------------------------------------------------------------------- */

static void
draw_edge (GtkSnapshot *snapshot, const StudioSpotlight *beam, const graphene_rect_t *tile)
{
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, tile);

  gdk_cairo_set_source_rgba (cr, &dark);
  cairo_paint (cr);
  cairo_set_operator (cr, CAIRO_OPERATOR_CLEAR);
  cairo_arc (cr, beam->x, beam->y, beam->radius, 0, 2 * G_PI);
  if (beam->card_width > 0)
    cairo_rectangle (cr, beam->card_x, beam->card_y, beam->card_width, beam->card_height);
  cairo_fill (cr);
  cairo_destroy (cr);
}

/* Each tile is one node in every state, so that GTK can compare it with the tile of the last frame. */
static void
snapshot_beam (StudioPresentLayer *self, GtkSnapshot *snapshot, double width, double height)
{
  StudioSpotlight beam = { self->x, self->y, MAX (BEAM_RADIUS, BEAM_SHARE * MIN (width, height)), 0, 0, 0, 0 };
  graphene_rect_t card;

  if (!self->inside)
    beam.radius = 0;
  else if (studio_canvas_get_card_at (self->canvas, self->x, self->y, &card))
    {
      beam.card_x = card.origin.x;
      beam.card_y = card.origin.y;
      beam.card_width = card.size.width;
      beam.card_height = card.size.height;
    }
  for (double y = 0; y < height; y += STUDIO_SPOTLIGHT_TILE)
    for (double x = 0; x < width; x += STUDIO_SPOTLIGHT_TILE)
      {
        const double w = MIN (STUDIO_SPOTLIGHT_TILE, width - x), h = MIN (STUDIO_SPOTLIGHT_TILE, height - y);
        const StudioSpotlightTile tile = studio_spotlight_tile (&beam, x, y, w, h);
        const graphene_rect_t rect = GRAPHENE_RECT_INIT ((float)x, (float)y, (float)w, (float)h);

        if (tile == STUDIO_SPOTLIGHT_EDGE)
          draw_edge (snapshot, &beam, &rect);
        else
          gtk_snapshot_append_color (snapshot, tile == STUDIO_SPOTLIGHT_DARK ? &dark : &(GdkRGBA){ 0, 0, 0, 0 }, &rect);
      }
}

static void
draw_stroke (GtkSnapshot *snapshot, const StudioStroke *stroke, double x0, double y0, double zoom,
             const StudioInkArea *seen)
{
  const StudioInkPoint *point = (const StudioInkPoint *)stroke->points->data;
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT ((float)seen->x, (float)seen->y, (float)seen->width, (float)seen->height));

  gdk_cairo_set_source_rgba (cr, &colours[stroke->colour]);
  cairo_set_line_width (cr, stroke->width * zoom);
  cairo_set_line_cap (cr, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_move_to (cr, (point[0].x - x0) * zoom, (point[0].y - y0) * zoom);
  /* A stroke of one point is a dot. */
  for (guint i = 0; i < stroke->points->len; i++)
    cairo_line_to (cr, (point[i].x - x0) * zoom, (point[i].y - y0) * zoom);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

static void
layer_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioPresentLayer *self = STUDIO_PRESENT_LAYER (widget);
  const double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  double x0, y0, zoom;
  StudioInkArea seen;

  if (self->canvas == NULL)
    return;
  studio_canvas_get_view (self->canvas, &x0, &y0, &zoom);
  for (guint i = 0; i < studio_ink_n_strokes (self->ink); i++)
    if (studio_stroke_visible (studio_ink_get_stroke (self->ink, i), x0, y0, zoom, width, height, &seen))
      draw_stroke (snapshot, studio_ink_get_stroke (self->ink, i), x0, y0, zoom, &seen);
  if (self->spotlight)
    snapshot_beam (self, snapshot, width, height);
}

/* ---- pointer and stylus ------------------------------------------------------------ */

static void
to_canvas (StudioPresentLayer *self, double *x, double *y, double *zoom)
{
  double x0, y0;

  studio_canvas_get_view (self->canvas, &x0, &y0, zoom);
  *x = x0 + *x / *zoom;
  *y = y0 + *y / *zoom;
}

static void
erase (StudioPresentLayer *self, double x, double y)
{
  double zoom;

  to_canvas (self, &x, &y, &zoom);
  if (studio_ink_erase (self->ink, x, y, ERASER_REACH / zoom))
    changed (self);
}

/* Erases along the line from the last position of the eraser, because a fast pointer reports few points. */
static void
erase_to (StudioPresentLayer *self, double x, double y)
{
  const double dx = x - self->erased_x, dy = y - self->erased_y;
  const int n = MAX ((int)ceil (hypot (dx, dy) / ERASER_REACH), 1);

  for (int i = n - 1; i >= 0; i--)
    erase (self, x - dx * i / n, y - dy * i / n);
  self->erased_x = x;
  self->erased_y = y;
}

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, StudioPresentLayer *self)
{
  double zoom;

  gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_CLAIMED);
  if (self->tool == STUDIO_TOOL_ERASER)
    {
      self->erased_x = x;
      self->erased_y = y;
      erase (self, x, y);
      return;
    }
  to_canvas (self, &x, &y, &zoom);
  studio_ink_begin (self->ink, self->colour, PEN_WIDTH / zoom, x, y);
  changed (self);
}

static void
drag_update_cb (GtkGestureDrag *drag, double dx, double dy, StudioPresentLayer *self)
{
  double x, y, zoom;

  gtk_gesture_drag_get_start_point (drag, &x, &y);
  x += dx;
  y += dy;
  self->x = x;
  self->y = y;
  if (self->tool == STUDIO_TOOL_ERASER)
    {
      erase_to (self, x, y);
      return;
    }
  if (self->tool != STUDIO_TOOL_PEN || studio_ink_n_strokes (self->ink) == 0)
    return;
  to_canvas (self, &x, &y, &zoom);
  studio_ink_extend (self->ink, x, y);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
motion_cb (GtkEventControllerMotion *motion, double x, double y, StudioPresentLayer *self)
{
  self->x = x;
  self->y = y;
  self->inside = TRUE;
  if (self->spotlight)
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
leave_cb (GtkEventControllerMotion *motion, StudioPresentLayer *self)
{
  self->inside = FALSE;
  if (self->spotlight)
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
watch_pointer (StudioPresentLayer *self, GtkWidget *widget)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();

  gtk_event_controller_set_propagation_phase (motion, GTK_PHASE_CAPTURE);
  g_signal_connect_object (motion, "enter", G_CALLBACK (motion_cb), self, 0);
  g_signal_connect_object (motion, "motion", G_CALLBACK (motion_cb), self, 0);
  g_signal_connect_object (motion, "leave", G_CALLBACK (leave_cb), self, 0);
  gtk_widget_add_controller (widget, motion);
}

/* ---- tools --------------------------------------------------------------------------- */

void
studio_present_layer_set_spotlight (StudioPresentLayer *self, gboolean on)
{
  if (self->spotlight == on)
    return;
  self->spotlight = on;
  changed (self);
}

gboolean
studio_present_layer_get_spotlight (StudioPresentLayer *self)
{
  return self->spotlight;
}

void
studio_present_layer_set_tool (StudioPresentLayer *self, StudioTool tool)
{
  static const char *const cursors[]
      = { [STUDIO_TOOL_NONE] = NULL, [STUDIO_TOOL_PEN] = "crosshair", [STUDIO_TOOL_ERASER] = "cell" };

  if (self->tool == tool)
    return;
  self->tool = tool;
  gtk_widget_set_can_target (GTK_WIDGET (self), tool != STUDIO_TOOL_NONE);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), cursors[tool]);
  changed (self);
}

StudioTool
studio_present_layer_get_tool (StudioPresentLayer *self)
{
  return self->tool;
}

void
studio_present_layer_set_colour (StudioPresentLayer *self, guint colour)
{
  g_return_if_fail (colour < STUDIO_INK_COLOURS);

  self->colour = colour;
  changed (self);
}

guint
studio_present_layer_n_strokes (StudioPresentLayer *self)
{
  return studio_ink_n_strokes (self->ink);
}

void
studio_present_layer_clear (StudioPresentLayer *self)
{
  if (studio_ink_n_strokes (self->ink) == 0)
    return;
  studio_ink_clear (self->ink);
  changed (self);
}

/* ---- class ---------------------------------------------------------------------------- */

static void
layer_dispose (GObject *object)
{
  StudioPresentLayer *self = STUDIO_PRESENT_LAYER (object);

  g_clear_weak_pointer (&self->canvas);
  g_clear_pointer (&self->ink, studio_ink_free);
  G_OBJECT_CLASS (studio_present_layer_parent_class)->dispose (object);
}

static void
studio_present_layer_class_init (StudioPresentLayerClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = layer_dispose;
  widget_class->snapshot = layer_snapshot;
  gtk_widget_class_set_css_name (widget_class, "presentlayer");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_PRESENT_LAYER, 0);
}

static void
studio_present_layer_init (StudioPresentLayer *self)
{
  GtkGesture *drag = gtk_gesture_drag_new ();

  self->ink = studio_ink_new ();
  gtk_widget_set_can_target (GTK_WIDGET (self), FALSE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
}

StudioPresentLayer *
studio_present_layer_new (StudioCanvas *canvas)
{
  StudioPresentLayer *self = g_object_new (STUDIO_TYPE_PRESENT_LAYER, NULL);

  g_set_weak_pointer (&self->canvas, canvas);
  watch_pointer (self, GTK_WIDGET (canvas));
  watch_pointer (self, GTK_WIDGET (self));
  g_signal_connect_object (canvas, "view-changed", G_CALLBACK (gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
  return self;
}
