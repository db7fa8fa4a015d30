/* Actions of a page on the documentation of operators: shows that of the selected layer, and inserts its example. */
#include <glib/gi18n.h>

#include "ui/document/studio-example.h"
#include "ui/page/studio-page-private.h"

/* NULL of a module, of nothing, and of several. */
static const LoomOp *
selected_op (StudioPage *self)
{
  guint64 serial
      = studio_document_n_selected (self->document) == 1 ? studio_document_get_selected (self->document, 0) : 0;
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self->document), serial);
  return e != NULL ? loom_op_of (e) : NULL;
}

const LoomOp *
studio_page_get_op_at_keyboard (StudioPage *self)
{
  GtkWidget *canvas = GTK_WIDGET (self->canvas), *focus = gtk_root_get_focus (gtk_widget_get_root (canvas));
  if (focus != NULL && (focus == canvas || gtk_widget_is_ancestor (focus, canvas)))
    return selected_op (self);
  return studio_palette_get_focused_op (self->palette);
}

void
studio_page_show_documentation (StudioPage *self)
{
  const LoomOp *op = selected_op (self);
  if (op != NULL)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.documentation-of", "s", op->name);
  else
    studio_page_toast (self, _ ("Select a layer first to show its documentation."));
}

void
studio_page_insert_example_of (StudioPage *self, const char *name)
{
  const LoomOp *op = loom_op (name);
  g_autoptr (GError) error = NULL;
  if (op == NULL)
    return;
  if (!studio_example_insert (self->document, op, &error))
    {
      studio_page_toast (self, error->message);
      return;
    }
  g_autofree char *text = g_strdup_printf (_ ("Inserted the example of %s"), op->title);
  studio_canvas_zoom_to_selection (self->canvas);
  studio_page_toast (self, text);
}
