/* The canvas widget: keeps one card a node, places them by translation, and draws grid and wires below them.
 *
 * Cards are allocated in screen pixels, never under a scaling transform: picking and redrawing
 * one of 2,000 then touches that one. Cards out of sight are not child-visible. Input stands in
 * studio-canvas-input.c, commands in studio-canvas-actions.c. */
#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"

guint studio_canvas_signals[STUDIO_CANVAS_N_SIGNALS];

G_DEFINE_FINAL_TYPE (StudioCanvas, studio_canvas, GTK_TYPE_WIDGET)

static StudioDragOp *
studio_drag_op_copy (StudioDragOp *op)
{
  return studio_drag_op_new (op->name, op->is_module);
}

static void
studio_drag_op_free (StudioDragOp *op)
{
  g_free (op->name);
  g_free (op);
}

StudioDragOp *
studio_drag_op_new (const char *name, gboolean is_module)
{
  StudioDragOp *op = g_new0 (StudioDragOp, 1);

  op->name = g_strdup (name);
  op->is_module = is_module;
  return op;
}

G_DEFINE_BOXED_TYPE (StudioDragOp, studio_drag_op, studio_drag_op_copy, studio_drag_op_free)

/* ---- agreement with the document ----------------------------------------- */

static gboolean
is_selected_cb (guint64 serial, gpointer data)
{
  return studio_document_is_selected (STUDIO_CANVAS (data)->document, serial);
}

void
studio_canvas_redraw_wires (StudioCanvas *self)
{
  g_clear_pointer (&self->wires, gsk_render_node_unref);
  g_clear_pointer (&self->pills, gsk_render_node_unref);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

StudioNode *
studio_canvas_node (StudioCanvas *self, guint64 serial)
{
  return g_hash_table_lookup (self->nodes, &serial);
}

static void
remove_node (StudioCanvas *self, GtkWidget *node)
{
  g_hash_table_remove (self->nodes, studio_node_peek_serial (STUDIO_NODE (node)));
  /* The focus must not fall out of the canvas with the card that had it. */
  if (gtk_widget_has_focus (node))
    gtk_widget_grab_focus (GTK_WIDGET (self));
  gtk_accessible_reset_relation (GTK_ACCESSIBLE (node), GTK_ACCESSIBLE_RELATION_FLOW_TO);
  gtk_widget_unparent (node);
}

/* Removes the cards that the scene does not have; all cards when scene is NULL. */
static void
remove_gone (StudioCanvas *self, const StudioScene *scene)
{
  GtkWidget *next;

  for (GtkWidget *child = gtk_widget_get_first_child (GTK_WIDGET (self)); child != NULL; child = next)
    {
      next = gtk_widget_get_next_sibling (child);
      if (STUDIO_IS_NODE (child)
          && (scene == NULL
              || studio_scene_find (scene, studio_node_get_serial (STUDIO_NODE (child))) == STUDIO_NO_ITEM))
        remove_node (self, child);
    }
}

/* More cards than this that come and go at once are a job for starting afresh. */
#define MANY_CARDS 200

/* GTK tells a screen reader at what index each child comes or goes, and counts the children before it to know. One by
 * one among 20,000 others that is a minute; the first child is none. So cards are made from the last to the first, and
 * where many change, all go, each as the first, and all are made anew. */
static gboolean
is_much_new (StudioCanvas *self, const StudioScene *scene)
{
  guint kept = 0, had = g_hash_table_size (self->nodes);

  for (guint i = 0; i < scene->n_items; i++)
    kept += g_hash_table_contains (self->nodes, &scene->item[i].serial);
  return had > 0 && (had - kept) + (scene->n_items - kept) > MANY_CARDS;
}

static void
sync_annotations (StudioCanvas *self, const StudioScene *scene)
{
  GHashTableIter iter;
  gpointer view;

  g_hash_table_iter_init (&iter, self->annotations);
  while (g_hash_table_iter_next (&iter, NULL, &view))
    if (studio_scene_find_annotation (scene, *studio_annotation_view_peek_serial (view)) == STUDIO_NO_ITEM)
      {
        if (gtk_widget_has_focus (view))
          gtk_widget_grab_focus (GTK_WIDGET (self));
        g_hash_table_iter_remove (&iter);
        gtk_widget_unparent (view);
      }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      guint64 serial = scene->annotation[i].serial;

      view = g_hash_table_lookup (self->annotations, &serial);
      if (view == NULL)
        {
          view = studio_annotation_view_new (self, serial);
          gtk_widget_set_parent (view, GTK_WIDGET (self));
          g_hash_table_insert (self->annotations, (gpointer)studio_annotation_view_peek_serial (view), view);
        }
      studio_annotation_view_update (view, scene, i, studio_document_is_selected (self->document, serial));
    }
}

static void
forget_moving (StudioCanvas *self)
{
  g_clear_pointer (&self->moving_items, g_free);
  g_clear_pointer (&self->moving_annotations, g_free);
}

/* While cards are being placed they need not be told to be placed again, and asking then would leave the widgets
 * around the canvas without a size in the very frame that draws them. */
static void
place_again (StudioCanvas *self)
{
  if (!self->allocating)
    gtk_widget_queue_allocate (GTK_WIDGET (self));
}

static void
make_nodes (StudioCanvas *self, const StudioScene *scene)
{
  GtkWidget *next = NULL;

  for (guint i = scene->n_items; i-- > 0;)
    {
      StudioNode *node = studio_canvas_node (self, scene->item[i].serial);

      if (node == NULL)
        {
          node = studio_node_new (self, scene->item[i].serial);
          gtk_widget_insert_before (GTK_WIDGET (node), GTK_WIDGET (self), next);
          g_hash_table_insert (self->nodes, (gpointer)studio_node_peek_serial (node), node);
        }
      next = GTK_WIDGET (node);
      studio_node_update (node, scene, i, studio_document_is_selected (self->document, scene->item[i].serial));
    }
}

static void
sync_scene (StudioCanvas *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  double dx = self->shift_dx, dy = self->shift_dy;
  guint64 focused = 0;
  g_autofree char *description = NULL;

  self->stale = FALSE;
  self->shift_dx = self->shift_dy = 0;
  forget_moving (self);
  if (is_much_new (self, scene))
    {
      focused = studio_canvas_focused (self) != NULL ? self->last_focus : 0;
      remove_gone (self, NULL);
    }
  make_nodes (self, scene);
  if (studio_canvas_node (self, focused) != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (studio_canvas_node (self, focused)));
  for (guint i = 0; i < scene->n_items; i++)
    studio_node_update_accessible (studio_canvas_node (self, scene->item[i].serial), scene,
                                   studio_document_is_selected (self->document, scene->item[i].serial));
  remove_gone (self, scene);
  sync_annotations (self, scene);
  if (dx != 0 || dy != 0)
    studio_canvas_shift (self, dx, dy);
  description = g_strdup_printf ("%u nodes, %u wires", scene->n_items, scene->n_links);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, description, -1);
  studio_canvas_update_actions (self);
  studio_canvas_redraw_wires (self);
  place_again (self);
}

StudioScene *
studio_canvas_scene (StudioCanvas *self)
{
  if (self->stale)
    sync_scene (self);
  return studio_document_get_scene (self->document);
}

/* Before the frame's layout: cards that go ask for a layout, which is too late in the middle of one. */
static gboolean
sync_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  self->sync_tick = 0;
  studio_canvas_scene (self);
  return G_SOURCE_REMOVE;
}

static void
changed_cb (StudioCanvas *self)
{
  /* A wire that is being drawn holds indices into the scene that is gone. */
  studio_canvas_end_gesture (self);
  self->stale = TRUE;
  self->hover = STUDIO_NO_ITEM;
  self->fitted = FALSE;
  studio_canvas_quiet (self);
  if (self->sync_tick == 0)
    self->sync_tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), sync_cb, NULL, NULL);
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

static void
net_changed_cb (StudioCanvas *self)
{
  sync_scene (self);
}

static void
selection_changed_cb (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioNode *node = studio_canvas_node (self, scene->item[i].serial);
      gboolean selected = studio_document_is_selected (self->document, scene->item[i].serial);

      if (node == NULL)
        continue;
      studio_node_update (node, scene, i, selected);
      gtk_accessible_update_state (GTK_ACCESSIBLE (node), GTK_ACCESSIBLE_STATE_SELECTED, selected, -1);
    }
  sync_annotations (self, scene);
  studio_canvas_update_actions (self);
  studio_canvas_redraw_wires (self);
}

static void
zoomed (StudioCanvas *self, double before)
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

static void
scope_changed_cb (StudioCanvas *self)
{
  const char *path = studio_document_get_scope_path (self->document);
  StudioView *view;

  studio_canvas_end_gesture (self);
  if (self->scope_path != NULL)
    g_hash_table_replace (self->views, g_strdup (self->scope_path), g_memdup2 (&self->view, sizeof self->view));
  view = g_strcmp0 (path, self->scope_path) != 0 ? g_hash_table_lookup (self->views, path) : NULL;
  g_free (self->scope_path);
  self->scope_path = g_strdup (path);
  sync_scene (self);
  if (view != NULL)
    {
      double width = self->view.width, height = self->view.height;

      self->view = *view;
      self->view.width = width;
      self->view.height = height;
      zoomed (self, -1);
    }
  else
    studio_canvas_zoom_to_fit (self);
}

/* ---- view ---------------------------------------------------------------- */

void
studio_canvas_view_changed (StudioCanvas *self)
{
  self->fitted = FALSE;
  studio_canvas_redraw_wires (self);
  place_again (self);
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

  studio_view_zoom_at (&self->view, zoom, x, y);
  zoomed (self, before);
}

void
studio_canvas_zoom_to_fit (StudioCanvas *self)
{
  double before = self->view.zoom, top = 0;
  StudioRect bounds;
  StudioView view;

  if (self->view.width <= 0 || self->view.height <= 0)
    {
      self->fit_pending = TRUE;
      return;
    }
  self->fit_pending = FALSE;
  bounds = studio_geometry_bounds (studio_canvas_scene (self));
  view = self->view;
  /* Where the words would take too much of it, the graph is more important than the lower ones, and than all. */
  if (self->inset_top < 0.4 * view.height)
    {
      top = self->inset_top;
      view.height -= top + (top + self->inset_bottom < 0.4 * view.height ? self->inset_bottom : 0);
    }
  studio_view_fit (&view, &bounds);
  /* For the back row everything may be larger than life. */
  if (self->presentation && bounds.width > 0)
    {
      double room = MIN (view.width / (bounds.width + 48), view.height / (bounds.height + 48));

      studio_view_zoom_at (&view, CLAMP (room, view.zoom, 1.6), view.width / 2, view.height / 2);
    }
  view.y -= top / view.zoom;
  view.height = self->view.height;
  self->view = view;
  zoomed (self, before);
  self->fitted = TRUE;
}

void
studio_canvas_set_presentation (StudioCanvas *self, gboolean on)
{
  if (self->presentation == on)
    return;
  self->presentation = on;
  studio_canvas_zoom_to_fit (self);
}

void
studio_canvas_set_insets (StudioCanvas *self, double top, double bottom)
{
  if (self->inset_top == top && self->inset_bottom == bottom)
    return;
  self->inset_top = top;
  self->inset_bottom = bottom;
  if (!self->fitted)
    return;
  self->fit_pending = TRUE;
  gtk_widget_queue_allocate (GTK_WIDGET (self));
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
studio_canvas_get_centre (StudioCanvas *self, double *x, double *y)
{
  studio_view_to_canvas (&self->view, self->view.width / 2, self->view.height / 2, x, y);
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
  for (guint i = 0; i < scene->n_annotations; i++)
    if (self->moving_annotations[i])
      {
        scene->annotation[i].x += by_x;
        scene->annotation[i].y += by_y;
      }
  if (dx == 0 && dy == 0)
    forget_moving (self);
  studio_canvas_redraw_wires (self);
  gtk_widget_queue_allocate (GTK_WIDGET (self));
}

static gboolean
studio_canvas_grab_focus (GtkWidget *widget)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioNode *node = studio_canvas_node (self, self->last_focus);

  if (node != NULL && gtk_widget_get_child_visible (GTK_WIDGET (node)))
    return gtk_widget_grab_focus (GTK_WIDGET (node));
  return GTK_WIDGET_CLASS (studio_canvas_parent_class)->grab_focus (widget);
}

/* ---- drawing ------------------------------------------------------------- */

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

static void
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
    self->wires = studio_wires_render (
        scene, &self->view, theme, gesture->state == STUDIO_GESTURE_WIRING ? gesture->link : 0, is_selected_cb, self);
  if (self->wires != NULL)
    gtk_snapshot_append_node (snapshot, self->wires);
  /* While one wires, the names of ports stand everywhere that shapes would. */
  if (self->pills == NULL && gesture->state != STUDIO_GESTURE_WIRING)
    self->pills = studio_wires_render_pills (scene, &self->view, theme, self->hover,
                                             gtk_widget_get_pango_context (widget), self->texts);
  if (self->pills != NULL && gesture->state != STUDIO_GESTURE_WIRING)
    gtk_snapshot_append_node (snapshot, self->pills);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (gtk_widget_get_child_visible (child) && !GTK_IS_NATIVE (child) && !STUDIO_IS_ANNOTATION_VIEW (child))
      gtk_widget_snapshot_child (widget, child, snapshot);

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
      studio_wires_snapshot_loose (snapshot, &self->view, theme, gesture->from_output ? x0 : x1,
                                   gesture->from_output ? y0 : y1, gesture->from_output ? x1 : x0,
                                   gesture->from_output ? y1 : y0,
                                   port->typed ? &theme->dtype[port->type.dtype] : &theme->accent);
    }
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
  double below = item->y + item->height + (fault.height > 0 ? fault.height + STUDIO_FAULT_GAP : 0) + STUDIO_FAULT_GAP;
  double x, y;
  int width, minimum, height;
  GskTransform *transform;
  StudioRect rect;

  gtk_widget_measure (pin, GTK_ORIENTATION_HORIZONTAL, -1, &minimum, NULL, NULL, NULL);
  width = MAX (minimum, (int)(item->width * self->view.zoom));
  gtk_widget_measure (pin, GTK_ORIENTATION_VERTICAL, width, &height, NULL, NULL, NULL);
  rect = (StudioRect){ item->x, below, width / self->view.zoom, height / self->view.zoom };
  if (self->view.zoom < STUDIO_ZOOM_DETAIL || !studio_rect_intersects (&rect, seen))
    {
      gtk_widget_set_child_visible (pin, FALSE);
      return;
    }
  studio_view_to_screen (&self->view, item->x, below, &x, &y);
  transform = gsk_transform_translate (NULL, &GRAPHENE_POINT_INIT (floor (x), floor (y)));
  gtk_widget_set_child_visible (pin, TRUE);
  gtk_widget_allocate (pin, width, height, -1, transform);
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

static void
studio_canvas_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioScene *scene;
  StudioRect seen;
  GHashTableIter iter;
  gpointer pin;

  if (self->view.width != width || self->view.height != height)
    {
      /* Who looked at all of the graph goes on seeing all of it. */
      if (self->fitted)
        self->fit_pending = TRUE;
      self->view.width = width;
      self->view.height = height;
      g_clear_pointer (&self->wires, gsk_render_node_unref);
      g_clear_pointer (&self->pills, gsk_render_node_unref);
    }
  self->allocating = TRUE;
  scene = studio_canvas_scene (self);
  if (self->fit_pending)
    studio_canvas_zoom_to_fit (self);
  self->allocating = FALSE;
  seen = studio_view_visible (&self->view);
  g_hash_table_iter_init (&iter, self->pins);
  while (g_hash_table_iter_next (&iter, NULL, &pin))
    gtk_widget_set_child_visible (pin, FALSE);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      GtkWidget *node = GTK_WIDGET (studio_canvas_node (self, item->serial));
      StudioRect extent = studio_geometry_extent (item);
      double x, y;

      if (g_hash_table_size (self->pins) > 0 && (pin = g_hash_table_lookup (self->pins, item->path)) != NULL)
        allocate_pin (self, pin, item, &seen);
      /* The focused card keeps the focus where it is out of sight. */
      if (!studio_rect_intersects (&extent, &seen) && !gtk_widget_has_focus (node)
          && !is_held (self, scene, item->serial))
        {
          gtk_widget_set_child_visible (node, FALSE);
          continue;
        }
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

static void
studio_canvas_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                       int *minimum_baseline, int *natural_baseline)
{
  *minimum = 120;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 760 : 480;
}

static void
restyle (StudioCanvas *self, gboolean texts)
{
  GHashTableIter iter;
  gpointer node;

  self->theme_valid = FALSE;
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

static void
studio_canvas_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (studio_canvas_parent_class)->css_changed (widget, change);
  restyle (STUDIO_CANVAS (widget), TRUE);
}

static void
studio_canvas_system_setting_changed (GtkWidget *widget, GtkSystemSetting setting)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  GTK_WIDGET_CLASS (studio_canvas_parent_class)->system_setting_changed (widget, setting);
  if (setting == GTK_SYSTEM_SETTING_ICON_THEME)
    g_hash_table_remove_all (self->icons);
  restyle (self, TRUE);
}

void
studio_canvas_say (StudioCanvas *self, const char *sentence)
{
  g_signal_emit (self, studio_canvas_signals[STUDIO_CANVAS_STATUS], 0, sentence);
}

/* ---- object -------------------------------------------------------------- */

StudioDocument *
studio_canvas_get_document (StudioCanvas *self)
{
  return self->document;
}

enum
{
  PROP_SHOW_COST = 1
};

static void
studio_canvas_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_SHOW_COST)
    g_value_set_boolean (value, STUDIO_CANVAS (object)->show_cost);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
studio_canvas_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  StudioCanvas *self = STUDIO_CANVAS (object);
  GHashTableIter iter;
  gpointer node;

  if (id != PROP_SHOW_COST)
    {
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      return;
    }
  self->show_cost = g_value_get_boolean (value);
  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    gtk_widget_queue_draw (node);
}

static void
studio_canvas_dispose (GObject *object)
{
  StudioCanvas *self = STUDIO_CANVAS (object);
  GtkWidget *child;

  if (self->document != NULL)
    {
      studio_canvas_end_gesture (self);
      if (self->pan_tick != 0)
        gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->pan_tick);
      self->pan_tick = 0;
      if (self->sync_tick != 0)
        gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->sync_tick);
      self->sync_tick = 0;
      g_signal_handlers_disconnect_by_data (self->document, self);
    }
  if (self->nodes != NULL)
    g_hash_table_remove_all (self->nodes);
  if (self->annotations != NULL)
    g_hash_table_remove_all (self->annotations);
  self->popover = NULL;
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  g_clear_pointer (&self->wires, gsk_render_node_unref);
  g_clear_pointer (&self->pills, gsk_render_node_unref);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_canvas_parent_class)->dispose (object);
}

static void
studio_canvas_finalize (GObject *object)
{
  StudioCanvas *self = STUDIO_CANVAS (object);

  g_hash_table_unref (self->nodes);
  g_hash_table_unref (self->annotations);
  forget_moving (self);
  g_hash_table_unref (self->icons);
  g_hash_table_unref (self->texts);
  g_hash_table_unref (self->sprites);
  g_hash_table_unref (self->pins);
  g_hash_table_unref (self->live);
  g_hash_table_unref (self->progress);
  g_hash_table_unref (self->views);
  g_free (self->scope_path);
  g_free (self->lit);
  g_free (self->lit_first);
  G_OBJECT_CLASS (studio_canvas_parent_class)->finalize (object);
}

static void
unref_icon (gpointer icon)
{
  if (icon != NULL)
    g_object_unref (icon);
}

static void
studio_canvas_class_init (StudioCanvasClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  GType type = G_TYPE_FROM_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_canvas_dispose;
  G_OBJECT_CLASS (klass)->finalize = studio_canvas_finalize;
  G_OBJECT_CLASS (klass)->get_property = studio_canvas_get_property;
  G_OBJECT_CLASS (klass)->set_property = studio_canvas_set_property;
  g_object_class_install_property (
      G_OBJECT_CLASS (klass), PROP_SHOW_COST,
      g_param_spec_boolean ("show-cost", NULL, NULL, FALSE, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
  widget_class->snapshot = studio_canvas_snapshot;
  widget_class->size_allocate = studio_canvas_size_allocate;
  widget_class->measure = studio_canvas_measure;
  widget_class->css_changed = studio_canvas_css_changed;
  widget_class->system_setting_changed = studio_canvas_system_setting_changed;
  widget_class->query_tooltip = studio_canvas_query_tooltip;
  widget_class->focus = studio_canvas_focus_vfunc;
  widget_class->grab_focus = studio_canvas_grab_focus;
  studio_canvas_signals[STUDIO_CANVAS_INSPECT]
      = g_signal_new ("inspect", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  studio_canvas_signals[STUDIO_CANVAS_VIEW_CHANGED]
      = g_signal_new ("view-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  studio_canvas_signals[STUDIO_CANVAS_STATUS]
      = g_signal_new ("status", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  gtk_widget_class_set_css_name (widget_class, "studiocanvas");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST);
  studio_canvas_class_init_actions (widget_class);
}

static void
studio_canvas_init (StudioCanvas *self)
{
  self->view.zoom = 1;
  self->hover = STUDIO_NO_ITEM;
  self->fit_pending = TRUE;
  self->scope_path = g_strdup ("");
  self->nodes = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->annotations = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->icons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, unref_icon);
  self->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self->sprites = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)cairo_surface_destroy);
  self->pins = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->live = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->progress = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->views = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  studio_gesture_init (&self->gesture);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, "Graph", -1);
  /* The ring around the canvas goes with the focus. */
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (gtk_widget_queue_draw), NULL);
  studio_canvas_init_input (self);
}

StudioCanvas *
studio_canvas_new (StudioDocument *document)
{
  StudioCanvas *self = g_object_new (STUDIO_TYPE_CANVAS, NULL);

  self->document = g_object_ref (document);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (net_changed_cb), self);
  g_signal_connect_swapped (document, "selection-changed", G_CALLBACK (selection_changed_cb), self);
  g_signal_connect_swapped (document, "scope-changed", G_CALLBACK (scope_changed_cb), self);
  sync_scene (self);
  return self;
}
