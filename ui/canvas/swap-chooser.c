#include "ui/canvas/swap-chooser.h"

#include <glib/gi18n.h>

#include "ui/canvas/studio-chooser.h"
#include "ui/document/studio-search.h"

typedef struct
{
  CanvasBoard *board;
  guint64 serial; /* of the layer */
} Swap;

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  CanvasBoard *board = ((const Swap *)data)->board;
  guint64 serial = ((const Swap *)data)->serial;
  g_autofree char *op = choice != NULL ? g_strdup (choice->name) : NULL;

  studio_chooser_close (chooser);
  if (op == NULL || !studio_document_swap (board->document, serial, op))
    return;
  canvas_board_focus_item (board, studio_scene_find (canvas_board_scene (board), serial), TRUE);
}

/* Layers of its category first: an activation is mostly replaced by another. */
static void
add_rows (StudioChooser *chooser, StudioDocument *document, const StudioItem *item, gboolean similar)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      gboolean is_similar = item->op != NULL && (*op)->category == item->op->category;
      StudioChoice *choice;

      if (is_similar != similar || !studio_document_can_swap (document, item->serial, *op))
        continue;
      choice = studio_chooser_add (chooser, (*op)->icon, (*op)->title, _ (loom_category_title ((*op)->category)),
                                   studio_search_key_new (*op));
      choice->name = g_strdup ((*op)->name);
    }
}

void
swap_chooser_open (CanvasBoard *board)
{
  StudioScene *scene = canvas_board_scene (board);
  guint current = canvas_board_current (board);
  const StudioItem *item = current != STUDIO_NO_ITEM ? &scene->item[current] : NULL;
  g_autofree char *title = NULL;
  StudioChooser *chooser;
  Swap swap = { board, 0 };
  double x, y;

  if (item == NULL || item->is_module || item->is_frame)
    {
      canvas_board_say (board, _ ("Select the layer to replace first."));
      return;
    }
  title = g_strdup_printf (_ ("Swap %s for"), item->id);
  studio_view_to_screen (canvas_board_view (board), item->x + item->width / 2, item->y + item->height, &x, &y);
  swap.serial = item->serial;
  chooser = studio_chooser_new (board->popover, chose_cb, g_memdup2 (&swap, sizeof swap), g_free);
  studio_chooser_begin (chooser, title, _ ("Name of a layer"), NULL);
  add_rows (chooser, board->document, item, TRUE);
  add_rows (chooser, board->document, item, FALSE);
  studio_chooser_show (chooser, "", FALSE, x, y);
}
