/* A search over the operators that could stand in a layer's place with its wires: choosing one swaps it. */
#include "ui/canvas/studio-canvas-private.h"

#include <glib/gi18n.h>

#include "ui/canvas/studio-chooser.h"

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  guint64 serial = *(guint64 *)data;
  g_autofree char *op = choice != NULL ? g_strdup (choice->name) : NULL;

  studio_chooser_close (chooser);
  if (op == NULL || !studio_document_swap (canvas->document, serial, op))
    return;
  studio_canvas_focus_item (canvas, studio_scene_find (studio_canvas_scene (canvas), serial), TRUE);
}

/* Its kin first: an activation mostly makes way for another. */
static void
add_rows (StudioChooser *chooser, StudioCanvas *canvas, const StudioItem *item, gboolean kin)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      gboolean is_kin = item->op != NULL && (*op)->category == item->op->category;
      StudioChoice *choice;

      if (is_kin != kin || !studio_document_can_swap (canvas->document, item->serial, *op))
        continue;
      choice = studio_chooser_add (chooser, (*op)->icon, (*op)->title, _ (loom_category_title ((*op)->category)),
                                   studio_search_key_new (*op));
      choice->name = g_strdup ((*op)->name);
    }
}

void
studio_swap_popup (StudioCanvas *canvas)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  guint current = studio_canvas_current (canvas);
  const StudioItem *item = current != STUDIO_NO_ITEM ? &scene->item[current] : NULL;
  g_autofree char *title = NULL;
  StudioChooser *chooser;
  double x, y;

  if (item == NULL || item->is_module || item->is_frame)
    {
      studio_canvas_say (canvas, _ ("Select the layer to replace first."));
      return;
    }
  title = g_strdup_printf (_ ("Swap %s for"), item->id);
  studio_view_to_screen (&canvas->view, item->x + item->width / 2, item->y + item->height, &x, &y);
  chooser = studio_chooser_new (canvas, chose_cb, g_memdup2 (&item->serial, sizeof item->serial), g_free);
  studio_chooser_begin (chooser, title, _ ("Name of a layer"), NULL);
  add_rows (chooser, canvas, item, TRUE);
  add_rows (chooser, canvas, item, FALSE);
  studio_chooser_show (chooser, "", FALSE, x, y);
}
