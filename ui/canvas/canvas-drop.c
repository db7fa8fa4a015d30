#include "ui/canvas/canvas-drop.h"

#define HOT 12 /* where the palette's row hangs at the pointer */

/* The row that hangs at the pointer would cover the ghost: it is held below it. */
static void
hold_row (GtkDropTarget *target, double below)
{
  GdkDrop *drop = gtk_drop_target_get_current_drop (target);
  GdkDrag *drag = drop != NULL ? gdk_drop_get_drag (drop) : NULL;

  if (drag != NULL)
    gdk_drag_set_hotspot (drag, HOT, below > 0 ? -(int)below - HOT : HOT);
}

static StudioAddPlace
place_at (CanvasBoard *board, const StudioDragOp *drag, double x, double y)
{
  return canvas_landing_find_place (board->landing, drag, canvas_board_scene (board), canvas_board_view (board), x, y);
}

static GdkDragAction
motion_cb (GtkDropTarget *target, double x, double y, CanvasBoard *board)
{
  const GValue *value = gtk_drop_target_get_value (target);
  const StudioDragOp *drag = value != NULL ? g_value_get_boxed (value) : NULL;
  StudioAddPlace place;
  double below;

  if (drag == NULL)
    return GDK_ACTION_COPY;
  place = place_at (board, drag, x, y);
  if (canvas_landing_show (board->landing, drag, &place, &below))
    hold_row (target, below * canvas_board_view (board)->zoom);
  return GDK_ACTION_COPY;
}

static void
leave_cb (GtkDropTarget *target, CanvasBoard *board)
{
  hold_row (target, 0);
  canvas_landing_forget (board->landing);
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, CanvasBoard *board)
{
  const StudioDragOp *drag = g_value_get_boxed (value);
  g_autofree char *said = NULL;
  StudioAddPlace place;
  guint64 serial;

  canvas_landing_forget (board->landing);
  if (drag == NULL)
    return FALSE;
  place = place_at (board, drag, x, y);
  serial = studio_document_add (board->document, drag->name, drag->is_module, NULL, &place, &said);
  if (said != NULL)
    canvas_board_say (board, said);
  if (serial == 0)
    return FALSE;
  canvas_board_focus_item (board, studio_scene_find (canvas_board_scene (board), serial), FALSE);
  return TRUE;
}

void
canvas_drop_add (CanvasBoard *board)
{
  GtkDropTarget *drop = gtk_drop_target_new (STUDIO_TYPE_DRAG_OP, GDK_ACTION_COPY);

  /* The dragged operator is known while it is over the canvas, and not only when it is dropped. */
  gtk_drop_target_set_preload (drop, TRUE);
  g_signal_connect (drop, "enter", G_CALLBACK (motion_cb), board);
  g_signal_connect (drop, "motion", G_CALLBACK (motion_cb), board);
  g_signal_connect (drop, "leave", G_CALLBACK (leave_cb), board);
  g_signal_connect (drop, "drop", G_CALLBACK (drop_cb), board);
  gtk_widget_add_controller (board->widget, GTK_EVENT_CONTROLLER (drop));
}
