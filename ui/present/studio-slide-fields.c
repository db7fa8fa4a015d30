/* The fields of a view; see the header. */
#include "ui/present/studio-slide-fields.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/present/studio-slide-show.h"

struct _StudioSlideFields
{
  AdwBin parent_instance;
  StudioDocument *document;
  StudioSlides *slides;
  GtkWidget *box, *title, *text, *light, *everything, *pins;
  gboolean filling;
  guint64 shown;      /* serial of the slide in the fields */
  GPtrArray *tensors; /* the check buttons of pins, in order */
};

G_DEFINE_FINAL_TYPE (StudioSlideFields, studio_slide_fields, ADW_TYPE_BIN)

/* ---- from the fields to the document ------------------------------------------------- */

static void
title_cb (GtkEditable *editable, StudioSlideFields *self)
{
  const int i = studio_slides_get_current (self->slides);

  if (!self->filling && i >= 0)
    studio_slides_set (self->slides, (guint)i, "title", gtk_editable_get_text (editable));
}

static char *
dup_text (StudioSlideFields *self)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->text));
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (buffer, &start, &end);
  return gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
}

static void
text_cb (StudioSlideFields *self)
{
  const int i = studio_slides_get_current (self->slides);
  g_autofree char *text = dup_text (self);

  if (!self->filling && i >= 0)
    studio_slides_set_text (self->slides, (guint)i, text);
}

static void
light_cb (StudioSlideFields *self)
{
  const int i = studio_slides_get_current (self->slides);
  g_autofree char *ids = studio_slide_dup_selected (self->document);

  if (i >= 0)
    studio_slides_set (self->slides, (guint)i, "spotlight", ids);
}

static void
everything_cb (StudioSlideFields *self)
{
  const int i = studio_slides_get_current (self->slides);

  if (i >= 0)
    studio_slides_set (self->slides, (guint)i, "spotlight", NULL);
}

/* The checked pins; NULL if all are checked, so that later pins are included. */
static void
pin_cb (StudioSlideFields *self)
{
  const int i = studio_slides_get_current (self->slides);
  g_autoptr (GString) tensors = g_string_new (NULL);
  gboolean all = TRUE;

  if (self->filling || i < 0)
    return;
  for (GtkWidget *check = gtk_widget_get_first_child (self->pins); check != NULL;
       check = gtk_widget_get_next_sibling (check))
    if (gtk_check_button_get_active (GTK_CHECK_BUTTON (check)))
      g_string_append_printf (tensors, "%s%s", tensors->len > 0 ? " " : "",
                              (const char *)g_object_get_data (G_OBJECT (check), "tensor"));
    else
      all = FALSE;
  studio_slides_set (self->slides, (guint)i, "pins", all ? NULL : tensors->str);
}

/* ---- from the document to the fields ----------------------------------------------------- */

static GPtrArray *
pinned_tensors (StudioDocument *document)
{
  const LoomElement *root = loom_graph_root (studio_document_get_graph (document));
  const LoomElement *view = loom_element_find (root, LOOM_TAG_VIEW);
  GPtrArray *tensors = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const LoomElement *pin = loom_element_child (view, i);
      const char *tensor = loom_element_get (pin, "tensor");

      if (loom_element_tag (pin) == LOOM_TAG_PIN && tensor != NULL)
        g_ptr_array_add (tensors, g_strdup (tensor));
    }
  return tensors;
}

static gboolean
are_same (const GPtrArray *a, const GPtrArray *b)
{
  for (guint i = 0; a->len == b->len && i < a->len; i++)
    if (!g_str_equal (a->pdata[i], b->pdata[i]))
      return FALSE;
  return a->len == b->len;
}

static void
make_pins (StudioSlideFields *self)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->pins)) != NULL)
    gtk_box_remove (GTK_BOX (self->pins), child);
  for (guint i = 0; i < self->tensors->len; i++)
    {
      const char *tensor = self->tensors->pdata[i];
      g_autofree char *label = g_strdup_printf (_ ("Show the pin of %s"), tensor);
      GtkWidget *check = gtk_check_button_new_with_label (label);
      g_object_set_data_full (G_OBJECT (check), "tensor", g_strdup (tensor), g_free);
      g_signal_connect_swapped (check, "toggled", G_CALLBACK (pin_cb), self);
      gtk_box_append (GTK_BOX (self->pins), check);
    }
}

/* The check buttons stay while the pins are the same, so that the focused one keeps the focus. */
static void
fill_pins (StudioSlideFields *self, const LoomSlide *slide)
{
  g_autoptr (GPtrArray) tensors = pinned_tensors (self->document);

  if (!are_same (tensors, self->tensors))
    {
      g_ptr_array_unref (self->tensors);
      self->tensors = g_steal_pointer (&tensors);
      make_pins (self);
    }
  for (GtkWidget *check = gtk_widget_get_first_child (self->pins); check != NULL;
       check = gtk_widget_get_next_sibling (check))
    gtk_check_button_set_active (
        GTK_CHECK_BUTTON (check),
        slide->pins == NULL
            || g_strv_contains ((const char *const *)slide->pins, g_object_get_data (G_OBJECT (check), "tensor")));
}

static void
fill_present_pins (StudioSlideFields *self)
{
  const LoomSlide *slide = studio_slides_get_current_slide (self->slides);

  if (slide == NULL)
    return;
  self->filling = TRUE;
  fill_pins (self, slide);
  self->filling = FALSE;
}

static void
fill_words (StudioSlideFields *self, const LoomSlide *slide)
{
  g_autofree char *ids = slide->spotlight != NULL ? g_strjoinv (", ", slide->spotlight) : NULL;
  g_autofree char *light
      = ids != NULL ? g_strdup_printf (_ ("Highlighted: %s"), ids) : g_strdup (_ ("Everything is highlighted."));
  g_autofree char *text = dup_text (self);

  gtk_label_set_text (GTK_LABEL (self->light), light);
  gtk_widget_set_sensitive (self->everything, ids != NULL);
  /* A field in which the user is typing keeps its text while it belongs to the same view. */
  if (strcmp (gtk_editable_get_text (GTK_EDITABLE (self->title)), slide->title) != 0)
    gtk_editable_set_text (GTK_EDITABLE (self->title), slide->title);
  if ((self->shown != slide->serial || !gtk_widget_has_focus (self->text)) && strcmp (text, slide->text) != 0)
    gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->text)), slide->text, -1);
  self->shown = slide->serial;
}

static void
fill (StudioSlideFields *self)
{
  const LoomSlide *slide = studio_slides_get_current_slide (self->slides);

  gtk_widget_set_visible (self->box, slide != NULL);
  if (slide == NULL)
    return;
  self->filling = TRUE;
  fill_words (self, slide);
  fill_pins (self, slide);
  self->filling = FALSE;
}

/* ---- class --------------------------------------------------------------------------------- */

static void
visit_cb (StudioSlideFields *self)
{
  if (self->slides != NULL)
    studio_slides_begin_visit (self->slides);
}

static void
slide_fields_dispose (GObject *object)
{
  StudioSlideFields *self = STUDIO_SLIDE_FIELDS (object);

  g_clear_pointer (&self->tensors, g_ptr_array_unref);
  g_clear_object (&self->slides);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_slide_fields_parent_class)->dispose (object);
}

static void
studio_slide_fields_class_init (StudioSlideFieldsClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = slide_fields_dispose;
  STUDIO_TEMPLATE (klass, "studio-slide-fields.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioSlideFields, box, title, text, light, everything, pins);
  STUDIO_TEMPLATE_CALLBACKS (klass, visit_cb, title_cb, text_cb, light_cb, everything_cb);
}

static void
studio_slide_fields_init (StudioSlideFields *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  self->tensors = g_ptr_array_new_with_free_func (g_free);
}

StudioSlideFields *
studio_slide_fields_new (StudioDocument *document, StudioSlides *slides)
{
  StudioSlideFields *self = g_object_new (STUDIO_TYPE_SLIDE_FIELDS, NULL);

  self->document = g_object_ref (document);
  self->slides = g_object_ref (slides);
  g_signal_connect_object (slides, "changed", G_CALLBACK (fill), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (slides, "current-changed", G_CALLBACK (fill), self, G_CONNECT_SWAPPED);
  /* Pins can be added or removed without a change of the slide. */
  g_signal_connect_object (document, "changed", G_CALLBACK (fill_present_pins), self, G_CONNECT_SWAPPED);
  fill (self);
  return self;
}

void
studio_slide_fields_focus_title (StudioSlideFields *self)
{
  gtk_widget_grab_focus (self->title);
}
