/* Drawing and placing: grid, wires and sprites in one snapshot, cards and pins by translation.
 *
 * Cards are allocated in screen pixels, never under a scaling transform: picking and redrawing one of 2,000 then
 * touches that one. Cards out of sight are not child-visible. */
#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-cost.h"
#include "ui/drawing/draw-types.h"

const StudioTheme *
studio_canvas_theme (StudioCanvas *self)
{
  if (!self->theme_valid)
    {
      studio_theme_load (&self->theme, GTK_WIDGET (self));
      self->theme_valid = TRUE;
    }
  return &self->theme;
}

PangoLayout *
studio_canvas_far_text (StudioCanvas *self)
{
  if (self->far_text == NULL)
    self->far_text = gtk_widget_create_pango_layout (GTK_WIDGET (self), NULL);
  return self->far_text;
}

GdkPaintable *
studio_canvas_icon (StudioCanvas *self, const char *name)
{
  gpointer icon = NULL;

  if (!g_hash_table_lookup_extended (self->icons, name, NULL, &icon))
    {
      GtkIconTheme *theme = gtk_icon_theme_get_for_display (gtk_widget_get_display (GTK_WIDGET (self)));

      GtkIconPaintable *found
          = gtk_icon_theme_lookup_icon (theme, name, NULL, 16, gtk_widget_get_scale_factor (GTK_WIDGET (self)),
                                        gtk_widget_get_direction (GTK_WIDGET (self)), GTK_ICON_LOOKUP_FORCE_SYMBOLIC);

      /* A theme that lacks it gives a broken picture, which would say that something is wrong with the layer. */
      if (g_strcmp0 (gtk_icon_paintable_get_icon_name (found), "image-missing") == 0)
        g_clear_object (&found);
      icon = found;
      g_hash_table_insert (self->icons, g_strdup (name), icon);
    }
  return icon;
}

/* At the lower left: what bars are shares of, and above it how types are drawn. */
static void
snapshot_legends (StudioCanvas *self, GtkSnapshot *snapshot, const StudioScene *scene)
{
  PangoContext *context = gtk_widget_get_pango_context (GTK_WIDGET (self));
  double y = self->view.height - 12;
  cairo_t *cr;

  if (self->presentation || scene->n_items == 0 || (self->measure == STUDIO_MEASURE_NONE && !self->types_legend))
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, self->view.width, self->view.height));
  if (self->measure != STUDIO_MEASURE_NONE)
    {
      PangoLayout *text = studio_small_text_new (context, "");

      y -= studio_draw_cost_legend (cr, scene, self->measure, 12, y, studio_canvas_theme (self), text) + 6;
      g_object_unref (text);
    }
  if (self->types_legend)
    studio_draw_types_legend (cr, scene, 12, y, studio_canvas_theme (self), context);
  cairo_destroy (cr);
}

/* The lines that a dragged card has come onto. */
static void
draw_guides (StudioCanvas *self, GtkSnapshot *snapshot, const StudioTheme *theme)
{
  const StudioSnapped *snapped = &self->gesture.snapped;

  for (guint i = 0; i < snapped->n_guides; i++)
    {
      const StudioGuide *guide = &snapped->guide[i];
      double x0, y0, x1, y1;

      studio_view_to_screen (&self->view, guide->is_upright ? guide->at : guide->from,
                             guide->is_upright ? guide->from : guide->at, &x0, &y0);
      studio_view_to_screen (&self->view, guide->is_upright ? guide->at : guide->to,
                             guide->is_upright ? guide->to : guide->at, &x1, &y1);
      gtk_snapshot_append_color (snapshot, studio_rgba (&theme->accent),
                                 &GRAPHENE_RECT_INIT (floor (x0), floor (y0), MAX (1, floor (x1) - floor (x0)),
                                                      MAX (1, floor (y1) - floor (y0))));
    }
}

/* The point of a wire that keys mean. */
static void
snapshot_point (StudioCanvas *self, GtkSnapshot *snapshot, const graphene_rect_t *all)
{
  StudioScene *scene = studio_canvas_scene (self);
  const StudioTheme *theme = studio_canvas_theme (self);
  guint link, point;
  cairo_t *cr;

  if (!studio_canvas_current_point (self, &link, &point))
    return;
  cr = gtk_snapshot_append_cairo (snapshot, all);
  studio_draw_point (cr, &scene->link[link].point[point], &self->view, theme, &theme->accent, TRUE);
  cairo_destroy (cr);
}

/* The shape of the wire under the pointer, where it does not stand on the wire. */
static void
snapshot_shape (StudioCanvas *self, GtkSnapshot *snapshot, const graphene_rect_t *all)
{
  StudioScene *scene = studio_canvas_scene (self);
  cairo_t *cr;

  if (self->hover_link >= scene->n_links || self->gesture.state != STUDIO_GESTURE_IDLE)
    return;
  cr = gtk_snapshot_append_cairo (snapshot, all);
  studio_draw_shape_label_above (cr, scene, &self->view, studio_canvas_theme (self), self->hover_link, self->pointer_x,
                                 self->pointer_y, self->view.zoom < STUDIO_ZOOM_SHAPE_LABELS,
                                 gtk_widget_get_pango_context (GTK_WIDGET (self)), self->texts);
  cairo_destroy (cr);
}

void
studio_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioScene *scene = studio_canvas_scene (self);
  const StudioTheme *theme = studio_canvas_theme (self);
  graphene_rect_t all = GRAPHENE_RECT_INIT (0, 0, self->view.width, self->view.height);
  const StudioGesture *gesture = &self->gesture;

  gtk_snapshot_push_clip (snapshot, &all);
  gtk_snapshot_append_color (snapshot, studio_rgba (&theme->background), &all);
  if (!self->bare)
    studio_wires_snapshot_grid (snapshot, &self->view, theme);
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      GtkWidget *view = g_hash_table_lookup (self->annotations, &scene->annotation[i].serial);

      if (view != NULL && gtk_widget_get_child_visible (view))
        gtk_widget_snapshot_child (widget, view, snapshot);
    }
  if (self->wires == NULL)
    self->wires
        = studio_wires_render (scene, &self->view, theme, gesture->state == STUDIO_GESTURE_WIRING ? gesture->link : 0,
                               studio_canvas_is_selected_cb, self);
  if (self->wires != NULL)
    gtk_snapshot_append_node (snapshot, self->wires);
  studio_canvas_snapshot_ghosts (self, snapshot);
  /* While one wires, the names of ports stand everywhere that shapes would. */
  if (self->pills == NULL && gesture->state != STUDIO_GESTURE_WIRING)
    self->pills = studio_wires_render_pills (scene, &self->view, theme, self->hover,
                                             gtk_widget_get_pango_context (widget), self->texts);
  if (self->pills != NULL && gesture->state != STUDIO_GESTURE_WIRING)
    gtk_snapshot_append_node (snapshot, self->pills);
  snapshot_point (self, snapshot, &all);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (gtk_widget_get_child_visible (child) && !GTK_IS_NATIVE (child) && !STUDIO_IS_ANNOTATION_VIEW (child))
      gtk_widget_snapshot_child (widget, child, snapshot);

  studio_canvas_snapshot_marks (self, snapshot);
  snapshot_legends (self, snapshot, scene);
  snapshot_shape (self, snapshot, &all);
  if (gesture->state == STUDIO_GESTURE_WIRING && gesture->fixed_item < scene->n_items)
    {
      double x0, y0, x1 = gesture->x, y1 = gesture->y;
      const StudioItem *item = &scene->item[gesture->fixed_item];
      const StudioPort *port
          = gesture->from_output ? &item->output[gesture->fixed_port] : &item->input[gesture->fixed_port];

      studio_geometry_port (item, gesture->from_output, gesture->fixed_port, &x0, &y0);
      if (gesture->target.kind != STUDIO_HIT_NOTHING)
        studio_geometry_port (&scene->item[gesture->target.item], !gesture->from_output, gesture->target.port, &x1,
                              &y1);
      studio_wires_snapshot_loose (snapshot, &self->view, theme, scene->flow, gesture->from_output ? x0 : x1,
                                   gesture->from_output ? y0 : y1, gesture->from_output ? x1 : x0,
                                   gesture->from_output ? y1 : y0,
                                   port->typed ? &theme->dtype[port->type.dtype] : &theme->accent);
    }
  if (gesture->state == STUDIO_GESTURE_MOVING)
    draw_guides (self, snapshot, theme);
  if (gesture->state == STUDIO_GESTURE_BOXING)
    {
      double x, y;
      GdkRGBA fill = *studio_rgba (&theme->accent);
      GskRoundedRect outline;
      const float one[4] = { 1, 1, 1, 1 };
      const GdkRGBA accent = *studio_rgba (&theme->accent), colours[4] = { accent, accent, accent, accent };
      graphene_rect_t r;

      studio_view_to_screen (&self->view, gesture->box.x, gesture->box.y, &x, &y);
      r = GRAPHENE_RECT_INIT (floor (x), floor (y), ceil (gesture->box.width * self->view.zoom),
                              ceil (gesture->box.height * self->view.zoom));
      fill.alpha = 0.12;
      gtk_snapshot_append_color (snapshot, &fill, &r);
      gsk_rounded_rect_init_from_rect (&outline, &r, 0);
      gtk_snapshot_append_border (snapshot, &outline, one, colours);
    }
  studio_canvas_snapshot_hints (self, snapshot);
  if (gtk_widget_has_visible_focus (widget))
    {
      GskRoundedRect outline;
      const float two[4] = { 2, 2, 2, 2 };
      const GdkRGBA accent = *studio_rgba (&theme->accent), colours[4] = { accent, accent, accent, accent };

      gsk_rounded_rect_init_from_rect (&outline, &all, 0);
      gtk_snapshot_append_border (snapshot, &outline, two, colours);
    }
  gtk_snapshot_pop (snapshot);
}

static void
allocate_pin (StudioCanvas *self, GtkWidget *pin, const StudioItem *item, const StudioRect *seen)
{
  StudioRect fault = studio_geometry_fault (item);
  StudioPoint corner = { item->x, item->y + item->height + STUDIO_FAULT_GAP };
  double x, y;
  int width, minimum, height;
  GskTransform *transform;
  StudioRect rect;

  gtk_widget_measure (pin, GTK_ORIENTATION_HORIZONTAL, -1, &minimum, NULL, NULL, NULL);
  if (item->flow == STUDIO_FLOW_DOWN)
    corner = (StudioPoint){ item->x + item->width + STUDIO_FAULT_GAP, item->y };
  if (fault.height > 0 && (item->fault_place == STUDIO_FAULT_BELOW || item->fault_place == STUDIO_FAULT_AT_RIGHT))
    corner.y += fault.height + STUDIO_FAULT_GAP;
  width = MAX (minimum, (int)(STUDIO_CARD_WIDTH * self->view.zoom));
  gtk_widget_measure (pin, GTK_ORIENTATION_VERTICAL, width, NULL, &height, NULL, NULL);
  rect = (StudioRect){ corner.x, corner.y, width / self->view.zoom, height / self->view.zoom };
  if (self->view.zoom < STUDIO_ZOOM_DETAIL || !studio_rect_intersects (&rect, seen))
    {
      gtk_widget_set_child_visible (pin, FALSE);
      return;
    }
  studio_view_to_screen (&self->view, corner.x, corner.y, &x, &y);
  transform = gsk_transform_translate (NULL, &GRAPHENE_POINT_INIT (floor (x), floor (y)));
  gtk_widget_set_child_visible (pin, TRUE);
  gtk_widget_allocate (pin, width, height, -1, transform);
}

/* A pin stands at the card of its node or, where that is inside a module, at the module's card, if that has none of its
 * own: of several the first by name. */
static void
allocate_pins (StudioCanvas *self, const StudioScene *scene, const StudioRect *seen)
{
  g_autoptr (GHashTable) inner = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer path, pin, card;

  g_hash_table_iter_init (&iter, self->pins);
  while (g_hash_table_iter_next (&iter, &path, &pin))
    {
      guint i = studio_scene_card_of (scene, path);
      const char *other;

      gtk_widget_set_child_visible (pin, FALSE);
      if (i == STUDIO_NO_ITEM)
        continue;
      if (strcmp (scene->item[i].path, path) == 0)
        allocate_pin (self, pin, &scene->item[i], seen);
      else if (!g_hash_table_contains (self->pins, scene->item[i].path))
        {
          other = g_hash_table_lookup (inner, GUINT_TO_POINTER (i));
          if (other == NULL || strcmp (path, other) < 0)
            g_hash_table_replace (inner, GUINT_TO_POINTER (i), path);
        }
    }
  g_hash_table_iter_init (&iter, inner);
  while (g_hash_table_iter_next (&iter, &card, &path))
    allocate_pin (self, g_hash_table_lookup (self->pins, path), &scene->item[GPOINTER_TO_UINT (card)], seen);
}

/* The widget that a drag began on has the pointer until the button is released. GTK would take the pointer from one
 * that is no longer shown, and the drag would never end. */
static gboolean
is_held (StudioCanvas *self, const StudioScene *scene, guint64 serial)
{
  const StudioGesture *gesture = &self->gesture;
  const StudioHit *pressed = &gesture->pressed;
  gboolean on_port = pressed->kind == STUDIO_HIT_INPUT || pressed->kind == STUDIO_HIT_OUTPUT;

  if (gesture->state == STUDIO_GESTURE_IDLE)
    return FALSE;
  return serial
         == (on_port && pressed->item < scene->n_items ? scene->item[pressed->item].serial : gesture->pressed_serial);
}

void
studio_canvas_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioScene *scene;
  StudioRect seen;

  if (self->view.width != width || self->view.height != height)
    {
      /* Who looked at all of the graph goes on seeing all of it. */
      if (self->fitted)
        self->fit_pending = TRUE;
      self->view.width = width;
      self->view.height = height;
      g_clear_pointer (&self->wires, gsk_render_node_unref);
      g_clear_pointer (&self->pills, gsk_render_node_unref);
      g_signal_emit (self, studio_canvas_signals[STUDIO_CANVAS_VIEW_CHANGED], 0);
    }
  self->allocating = TRUE;
  scene = studio_canvas_scene (self);
  if (self->fit_pending)
    studio_canvas_fit_again (self);
  self->allocating = FALSE;
  seen = studio_view_visible (&self->view);
  allocate_pins (self, scene, &seen);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      GtkWidget *node = GTK_WIDGET (studio_canvas_node (self, item->serial));
      StudioRect extent = studio_geometry_extent (item);
      double x, y;

      /* The focused card keeps the focus where it is out of sight. */
      if (!studio_rect_intersects (&extent, &seen) && !gtk_widget_has_focus (node)
          && !is_held (self, scene, item->serial))
        {
          studio_node_hide (STUDIO_NODE (node));
          continue;
        }
      /* A node draws from its card's corner; a bubble above or before that is drawn beyond its allocation. */
      extent.width -= item->x - STUDIO_CARD_MARGIN - extent.x;
      extent.x = item->x - STUDIO_CARD_MARGIN;
      extent.height -= item->y - STUDIO_CARD_MARGIN - extent.y;
      extent.y = item->y - STUDIO_CARD_MARGIN;
      studio_view_to_screen (&self->view, extent.x, extent.y, &x, &y);
      gtk_widget_set_child_visible (node, TRUE);
      gtk_widget_allocate (node, ceil (extent.width * self->view.zoom), ceil (extent.height * self->view.zoom), -1,
                           gsk_transform_translate (NULL, &GRAPHENE_POINT_INIT (floor (x + 0.5), floor (y + 0.5))));
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *annotation = &scene->annotation[i];
      StudioRect rect = { annotation->x, annotation->y, annotation->width, annotation->height };
      GtkWidget *view = g_hash_table_lookup (self->annotations, &annotation->serial);
      double x, y;

      if (view == NULL)
        continue;
      gtk_widget_set_child_visible (view, studio_rect_intersects (&rect, &seen) || gtk_widget_has_focus (view)
                                              || is_held (self, scene, annotation->serial));
      if (!gtk_widget_get_child_visible (view))
        continue;
      studio_view_to_screen (&self->view, rect.x, rect.y, &x, &y);
      gtk_widget_allocate (view, ceil (rect.width * self->view.zoom), ceil (rect.height * self->view.zoom), -1,
                           gsk_transform_translate (NULL, &GRAPHENE_POINT_INIT (floor (x + 0.5), floor (y + 0.5))));
    }
  if (self->popover != NULL)
    gtk_popover_present (GTK_POPOVER (self->popover));
}

void
studio_canvas_restyle (StudioCanvas *self, gboolean texts)
{
  GHashTableIter iter;
  gpointer node;

  self->theme_valid = FALSE;
  g_clear_object (&self->far_text);
  g_hash_table_remove_all (self->sprites);
  if (texts)
    g_hash_table_remove_all (self->texts);
  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    studio_node_refresh (node, texts);
  g_hash_table_iter_init (&iter, self->annotations);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    gtk_widget_queue_draw (node);
  studio_canvas_redraw_wires (self);
}
