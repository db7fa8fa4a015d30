/* Implements studio-drawing-pad.h. The pen covers about a twelfth of the side with soft edges, like handwriting that
 * was scanned and scaled down, which nets for digits are trained on. */
#include "ui/evaluate/studio-drawing-pad.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"

#define SIDE 150
#define PEN  24.0 /* pixels of the side per radius of the pen */

struct _StudioDrawingPad
{
  GtkWidget parent_instance;
  guint width, height;
  float *pixel;
  int x, y; /* the pen of the keyboard */
  double last_x, last_y;
  gboolean erases;
};

G_DEFINE_FINAL_TYPE (StudioDrawingPad, studio_drawing_pad, GTK_TYPE_WIDGET)

static guint drawn_signal;

static void
update (StudioDrawingPad *self)
{
  guint n = 0;

  for (guint i = 0; i < self->width * self->height; i++)
    n += self->pixel[i] >= 0.5 ? 1 : 0;
  /* Translators: what a drawing pad says: column and row of the pen, and the number of white pixels. */
  g_autofree char *words
      = g_strdup_printf (_ ("pen at column %1$d, row %2$d; %3$u white pixels"), self->x + 1, self->y + 1, n);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Drawing"),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words, -1);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* x and y in pixels of the picture. */
static void
dab (StudioDrawingPad *self, double x, double y)
{
  const double radius = MAX (self->width / PEN, 0.6);

  for (guint r = 0; r < self->height; r++)
    for (guint c = 0; c < self->width; c++)
      {
        const double distance = hypot (c + 0.5 - x, r + 0.5 - y);
        const float value = (float)CLAMP (radius + 0.5 - distance, 0, 1);
        float *to = &self->pixel[r * self->width + c];

        *to = self->erases ? MIN (*to, 1 - value) : MAX (*to, value);
      }
}

static void
draw_line (StudioDrawingPad *self, double x, double y)
{
  const int n = MAX (1, (int)ceil (2 * hypot (x - self->last_x, y - self->last_y)));

  for (int i = 1; i <= n; i++)
    dab (self, self->last_x + (x - self->last_x) * i / n, self->last_y + (y - self->last_y) * i / n);
  self->last_x = x;
  self->last_y = y;
  update (self);
  g_signal_emit (self, drawn_signal, 0);
}

/* The square of the picture in the widget. */
static double
place (StudioDrawingPad *self, double *x0, double *y0)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self)), height = gtk_widget_get_height (GTK_WIDGET (self));
  const double cell = MIN (width / MAX (self->width, 1), height / MAX (self->height, 1));

  *x0 = (width - cell * self->width) / 2;
  *y0 = (height - cell * self->height) / 2;
  return MAX (cell, 1e-6);
}

static void
begin_cb (GtkGestureDrag *drag, double x, double y, StudioDrawingPad *self)
{
  double x0, y0;
  const double cell = place (self, &x0, &y0);
  const GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (drag));

  gtk_widget_grab_focus (GTK_WIDGET (self));
  gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_CLAIMED);
  self->erases = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (drag)) == GDK_BUTTON_SECONDARY
                 || (state & GDK_CONTROL_MASK) != 0;
  self->last_x = (x - x0) / cell;
  self->last_y = (y - y0) / cell;
  draw_line (self, self->last_x, self->last_y);
}

static void
move_cb (GtkGestureDrag *drag, double dx, double dy, StudioDrawingPad *self)
{
  double x0, y0, x, y;
  const double cell = place (self, &x0, &y0);

  gtk_gesture_drag_get_start_point (drag, &x, &y);
  draw_line (self, (x + dx - x0) / cell, (y + dy - y0) / cell);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioDrawingPad *self)
{
  const int dx = key == GDK_KEY_Right ? 1 : key == GDK_KEY_Left ? -1 : 0;
  const int dy = key == GDK_KEY_Down ? 1 : key == GDK_KEY_Up ? -1 : 0;

  if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK) || self->width == 0)
    return GDK_EVENT_PROPAGATE;
  if (dx != 0 || dy != 0)
    {
      self->x = CLAMP (self->x + dx, 0, (int)self->width - 1);
      self->y = CLAMP (self->y + dy, 0, (int)self->height - 1);
      update (self);
      return GDK_EVENT_STOP;
    }
  if (key == GDK_KEY_space || key == GDK_KEY_Return)
    {
      self->erases = FALSE;
      self->last_x = self->x + 0.5;
      self->last_y = self->y + 0.5;
      draw_line (self, self->last_x, self->last_y);
      return GDK_EVENT_STOP;
    }
  if (key != GDK_KEY_Delete && key != GDK_KEY_BackSpace)
    return GDK_EVENT_PROPAGATE;
  studio_drawing_pad_clear (self);
  return GDK_EVENT_STOP;
}

static void
draw_pixels (StudioDrawingPad *self, cairo_t *cr, double x, double y, double cell)
{
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int)self->width, (int)self->height);
  cairo_surface_flush (image);
  guchar *line = cairo_image_surface_get_data (image);

  for (guint r = 0; r < self->height; r++, line += cairo_image_surface_get_stride (image))
    for (guint c = 0; c < self->width; c++)
      ((guint32 *)(void *)line)[c] = 0x010101u * (guint32)lroundf (255 * self->pixel[r * self->width + c]);
  cairo_surface_mark_dirty (image);
  cairo_save (cr);
  cairo_translate (cr, x, y);
  cairo_scale (cr, cell, cell);
  cairo_set_source_surface (cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_restore (cr);
  cairo_surface_destroy (image);
}

static void
pad_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioDrawingPad *self = STUDIO_DRAWING_PAD (widget);
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  double x0, y0;
  const double cell = place (self, &x0, &y0);

  if (self->width == 0 || width <= 0 || height <= 0)
    return;
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  draw_pixels (self, cr, x0, y0, cell);
  cairo_set_source_rgba (cr, 0.5, 0.5, 0.5, 1);
  cairo_set_line_width (cr, 1);
  cairo_rectangle (cr, x0 + 0.5, y0 + 0.5, cell * self->width - 1, cell * self->height - 1);
  cairo_stroke (cr);
  if (gtk_widget_has_focus (widget))
    {
      cairo_set_source_rgb (cr, 0.9, 0.6, 0.1);
      cairo_set_line_width (cr, 2);
      cairo_rectangle (cr, x0 + self->x * cell, y0 + self->y * cell, cell, cell);
      cairo_stroke (cr);
    }
  cairo_destroy (cr);
}

static void
pad_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
             int *minimum_baseline, int *natural_baseline)
{
  *minimum = *natural = (int)(SIDE * MIN (studio_text_scale (widget), 1.5));
}

static void
pad_finalize (GObject *object)
{
  g_free (STUDIO_DRAWING_PAD (object)->pixel);
  G_OBJECT_CLASS (studio_drawing_pad_parent_class)->finalize (object);
}

static void
studio_drawing_pad_class_init (StudioDrawingPadClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = pad_finalize;
  widget_class->snapshot = pad_snapshot;
  widget_class->measure = pad_measure;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "drawingpad");
  drawn_signal = studio_signal_new ("drawn", STUDIO_TYPE_DRAWING_PAD, 0);
}

static void
studio_drawing_pad_init (StudioDrawingPad *self)
{
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();

  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (move_cb), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
}

void
studio_drawing_pad_set_size (StudioDrawingPad *self, guint width, guint height)
{
  if (width == self->width && height == self->height)
    return;
  self->width = width;
  self->height = height;
  g_free (self->pixel);
  self->pixel = g_new0 (float, (gsize)width *height);
  self->x = (int)width / 2;
  self->y = (int)height / 2;
  update (self);
}

void
studio_drawing_pad_clear (StudioDrawingPad *self)
{
  memset (self->pixel, 0, (gsize)self->width * self->height * sizeof *self->pixel);
  update (self);
  g_signal_emit (self, drawn_signal, 0);
}

const float *
studio_drawing_pad_get_pixels (StudioDrawingPad *self)
{
  return self->pixel;
}

void
studio_drawing_pad_set_pixels (StudioDrawingPad *self, const float *pixel)
{
  memcpy (self->pixel, pixel, (gsize)self->width * self->height * sizeof *pixel);
  update (self);
}
