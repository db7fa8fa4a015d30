/* Implements studio-step-picture.h. */
#include "ui/timeline/studio-step-picture.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"

struct _StudioStepPicture
{
  GtkWidget parent_instance;
  StudioStepMemory *memory; /* NULL: none */
  guint moment;             /* G_MAXUINT: none is marked */
};

G_DEFINE_FINAL_TYPE (StudioStepPicture, studio_step_picture, GTK_TYPE_WIDGET)

static guint moment_signal;

const StudioStepMemory *
studio_step_picture_get (StudioStepPicture *self)
{
  return self->memory;
}

guint
studio_step_picture_get_moment (StudioStepPicture *self)
{
  return self->moment;
}

static void
describe (StudioStepPicture *self)
{
  g_autofree char *text
      = self->memory != NULL
            ? studio_step_memory_describe (self->memory, self->moment != G_MAXUINT ? self->moment : self->memory->peak)
            : NULL;
  g_autofree char *label = NULL;

  if (text == NULL)
    label = g_strdup (_ ("Memory along a step"));
  else if (self->moment == G_MAXUINT)
    label = g_strdup_printf (_ ("Memory along a step. Peak: %s"), text);
  else
    label = g_strdup_printf (_ ("Memory along a step. %s"), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

void
studio_step_picture_mark (StudioStepPicture *self, guint moment)
{
  if (self->memory == NULL || (moment != G_MAXUINT && moment >= self->memory->moments->len))
    moment = G_MAXUINT;
  if (moment == self->moment)
    return;
  self->moment = moment;
  describe (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  g_signal_emit (self, moment_signal, 0, moment);
}

void
studio_step_picture_set (StudioStepPicture *self, StudioStepMemory *memory)
{
  g_clear_pointer (&self->memory, studio_step_memory_free);
  self->memory = memory;
  if (memory == NULL || (self->moment != G_MAXUINT && self->moment >= memory->moments->len))
    studio_step_picture_mark (self, G_MAXUINT);
  describe (self);
  gtk_widget_queue_resize (GTK_WIDGET (self));
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* ---- pointer and keys ------------------------------------------------------------------ */

static void
mark_at (StudioStepPicture *self, double x)
{
  if (self->memory != NULL)
    studio_step_picture_mark (self, studio_step_memory_at (self->memory, gtk_widget_get_width (GTK_WIDGET (self)), x));
}

static void
begin_cb (GtkGestureDrag *drag, double x, double y, StudioStepPicture *self)
{
  gtk_widget_grab_focus (GTK_WIDGET (self));
  mark_at (self, x);
}

static void
update_cb (GtkGestureDrag *drag, double dx, double dy, StudioStepPicture *self)
{
  double x, y;

  if (gtk_gesture_drag_get_start_point (drag, &x, &y))
    mark_at (self, x + dx);
}

static gboolean
key_cb (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType mods, StudioStepPicture *self)
{
  const guint n = self->memory != NULL ? self->memory->moments->len : 0;

  if (n == 0 || (mods & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return FALSE;
  switch (key)
    {
    case GDK_KEY_Left:
      studio_step_picture_mark (self, self->moment == G_MAXUINT ? self->memory->peak : MAX (self->moment, 1) - 1);
      return TRUE;
    case GDK_KEY_Right:
      studio_step_picture_mark (self, self->moment == G_MAXUINT ? self->memory->peak : MIN (self->moment + 1, n - 1));
      return TRUE;
    case GDK_KEY_Home:
      studio_step_picture_mark (self, self->memory->peak);
      return TRUE;
    case GDK_KEY_Escape:
      if (self->moment == G_MAXUINT)
        return FALSE;
      studio_step_picture_mark (self, G_MAXUINT);
      return TRUE;
    default:
      return FALSE;
    }
}

/* ---- widget ------------------------------------------------------------------------------ */

static void
step_picture_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioStepPicture *self = STUDIO_STEP_PICTURE (widget);
  const double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  const StudioStepMemoryStyle style = { .dark = adw_style_manager_get_dark (adw_style_manager_get_default ()),
                                        .scale = studio_text_scale (widget),
                                        .moment = self->moment };
  cairo_t *cr;

  if (self->memory == NULL)
    return;
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float)width, (float)height));
  studio_draw_step_memory (self->memory, cr, gtk_widget_get_pango_context (widget), &style, width, height);
  cairo_destroy (cr);
}

static void
step_picture_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                      int *minimum_baseline, int *natural_baseline)
{
  StudioStepPicture *self = STUDIO_STEP_PICTURE (widget);
  const double scale = studio_text_scale (widget);

  *minimum = *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? (int)(180 * scale)
                        : self->memory != NULL                    ? (int)studio_step_memory_height (self->memory, scale)
                                                                  : 0;
  *minimum_baseline = *natural_baseline = -1;
}

static void
step_picture_dispose (GObject *object)
{
  StudioStepPicture *self = STUDIO_STEP_PICTURE (object);

  g_clear_pointer (&self->memory, studio_step_memory_free);
  G_OBJECT_CLASS (studio_step_picture_parent_class)->dispose (object);
}

static void
studio_step_picture_class_init (StudioStepPictureClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = step_picture_dispose;
  widget_class->snapshot = step_picture_snapshot;
  widget_class->measure = step_picture_measure;
  moment_signal = studio_signal_new ("moment", G_TYPE_FROM_CLASS (klass), 1, G_TYPE_UINT);
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "steppicture");
}

static void
studio_step_picture_init (StudioStepPicture *self)
{
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();

  self->moment = G_MAXUINT;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (update_cb), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self,
                           G_CONNECT_SWAPPED);
  describe (self);
}
