/* Implements studio-confusion.h. */
#include "ui/evaluate/studio-confusion.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/confusion-drawing.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-type.h"
#include "ui/scene/studio-format.h"

struct _StudioConfusion
{
  GtkWidget parent_instance;
  LoomConfusion *is; /* NULL: none */
  char **names;
  gboolean share;
  int row, column; /* of the cursor; -1: none */
  char *description;
};

G_DEFINE_FINAL_TYPE (StudioConfusion, studio_confusion, GTK_TYPE_WIDGET)

static guint opened_signal;

static double
text_scale (StudioConfusion *self)
{
  return studio_text_scale (GTK_WIDGET (self));
}

static ConfusionDrawing
drawing_of (StudioConfusion *self)
{
  return (ConfusionDrawing){ .is = self->is,
                             .names = (const char *const *)self->names,
                             .share = self->share,
                             .context = gtk_widget_get_pango_context (GTK_WIDGET (self)),
                             .scale = text_scale (self),
                             .ink = adw_style_manager_get_dark (adw_style_manager_get_default ()) ? 1 : 0.14 };
}

static char *
class_name (StudioConfusion *self, guint k)
{
  const ConfusionDrawing d = drawing_of (self);

  return confusion_drawing_name (&d, k);
}

static ConfusionCells
cells_of (StudioConfusion *self, double width, double height)
{
  const ConfusionDrawing d = drawing_of (self);

  return confusion_drawing_fit (&d, width, height);
}

/* ---- words -------------------------------------------------------------------- */

char *
studio_confusion_describe_cell (StudioConfusion *self)
{
  if (self->is == NULL || self->row < 0)
    return NULL;
  const guint r = (guint)self->row, c = (guint)self->column;
  g_autofree char *name = class_name (self, r), *other = class_name (self, c);
  g_autofree char *n = studio_format_count ((double)loom_confusion_at (self->is, r, c));
  g_autofree char *all = studio_format_count ((double)loom_confusion_row (self->is, r));

  if (r == c)
    /* Translators: a cell on the diagonal: class, correct samples, all samples, and their percentage. */
    return g_strdup_printf (_ ("%1$s: %2$s of %3$s correct, %4$.1f %%"), name, n, all,
                            100 * confusion_drawing_share (self->is, r, c));
  /* Translators: a cell: class, predicted class, samples, all samples of the class, and the percentage. */
  return g_strdup_printf (_ ("%1$s predicted as %2$s: %3$s of %4$s, %5$.1f %%"), name, other, n, all,
                          100 * confusion_drawing_share (self->is, r, c));
}

/* The whole matrix: its accuracy and its largest mistake. */
static char *
describe (StudioConfusion *self)
{
  const LoomConfusion *is = self->is;
  guint row = 0, column = 0;

  if (is == NULL)
    return g_strdup (_ ("nothing is evaluated yet"));
  for (guint r = 0; r < is->n_classes; r++)
    for (guint c = 0; c < is->n_classes; c++)
      if (r != c && (row == column || loom_confusion_at (is, r, c) > loom_confusion_at (is, row, column)))
        {
          row = r;
          column = c;
        }
  const double accuracy = 100 * loom_confusion_accuracy (is);
  if (row == column)
    return g_strdup_printf (_ ("accuracy %.1f %%"), accuracy);
  g_autofree char *name = class_name (self, row), *other = class_name (self, column);
  g_autofree char *n = studio_format_count ((double)loom_confusion_at (is, row, column));
  return g_strdup_printf (
      _ ("%1$u classes, accuracy %2$.1f %%; most often confused: %3$s predicted as %4$s, %5$s times"), is->n_classes,
      accuracy, name, other, n);
}

static void
update (StudioConfusion *self)
{
  g_autofree char *cell = studio_confusion_describe_cell (self), *all = describe (self);

  g_free (self->description);
  self->description = cell != NULL ? g_strdup_printf ("%s. %s", cell, all) : g_strdup (all);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Confusion matrix"),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, self->description, -1);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* ---- drawing ------------------------------------------------------------------- */

static void
draw_cursor (StudioConfusion *self, const ConfusionCells *c, cairo_t *cr)
{
  const double x = c->x + self->column * c->cell, y = c->y + self->row * c->cell;

  if (self->row < 0)
    return;
  for (int i = 0; i < 2; i++)
    {
      cairo_set_source_rgb (cr, i, i, i);
      cairo_set_line_width (cr, i == 0 ? 4 : 2);
      cairo_rectangle (cr, x, y, c->cell - 1, c->cell - 1);
      cairo_stroke (cr);
    }
}

static void
confusion_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioConfusion *self = STUDIO_CONFUSION (widget);
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);

  if (self->is == NULL || width <= 0 || height <= 0)
    return;
  const ConfusionDrawing d = drawing_of (self);
  const ConfusionCells cells = confusion_drawing_fit (&d, width, height);
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));

  confusion_drawing_draw (&d, &cells, cr);
  draw_cursor (self, &cells, cr);
  cairo_destroy (cr);
}

static GtkSizeRequestMode
confusion_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
confusion_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                   int *minimum_baseline, int *natural_baseline)
{
  StudioConfusion *self = STUDIO_CONFUSION (widget);
  const double s = text_scale (self);

  *minimum = (int)(160 * s);
  *natural = (int)(320 * s);
  if (orientation == GTK_ORIENTATION_VERTICAL)
    {
      const double width = for_size > 0 ? for_size : *natural;
      const ConfusionDrawing d = drawing_of (self);

      *natural = (int)MAX (self->is != NULL ? confusion_drawing_height (&d, width) : width, *minimum);
      *minimum = *natural;
    }
}

/* ---- the cursor ---------------------------------------------------------------- */

static void
put_cursor (StudioConfusion *self, int row, int column)
{
  if (self->is == NULL)
    return;
  self->row = CLAMP (row, 0, (int)self->is->n_classes - 1);
  self->column = CLAMP (column, 0, (int)self->is->n_classes - 1);
  update (self);
}

static void
open_cell (StudioConfusion *self)
{
  if (self->is != NULL && self->row >= 0)
    g_signal_emit (self, opened_signal, 0, (guint)self->row, (guint)self->column);
}

static gboolean
cell_at (StudioConfusion *self, double x, double y, int *row, int *column)
{
  if (self->is == NULL)
    return FALSE;
  const ConfusionCells c
      = cells_of (self, gtk_widget_get_width (GTK_WIDGET (self)), gtk_widget_get_height (GTK_WIDGET (self)));
  *row = (int)floor ((y - c.y) / c.cell);
  *column = (int)floor ((x - c.x) / c.cell);
  return *row >= 0 && *column >= 0 && *row < (int)self->is->n_classes && *column < (int)self->is->n_classes;
}

/* The cell that was clicked stays under the pointer, also if the matrix is higher than the visible part of the page. */
static void
focus_in_place (StudioConfusion *self)
{
  GtkWidget *viewport = gtk_widget_get_ancestor (GTK_WIDGET (self), GTK_TYPE_VIEWPORT);

  if (viewport != NULL)
    gtk_viewport_set_scroll_to_focus (GTK_VIEWPORT (viewport), FALSE);
  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (viewport != NULL)
    gtk_viewport_set_scroll_to_focus (GTK_VIEWPORT (viewport), TRUE);
}

static void
pressed_cb (GtkGestureClick *gesture, int n, double x, double y, StudioConfusion *self)
{
  int row, column;

  focus_in_place (self);
  if (!cell_at (self, x, y, &row, &column))
    return;
  put_cursor (self, row, column);
  open_cell (self);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioConfusion *self)
{
  static const struct
  {
    guint key;
    int row, column;
  } moves[] = {
    { GDK_KEY_Up, -1, 0 },
    { GDK_KEY_Down, 1, 0 },
    { GDK_KEY_Left, 0, -1 },
    { GDK_KEY_Right, 0, 1 },
  };

  if (self->is == NULL || state & (GDK_CONTROL_MASK | GDK_ALT_MASK))
    return GDK_EVENT_PROPAGATE;
  for (guint i = 0; i < G_N_ELEMENTS (moves); i++)
    if (moves[i].key == key)
      {
        if (self->row < 0)
          put_cursor (self, 0, 0);
        else
          put_cursor (self, self->row + moves[i].row, self->column + moves[i].column);
        return GDK_EVENT_STOP;
      }
  if (key != GDK_KEY_Return && key != GDK_KEY_KP_Enter && key != GDK_KEY_space)
    return GDK_EVENT_PROPAGATE;
  open_cell (self);
  return GDK_EVENT_STOP;
}

static gboolean
confusion_query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  StudioConfusion *self = STUDIO_CONFUSION (widget);
  const int row = self->row, column = self->column;
  g_autofree char *text = NULL;

  if (!keyboard && !cell_at (self, x, y, &self->row, &self->column))
    self->row = -1;
  text = studio_confusion_describe_cell (self);
  self->row = row;
  self->column = column;
  gtk_tooltip_set_text (tooltip, text);
  return text != NULL;
}

/* ---- the widget ---------------------------------------------------------------- */

static void
confusion_dispose (GObject *object)
{
  StudioConfusion *self = STUDIO_CONFUSION (object);

  g_clear_pointer (&self->is, loom_confusion_free);
  g_clear_pointer (&self->names, g_strfreev);
  g_clear_pointer (&self->description, g_free);
  G_OBJECT_CLASS (studio_confusion_parent_class)->dispose (object);
}

static void
studio_confusion_class_init (StudioConfusionClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = confusion_dispose;
  widget_class->snapshot = confusion_snapshot;
  widget_class->measure = confusion_measure;
  widget_class->get_request_mode = confusion_request_mode;
  widget_class->query_tooltip = confusion_query_tooltip;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "confusion");
  opened_signal = studio_signal_new ("opened", STUDIO_TYPE_CONFUSION, 2, G_TYPE_UINT, G_TYPE_UINT);
}

static void
studio_confusion_init (StudioConfusion *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  GtkGesture *click = gtk_gesture_click_new ();

  self->row = self->column = -1;
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self,
                           G_CONNECT_SWAPPED);
  update (self);
}

StudioConfusion *
studio_confusion_new (void)
{
  return g_object_new (STUDIO_TYPE_CONFUSION, NULL);
}

void
studio_confusion_set (StudioConfusion *self, const LoomConfusion *confusion, const char *const *names)
{
  const gboolean resized = self->is == NULL || confusion == NULL || self->is->n_classes != confusion->n_classes;

  g_clear_pointer (&self->is, loom_confusion_free);
  g_strfreev (self->names);
  self->is = confusion != NULL ? loom_confusion_copy (confusion) : NULL;
  self->names = g_strdupv ((char **)names);
  if (resized)
    self->row = self->column = -1;
  gtk_widget_queue_resize (GTK_WIDGET (self));
  update (self);
}

void
studio_confusion_set_share (StudioConfusion *self, gboolean share)
{
  self->share = share;
  update (self);
}

const char *
studio_confusion_get_description (StudioConfusion *self)
{
  return self->description;
}
