#include "ui/canvas/canvas-board.h"

#include <string.h>

#include "ui/scene/studio-routes.h"

static GQuark
board_quark (void)
{
  return g_quark_from_static_string ("gradloom-canvas-board");
}

CanvasBoard *
canvas_board_of (GtkWidget *widget)
{
  return g_object_get_qdata (G_OBJECT (widget), board_quark ());
}

StudioScene *
canvas_board_scene (CanvasBoard *self)
{
  return canvas_sync_scene (self->sync);
}

const StudioView *
canvas_board_view (const CanvasBoard *self)
{
  return canvas_view_get (self->view);
}

const StudioTheme *
canvas_board_theme (const CanvasBoard *self)
{
  return canvas_pictures_theme (self->pictures);
}

void
canvas_board_say (CanvasBoard *self, const char *sentence)
{
  self->owner.say (sentence, self->owner.data);
}

/* ---- drawing ----------------------------------------------------------------- */

/* While cards are being placed they must not be queued to be placed again: that would leave the widgets around the
 * canvas without a size in the very frame that draws them. */
static void
place_again (CanvasBoard *self)
{
  if (!self->is_allocating)
    gtk_widget_queue_allocate (self->widget);
}

void
canvas_board_redraw_wires (CanvasBoard *self)
{
  canvas_wire_cache_forget (self->wires);
  gtk_widget_queue_draw (self->widget);
}

void
canvas_board_restyle (CanvasBoard *self, gboolean texts)
{
  canvas_pictures_forget_style (self->pictures, texts);
  canvas_cards_restyle (self->cards, texts);
  canvas_board_redraw_wires (self);
}

void
canvas_board_light (CanvasBoard *self)
{
  studio_scene_spotlight_mark_wires (self->spotlight, studio_document_get_scope_path (self->document),
                                     canvas_board_scene (self));
  canvas_board_redraw_wires (self);
}

gboolean
canvas_board_is_selected_cb (guint64 serial, gpointer data)
{
  return studio_document_is_selected (((CanvasBoard *)data)->document, serial);
}

/* ---- the view ----------------------------------------------------------------- */

static void
view_changed_cb (gboolean zoomed, gpointer data)
{
  CanvasBoard *self = data;

  if (zoomed)
    {
      canvas_pictures_forget_frames (self->pictures);
      canvas_cards_redraw (self->cards);
    }
  canvas_board_redraw_wires (self);
  place_again (self);
  self->owner.view_changed (self->owner.data);
}

void
canvas_board_fit (CanvasBoard *self)
{
  canvas_view_fit (self->view, canvas_board_scene (self));
}

void
canvas_board_fit_readable (CanvasBoard *self)
{
  canvas_view_fit_readable (self->view, canvas_board_scene (self));
}

void
canvas_board_fit_again (CanvasBoard *self)
{
  canvas_view_fit_again (self->view, canvas_board_scene (self));
}

static void
extend (StudioRect *bounds, gboolean *any, StudioRect extent)
{
  *bounds = *any ? studio_rect_union (*bounds, extent) : extent;
  *any = TRUE;
}

/* The rectangle around everything that is selected; FALSE: nothing is. */
static gboolean
selected_bounds (CanvasBoard *self, StudioRect *bounds)
{
  StudioScene *scene = canvas_board_scene (self);
  gboolean any = FALSE;

  for (guint i = 0; i < scene->n_items; i++)
    if (studio_document_is_selected (self->document, scene->item[i].serial))
      extend (bounds, &any, studio_geometry_extent (&scene->item[i]));
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *m = &scene->annotation[i];

      if (studio_document_is_selected (self->document, m->serial))
        extend (bounds, &any, (StudioRect){ m->x, m->y, m->width, m->height });
    }
  return any;
}

void
canvas_board_fit_selection (CanvasBoard *self)
{
  StudioRect bounds;

  if (canvas_board_view (self)->width > 0 && selected_bounds (self, &bounds))
    canvas_view_fit_bounds (self->view, &bounds);
  else
    canvas_board_fit (self);
}

/* ---- gestures ------------------------------------------------------------------ */

void
canvas_board_shift (CanvasBoard *self, double dx, double dy)
{
  if (!canvas_shift_to (self->shift, dx, dy))
    return;
  self->gesture.moving = canvas_shift_get_items (self->shift);
  canvas_cards_place_faults (self->cards, studio_document_get_scene (self->document));
  canvas_board_redraw_wires (self);
  gtk_widget_queue_allocate (self->widget);
}

void
canvas_board_bend (CanvasBoard *self, double dx, double dy)
{
  if (canvas_points_bend (self->points, &self->gesture, dx, dy))
    canvas_board_redraw_wires (self);
}

void
canvas_board_end_gesture (CanvasBoard *self)
{
  gboolean was_wiring = self->gesture.state == STUDIO_GESTURE_WIRING;

  canvas_glide_finish (self->glide);
  if (self->gesture.state == STUDIO_GESTURE_IDLE)
    return;
  canvas_tooltip_pause (self->tooltip);
  canvas_board_shift (self, 0, 0);
  canvas_board_bend (self, 0, 0);
  studio_gesture_cancel (&self->gesture);
  canvas_ports_forget_lit (self->ports);
  canvas_ports_forget_refusal (self->ports);
  canvas_landing_forget (self->landing);
  if (was_wiring)
    canvas_cards_redraw_visible (self->cards);
  canvas_board_redraw_wires (self);
}

void
canvas_board_set_point (CanvasBoard *self, guint64 wire, guint point)
{
  canvas_points_set (self->points, wire, point);
  canvas_board_redraw_wires (self);
}

/* ---- the keyboard's position ---------------------------------------------------- */

guint
canvas_board_current (CanvasBoard *self)
{
  return canvas_cards_get_current (self->cards, canvas_board_scene (self));
}

void
canvas_board_focus_item (CanvasBoard *self, guint item, gboolean select)
{
  StudioScene *scene = canvas_board_scene (self);
  StudioRect rect;
  GtkWidget *node;
  guint64 serial;

  if (item >= scene->n_items)
    return;
  rect = studio_geometry_extent (&scene->item[item]);
  serial = scene->item[item].serial;
  node = GTK_WIDGET (canvas_cards_find (self->cards, serial));
  canvas_view_reveal (self->view, &rect);
  gtk_widget_set_child_visible (node, TRUE);
  canvas_cards_set_last_focus (self->cards, serial);
  gtk_widget_grab_focus (node);
  if (select)
    studio_document_select_only (self->document, serial);
}

void
canvas_board_focus_annotation (CanvasBoard *self, guint index)
{
  StudioScene *scene = canvas_board_scene (self);
  StudioRect rect;
  GtkWidget *view;

  if (index >= scene->n_annotations)
    {
      gtk_widget_grab_focus (self->widget);
      return;
    }
  rect = (StudioRect){ scene->annotation[index].x, scene->annotation[index].y, scene->annotation[index].width,
                       scene->annotation[index].height };
  view = GTK_WIDGET (canvas_cards_find_annotation (self->cards, scene->annotation[index].serial));
  canvas_view_reveal (self->view, &rect);
  gtk_widget_set_child_visible (view, TRUE);
  gtk_widget_grab_focus (view);
  studio_document_select_only (self->document, scene->annotation[index].serial);
}

void
canvas_board_focus_selected (CanvasBoard *self)
{
  canvas_board_focus_item (
      self, studio_scene_find (canvas_board_scene (self), studio_document_get_selected (self->document, 0)), FALSE);
}

guint
canvas_board_find_path (CanvasBoard *self, const char *path)
{
  const StudioScene *scene = canvas_board_scene (self);

  for (guint i = 0; i < scene->n_items; i++)
    if (strcmp (scene->item[i].path, path) == 0 || strcmp (scene->item[i].id, path) == 0)
      return i;
  return STUDIO_NO_ITEM;
}

gboolean
canvas_board_focus_path (CanvasBoard *self, const char *path)
{
  guint shown = canvas_board_find_path (self, path);

  /* The card of a collapsed frame has a path of no node. */
  if (shown != STUDIO_NO_ITEM && canvas_board_scene (self)->item[shown].is_frame)
    {
      canvas_board_focus_item (self, shown, TRUE);
      return TRUE;
    }
  if (!studio_document_reveal (self->document, path))
    return FALSE;
  canvas_board_focus_selected (self);
  return TRUE;
}

/* ---- where things are added ------------------------------------------------------ */

void
canvas_board_where_to_add (CanvasBoard *self, double *x, double *y)
{
  const StudioView *view = canvas_board_view (self);
  gboolean inside
      = self->hover.x >= 0 && self->hover.y >= 0 && self->hover.x < view->width && self->hover.y < view->height;

  *x = inside ? self->hover.x : view->width / 2;
  *y = inside ? self->hover.y : view->height / 3;
}

void
canvas_board_add_place (CanvasBoard *self, double x, double y, StudioAddPlace *place)
{
  StudioScene *scene = canvas_board_scene (self);
  guint current = canvas_board_current (self), link = STUDIO_NO_ITEM;

  *place = (StudioAddPlace){ .kind = STUDIO_ADD_AT, .x = x, .y = y };
  if (current == STUDIO_NO_ITEM && studio_document_n_selected (self->document) == 1)
    link = studio_scene_find_link (scene, studio_document_get_selected (self->document, 0));
  if (current != STUDIO_NO_ITEM)
    {
      place->kind = STUDIO_ADD_AFTER;
      place->serial = scene->item[current].serial;
    }
  else if (link != STUDIO_NO_ITEM)
    {
      place->kind = STUDIO_ADD_ON_WIRE;
      place->serial = scene->link[link].serial;
      studio_route_at (&studio_scene_routes (scene)[link], 0.5, &place->x, &place->y);
    }
}

/* ---- the document ---------------------------------------------------------------- */

static void
shift_cb (double dx, double dy, gpointer data)
{
  canvas_board_shift (data, dx, dy);
}

static void
synced_cb (gpointer data)
{
  CanvasBoard *self = data;

  self->owner.changed (self->owner.data);
  canvas_board_light (self);
  place_again (self);
}

static void
changed_cb (CanvasBoard *self)
{
  canvas_glide_drop (self->glide);
  /* The scene has the positions of the graph again, so a drag has nothing to take back. */
  canvas_shift_forget (self->shift);
  canvas_points_forget_bend (self->points);
  /* A wire that is being drawn has indices into the scene that is gone. */
  canvas_board_end_gesture (self);
  self->hover.item = self->hover.link = STUDIO_NO_ITEM;
  canvas_view_forget_fit (self->view);
  canvas_tooltip_pause (self->tooltip);
  canvas_sync_later (self->sync);
}

static void
selection_changed_cb (CanvasBoard *self)
{
  gboolean is_synced = canvas_sync_select (self->sync);

  self->owner.changed (self->owner.data);
  if (is_synced)
    canvas_board_redraw_wires (self);
}

static void
scope_changed_cb (CanvasBoard *self)
{
  canvas_glide_drop (self->glide);
  canvas_view_stop (self->view);
  canvas_board_end_gesture (self);
  canvas_sync_now (self->sync);
  if (!canvas_view_enter_scope (self->view, studio_document_get_scope_path (self->document)))
    canvas_board_fit_readable (self);
}

static StudioScene *
scene_cb (gpointer data)
{
  return canvas_board_scene (data);
}

static void
moved_cb (gpointer data)
{
  CanvasBoard *self = data;

  canvas_cards_place_faults (self->cards, canvas_board_scene (self));
  canvas_board_redraw_wires (self);
  gtk_widget_queue_allocate (self->widget);
}

/* ---- object ----------------------------------------------------------------------- */

CanvasBoard *
canvas_board_new (GtkWidget *widget, StudioDocument *document, CanvasBoardOwner owner)
{
  CanvasBoard *self = g_new0 (CanvasBoard, 1);

  self->widget = widget;
  self->document = g_object_ref (document);
  self->owner = owner;
  self->pictures = canvas_pictures_new (widget);
  self->wires = canvas_wire_cache_new ();
  self->view = canvas_view_new (widget, view_changed_cb, self);
  self->glide = canvas_glide_new (widget, (CanvasGlideOwner){ scene_cb, moved_cb, self });
  self->values = card_values_new ();
  self->options = canvas_options_new ();
  self->spotlight = studio_scene_spotlight_new ();
  self->marks = canvas_marks_new (widget);
  self->shift = canvas_shift_new (document);
  self->points = canvas_points_new (document);
  self->ports = canvas_ports_new (document);
  self->landing = canvas_landing_new (widget, document);
  self->pins = canvas_pins_new (widget);
  self->popover = canvas_popover_new (widget);
  self->tooltip = canvas_tooltip_new (document, owner.describe, owner.data);
  studio_gesture_init (&self->gesture);
  self->hover.item = self->hover.link = STUDIO_NO_ITEM;
  self->context = (CardContext){ .document = document,
                                 .pictures = self->pictures,
                                 .view = self->view,
                                 .values = self->values,
                                 .marks = self->marks,
                                 .ports = self->ports,
                                 .gesture = &self->gesture,
                                 .hover = &self->hover };
  self->cards = canvas_cards_new (widget, &self->context, self->spotlight);
  self->sync = canvas_sync_new (widget, document, self->cards, self->options, self->shift,
                                (CanvasSyncOwner){ shift_cb, synced_cb, self });
  g_object_set_qdata (G_OBJECT (widget), board_quark (), self);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (document, "net-changed", G_CALLBACK (canvas_sync_now), self->sync);
  g_signal_connect_swapped (document, "selection-changed", G_CALLBACK (selection_changed_cb), self);
  g_signal_connect_swapped (document, "scope-changed", G_CALLBACK (scope_changed_cb), self);
  return self;
}

void
canvas_board_close (CanvasBoard *self)
{
  GtkWidget *child;

  if (self->document == NULL)
    return;
  canvas_glide_drop (self->glide);
  canvas_view_stop (self->view);
  canvas_board_end_gesture (self);
  canvas_landing_forget (self->landing);
  canvas_sync_stop (self->sync);
  g_signal_handlers_disconnect_by_data (self->document, self);
  g_signal_handlers_disconnect_by_data (self->document, self->sync);
  canvas_cards_forget (self->cards);
  canvas_popover_forget (self->popover);
  while ((child = gtk_widget_get_first_child (self->widget)) != NULL)
    gtk_widget_unparent (child);
  canvas_marks_set (self->marks, NULL);
  canvas_wire_cache_forget (self->wires);
  g_object_set_qdata (G_OBJECT (self->widget), board_quark (), NULL);
  g_clear_object (&self->document);
}

void
canvas_board_free (CanvasBoard *self)
{
  canvas_sync_free (self->sync);
  canvas_cards_free (self->cards);
  canvas_tooltip_free (self->tooltip);
  canvas_popover_free (self->popover);
  canvas_pins_free (self->pins);
  canvas_landing_free (self->landing);
  canvas_ports_free (self->ports);
  canvas_points_free (self->points);
  canvas_shift_free (self->shift);
  canvas_marks_free (self->marks);
  studio_scene_spotlight_free (self->spotlight);
  canvas_options_free (self->options);
  card_values_free (self->values);
  canvas_glide_free (self->glide);
  canvas_view_free (self->view);
  canvas_wire_cache_free (self->wires);
  canvas_pictures_free (self->pictures);
  g_free (self->sick);
  g_free (self->complaint);
  g_free (self);
}
