/* Implements studio-eval-chart.h. */
#include "ui/evaluate/studio-eval-chart.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/drawing/chart-text.h"
#include "ui/charts/studio-text-scale.h"

struct _StudioEvalChart
{
  GtkWidget parent_instance;
  StudioEvaluation *model;
  const EvalChartKind *kind;
  int cursor;
  char *description;
};

G_DEFINE_FINAL_TYPE (StudioEvalChart, studio_eval_chart, GTK_TYPE_WIDGET)

void
eval_draw_ink (const EvalDrawing *d, double alpha)
{
  cairo_set_source_rgba (d->cr, d->ink, d->ink, d->ink, alpha);
}

void
eval_draw_accent (const EvalDrawing *d, double alpha)
{
  /* The blue of charts, #1a5fb4 and #99c1f1. */
  if (d->dark)
    cairo_set_source_rgba (d->cr, 0.6, 0.757, 0.945, alpha);
  else
    cairo_set_source_rgba (d->cr, 0.102, 0.373, 0.706, alpha);
}

double
eval_draw_text (const EvalDrawing *d, const char *text, double x, double y, double align, double most)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (d->context, d->scale, FALSE, text);

  return chart_text_draw (d->cr, layout, x, y, align, most);
}

static EvalDrawing
drawing_of (StudioEvalChart *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  const gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());

  return (EvalDrawing){ .model = self->model,
                        .context = gtk_widget_get_pango_context (widget),
                        .scale = studio_text_scale (widget),
                        .width = gtk_widget_get_width (widget),
                        .height = gtk_widget_get_height (widget),
                        .ink = dark ? 1 : 0.14,
                        .dark = dark,
                        .cursor = self->cursor };
}

static void
update (StudioEvalChart *self)
{
  const guint n = self->kind->n_items (self->model);

  if (self->cursor >= (int)n)
    self->cursor = -1;
  g_autofree char *all = n > 0 ? self->kind->describe (self->model) : g_strdup (_ ("nothing is evaluated yet"));
  g_autofree char *item = self->cursor >= 0 ? self->kind->describe_item (self->model, (guint)self->cursor) : NULL;
  char *description = item != NULL ? g_strdup_printf ("%s. %s", item, all) : g_strdup (all);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (g_strcmp0 (description, self->description) == 0)
    {
      g_free (description);
      return;
    }
  g_free (self->description);
  self->description = description;
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, _ (self->kind->title),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, description, -1);
}

static void
changed_cb (StudioEvalChart *self)
{
  gtk_widget_queue_resize (GTK_WIDGET (self));
  update (self);
}

static void
put_cursor (StudioEvalChart *self, int item)
{
  if (item == self->cursor)
    return;
  self->cursor = item;
  update (self);
}

static void
motion_cb (GtkEventControllerMotion *motion, double x, double y, StudioEvalChart *self)
{
  const EvalDrawing d = drawing_of (self);

  if (self->kind->n_items (self->model) > 0)
    put_cursor (self, self->kind->item_at (&d, x, y));
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioEvalChart *self)
{
  const int by = key == GDK_KEY_Right || key == GDK_KEY_Down ? 1 : key == GDK_KEY_Left || key == GDK_KEY_Up ? -1 : 0;
  const int n = (int)self->kind->n_items (self->model);

  if (by == 0 || n == 0 || state & (GDK_CONTROL_MASK | GDK_ALT_MASK))
    return GDK_EVENT_PROPAGATE;
  put_cursor (self, self->cursor < 0 ? (by > 0 ? 0 : n - 1) : CLAMP (self->cursor + by, 0, n - 1));
  return GDK_EVENT_STOP;
}

static gboolean
chart_query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  StudioEvalChart *self = STUDIO_EVAL_CHART (widget);
  g_autofree char *text = self->cursor >= 0 && self->kind->n_items (self->model) > 0
                              ? self->kind->describe_item (self->model, (guint)self->cursor)
                              : NULL;

  gtk_tooltip_set_text (tooltip, text);
  return text != NULL;
}

static void
chart_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioEvalChart *self = STUDIO_EVAL_CHART (widget);
  EvalDrawing d = drawing_of (self);

  if (d.width <= 0 || d.height <= 0 || self->kind->n_items (self->model) == 0)
    return;
  d.cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float)d.width, (float)d.height));
  self->kind->draw (&d);
  cairo_destroy (d.cr);
}

static GtkSizeRequestMode
chart_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
chart_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
               int *minimum_baseline, int *natural_baseline)
{
  StudioEvalChart *self = STUDIO_EVAL_CHART (widget);
  const double scale = studio_text_scale (widget);

  *minimum = (int)(160 * scale);
  *natural = (int)(320 * scale);
  if (orientation == GTK_ORIENTATION_VERTICAL)
    *minimum = *natural = (int)ceil (self->kind->height (self->model, for_size > 0 ? for_size : *natural, scale));
}

static void
chart_dispose (GObject *object)
{
  StudioEvalChart *self = STUDIO_EVAL_CHART (object);

  g_clear_object (&self->model);
  g_clear_pointer (&self->description, g_free);
  G_OBJECT_CLASS (studio_eval_chart_parent_class)->dispose (object);
}

static void
studio_eval_chart_class_init (StudioEvalChartClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = chart_dispose;
  widget_class->snapshot = chart_snapshot;
  widget_class->measure = chart_measure;
  widget_class->get_request_mode = chart_request_mode;
  widget_class->query_tooltip = chart_query_tooltip;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "evalchart");
}

static void
studio_eval_chart_init (StudioEvalChart *self)
{
  GtkEventController *keys = gtk_event_controller_key_new (), *motion = gtk_event_controller_motion_new ();

  self->cursor = -1;
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self,
                           G_CONNECT_SWAPPED);
}

GtkWidget *
studio_eval_chart_new (StudioEvaluation *model, const EvalChartKind *kind)
{
  StudioEvalChart *self = g_object_new (STUDIO_TYPE_EVAL_CHART, NULL);

  self->model = g_object_ref (model);
  self->kind = kind;
  g_signal_connect_object (model, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  update (self);
  return GTK_WIDGET (self);
}

const char *
studio_eval_chart_get_description (StudioEvalChart *self)
{
  return self->description;
}
