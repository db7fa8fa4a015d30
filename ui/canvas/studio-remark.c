/* Frames and notes: what people write beside a graph.
 *
 * They are widgets for the keyboard's and the screen reader's sake only; the canvas places and draws them before the
 * wires, and its geometry says what a press means, as for cards. */
#include "ui/canvas/studio-remark.h"

#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"

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
ensure_text (StudioRemarkView *self, const StudioRemark *remark)
{
  PangoAttrList *attributes;

  if (self->text != NULL)
    return;
  self->text = gtk_widget_create_pango_layout (GTK_WIDGET (self), remark->text);
  attributes = pango_attr_list_new ();
  pango_attr_list_insert (attributes, remark->is_note ? pango_attr_scale_new (0.92)
                                                      : pango_attr_weight_new (PANGO_WEIGHT_SEMIBOLD));
  pango_layout_set_attributes (self->text, attributes);
  pango_attr_list_unref (attributes);
  pango_layout_set_width (self->text, MAX (remark->width - 24, 8) * PANGO_SCALE);
  pango_layout_set_ellipsize (self->text, PANGO_ELLIPSIZE_END);
  if (remark->is_note)
    {
      pango_layout_set_wrap (self->text, PANGO_WRAP_WORD_CHAR);
      pango_layout_set_height (self->text, MAX (remark->height - 16, 8) * PANGO_SCALE);
    }
}

static void
studio_remark_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  StudioRemarkView *self = STUDIO_REMARK_VIEW (widget);
  const StudioRemark *remark = own_remark (self);
  const StudioTheme *theme;
  GdkRGBA colour, border;
  GskRoundedRect outline;
  graphene_rect_t r;
  double zoom, line;

  if (remark == NULL)
    return;
  theme = studio_canvas_theme (self->canvas);
  zoom = self->canvas->view.zoom;
  r = GRAPHENE_RECT_INIT (0, 0, floor (remark->width * zoom), floor (remark->height * zoom));
  colour = remark->is_note ? theme->category[LOOM_CATEGORY_ACTIVATIONS] : theme->dim;
  if (remark->color != NULL)
    gdk_rgba_parse (&colour, remark->color);
  border = colour;
  border.alpha = theme->high_contrast ? 0.9f : 0.45f;
  colour.alpha = remark->is_note ? 0.16f : remark->color != NULL ? 0.10f : 0.05f;
  line = 1;
  if (self->selected)
    {
      border = theme->accent;
      line = 2;
    }
  gsk_rounded_rect_init_from_rect (&outline, &r, (remark->is_note ? 6 : 14) * MIN (zoom, 1));
  gtk_snapshot_push_rounded_clip (snapshot, &outline);
  gtk_snapshot_append_color (snapshot, &colour, &r);
  gtk_snapshot_pop (snapshot);
  gtk_snapshot_append_border (snapshot, &outline, (const float[4]){ line, line, line, line },
                              (const GdkRGBA[4]){ border, border, border, border });
  if (gtk_widget_has_visible_focus (widget))
    {
      graphene_rect_t ring = GRAPHENE_RECT_INIT (-4, -4, r.size.width + 8, r.size.height + 8);

      gsk_rounded_rect_init_from_rect (&outline, &ring, 10);
      gtk_snapshot_append_border (snapshot, &outline, (const float[4]){ 2, 2, 2, 2 },
                                  (const GdkRGBA[4]){ theme->accent, theme->accent, theme->accent, theme->accent });
    }
  /* Titles are worth reading long after the cards are not. */
  if (zoom < (remark->is_note ? STUDIO_ZOOM_DETAIL : 0.25))
    return;
  ensure_text (self, remark);
  gtk_snapshot_scale (snapshot, zoom, zoom);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (12, remark->is_note ? 8 : 6));
  gtk_snapshot_append_layout (snapshot, self->text, remark->is_note ? &theme->text : &theme->dim);
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
