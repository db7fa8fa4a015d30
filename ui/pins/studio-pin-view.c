/* The widget of a pin; see the header. It draws by the functions of its kind, for which it prepares a PinDrawing. */
#include "ui/pins/studio-pin-view.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"
#include "ui/drawing/studio-export.h"

#define LEAST_WIDTH  40
#define LEAST_HEIGHT 40
#define PADDING      14 /* of the frame around the picture, both sides */
#define CAPTION_LINE 15
#define CAPTION_GAP  6.
#define LOW          100 /* a picture lower than this has a caption of one line */
#define LARGE        1.5 /* text */
#define SMALLER      0.85

struct _StudioPinView
{
  GtkWidget parent_instance;
  const StudioPinKind *kind;
  PinValue *value; /* without values: only a caption */
  PinHistory *history;
  PinScale colors;
  char *caption, *cell_words;
  gint64 cell;         /* marked; -1: none */
  guint marked;        /* when it was marked, counted over all pins */
  gboolean is_pointed; /* by the pointer, at pointer_x, pointer_y */
  double pointer_x, pointer_y;
  int width, height;
  double scale;
};

G_DEFINE_FINAL_TYPE (StudioPinView, studio_pin_view, GTK_TYPE_WIDGET)

static guint choose_signal;

static gboolean
has_value (const StudioPinView *self)
{
  return self->value->n_values > 0 && (!self->kind->remembers || self->history->step->len > 0);
}

/* TRUE if the caption fits into a line of this width, reduced by little. */
static gboolean
fits_line (const StudioPinView *self, PangoContext *context, double scale, double width)
{
  const PinDrawing d = { .context = context, .scale = scale };
  double size;

  pin_text_size (&d, self->caption != NULL ? self->caption : "", SMALLER, &size, NULL);
  return size <= width;
}

/* A low picture has one line, unless large text would have to become small. */
static int
caption_lines (const StudioPinView *self, PangoContext *context, double scale, double width)
{
  return self->height >= LOW || (scale >= LARGE && !fits_line (self, context, scale, width)) ? 2 : 1;
}

/* ---- drawing --------------------------------------------------------------------- */

static PinDrawing
drawing_of (StudioPinView *self, PangoContext *context, double scale, double width, double height)
{
  const int lines = caption_lines (self, context, scale, width);
  const double top = lines * CAPTION_LINE * scale;

  return (PinDrawing){ .value = self->value,
                       .history = self->history,
                       .colors = self->colors,
                       .context = context,
                       .scale = scale,
                       .cell = self->cell,
                       .caption_lines = lines,
                       .room = { 0, top, width, MAX (1, height - top) } };
}

static PinDrawing
screen_drawing (StudioPinView *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  PinDrawing d = drawing_of (self, gtk_widget_get_pango_context (widget), self->scale * studio_text_scale (widget),
                             gtk_widget_get_width (widget), gtk_widget_get_height (widget));

  d.dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  return d;
}

/* The second line says the cell, or what is chosen and the step; the step is on the first line if the second is too
 * long with it. */
static void
draw_caption (StudioPinView *self, const PinDrawing *d)
{
  const PinValue *v = self->value;
  g_autofree char *where = *v->where != '\0' ? g_strdup_printf ("%s · %s", v->where, v->when) : g_strdup (v->when);
  const double line = CAPTION_LINE * d->scale;
  const gboolean marks = self->cell_words != NULL && !d->vector;
  const char *second = marks ? self->cell_words : where;

  if (d->caption_lines == 2)
    {
      double width, title, when, size = 1, gap = CAPTION_GAP * d->scale;

      pin_text_size (d, where, 1, &width, NULL);
      pin_text_size (d, v->title, 1, &title, NULL);
      pin_text_size (d, v->when, 1, &when, NULL);
      if (!marks && *v->where != '\0' && width > d->room.width)
        {
          second = v->where;
          size = CLAMP ((d->room.width - gap) / (title + when), pin_least_type (d), 1);
          when = when * size + gap;
          pin_text (d, v->when, d->room.x + d->room.width, line / 2 - 1, 1, d->room.width, 0.74, size);
        }
      else
        when = 0;
      pin_text (d, v->title, d->room.x, line / 2 - 1, 0, MAX (1, d->room.width - when), 0.95, size);
      pin_text (d, second, d->room.x, line * 1.5 - 1, 0, d->room.width, 0.74, 1);
      return;
    }
  g_autofree char *both = *second != '\0' ? g_strdup_printf ("%s · %s", v->title, second) : g_strdup (v->title);
  pin_text (d, both, d->room.x, line / 2 - 1, 0, d->room.width, 0.8, 1);
}

static void
draw_pin (StudioPinView *self, PinDrawing *d)
{
  PinRect marked;

  draw_caption (self, d);
  if (!has_value (self))
    {
      pin_ink (d, 0.06);
      cairo_rectangle (d->cr, d->room.x, d->room.y, d->room.width, d->room.height);
      cairo_fill (d->cr);
      pin_text (d, _ ("no values yet"), d->room.x + d->room.width / 2, d->room.y + d->room.height / 2, 0.5,
                d->room.width - 12, 0.74, 1);
      return;
    }
  self->kind->draw (d);
  if (d->cell >= 0 && self->kind->cell_rect != NULL && self->kind->cell_rect (d, (gsize)d->cell, &marked))
    pin_mark (d, &marked);
}

static void
pin_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);

  if (width <= 0 || height <= 0)
    return;
  PinDrawing d = screen_drawing (STUDIO_PIN_VIEW (widget));
  d.cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));
  draw_pin (STUDIO_PIN_VIEW (widget), &d);
  cairo_destroy (d.cr);
}

static void
draw_vector (StudioPinView *self, cairo_t *cr, gboolean dark, double width, double height)
{
  PangoContext *context = studio_export_context_new ();
  PinDrawing d = drawing_of (self, context, 1, width, height);

  d.cr = cr;
  d.vector = TRUE;
  d.dark = dark;
  d.cell = -1;
  draw_pin (self, &d);
  g_object_unref (context);
}

static void
export_cb (cairo_t *cr, double width, double height, gpointer data)
{
  draw_vector (data, cr, FALSE, width, height);
}

cairo_surface_t *
studio_pin_view_record (StudioPinView *self, gboolean dark, double *width, double *height)
{
  cairo_rectangle_t extent
      = { 0, 0, self->width - PADDING, self->height - PADDING + (self->height < LOW ? 1 : 2) * CAPTION_LINE };
  cairo_surface_t *surface = cairo_recording_surface_create (CAIRO_CONTENT_COLOR_ALPHA, &extent);
  cairo_t *cr = cairo_create (surface);

  draw_vector (self, cr, dark, extent.width, extent.height);
  cairo_destroy (cr);
  *width = extent.width;
  *height = extent.height;
  return surface;
}

gboolean
studio_pin_view_export (StudioPinView *self, const char *path, GError **error)
{
  const double factor = 2;

  if (!has_value (self))
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA,
                           _ ("The pin is empty. Train or step once, then save it again."));
      return FALSE;
    }
  if (studio_export_has_suffix (path, ".csv"))
    {
      const PinDrawing d = screen_drawing (self);
      g_autofree char *text = self->kind->to_csv != NULL ? self->kind->to_csv (&d)
                              : self->kind->remembers    ? pin_history_to_csv (self->history, self->kind->columns)
                                                         : pin_value_to_csv (self->value);
      return loom_file_replace (path, text, strlen (text), error);
    }
  return studio_export_drawing (path, factor * (self->width - PADDING),
                                factor * (self->height - PADDING) + (self->height < LOW ? 1 : 2) * CAPTION_LINE,
                                export_cb, self, error);
}

/* ---- size ------------------------------------------------------------------------- */

static GtkSizeRequestMode
pin_view_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

/* The picture keeps its shape when the canvas is zoomed; text keeps its size. Larger text makes the pin higher. */
static void
pin_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                  int *minimum_baseline, int *natural_baseline)
{
  StudioPinView *self = STUDIO_PIN_VIEW (widget);
  const int width = self->width - PADDING;

  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = LEAST_WIDTH;
      *natural = width;
      return;
    }
  const double shrink = for_size > 0 ? for_size / (double)width : 1;
  const double scale = self->scale * studio_text_scale (widget);
  const int lines = caption_lines (self, gtk_widget_get_pango_context (widget), scale, for_size > 0 ? for_size : width);
  const double words = lines * CAPTION_LINE * scale + self->kind->lines * PIN_LINE * MAX (scale - 1, 0);
  *natural = (int)((self->height - PADDING) * shrink + words);
  /* If there is not enough space, the picture is lower, not cut. */
  *minimum = MIN (*natural, (int)(LEAST_HEIGHT + words));
}

void
studio_pin_view_set_size (StudioPinView *self, int width, int height)
{
  self->width = CLAMP (width, 80, 2000);
  self->height = CLAMP (height, 40, 2000);
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

void
studio_pin_view_set_text_scale (StudioPinView *self, double scale)
{
  self->scale = scale;
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

/* ---- words -------------------------------------------------------------------------- */

/* Read aloud: the caption, then the picture and the marked cell. */
static void
describe (StudioPinView *self)
{
  const PinDrawing d = screen_drawing (self);
  g_autofree char *words = has_value (self) ? studio_pin_describe (self->kind, &d) : g_strdup (_ ("no values yet"));
  g_autofree char *all
      = self->cell_words != NULL ? g_strdup_printf ("%s. %s", self->cell_words, words) : g_steal_pointer (&words);

  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, self->caption,
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, all, -1);
}

static void
name_cell (StudioPinView *self)
{
  const PinDrawing d = screen_drawing (self);

  g_clear_pointer (&self->cell_words, g_free);
  /* Another value may have another cell there. */
  if (self->is_pointed && has_value (self) && self->kind->cell_at != NULL)
    self->cell = self->kind->cell_at (&d, self->pointer_x, self->pointer_y);
  if (self->cell >= 0 && (!has_value (self) || (gsize)self->cell >= studio_pin_n_cells (self->kind, &d)))
    self->cell = -1;
  if (self->cell >= 0)
    self->cell_words = studio_pin_describe_cell (self->kind, &d, (gsize)self->cell);
}

static void
update (StudioPinView *self)
{
  const PinValue *v = self->value;
  g_autofree char *before = self->caption;

  self->caption = g_strdup_printf ("%s%s%s%s%s", v->title, *v->where != '\0' ? " · " : "", v->where,
                                   *v->when != '\0' ? " · " : "", v->when);
  name_cell (self);
  describe (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  /* A longer one may need another line. */
  if (self->height < LOW && (before == NULL || strlen (before) != strlen (self->caption)))
    gtk_widget_queue_resize (GTK_WIDGET (self));
}

const char *
studio_pin_view_get_caption (StudioPinView *self)
{
  return self->caption;
}

const char *
studio_pin_view_get_cell_words (StudioPinView *self)
{
  return self->cell_words;
}

gint64
studio_pin_view_get_element (StudioPinView *self)
{
  if (self->cell < 0 || !has_value (self) || self->kind->summary != NULL || self->kind->remembers
      || self->kind->n_cells != NULL)
    return -1;
  return pin_value_element (self->value, (gsize)self->cell);
}

guint
studio_pin_view_get_marked (StudioPinView *self)
{
  return self->marked;
}

static void
mark_cell (StudioPinView *self, gint64 cell)
{
  static guint n_marked;

  if (cell == self->cell)
    return;
  self->cell = cell;
  self->marked = ++n_marked;
  name_cell (self);
  describe (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

gboolean
studio_pin_view_move_cursor (StudioPinView *self, int across, int down)
{
  const PinDrawing d = screen_drawing (self);
  const gint64 n = has_value (self) ? (gint64)studio_pin_n_cells (self->kind, &d) : 0;
  const gint64 next
      = self->cell < 0 ? 0 : self->cell + across + down * (gint64)studio_pin_cells_across (self->kind, &d);

  if (next < 0 || next >= n)
    return FALSE;
  self->is_pointed = FALSE;
  mark_cell (self, next);
  return TRUE;
}

/* ---- pointer -------------------------------------------------------------------------- */

static void
motion_cb (GtkEventControllerMotion *controller, double x, double y, StudioPinView *self)
{
  const PinDrawing d = screen_drawing (self);

  self->is_pointed = TRUE;
  self->pointer_x = x;
  self->pointer_y = y;
  if (has_value (self) && self->kind->cell_at != NULL)
    mark_cell (self, self->kind->cell_at (&d, x, y));
}

static void
leave_cb (GtkEventControllerMotion *controller, StudioPinView *self)
{
  self->is_pointed = FALSE;
  mark_cell (self, -1);
}

static void
pressed_cb (GtkGestureClick *click, int n, double x, double y, StudioPinView *self)
{
  const PinDrawing d = screen_drawing (self);
  const gint64 tile = has_value (self) && self->kind->tile_at != NULL ? self->kind->tile_at (&d, x, y) : -1;

  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (tile >= 0)
    g_signal_emit (self, choose_signal, 0, tile);
  gtk_gesture_set_state (GTK_GESTURE (click), GTK_EVENT_SEQUENCE_CLAIMED);
}

/* ---- content ----------------------------------------------------------------------------- */

void
studio_pin_view_take (StudioPinView *self, PinValue *value)
{
  pin_value_free (self->value);
  self->value = value;
  if (self->kind->remembers && value->n_values > 0)
    pin_history_add (self->history, value);
  update (self);
}

void
studio_pin_view_clear (StudioPinView *self, const char *title, const char *why)
{
  studio_pin_view_take (self, pin_value_new (title, NULL, why, -1));
}

void
studio_pin_view_forget (StudioPinView *self)
{
  pin_history_clear (self->history);
  self->cell = -1;
}

void
studio_pin_view_set_kind (StudioPinView *self, const StudioPinKind *kind)
{
  g_autofree char *title = g_strdup (self->value->title);

  if (kind == self->kind)
    return;
  self->kind = kind;
  studio_pin_view_forget (self);
  studio_pin_view_clear (self, title, NULL);
  gtk_widget_queue_resize (GTK_WIDGET (self));
}

const StudioPinKind *
studio_pin_view_get_kind (StudioPinView *self)
{
  return self->kind;
}

const PinValue *
studio_pin_view_get_value (StudioPinView *self)
{
  return has_value (self) ? self->value : NULL;
}

void
studio_pin_view_set_colors (StudioPinView *self, PinScale scale)
{
  self->colors = scale;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* ---- object ---------------------------------------------------------------------------------- */

static void
pin_view_finalize (GObject *object)
{
  StudioPinView *self = STUDIO_PIN_VIEW (object);

  g_signal_handlers_disconnect_by_data (adw_style_manager_get_default (), self);
  pin_value_free (self->value);
  pin_history_free (self->history);
  g_free (self->caption);
  g_free (self->cell_words);
  G_OBJECT_CLASS (studio_pin_view_parent_class)->finalize (object);
}

static void
studio_pin_view_class_init (StudioPinViewClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = pin_view_finalize;
  widget_class->snapshot = pin_view_snapshot;
  widget_class->measure = pin_view_measure;
  widget_class->get_request_mode = pin_view_request_mode;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "pinview");
  choose_signal = studio_signal_new ("choose", STUDIO_TYPE_PIN_VIEW, 1, G_TYPE_INT64);
}

static void
studio_pin_view_init (StudioPinView *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkGesture *click = gtk_gesture_click_new ();

  self->value = pin_value_new ("", NULL, NULL, -1);
  self->history = pin_history_new ();
  self->scale = 1;
  self->cell = -1;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (motion, "enter", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
  g_signal_connect_swapped (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self);
}

StudioPinView *
studio_pin_view_new (const StudioPinKind *kind)
{
  StudioPinView *self = g_object_new (STUDIO_TYPE_PIN_VIEW, NULL);

  self->kind = kind;
  studio_pin_view_set_size (self, kind->width, kind->height);
  update (self);
  return self;
}
