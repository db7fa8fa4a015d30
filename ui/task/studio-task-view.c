#include "ui/task/studio-task-view.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"
#include "ui/scene/studio-format.h"

#define STRIDES 50 /* key presses from one side of a plane to the other; a tenth with Shift */

struct _StudioTaskView
{
  GtkWidget parent_instance;
  StudioTaskPicture *picture; /* not owned */
  char *description;
  char *point_words; /* NULL: none */
};

G_DEFINE_FINAL_TYPE (StudioTaskView, studio_task_view, GTK_TYPE_WIDGET)

static guint point_signal;

static StudioTaskStyle
style_of (StudioTaskView *self)
{
  AdwStyleManager *manager = adw_style_manager_get_default ();
  const gboolean presented = gtk_widget_has_css_class (GTK_WIDGET (self), "presented");
  return (StudioTaskStyle){ .dark = adw_style_manager_get_dark (manager),
                            .high_contrast = adw_style_manager_get_high_contrast (manager),
                            .scale = studio_text_scale (GTK_WIDGET (self))
                                     * (presented ? studio_presentation_scale (GTK_WIDGET (self)) : 1) };
}

static char *
describe_point (StudioTaskView *self)
{
  if (self->picture == NULL || !self->picture->has_point)
    return NULL;
  g_autofree char *x = studio_format_number (self->picture->point[0]);
  g_autofree char *y = studio_format_number (self->picture->point[1]);
  /* Translators: the features of a point that the user moves. */
  g_autofree char *place = g_strdup_printf (_ ("point at (%1$s, %2$s)"), x, y);
  return self->point_words != NULL ? g_strdup_printf ("%s. %s", place, self->point_words) : g_steal_pointer (&place);
}

static void
update (StudioTaskView *self)
{
  g_autofree char *all = self->picture != NULL ? studio_task_picture_describe (self->picture) : NULL;
  g_autofree char *point = describe_point (self);
  g_autofree char *words = point != NULL ? g_strdup_printf ("%s. %s", point, all) : g_steal_pointer (&all);
  g_autofree char *sample
      = self->picture != NULL ? studio_task_picture_describe_sample (self->picture, self->picture->marked) : NULL;
  char *description = sample != NULL ? g_strdup_printf ("%s. %s", sample, words) : g_strdup (words);

  gtk_widget_queue_resize (GTK_WIDGET (self));
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (g_strcmp0 (description, self->description) == 0)
    {
      g_free (description);
      return;
    }
  g_free (self->description);
  self->description = description;
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  description != NULL ? description : "", -1);
}

/* ---- one sample ------------------------------------------------------------- */

static void
mark (StudioTaskView *self, int sample)
{
  if (self->picture == NULL || self->picture->marked == sample)
    return;
  self->picture->marked = sample;
  update (self);
}

static void
motion_cb (GtkEventControllerMotion *controller, double x, double y, StudioTaskView *self)
{
  const StudioTaskStyle style = style_of (self);
  /* A point that is dragged over samples selects none. */
  if (self->picture != NULL && !self->picture->has_point)
    mark (self, studio_task_picture_sample_at (self->picture, gtk_widget_get_pango_context (GTK_WIDGET (self)), &style,
                                               gtk_widget_get_width (GTK_WIDGET (self)),
                                               gtk_widget_get_height (GTK_WIDGET (self)), x, y));
}

static void
leave_cb (GtkEventControllerMotion *controller, StudioTaskView *self)
{
  mark (self, -1);
}

/* ---- a point of the user's own ------------------------------------------------ */

static void
move_point (StudioTaskView *self, const double point[2])
{
  g_clear_pointer (&self->point_words, g_free);
  memcpy (self->picture->point, point, sizeof self->picture->point);
  update (self);
  g_signal_emit (self, point_signal, 0, point[0], point[1]);
}

static void
drag_to (StudioTaskView *self, double x, double y)
{
  const StudioTaskStyle style = style_of (self);
  GtkWidget *widget = GTK_WIDGET (self);
  double point[2];

  if (self->picture != NULL && self->picture->has_point
      && studio_task_picture_point_at (self->picture, gtk_widget_get_pango_context (widget), &style,
                                       gtk_widget_get_width (widget), gtk_widget_get_height (widget), x, y, point))
    move_point (self, point);
}

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, StudioTaskView *self)
{
  if (self->picture == NULL || !self->picture->has_point)
    {
      gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_DENIED);
      return;
    }
  gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_CLAIMED);
  gtk_widget_grab_focus (GTK_WIDGET (self));
  drag_to (self, x, y);
}

static void
drag_update_cb (GtkGestureDrag *drag, double dx, double dy, StudioTaskView *self)
{
  double x, y;

  gtk_gesture_drag_get_start_point (drag, &x, &y);
  drag_to (self, x + dx, y + dy);
}

/* FALSE: the key moves no point. */
static gboolean
step_point (StudioTaskView *self, guint key, gboolean is_large)
{
  const double by = is_large ? 10. / STRIDES : 1. / STRIDES;
  const double across = key == GDK_KEY_Right ? by : key == GDK_KEY_Left ? -by : 0;
  const double up = key == GDK_KEY_Up ? by : key == GDK_KEY_Down ? -by : 0;
  double low[2], high[2];

  if ((across == 0 && up == 0) || !self->picture->has_point || !studio_task_picture_range (self->picture, low, high))
    return FALSE;
  const double point[] = { CLAMP (self->picture->point[0] + across * (high[0] - low[0]), low[0], high[0]),
                           CLAMP (self->picture->point[1] + up * (high[1] - low[1]), low[1], high[1]) };
  move_point (self, point);
  return TRUE;
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioTaskView *self)
{
  const int by = key == GDK_KEY_Right ? 1 : key == GDK_KEY_Left ? -1 : 0;
  if (self->picture != NULL && !(state & (GDK_CONTROL_MASK | GDK_ALT_MASK))
      && step_point (self, key, (state & GDK_SHIFT_MASK) != 0))
    return GDK_EVENT_STOP;
  if (by == 0 || state & (GDK_CONTROL_MASK | GDK_ALT_MASK) || self->picture == NULL || self->picture->data == NULL)
    return GDK_EVENT_PROPAGATE;
  const int n = (int)self->picture->data->n, at = self->picture->marked;
  mark (self, at < 0 ? (by > 0 ? 0 : n - 1) : (at + by + n) % n);
  return GDK_EVENT_STOP;
}

static gboolean
query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  StudioTaskView *self = STUDIO_TASK_VIEW (widget);
  const StudioTaskStyle style = style_of (self);
  g_autofree char *text = NULL;
  if (self->picture == NULL)
    return FALSE;
  text = studio_task_picture_describe_sample (self->picture, self->picture->marked);
  if (text == NULL && !keyboard)
    text = studio_task_picture_describe_place (self->picture, gtk_widget_get_pango_context (widget), &style,
                                               gtk_widget_get_width (widget), gtk_widget_get_height (widget), x, y);
  gtk_tooltip_set_text (tooltip, text);
  return text != NULL;
}

/* ---- the widget --------------------------------------------------------------- */

static void
view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioTaskView *self = STUDIO_TASK_VIEW (widget);
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  const StudioTaskStyle style = style_of (self);
  if (width <= 0 || height <= 0 || self->picture == NULL)
    return;
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  studio_task_picture_draw (self->picture, cr, gtk_widget_get_pango_context (widget), &style, width, height);
  cairo_destroy (cr);
}

static GtkSizeRequestMode
view_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
              int *minimum_baseline, int *natural_baseline)
{
  StudioTaskView *self = STUDIO_TASK_VIEW (widget);
  const double scale = style_of (self).scale;
  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = (int)(120 * studio_text_scale (widget));
      *natural = (int)(280 * studio_text_scale (widget));
      return;
    }
  const double width = for_size > 0 ? for_size : 280 * scale;
  *natural = self->picture != NULL ? (int)studio_task_picture_height (self->picture, width, scale) : (int)width;
  *minimum = MIN (*natural, (int)(150 * scale));
  /* A presentation cannot be scrolled. */
  if (self->picture != NULL && studio_task_picture_is_list (self->picture)
      && !gtk_widget_has_css_class (widget, "presented"))
    *minimum = *natural;
}

static void
view_dispose (GObject *object)
{
  StudioTaskView *self = STUDIO_TASK_VIEW (object);
  g_clear_pointer (&self->description, g_free);
  g_clear_pointer (&self->point_words, g_free);
  G_OBJECT_CLASS (studio_task_view_parent_class)->dispose (object);
}

static void
studio_task_view_class_init (StudioTaskViewClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = view_dispose;
  widget_class->snapshot = view_snapshot;
  widget_class->measure = view_measure;
  widget_class->get_request_mode = view_request_mode;
  widget_class->query_tooltip = query_tooltip;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "taskview");
  point_signal = studio_signal_new ("point-moved", STUDIO_TYPE_TASK_VIEW, 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
}

static void
studio_task_view_init (StudioTaskView *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new (), *keys = gtk_event_controller_key_new ();
  GtkGesture *drag = gtk_gesture_drag_new ();
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Picture of the task"), -1);
  /* Axes run from left to right in every language, as in charts. */
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self,
                           G_CONNECT_SWAPPED);
}

StudioTaskView *
studio_task_view_new (void)
{
  return g_object_new (STUDIO_TYPE_TASK_VIEW, NULL);
}

void
studio_task_view_set_picture (StudioTaskView *self, StudioTaskPicture *picture)
{
  self->picture = picture;
  update (self);
}

void
studio_task_view_show_point (StudioTaskView *self, const double point[2], const char *words)
{
  g_return_if_fail (self->picture != NULL);
  self->picture->has_point = TRUE;
  memcpy (self->picture->point, point, sizeof self->picture->point);
  g_free (self->point_words);
  self->point_words = g_strdup (words);
  update (self);
}

const char *
studio_task_view_get_description (StudioTaskView *self)
{
  return self->description;
}
