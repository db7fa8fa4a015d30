/* Implements studio-caption.h. */
#include "ui/page/studio-caption.h"

#include <string.h>

#include "ui/charts/studio-template.h"
#include "ui/lesson/studio-markdown.h"

/* Longer notes scroll. */
#define NOTE_SHARE 0.22

struct _StudioCaption
{
  AdwBin parent_instance;
  GtkWidget *label, *note_scroller, *notes;
  int height;      /* the largest of the captions so far */
  int note_height; /* of what the notes have a share; 0: unknown */
};

G_DEFINE_FINAL_TYPE (StudioCaption, studio_caption, ADW_TYPE_BIN)

static guint follow_signal;

/* ---- caption -------------------------------------------------------------------------------- */

static void
keep_height (StudioCaption *self)
{
  int width = gtk_widget_get_width (GTK_WIDGET (self)), height;
  if (!gtk_widget_get_visible (GTK_WIDGET (self)) || width <= 0)
    return;
  gtk_widget_measure (self->label, GTK_ORIENTATION_VERTICAL, width, NULL, &height, NULL, NULL);
  self->height = MAX (self->height, height);
  gtk_widget_set_size_request (self->label, -1, self->height);
}

void
studio_caption_set_shown (StudioCaption *self, gboolean shown)
{
  self->height = 0;
  gtk_widget_set_size_request (self->label, -1, -1);
  gtk_widget_set_visible (GTK_WIDGET (self), shown);
}

void
studio_caption_set_title (StudioCaption *self, const char *title)
{
  gtk_widget_add_css_class (self->label, "slide-title");
  gtk_label_set_text (GTK_LABEL (self->label), title);
  keep_height (self);
}

void
studio_caption_set_markup (StudioCaption *self, const char *markup)
{
  gtk_widget_remove_css_class (self->label, "slide-title");
  gtk_label_set_markup (GTK_LABEL (self->label), markup);
  keep_height (self);
}

/* ---- notes ---------------------------------------------------------------------------------- */

static gboolean
is_node_cb (const char *name, gpointer data)
{
  return FALSE;
}

static void
follow_cb (const char *address, gpointer self)
{
  if (g_str_has_prefix (address, "node:"))
    g_signal_emit (self, follow_signal, 0, address + strlen ("node:"));
}

/* All notes are in one stack, which has the height of the highest, so that the graph does not move between views. */
void
studio_caption_set_notes (StudioCaption *self, StudioSlides *slides)
{
  GtkWidget *child;
  gboolean any = FALSE;
  while ((child = gtk_widget_get_first_child (self->notes)) != NULL)
    gtk_stack_remove (GTK_STACK (self->notes), child);
  for (guint i = 0; slides != NULL && i < studio_slides_n (slides); i++)
    {
      const char *text = studio_slides_get (slides, i)->text;
      g_autofree char *name = g_strdup_printf ("%u", i);
      gtk_stack_add_named (GTK_STACK (self->notes), studio_markdown_new (text, is_node_cb, follow_cb, self), name);
      any |= text[0] != '\0';
    }
  gtk_widget_set_visible (self->note_scroller, any);
  studio_caption_fit_notes (self, self->note_height);
}

void
studio_caption_show_note (StudioCaption *self, int view)
{
  g_autofree char *name = g_strdup_printf ("%d", view);
  gtk_stack_set_visible_child_name (GTK_STACK (self->notes), name);
}

/* A scrolled window measures its child without its width, so lines that wrap would be cut off. */
void
studio_caption_fit_notes (StudioCaption *self, int height)
{
  const int width = gtk_widget_get_width (self->note_scroller);
  int wanted;
  self->note_height = height;
  if (!gtk_widget_get_visible (GTK_WIDGET (self)) || width <= 0 || height <= 0)
    return;
  gtk_widget_measure (self->notes, GTK_ORIENTATION_VERTICAL, width, NULL, &wanted, NULL, NULL);
  wanted = MIN (wanted, (int)(NOTE_SHARE * height));
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (self->note_scroller), wanted);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (self->note_scroller), wanted);
}

static void
studio_caption_class_init (StudioCaptionClass *klass)
{
  follow_signal = studio_signal_new ("follow", STUDIO_TYPE_CAPTION, 1, G_TYPE_STRING);
  STUDIO_TEMPLATE (klass, "studio-caption.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioCaption, label, note_scroller, notes);
}

static void
studio_caption_init (StudioCaption *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}
