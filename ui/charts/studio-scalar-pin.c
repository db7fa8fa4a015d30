/* Made of labels instead of a drawing: they follow the user's font and size, and a screen reader finds one object with
 * a name ("loss 0.412") instead of three. */
#include "ui/charts/studio-scalar-pin.h"
#include "ui/charts/studio-text-scale.h"

#define LARGE 1.5

struct _StudioScalarPin
{
  GtkWidget parent_instance;
  GtkWidget *caption, *row, *figure, *detail;
};

G_DEFINE_TYPE (StudioScalarPin, studio_scalar_pin, GTK_TYPE_WIDGET)

static void
scalar_pin_dispose (GObject *object)
{
  StudioScalarPin *self = STUDIO_SCALAR_PIN (object);
  g_clear_pointer (&self->caption, gtk_widget_unparent);
  g_clear_pointer (&self->row, gtk_widget_unparent);
  G_OBJECT_CLASS (studio_scalar_pin_parent_class)->dispose (object);
}

static void
studio_scalar_pin_class_init (StudioScalarPinClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = scalar_pin_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "figure");
}

static GtkWidget *
small_label (const char *style)
{
  GtkWidget *label = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, style);
  return label;
}

static void
studio_scalar_pin_init (StudioScalarPin *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (gtk_widget_get_layout_manager (GTK_WIDGET (self))),
                                  GTK_ORIENTATION_VERTICAL);
  self->caption = small_label ("figure-caption");
  gtk_label_set_ellipsize (GTK_LABEL (self->caption), PANGO_ELLIPSIZE_END);
  gtk_widget_set_parent (self->caption, GTK_WIDGET (self));
  self->row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_set_parent (self->row, GTK_WIDGET (self));
  self->figure = small_label ("figure-value");
  self->detail = small_label ("figure-caption");
  gtk_label_set_ellipsize (GTK_LABEL (self->detail), PANGO_ELLIPSIZE_END);
  gtk_widget_set_valign (self->figure, GTK_ALIGN_BASELINE);
  gtk_widget_set_valign (self->detail, GTK_ALIGN_BASELINE);
  gtk_box_append (GTK_BOX (self->row), self->figure);
  gtk_box_append (GTK_BOX (self->row), self->detail);
}

StudioScalarPin *
studio_scalar_pin_new (const char *caption)
{
  StudioScalarPin *self = g_object_new (STUDIO_TYPE_SCALAR_PIN, NULL);
  gtk_label_set_label (GTK_LABEL (self->caption), caption);
  studio_scalar_pin_set (self, NULL, NULL);
  return self;
}

static void
describe (StudioScalarPin *self)
{
  g_autofree char *words = g_strdup_printf ("%s %s %s", gtk_label_get_label (GTK_LABEL (self->caption)),
                                            gtk_label_get_label (GTK_LABEL (self->figure)),
                                            gtk_label_get_label (GTK_LABEL (self->detail)));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, g_strchomp (words), -1);
}

void
studio_scalar_pin_set (StudioScalarPin *self, const char *figure, const char *detail)
{
  g_return_if_fail (STUDIO_IS_SCALAR_PIN (self));
  /* With large text the detail next to the number would take space from the charts. */
  gboolean below = studio_text_scale (GTK_WIDGET (self)) >= LARGE;
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->row),
                                  below ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
  gtk_box_set_spacing (GTK_BOX (self->row), below ? 0 : 6);
  gtk_label_set_label (GTK_LABEL (self->figure), figure != NULL ? figure : "–");
  gtk_label_set_label (GTK_LABEL (self->detail), detail != NULL ? detail : "");
  describe (self);
}

void
studio_scalar_pin_set_width (StudioScalarPin *self, int characters)
{
  gtk_label_set_width_chars (GTK_LABEL (self->figure), characters > 0 ? characters : -1);
}

void
studio_scalar_pin_set_caption (StudioScalarPin *self, const char *caption)
{
  gtk_label_set_label (GTK_LABEL (self->caption), caption);
  describe (self);
}
