#include "ui/canvas/annotation-edit.h"

#include <glib/gi18n.h>

typedef struct
{
  CanvasBoard *board;
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
  StudioDocument *document = edit->board->document;
  g_autofree char *text = text_of (edit);
  LoomElement *e = document != NULL ? loom_graph_by_serial (studio_document_get_graph (document), edit->serial) : NULL;

  if (e == NULL || edit->cancelled)
    return;
  g_strchomp (text);
  /* A frame may have no title; an empty note is deleted. */
  if (edit->is_note && text[0] == '\0')
    {
      studio_document_select_only (document, edit->serial);
      studio_document_delete_selection (document);
    }
  else
    studio_document_set_attribute (document, edit->serial, edit->is_note ? "text" : "title", text);
}

static void
closed_cb (GtkWidget *popover, Edit *edit)
{
  CanvasBoard *board = edit->board;

  /* Closed because the canvas itself goes: there is no document to write to. */
  if (!canvas_popover_release (board->popover, popover))
    return;
  commit (edit);
  canvas_board_focus_annotation (board, studio_scene_find_annotation (canvas_board_scene (board), edit->serial));
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
annotation_edit_open (CanvasBoard *board, guint index)
{
  StudioScene *scene = canvas_board_scene (board);
  Edit *edit;
  const StudioAnnotation *annotation;
  GtkEventController *key;
  double x, y;

  if (index >= scene->n_annotations)
    return;
  canvas_popover_close (board->popover);
  scene = canvas_board_scene (board);
  annotation = &scene->annotation[index];
  edit = g_new0 (Edit, 1);
  edit->board = board;
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
  g_object_set_data_full (G_OBJECT (edit->popover), "edit", edit, g_free);
  g_signal_connect (edit->popover, "closed", G_CALLBACK (closed_cb), edit);
  canvas_popover_take (board->popover, edit->popover);
  studio_view_to_screen (canvas_board_view (board), annotation->x + annotation->width / 2, annotation->y, &x, &y);
  canvas_popover_point_at (board->popover, edit->popover, x, y);
  gtk_popover_popup (GTK_POPOVER (edit->popover));
  gtk_widget_grab_focus (edit->editor);
}

static void
edit_new (CanvasBoard *board, guint64 serial)
{
  guint index = studio_scene_find_annotation (canvas_board_scene (board), serial);

  canvas_board_focus_annotation (board, index);
  annotation_edit_open (board, index);
}

void
annotation_edit_add_note (CanvasBoard *board, double x, double y)
{
  edit_new (board, studio_document_add_note (board->document, _ ("Note"), x, y));
}

void
annotation_edit_add_frame (CanvasBoard *board)
{
  double x, y;

  canvas_view_get_center (board->view, &x, &y);
  edit_new (board, studio_document_add_frame (board->document, _ ("Frame"), x, y));
}
