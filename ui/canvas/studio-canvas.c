/* The canvas widget: its class, its properties, and the virtual functions that call its parent's.
 *
 * The other files: studio-canvas-sync.c agrees with the document, -view.c zooms, -draw.c draws and places cards,
 * -cards.c has what hangs on cards, -input.c the pointer and keys, -actions.c the commands. */
#include <glib/gi18n.h>
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

static gboolean
studio_canvas_grab_focus (GtkWidget *widget)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioNode *node = studio_canvas_node (self, self->last_focus);

  if (node != NULL && gtk_widget_get_child_visible (GTK_WIDGET (node)))
    return gtk_widget_grab_focus (GTK_WIDGET (node));
  return GTK_WIDGET_CLASS (studio_canvas_parent_class)->grab_focus (widget);
}

static void
studio_canvas_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                       int *minimum_baseline, int *natural_baseline)
{
  *minimum = 120;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 760 : 480;
}

static void
studio_canvas_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (studio_canvas_parent_class)->css_changed (widget, change);
  studio_canvas_restyle (STUDIO_CANVAS (widget), TRUE);
}

static void
studio_canvas_system_setting_changed (GtkWidget *widget, GtkSystemSetting setting)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  GTK_WIDGET_CLASS (studio_canvas_parent_class)->system_setting_changed (widget, setting);
  if (setting == GTK_SYSTEM_SETTING_ICON_THEME)
    g_hash_table_remove_all (self->icons);
  studio_canvas_restyle (self, TRUE);
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
  PROP_SHOW_COST = 1,
  PROP_COST_MEASURE
};

static void
studio_canvas_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  StudioCanvas *self = STUDIO_CANVAS (object);

  if (id == PROP_SHOW_COST)
    g_value_set_boolean (value, self->measure != STUDIO_MEASURE_NONE);
  else if (id == PROP_COST_MEASURE)
    g_value_set_string (value, studio_measure_name (self->measure));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
set_measure (StudioCanvas *self, StudioMeasure measure)
{
  if (self->measure == measure)
    return;
  self->measure = measure;
  if (measure != STUDIO_MEASURE_NONE)
    self->last_measure = measure;
  studio_canvas_restyle (self, FALSE);
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
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
studio_canvas_dispose (GObject *object)
{
  StudioCanvas *self = STUDIO_CANVAS (object);
  GtkWidget *child;

  if (self->document != NULL)
    {
      studio_canvas_drop_glide (self);
      studio_canvas_drop_flight (self);
      studio_canvas_end_gesture (self);
      studio_canvas_forget_landing (self);
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
  g_clear_pointer (&self->spotlight, g_strfreev);
  studio_canvas_set_comparison (self, NULL);
  g_clear_pointer (&self->spotlight_scope, g_free);
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
  studio_canvas_forget_moving (self);
  g_hash_table_unref (self->icons);
  g_hash_table_unref (self->texts);
  g_hash_table_unref (self->sprites);
  g_clear_pointer (&self->times, g_hash_table_unref);
  g_clear_pointer (&self->stages, g_hash_table_unref);
  g_clear_pointer (&self->numbers, g_free);
  g_clear_pointer (&self->numbers_path, g_free);
  g_hash_table_unref (self->reading);
  g_clear_object (&self->far_text);
  g_hash_table_unref (self->pins);
  g_hash_table_unref (self->live);
  g_hash_table_unref (self->progress);
  g_hash_table_unref (self->views);
  g_hash_table_unref (self->disabled);
  g_strfreev (self->devices);
  g_free (self->scope_path);
  g_free (self->lit);
  g_free (self->refusal);
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
      g_param_spec_boolean ("show-cost", NULL, NULL, FALSE,
                            G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY));
  /* The name of a StudioMeasure. */
  g_object_class_install_property (
      G_OBJECT_CLASS (klass), PROP_COST_MEASURE,
      g_param_spec_string ("cost-measure", NULL, NULL, "none",
                           G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY));
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
  studio_canvas_signals[STUDIO_CANVAS_DESCRIBE]
      = g_signal_new ("describe", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  gtk_widget_class_set_css_name (widget_class, "studiocanvas");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST);
  studio_canvas_class_init_actions (widget_class);
  studio_canvas_class_init_menu (widget_class);
}

static void
studio_canvas_init (StudioCanvas *self)
{
  /* Data flow from left to right, wherever one reads from: cards are written as they are wired. */
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  self->view.zoom = 1;
  self->last_measure = STUDIO_MEASURE_OPERATIONS;
  self->hover = self->hover_link = STUDIO_NO_ITEM;
  self->fit_pending = TRUE;
  self->scope_path = g_strdup ("");
  self->nodes = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->annotations = g_hash_table_new (g_int64_hash, g_int64_equal);
  self->icons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, unref_icon);
  self->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self->sprites = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)cairo_surface_destroy);
  self->reading = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->pins = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->live = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->progress = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->views = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->disabled = g_hash_table_new (g_str_hash, g_str_equal);
  studio_gesture_init (&self->gesture);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Graph"), -1);
  /* The ring around the canvas goes with the focus. */
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (gtk_widget_queue_draw), NULL);
  studio_canvas_init_input (self);
  studio_canvas_init_menu (self);
}

StudioCanvas *
studio_canvas_new (StudioDocument *document)
{
  StudioCanvas *self = g_object_new (STUDIO_TYPE_CANVAS, NULL);

  self->document = g_object_ref (document);
  studio_canvas_follow_document (self);
  return self;
}
