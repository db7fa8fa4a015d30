/* Frames and notes: what people write beside a graph.
 *
 * They are widgets for the keyboard's and the screen reader's sake only; the canvas places and draws them before the
 * wires, and its geometry says what a press means, as for cards. */
#include "ui/canvas/studio-remark.h"

#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-remark.h"

struct _StudioRemarkView
{
  GtkWidget parent_instance;

  StudioCanvas *canvas; /* the parent; never outlived */
  guint64 serial;
  guint index;
  gboolean selected;
  char *shown; /* what the layout was made of */
  PangoLayout *text;
};

G_DEFINE_FINAL_TYPE (StudioRemarkView, studio_remark_view, GTK_TYPE_WIDGET)

static const StudioRemark *
own_remark (StudioRemarkView *self)
{
  StudioScene *scene = studio_document_get_scene (self->canvas->document);

  return self->index < scene->n_remarks && scene->remark[self->index].serial == self->serial
             ? &scene->remark[self->index]
             : NULL;
}

static void
studio_remark_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioRemarkView *self = STUDIO_REMARK_VIEW (widget);
  const StudioRemark *remark = own_remark (self);
  const StudioTheme *theme;
  double zoom, width, height;
  cairo_t *cr;

  if (remark == NULL)
    return;
  theme = studio_canvas_theme (self->canvas);
  zoom = self->canvas->view.zoom;
  width = floor (remark->width * zoom);
  height = floor (remark->height * zoom);
  if (self->text == NULL)
    self->text = studio_remark_text_new (gtk_widget_get_pango_context (widget), remark);
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (-4, -4, width + 8, height + 8));
  studio_draw_remark (cr, remark, self->text, theme, zoom, self->selected);
  if (gtk_widget_has_visible_focus (widget))
    studio_draw_box (cr, -4, -4, width + 8, height + 8, 10, NULL, 2, &theme->accent);
  cairo_destroy (cr);
}

void
studio_remark_view_update (StudioRemarkView *self, const StudioScene *scene, guint index, gboolean selected)
{
  const StudioRemark *remark = &scene->remark[index];
  GtkAccessible *accessible = GTK_ACCESSIBLE (self);
  g_autofree char *shown = g_strdup_printf ("%g %g %s", remark->width, remark->height, remark->text);
  g_autofree char *label = g_strdup_printf (remark->is_note ? "Note: %s" : "Frame %s", remark->text);
  g_autoptr (GString) inside = g_string_new (NULL);

  self->index = index;
  self->selected = selected;
  if (g_strcmp0 (shown, self->shown) != 0)
    {
      g_free (self->shown);
      self->shown = g_steal_pointer (&shown);
      g_clear_object (&self->text);
    }
  for (guint i = 0; !remark->is_note && i < scene->n_items; i++)
    if (studio_geometry_is_within (remark, scene->item[i].x, scene->item[i].y, scene->item[i].width,
                                   scene->item[i].height))
      g_string_append_printf (inside, "%s%s", inside->len > 0 ? ", " : "holds ", scene->item[i].id);
  gtk_accessible_update_property (accessible, GTK_ACCESSIBLE_PROPERTY_LABEL, label, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  inside->str, -1);
  gtk_accessible_update_state (accessible, GTK_ACCESSIBLE_STATE_SELECTED, selected, -1);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
studio_remark_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                            int *minimum_baseline, int *natural_baseline)
{
  *minimum = *natural = 0;
}

static void
studio_remark_view_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (studio_remark_view_parent_class)->css_changed (widget, change);
  g_clear_object (&STUDIO_REMARK_VIEW (widget)->text);
}

static void
studio_remark_view_dispose (GObject *object)
{
  StudioRemarkView *self = STUDIO_REMARK_VIEW (object);

  g_clear_object (&self->text);
  g_clear_pointer (&self->shown, g_free);
  G_OBJECT_CLASS (studio_remark_view_parent_class)->dispose (object);
}

static void
studio_remark_view_class_init (StudioRemarkViewClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_remark_view_dispose;
  widget_class->snapshot = studio_remark_view_snapshot;
  widget_class->measure = studio_remark_view_measure;
  widget_class->css_changed = studio_remark_view_css_changed;
  gtk_widget_class_set_css_name (widget_class, "studioremark");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
}

static void
studio_remark_view_init (StudioRemarkView *self)
{
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (gtk_widget_queue_draw), NULL);
}

StudioRemarkView *
studio_remark_view_new (StudioCanvas *canvas, guint64 serial)
{
  StudioRemarkView *self = g_object_new (STUDIO_TYPE_REMARK_VIEW, NULL);

  self->canvas = canvas;
  self->serial = serial;
  self->index = STUDIO_NO_ITEM;
  return self;
}

const guint64 *
studio_remark_view_peek_serial (StudioRemarkView *self)
{
  return &self->serial;
}

guint
studio_remark_view_get_index (StudioRemarkView *self)
{
  return self->index;
}
