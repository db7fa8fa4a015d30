/* Editing the text of a note or the title of a frame in place, in a popover: one transaction when it closes. */
#include <glib/gi18n.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"

typedef struct
{
  StudioCanvas *canvas;
  guint64 serial;
  gboolean is_note, cancelled;
  GtkWidget *popover, *editor;
} Edit;

static char *
text_of (Edit *edit)
{
  if (edit->is_note)
    {
      GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (edit->editor));
      GtkTextIter start, end;

      gtk_text_buffer_get_bounds (buffer, &start, &end);
      return gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
    }
  return g_strdup (gtk_editable_get_text (GTK_EDITABLE (edit->editor)));
}

static void
commit (Edit *edit)
{
  StudioDocument *document = edit->canvas->document;
  g_autofree char *text = text_of (edit);
  LoomElement *e = document != NULL ? loom_graph_by_serial (studio_document_get_graph (document), edit->serial) : NULL;

  if (e == NULL || edit->cancelled)
    return;
  g_strchomp (text);
  /* A frame may do without a title; a note that says nothing is none. */
  if (edit->is_note && text[0] == '\0')
    {
      studio_document_select_only (document, edit->serial);
      studio_document_delete_selection (document);
    }
  else
    studio_document_set_attribute (document, edit->serial, edit->is_note ? "text" : "title", text);
}

static gboolean
unparent_idle (gpointer data)
{
  if (gtk_widget_get_parent (data) != NULL)
    gtk_widget_unparent (data);
  g_object_unref (data);
  return G_SOURCE_REMOVE;
}

static void
closed_cb (GtkPopover *popover, Edit *edit)
{
  StudioCanvas *canvas = edit->canvas;

  /* Closed because the canvas itself goes: there is nothing to write to any more. */
  if (canvas->popover != GTK_WIDGET (popover))
    return;
  canvas->popover = NULL;
  commit (edit);
  studio_canvas_focus_annotation (canvas, studio_scene_find_annotation (studio_canvas_scene (canvas), edit->serial));
  g_idle_add (unparent_idle, g_object_ref (popover));
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, Edit *edit)
{
  gboolean enter = key == GDK_KEY_Return || key == GDK_KEY_KP_Enter;

  if (key == GDK_KEY_Escape)
    edit->cancelled = TRUE;
  else if (!enter || (edit->is_note && !(state & GDK_CONTROL_MASK)))
    return FALSE;
  gtk_popover_popdown (GTK_POPOVER (edit->popover));
  return TRUE;
}

void
studio_annotation_edit (StudioCanvas *canvas, guint index)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  Edit *edit;
  const StudioAnnotation *annotation;
  GtkEventController *key;
  GdkRectangle at;
  double x, y;

  if (index >= scene->n_annotations)
    return;
  if (canvas->popover != NULL)
    gtk_popover_popdown (GTK_POPOVER (canvas->popover));
  scene = studio_canvas_scene (canvas);
  annotation = &scene->annotation[index];
  edit = g_new0 (Edit, 1);
  edit->canvas = canvas;
  edit->serial = annotation->serial;
  edit->is_note = annotation->is_note;
  edit->popover = gtk_popover_new ();
  if (annotation->is_note)
    {
      edit->editor = gtk_text_view_new ();
      gtk_text_view_set_wrap_mode (GTK_TEXT_VIEW (edit->editor), GTK_WRAP_WORD_CHAR);
      gtk_text_view_set_accepts_tab (GTK_TEXT_VIEW (edit->editor), FALSE);
      gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (edit->editor)), annotation->text, -1);
      gtk_widget_set_size_request (edit->editor, 240, 96);
    }
  else
    {
      edit->editor = gtk_entry_new ();
      gtk_editable_set_text (GTK_EDITABLE (edit->editor), annotation->text);
    }
  gtk_accessible_update_property (GTK_ACCESSIBLE (edit->editor), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  annotation->is_note ? _ ("Text of the note") : _ ("Title of the frame"), -1);
  key = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), edit);
  gtk_widget_add_controller (edit->editor, key);
  gtk_popover_set_child (GTK_POPOVER (edit->popover), edit->editor);
  gtk_popover_set_has_arrow (GTK_POPOVER (edit->popover), FALSE);
  gtk_widget_set_parent (edit->popover, GTK_WIDGET (canvas));
  g_object_set_data_full (G_OBJECT (edit->popover), "edit", edit, g_free);
  g_signal_connect (edit->popover, "closed", G_CALLBACK (closed_cb), edit);
  studio_view_to_screen (&canvas->view, annotation->x + annotation->width / 2, annotation->y, &x, &y);
  at = (GdkRectangle){ CLAMP (x, 0, canvas->view.width), CLAMP (y, 0, canvas->view.height), 1, 1 };
  gtk_popover_set_pointing_to (GTK_POPOVER (edit->popover), &at);
  canvas->popover = edit->popover;
  gtk_popover_popup (GTK_POPOVER (edit->popover));
  gtk_widget_grab_focus (edit->editor);
}

void
studio_canvas_end_editing (StudioCanvas *self)
{
  if (self->popover != NULL)
    gtk_popover_popdown (GTK_POPOVER (self->popover));
}
