/* Frames and notes are widgets only for the keyboard and screen readers: the canvas places and draws them before the
 * wires, and its geometry decides what a press means, as for cards. */
#include "ui/canvas/studio-annotation.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/drawing/draw-annotation.h"
#include "ui/drawing/draw-card.h"

struct _StudioAnnotationView
{
  GtkWidget parent_instance;

  const CardContext *context;
  guint64 serial;
  guint index;
  gboolean selected;
  char *shown; /* what the layout was made of */
  PangoLayout *text;
};

G_DEFINE_FINAL_TYPE (StudioAnnotationView, studio_annotation_view, GTK_TYPE_WIDGET)

static const StudioAnnotation *
own_annotation (StudioAnnotationView *self)
{
  StudioScene *scene = studio_document_get_scene (self->context->document);

  return self->index < scene->n_annotations && scene->annotation[self->index].serial == self->serial
             ? &scene->annotation[self->index]
             : NULL;
}

static void
studio_annotation_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioAnnotationView *self = STUDIO_ANNOTATION_VIEW (widget);
  const StudioAnnotation *annotation = own_annotation (self);
  const StudioTheme *theme;
  double zoom, width, height;
  cairo_t *cr;

  if (annotation == NULL)
    return;
  theme = canvas_pictures_theme (self->context->pictures);
  zoom = canvas_view_get (self->context->view)->zoom;
  width = floor (annotation->width * zoom);
  height = floor (annotation->height * zoom);
  if (self->text == NULL)
    self->text = studio_annotation_text_new (gtk_widget_get_pango_context (widget), annotation);
  /* From afar a frame's title rises above it. */
  cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (-4, -24, width + 8, height + 28));
  studio_draw_annotation (cr, annotation, self->text, theme, zoom, self->selected);
  if (!annotation->is_note && zoom >= STUDIO_ZOOM_DETAIL && !canvas_view_is_presented (self->context->view))
    {
      cairo_save (cr);
      cairo_scale (cr, zoom, zoom);
      studio_draw_chevron (cr, annotation->width - STUDIO_FRAME_ARROW / 2 - 4, STUDIO_FRAME_TITLE / 2 + 2, TRUE,
                           &theme->dim);
      cairo_restore (cr);
    }
  if (gtk_widget_has_visible_focus (widget))
    studio_draw_box (cr, -4, -4, width + 8, height + 8, 10, NULL, 2, &theme->accent);
  cairo_destroy (cr);
}

void
studio_annotation_view_update (StudioAnnotationView *self, const StudioScene *scene, guint index, gboolean selected)
{
  const StudioAnnotation *annotation = &scene->annotation[index];
  GtkAccessible *accessible = GTK_ACCESSIBLE (self);
  g_autofree char *shown = g_strdup_printf ("%g %g %s", annotation->width, annotation->height, annotation->text);
  g_autofree char *label = g_strdup_printf (annotation->is_note ? _ ("Note: %s") : _ ("Frame %s"), annotation->text);
  g_autoptr (GString) inside = g_string_new (NULL);

  self->index = index;
  self->selected = selected;
  if (g_strcmp0 (shown, self->shown) != 0)
    {
      g_free (self->shown);
      self->shown = g_steal_pointer (&shown);
      g_clear_object (&self->text);
    }
  for (guint i = 0; !annotation->is_note && i < scene->n_items; i++)
    if (studio_geometry_is_within (annotation, scene->item[i].x, scene->item[i].y, scene->item[i].width,
                                   scene->item[i].height))
      g_string_append_printf (inside, "%s%s", inside->len > 0 ? ", " : "", scene->item[i].id);
  if (inside->len > 0)
    {
      g_autofree char *names = g_strdup (inside->str);

      g_string_printf (inside, _ ("contains %s"), names);
    }
  gtk_accessible_update_property (accessible, GTK_ACCESSIBLE_PROPERTY_LABEL, label, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  inside->str, -1);
  gtk_accessible_update_state (accessible, GTK_ACCESSIBLE_STATE_SELECTED, selected, -1);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
studio_annotation_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                                int *minimum_baseline, int *natural_baseline)
{
  *minimum = *natural = 0;
}

static void
studio_annotation_view_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (studio_annotation_view_parent_class)->css_changed (widget, change);
  g_clear_object (&STUDIO_ANNOTATION_VIEW (widget)->text);
}

static void
studio_annotation_view_dispose (GObject *object)
{
  StudioAnnotationView *self = STUDIO_ANNOTATION_VIEW (object);

  g_clear_object (&self->text);
  g_clear_pointer (&self->shown, g_free);
  G_OBJECT_CLASS (studio_annotation_view_parent_class)->dispose (object);
}

static void
studio_annotation_view_class_init (StudioAnnotationViewClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_annotation_view_dispose;
  widget_class->snapshot = studio_annotation_view_snapshot;
  widget_class->measure = studio_annotation_view_measure;
  widget_class->css_changed = studio_annotation_view_css_changed;
  gtk_widget_class_set_css_name (widget_class, "studioannotation");
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
}

static void
studio_annotation_view_init (StudioAnnotationView *self)
{
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  g_signal_connect (self, "notify::has-focus", G_CALLBACK (gtk_widget_queue_draw), NULL);
}

StudioAnnotationView *
studio_annotation_view_new (const CardContext *context, guint64 serial)
{
  StudioAnnotationView *self = g_object_new (STUDIO_TYPE_ANNOTATION_VIEW, NULL);

  self->context = context;
  self->serial = serial;
  self->index = STUDIO_NO_ITEM;
  return self;
}

const guint64 *
studio_annotation_view_peek_serial (StudioAnnotationView *self)
{
  return &self->serial;
}

guint
studio_annotation_view_get_index (StudioAnnotationView *self)
{
  return self->index;
}
