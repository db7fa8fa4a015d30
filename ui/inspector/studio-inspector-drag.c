/* Dragging across a number's entry changes it. During the drag the document is unchanged and the inspector previews the
 * changes; the release is one undo step. In a focused entry a drag selects text as usual. */
#include "ui/inspector/studio-inspector-params.h"
#include "ui/inspector/studio-inspector-private.h"

#include <math.h>

#define THRESHOLD 6.0 /* pixels, before a press is a drag */

typedef struct
{
  InspectorRow *row;
  gboolean dragging;
  char *text; /* text of the dragged value */
} NumberDrag;

static void
free_drag (gpointer data, GClosure *closure)
{
  NumberDrag *drag = data;

  g_free (drag->text);
  g_free (drag);
}

static void
begin_cb (GtkGestureDrag *gesture, double x, double y, NumberDrag *drag)
{
  drag->dragging = FALSE;
  g_clear_pointer (&drag->text, g_free);
  if (gtk_widget_get_focus_child (drag->row->editor) != NULL)
    gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_DENIED);
}

static void
update_cb (GtkGestureDrag *gesture, double dx, double dy, NumberDrag *drag)
{
  InspectorRow *row = drag->row;
  StudioInspector *self = row->inspector;
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));
  LoomElement *e = inspector_element (self);
  const char *written = e != NULL ? loom_element_get (e, row->spec.name) : NULL;
  g_autofree char *text = NULL;

  if (e == NULL || (!drag->dragging && fabs (dx) < THRESHOLD))
    return;
  text = studio_number_dragged (&row->spec, written != NULL ? written : "", dx,
                                (state & GDK_SHIFT_MASK) != 0     ? STUDIO_DRAG_FINE
                                : (state & GDK_CONTROL_MASK) != 0 ? STUDIO_DRAG_COARSE
                                                                  : STUDIO_DRAG_PLAIN);
  if (text == NULL)
    return;
  if (!drag->dragging)
    gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
  drag->dragging = TRUE;
  if (g_strcmp0 (text, drag->text) == 0)
    return;
  g_free (drag->text);
  drag->text = g_steal_pointer (&text);
  self->updating = TRUE;
  gtk_editable_set_text (GTK_EDITABLE (row->editor), drag->text);
  self->updating = FALSE;
  inspector_preview (row, drag->text, NULL);
}

static void
end_cb (GtkGestureDrag *gesture, double dx, double dy, NumberDrag *drag)
{
  StudioDocument *document = drag->row->inspector->document;

  if (!drag->dragging)
    return;
  drag->dragging = FALSE;
  inspector_end_preview (drag->row->inspector);
  /* Steps that set the same attribute within a short time are merged, but a drag is a step of its own. */
  studio_document_end_merge (document);
  inspector_commit (drag->row, drag->text);
  studio_document_end_merge (document);
}

static void
cancel_cb (GtkGesture *gesture, GdkEventSequence *sequence, NumberDrag *drag)
{
  GdkEvent *event = gtk_event_controller_get_current_event (GTK_EVENT_CONTROLLER (gesture));

  if (!drag->dragging)
    return;
  /* If a motion arrives without the button, the release is still in the queue (drag_cancel_cb() of the canvas). */
  if (event != NULL && gdk_event_get_event_type (event) == GDK_MOTION_NOTIFY)
    {
      end_cb (GTK_GESTURE_DRAG (gesture), 0, 0, drag);
      return;
    }
  drag->dragging = FALSE;
  inspector_end_preview (drag->row->inspector);
  drag->row->inspector->updating = TRUE;
  inspector_refresh_row (drag->row);
  drag->row->inspector->updating = FALSE;
}

/* A default is shown by a label in the empty field, which goes as soon as the drag writes a number: were it what was
 * pressed, the drag would end with it. */
static void
press_through_default (GtkWidget *editor)
{
  GtkEditable *field = gtk_editable_get_delegate (GTK_EDITABLE (editor));

  for (GtkWidget *child = field != NULL ? gtk_widget_get_first_child (GTK_WIDGET (field)) : NULL; child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (GTK_IS_LABEL (child))
      gtk_widget_set_can_target (child, FALSE);
}

void
inspector_add_number_drag (InspectorRow *row)
{
  GtkGesture *gesture = gtk_gesture_drag_new ();
  NumberDrag *drag = g_new0 (NumberDrag, 1);

  drag->row = row;
  /* Before the field's own gestures, which would select text. */
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (gesture), GTK_PHASE_CAPTURE);
  g_signal_connect (gesture, "drag-begin", G_CALLBACK (begin_cb), drag);
  g_signal_connect (gesture, "drag-update", G_CALLBACK (update_cb), drag);
  g_signal_connect (gesture, "cancel", G_CALLBACK (cancel_cb), drag);
  g_signal_connect_data (gesture, "drag-end", G_CALLBACK (end_cb), drag, free_drag, 0);
  gtk_widget_add_controller (row->editor, GTK_EVENT_CONTROLLER (gesture));
  press_through_default (row->editor);
  gtk_widget_set_cursor_from_name (row->editor, "ew-resize");
}
