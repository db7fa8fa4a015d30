#include "ui/canvas/canvas-clipboard.h"

#include <glib/gi18n.h>

#include "ui/document/studio-clipboard.h"

typedef struct
{
  CanvasBoard *board;
  GtkWidget *widget; /* a reference, which keeps the board */
  double x, y;
} Paste;

void
canvas_clipboard_copy (CanvasBoard *board)
{
  g_autofree char *text = studio_clipboard_copy (board->document);

  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (board->widget), text);
}

static void
pasted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree Paste *paste = data;
  g_autoptr (GtkWidget) widget = paste->widget;
  CanvasBoard *board = paste->board;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = gdk_clipboard_read_text_finish (GDK_CLIPBOARD (source), result, &error);

  if (board->document == NULL)
    return;
  if (text == NULL || text[0] != '<')
    canvas_board_say (board, _ ("There are no nodes on the clipboard."));
  else if (!studio_clipboard_paste (board->document, text, paste->x, paste->y, &error))
    canvas_board_say (board, error->message);
  else
    canvas_board_focus_selected (board);
}

void
canvas_clipboard_paste (CanvasBoard *board, double x, double y)
{
  Paste *paste = g_new0 (Paste, 1);

  *paste = (Paste){ board, g_object_ref (board->widget), x, y };
  gdk_clipboard_read_text_async (gtk_widget_get_clipboard (board->widget), NULL, pasted_cb, paste);
}
