/* The path of the current scope: "Graph › conv_block · 3 uses · Make unique", over the canvas while a module is shown.
 */
#include "ui/canvas/studio-canvas.h"

#include <glib/gi18n.h>

typedef struct
{
  StudioDocument *document;
  GtkWidget *box;
} Breadcrumb;

static void
level_cb (GtkButton *button, Breadcrumb *self)
{
  studio_document_leave_to (self->document, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "depth")));
}

static void
unique_cb (GtkButton *button, Breadcrumb *self)
{
  studio_document_make_unique (self->document);
}

static void
add_label (Breadcrumb *self, const char *text)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_widget_add_css_class (label, "dim-label");
  gtk_box_append (GTK_BOX (self->box), label);
}

static void
rebuild (Breadcrumb *self)
{
  StudioDocument *document = self->document;
  GtkWidget *child;
  guint depth, uses;
  g_autofree char *module = NULL, *text = NULL;

  depth = studio_document_scope_depth (document);
  while ((child = gtk_widget_get_first_child (self->box)) != NULL)
    gtk_box_remove (GTK_BOX (self->box), child);
  gtk_widget_set_visible (self->box, depth > 0);
  if (depth == 0)
    return;
  for (guint i = 0; i < depth; i++)
    {
      g_autofree char *name = studio_document_dup_scope_name (document, i);
      GtkWidget *button = gtk_button_new (), *label = gtk_label_new (name);

      /* A long title must not limit how small the window may be. */
      gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
      gtk_button_set_child (GTK_BUTTON (button), label);
      gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
      gtk_widget_add_css_class (button, "flat");
      g_object_set_data (G_OBJECT (button), "depth", GUINT_TO_POINTER (i));
      g_signal_connect (button, "clicked", G_CALLBACK (level_cb), self);
      gtk_box_append (GTK_BOX (self->box), button);
      add_label (self, "›");
    }
  module = studio_document_dup_scope_name (document, depth);
  uses = studio_document_module_uses (document, module);
  {
    GtkWidget *label = gtk_label_new (module);

    gtk_widget_add_css_class (label, "heading");
    gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
    gtk_box_append (GTK_BOX (self->box), label);
  }
  text = g_strdup_printf (ngettext ("· %u use", "· %u uses", uses), uses);
  add_label (self, text);
  if (uses > 1)
    {
      GtkWidget *button = gtk_button_new_with_label (_ ("Make Unique"));

      gtk_widget_set_tooltip_text (button, _ ("Give this instance its own definition"));
      gtk_widget_add_css_class (button, "flat");
      g_signal_connect (button, "clicked", G_CALLBACK (unique_cb), self);
      gtk_box_append (GTK_BOX (self->box), button);
    }
}

static void
free_cb (gpointer data)
{
  Breadcrumb *self = data;

  g_signal_handlers_disconnect_by_data (self->document, self);
  g_object_unref (self->document);
  g_free (self);
}

GtkWidget *
studio_canvas_breadcrumb_new (StudioCanvas *canvas)
{
  Breadcrumb *self = g_new0 (Breadcrumb, 1);
  StudioDocument *document = studio_canvas_get_document (canvas);

  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->document = g_object_ref (document);
  gtk_widget_add_css_class (self->box, "toolbar");
  gtk_widget_add_css_class (self->box, "studio-breadcrumb");
  g_object_set_data_full (G_OBJECT (self->box), "breadcrumb", self, free_cb);
  g_signal_connect_swapped (document, "scope-changed", G_CALLBACK (rebuild), self);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (rebuild), self);
  rebuild (self);
  return self->box;
}
