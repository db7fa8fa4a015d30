/* The canvas widget: its class, its properties and signals, and the functions of its header, which go to the parts of
 * its board. */
#include "ui/canvas/studio-canvas.h"

#include <glib/gi18n.h>

#include "ui/canvas/canvas-board.h"
#include "ui/canvas/canvas-drawing.h"
#include "ui/canvas/canvas-drop.h"
#include "ui/canvas/canvas-fix.h"
#include "ui/canvas/canvas-keys.h"
#include "ui/canvas/canvas-menu.h"
#include "ui/canvas/canvas-pointer.h"
#include "ui/canvas/canvas-scroll.h"
#include "ui/charts/studio-type.h"
#include "ui/scene/studio-routes.h"

struct _StudioCanvas
{
  GtkWidget parent_instance;

  CanvasBoard *board;
  CanvasCommands *commands;
  CanvasPointer *pointer;
  StudioMeasure last_measure; /* that the key for costs shows again */
};

G_DEFINE_FINAL_TYPE (StudioCanvas, studio_canvas, GTK_TYPE_WIDGET)

enum
{
  SIGNAL_INSPECT,
  SIGNAL_VIEW_CHANGED,
  SIGNAL_STATUS,
  SIGNAL_DESCRIBE,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

enum
{
  PROP_SHOW_COST = 1,
  PROP_COST_MEASURE,
  PROP_SHOW_HEALTH
};

/* ---- virtual functions of the widget ---------------------------------------- */

static gboolean
studio_canvas_grab_focus (GtkWidget *widget)
{
  CanvasCards *cards = STUDIO_CANVAS (widget)->board->cards;
  StudioNode *node = canvas_cards_find (cards, canvas_cards_get_last_focus (cards));

  if (node != NULL && gtk_widget_get_child_visible (GTK_WIDGET (node)))
    return gtk_widget_grab_focus (GTK_WIDGET (node));
  return GTK_WIDGET_CLASS (studio_canvas_parent_class)->grab_focus (widget);
}

/* From a card Tab goes to its pins, and Shift+Tab back from the first of them. */
static gboolean
focus_pins (CanvasBoard *board, GtkWidget *child, GtkDirectionType direction)
{
  const guint item = canvas_board_current (board);
  GtkWidget *pins
      = item != STUDIO_NO_ITEM ? canvas_pins_get (board->pins, canvas_board_scene (board)->item[item].path) : NULL;

  if (pins == NULL || !gtk_widget_get_child_visible (pins))
    return FALSE;
  if (child == pins)
    {
      if (gtk_widget_child_focus (pins, direction))
        return TRUE;
      return direction == GTK_DIR_TAB_BACKWARD && studio_canvas_grab_focus (board->widget);
    }
  return direction == GTK_DIR_TAB_FORWARD && STUDIO_IS_NODE (child) && gtk_widget_child_focus (pins, direction);
}

/* One Tab stop: Tab enters at the card that had the focus last, and leaves the canvas from any card or its pins. */
static gboolean
studio_canvas_focus (GtkWidget *widget, GtkDirectionType direction)
{
  CanvasBoard *board = STUDIO_CANVAS (widget)->board;
  GtkWidget *child = gtk_widget_get_focus_child (widget);
  StudioScene *scene;
  guint item;

  /* In a menu the arrow keys go from entry to entry. */
  if (child != NULL && GTK_IS_POPOVER (child))
    return gtk_widget_child_focus (child, direction);
  if (child != NULL && focus_pins (board, child, direction))
    return TRUE;
  if (child != NULL || gtk_widget_has_focus (widget))
    return FALSE;
  scene = canvas_board_scene (board);
  item = studio_scene_find (scene, canvas_cards_get_last_focus (board->cards));
  if (item == STUDIO_NO_ITEM && scene->n_items > 0)
    item = 0;
  if (item == STUDIO_NO_ITEM)
    return gtk_widget_grab_focus (widget);
  canvas_board_focus_item (board, item, FALSE);
  return TRUE;
}

static void
studio_canvas_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                       int *minimum_baseline, int *natural_baseline)
{
  *minimum = 120;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 760 : 480;
}

static void
studio_canvas_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  CanvasBoard *board = STUDIO_CANVAS (widget)->board;
  StudioScene *scene;

  if (canvas_view_set_size (board->view, width, height))
    {
      canvas_wire_cache_forget (board->wires);
      g_signal_emit (widget, signals[SIGNAL_VIEW_CHANGED], 0);
    }
  board->is_allocating = TRUE;
  scene = canvas_board_scene (board);
  if (canvas_view_needs_fit (board->view))
    canvas_board_fit_again (board);
  board->is_allocating = FALSE;
  canvas_pins_allocate (board->pins, scene, canvas_board_view (board));
  canvas_cards_allocate (board->cards, scene, canvas_board_view (board),
                         studio_gesture_get_held (&board->gesture, scene));
  canvas_popover_present (board->popover);
}

static void
studio_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  canvas_drawing_snapshot (STUDIO_CANVAS (widget)->board, snapshot);
}

static void
studio_canvas_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  GTK_WIDGET_CLASS (studio_canvas_parent_class)->css_changed (widget, change);
  if (self->board != NULL)
    canvas_board_restyle (self->board, TRUE);
}

static void
studio_canvas_system_setting_changed (GtkWidget *widget, GtkSystemSetting setting)
{
  CanvasBoard *board = STUDIO_CANVAS (widget)->board;

  GTK_WIDGET_CLASS (studio_canvas_parent_class)->system_setting_changed (widget, setting);
  if (setting == GTK_SYSTEM_SETTING_ICON_THEME)
    canvas_pictures_forget_icons (board->pictures);
  canvas_board_restyle (board, TRUE);
}

/* In a text field, a tooltip of the canvas would only come from a pointer that was left over it. */
static gboolean
is_typing (GtkWidget *widget)
{
  GtkRoot *root = gtk_widget_get_root (widget);
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;

  return focus != NULL && GTK_IS_EDITABLE (focus);
}

static gboolean
studio_canvas_query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  CanvasBoard *board = STUDIO_CANVAS (widget)->board;
  const StudioView *view = canvas_board_view (board);
  StudioScene *scene = canvas_board_scene (board);
  StudioHit hit = studio_geometry_hit (scene, view, x, y);
  g_autofree char *markup = NULL;

  if (keyboard || board->gesture.state != STUDIO_GESTURE_IDLE || canvas_popover_get (board->popover) != NULL
      || canvas_tooltip_is_paused (board->tooltip) || is_typing (widget))
    return FALSE;
  markup = canvas_tooltip_dup_markup (board->tooltip, scene, &hit, view->zoom);
  if (markup == NULL)
    return FALSE;
  gtk_tooltip_set_markup (tooltip, markup);
  return TRUE;
}

/* ---- object -------------------------------------------------------------- */

static void
studio_canvas_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  StudioMeasure measure = STUDIO_CANVAS (object)->board->context.measure;

  if (id == PROP_SHOW_COST)
    g_value_set_boolean (value, measure != STUDIO_MEASURE_NONE);
  else if (id == PROP_COST_MEASURE)
    g_value_set_string (value, studio_measure_name (measure));
  else if (id == PROP_SHOW_HEALTH)
    g_value_set_boolean (value, STUDIO_CANVAS (object)->board->context.shows_health);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
set_health (StudioCanvas *self, gboolean on)
{
  CardContext *context = &self->board->context;

  if (context->shows_health == on)
    return;
  context->shows_health = on;
  canvas_board_restyle (self->board, FALSE);
  g_object_notify (G_OBJECT (self), "show-health");
}

/* Costs and health have the same place on a card. */
static void
set_measure (StudioCanvas *self, StudioMeasure measure)
{
  if (self->board->context.measure == measure)
    return;
  self->board->context.measure = measure;
  if (measure != STUDIO_MEASURE_NONE)
    {
      self->last_measure = measure;
      set_health (self, FALSE);
    }
  canvas_board_restyle (self->board, FALSE);
  g_object_notify (G_OBJECT (self), "show-cost");
  g_object_notify (G_OBJECT (self), "cost-measure");
}

static void
studio_canvas_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  StudioCanvas *self = STUDIO_CANVAS (object);

  if (id == PROP_SHOW_COST)
    set_measure (self, g_value_get_boolean (value) ? self->last_measure : STUDIO_MEASURE_NONE);
  else if (id == PROP_COST_MEASURE)
    set_measure (self, studio_measure_find (g_value_get_string (value)));
  else if (id == PROP_SHOW_HEALTH)
    {
      if (g_value_get_boolean (value))
        set_measure (self, STUDIO_MEASURE_NONE);
      set_health (self, g_value_get_boolean (value));
    }
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
studio_canvas_dispose (GObject *object)
{
  StudioCanvas *self = STUDIO_CANVAS (object);

  canvas_pointer_stop (self->pointer);
  canvas_board_close (self->board);
  G_OBJECT_CLASS (studio_canvas_parent_class)->dispose (object);
}

static void
studio_canvas_finalize (GObject *object)
{
  const StudioCanvas parts = *STUDIO_CANVAS (object);

  /* Event controllers, which call the parts, go with the widget. */
  G_OBJECT_CLASS (studio_canvas_parent_class)->finalize (object);
  canvas_pointer_free (parts.pointer);
  canvas_commands_free (parts.commands);
  canvas_board_free (parts.board);
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
      g_param_spec_boolean ("show-cost", NULL, NULL, FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY));
  /* The name of a StudioMeasure. */
  g_object_class_install_property (
      G_OBJECT_CLASS (klass), PROP_COST_MEASURE,
      g_param_spec_string ("cost-measure", NULL, NULL, "none",
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY));
  g_object_class_install_property (
      G_OBJECT_CLASS (klass), PROP_SHOW_HEALTH,
      g_param_spec_boolean ("show-health", NULL, NULL, FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY));
  widget_class->snapshot = studio_canvas_snapshot;
  widget_class->size_allocate = studio_canvas_size_allocate;
  widget_class->measure = studio_canvas_measure;
  widget_class->css_changed = studio_canvas_css_changed;
  widget_class->system_setting_changed = studio_canvas_system_setting_changed;
  widget_class->query_tooltip = studio_canvas_query_tooltip;
  widget_class->focus = studio_canvas_focus;
  widget_class->grab_focus = studio_canvas_grab_focus;
  signals[SIGNAL_INSPECT] = studio_signal_new ("inspect", type, 0);
  signals[SIGNAL_VIEW_CHANGED] = studio_signal_new ("view-changed", type, 0);
  signals[SIGNAL_STATUS] = studio_signal_new ("status", type, 1, G_TYPE_STRING);
  signals[SIGNAL_DESCRIBE] = studio_signal_new ("describe", type, 1, G_TYPE_STRING);
  gtk_widget_class_set_css_name (widget_class, "studiocanvas");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST);
  canvas_commands_install (widget_class);
  canvas_menu_install (widget_class);
  gtk_widget_class_install_property_action (widget_class, "canvas.show-cost", "show-cost");
  gtk_widget_class_add_binding_action (widget_class, GDK_KEY_c, GDK_CONTROL_MASK | GDK_SHIFT_MASK, "canvas.show-cost",
                                       NULL);
}

static void
studio_canvas_init (StudioCanvas *self)
{
  /* Data flow from left to right also for readers from right to left: cards are placed as they are wired. */
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  self->last_measure = STUDIO_MEASURE_OPERATIONS;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Graph"), -1);
  /* The ring around the canvas follows the focus. */
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (gtk_widget_queue_draw), NULL);
}

static void
say_cb (const char *sentence, gpointer self)
{
  g_signal_emit (self, signals[SIGNAL_STATUS], 0, sentence);
}

static void
inspect_cb (gpointer self)
{
  g_signal_emit (self, signals[SIGNAL_INSPECT], 0);
}

static void
describe_cb (const char *path, gpointer self)
{
  g_signal_emit (self, signals[SIGNAL_DESCRIBE], 0, path);
}

static void
view_changed_cb (gpointer self)
{
  g_signal_emit (self, signals[SIGNAL_VIEW_CHANGED], 0);
}

static void
changed_cb (gpointer self)
{
  canvas_commands_update (STUDIO_CANVAS (self)->commands);
}

StudioCanvas *
studio_canvas_new (StudioDocument *document)
{
  StudioCanvas *self = g_object_new (STUDIO_TYPE_CANVAS, NULL);
  CanvasBoardOwner owner = { say_cb, inspect_cb, describe_cb, view_changed_cb, changed_cb, self };

  self->board = canvas_board_new (GTK_WIDGET (self), document, owner);
  self->commands = canvas_commands_new (GTK_WIDGET (self), document);
  self->pointer = canvas_pointer_new (self->board);
  canvas_scroll_add (self->board);
  canvas_keys_add (self->board);
  canvas_drop_add (self->board);
  canvas_menu_add (self->board);
  canvas_sync_now (self->board->sync);
  return self;
}

StudioDocument *
studio_canvas_get_document (StudioCanvas *self)
{
  return self->board->document;
}

gboolean
studio_canvas_can (StudioCanvas *self, const char *name)
{
  return canvas_commands_can (self->commands, name);
}

/* ---- the view -------------------------------------------------------------- */

double
studio_canvas_get_zoom (StudioCanvas *self)
{
  return canvas_board_view (self->board)->zoom;
}

void
studio_canvas_zoom_at (StudioCanvas *self, double zoom, double x, double y)
{
  canvas_view_zoom_at (self->board->view, zoom, x, y);
}

void
studio_canvas_set_chips (StudioCanvas *self, const graphene_rect_t *bounds)
{
  StudioRect rect = { 0, 0, 0, 0 };

  if (bounds != NULL)
    rect = (StudioRect){ bounds->origin.x, bounds->origin.y, bounds->size.width, bounds->size.height };
  canvas_view_set_chips (self->board->view, &rect);
}

void
studio_canvas_zoom_to_fit (StudioCanvas *self)
{
  canvas_board_fit (self->board);
}

void
studio_canvas_zoom_to_selection (StudioCanvas *self)
{
  canvas_board_fit_selection (self->board);
}

void
studio_canvas_show_part (StudioCanvas *self, const graphene_rect_t *part, gboolean keep)
{
  canvas_view_show_part (self->board->view, part, keep, canvas_board_scene (self->board));
}

void
studio_canvas_fit_again (StudioCanvas *self)
{
  canvas_board_fit_again (self->board);
}

void
studio_canvas_get_view (StudioCanvas *self, double *x, double *y, double *zoom)
{
  const StudioView *view = canvas_board_view (self->board);

  *x = view->x;
  *y = view->y;
  *zoom = view->zoom;
}

void
studio_canvas_look_at (StudioCanvas *self, double x, double y)
{
  canvas_view_center (self->board->view, x, y);
}

void
studio_canvas_set_presentation (StudioCanvas *self, gboolean on)
{
  if (canvas_view_set_presented (self->board->view, on))
    canvas_board_fit_readable (self->board);
}

/* ---- editing ---------------------------------------------------------------- */

void
studio_canvas_end_editing (StudioCanvas *self)
{
  canvas_popover_close (self->board->popover);
}

void
studio_canvas_add (StudioCanvas *self, const char *name, gboolean is_module)
{
  CanvasBoard *board = self->board;
  StudioAddPlace place;
  g_autofree char *said = NULL;
  double x, y;
  guint64 serial;

  canvas_view_get_center (board->view, &x, &y);
  canvas_board_add_place (board, x, y, &place);
  serial = studio_document_add (board->document, name, is_module, NULL, &place, &said);
  if (said != NULL)
    canvas_board_say (board, said);
  if (serial != 0)
    canvas_board_focus_item (board, studio_scene_find (canvas_board_scene (board), serial), FALSE);
}

void
studio_canvas_apply_fix (StudioCanvas *self, const LoomFix *fix)
{
  canvas_fix_apply (self->board, fix);
}

void
studio_canvas_preview_fix (StudioCanvas *self, const LoomFix *fix)
{
  canvas_landing_preview_fix (self->board->landing, fix);
}

gboolean
studio_canvas_focus_path (StudioCanvas *self, const char *path)
{
  return canvas_board_focus_path (self->board, path);
}

void
studio_canvas_keep_in_sight (StudioCanvas *self, const char *path)
{
  const StudioScene *scene = canvas_board_scene (self->board);
  const guint item = studio_scene_card_of (scene, path);
  StudioRect rect;

  if (item == STUDIO_NO_ITEM)
    return;
  rect = studio_geometry_extent (&scene->item[item]);
  canvas_view_keep_in_sight (self->board->view, &rect);
}

/* ---- appearance --------------------------------------------------------------- */

void
studio_canvas_set_bare (StudioCanvas *self, gboolean bare)
{
  if (self->board->is_bare == bare)
    return;
  self->board->is_bare = bare;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_canvas_set_types_legend (StudioCanvas *self, gboolean on)
{
  self->board->shows_types = on;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_canvas_set_spotlight (StudioCanvas *self, const char *scope, const char *const *ids)
{
  if (!studio_scene_spotlight_set (self->board->spotlight, scope, ids))
    return;
  canvas_cards_light (self->board->cards, canvas_board_scene (self->board));
  canvas_board_light (self->board);
}

void
studio_canvas_set_comparison (StudioCanvas *self, StudioComparison *comparison)
{
  if (!canvas_marks_set (self->board->marks, comparison))
    return;
  if (self->board->document == NULL || gtk_widget_in_destruction (GTK_WIDGET (self)))
    return;
  canvas_cards_describe (self->board->cards, canvas_board_scene (self->board));
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
studio_canvas_set_right_angles (StudioCanvas *self, gboolean on)
{
  canvas_options_set_right_angles (self->board->options, on, canvas_board_scene (self->board));
  canvas_board_redraw_wires (self->board);
}

gboolean
studio_canvas_get_right_angles (StudioCanvas *self)
{
  return studio_routes_get_right_angles (canvas_board_scene (self->board)->routes);
}

void
studio_canvas_set_shapes (StudioCanvas *self, StudioShapes shapes)
{
  canvas_options_set_shapes (self->board->options, shapes, canvas_board_scene (self->board));
  canvas_board_redraw_wires (self->board);
}

void
studio_canvas_set_devices (StudioCanvas *self, const char *const *devices)
{
  canvas_options_set_devices (self->board->options, devices);
  studio_document_refresh_scene (self->board->document);
  canvas_sync_later (self->board->sync);
}

/* ---- values of a run ------------------------------------------------------------ */

static void
refresh_path (StudioCanvas *self, const char *path)
{
  StudioScene *scene = canvas_board_scene (self->board);

  for (guint i = 0; i < scene->n_items; i++)
    if (g_str_equal (scene->item[i].path, path))
      {
        studio_node_refresh (canvas_cards_find (self->board->cards, scene->item[i].serial), TRUE);
        return;
      }
}

void
studio_canvas_set_live (StudioCanvas *self, const char *node_path, const char *text)
{
  if (card_values_set_text (self->board->values, node_path, text))
    refresh_path (self, node_path);
}

gboolean
studio_canvas_set_words (StudioCanvas *self, const char *node_path, const char *words)
{
  return card_values_set_words (self->board->values, node_path, words);
}

void
studio_canvas_describe (StudioCanvas *self)
{
  canvas_cards_describe (self->board->cards, canvas_board_scene (self->board));
}

void
studio_canvas_set_progress (StudioCanvas *self, const char *node_path, double fraction)
{
  if (card_values_set_progress (self->board->values, node_path, fraction))
    refresh_path (self, node_path);
}

void
studio_canvas_set_pin_widget (StudioCanvas *self, const char *node_path, GtkWidget *widget)
{
  if (canvas_pins_set (self->board->pins, node_path, widget))
    gtk_widget_queue_allocate (GTK_WIDGET (self));
}

void
studio_canvas_set_numbers (StudioCanvas *self, const char *node_path, const char *text)
{
  if (canvas_tooltip_set_numbers (self->board->tooltip, node_path, text) && text != NULL)
    gtk_widget_trigger_tooltip_query (GTK_WIDGET (self));
}

void
studio_canvas_set_times (StudioCanvas *self, GHashTable *seconds)
{
  if (canvas_options_set_times (self->board->options, seconds, canvas_board_scene (self->board)))
    canvas_board_restyle (self->board, FALSE);
}

void
studio_canvas_set_health (StudioCanvas *self, GPtrArray *nodes, const char *path, const char *sentence)
{
  CanvasBoard *board = self->board;
  const LoomNet *net = studio_document_get_net (board->document); /* first: making it replaces the scene */
  StudioScene *scene = canvas_board_scene (board);

  if (!canvas_options_set_health (board->options, nodes, net, scene))
    return;
  g_free (board->sick);
  g_free (board->complaint);
  board->sick = g_strdup (path);
  board->complaint = g_strdup (sentence);
  canvas_cards_restyle (board->cards, FALSE);
  canvas_cards_describe (board->cards, scene);
  canvas_board_redraw_wires (board);
}

void
studio_canvas_set_stages (StudioCanvas *self, GHashTable *stages)
{
  if (!canvas_options_set_stages (self->board->options, stages))
    return;
  /* Marks of the old stages, and displacements of a drag, stay with the old scene. */
  studio_document_refresh_scene (self->board->document);
  canvas_sync_now (self->board->sync);
}

/* ---- positions -------------------------------------------------------------------- */

gboolean
studio_canvas_get_card_rect (StudioCanvas *self, const char *node_path, graphene_rect_t *rect)
{
  const StudioView *view = canvas_board_view (self->board);
  guint i = canvas_board_find_path (self->board, node_path);
  const StudioItem *item;
  double x, y;

  if (i == STUDIO_NO_ITEM)
    return FALSE;
  item = &canvas_board_scene (self->board)->item[i];
  studio_view_to_screen (view, item->x, item->y, &x, &y);
  graphene_rect_init (rect, x, y, item->width * view->zoom, item->height * view->zoom);
  return TRUE;
}

gboolean
studio_canvas_get_card_at (StudioCanvas *self, double x, double y, graphene_rect_t *rect)
{
  StudioScene *scene = canvas_board_scene (self->board);
  StudioHit hit = studio_geometry_hit (scene, canvas_board_view (self->board), x, y);

  return hit.kind != STUDIO_HIT_NOTHING && hit.kind != STUDIO_HIT_LINK && hit.kind != STUDIO_HIT_ANNOTATION
         && studio_canvas_get_card_rect (self, scene->item[hit.item].path, rect);
}

gboolean
studio_canvas_get_port_point (StudioCanvas *self, const char *node_path, gboolean output, const char *port,
                              graphene_point_t *point)
{
  StudioScene *scene = canvas_board_scene (self->board);
  guint i = canvas_board_find_path (self->board, node_path), p;
  double x, y;

  if (i == STUDIO_NO_ITEM || (p = studio_item_find_port (&scene->item[i], output, port)) == STUDIO_NO_ITEM)
    return FALSE;
  studio_geometry_port (&scene->item[i], output, p, &x, &y);
  studio_view_to_screen (canvas_board_view (self->board), x, y, &x, &y);
  graphene_point_init (point, x, y);
  return TRUE;
}

void
studio_canvas_get_wire_point (StudioCanvas *self, guint link, guint index, graphene_point_t *point)
{
  StudioScene *scene = canvas_board_scene (self->board);
  double x, y;

  if (index < scene->link[link].n_points)
    {
      x = scene->link[link].point[index].x;
      y = scene->link[link].point[index].y;
    }
  else
    studio_route_at (&studio_scene_routes (scene)[link], 0.5, &x, &y);
  studio_view_to_screen (canvas_board_view (self->board), x, y, &x, &y);
  graphene_point_init (point, x, y);
}
