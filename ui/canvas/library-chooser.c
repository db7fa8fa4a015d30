#include "ui/canvas/library-chooser.h"

#include <glib/gi18n.h>

#include "ui/canvas/studio-chooser.h"
#include "ui/document/studio-library.h"
#include "ui/document/studio-search.h"

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  CanvasBoard *board = data;
  g_autoptr (GPtrArray) entries = studio_library_list (NULL);
  g_autoptr (GError) error = NULL;
  guint order = choice != NULL ? (guint)choice->from : G_MAXUINT;
  guint64 serial = 0;
  double x, y;

  studio_chooser_close (chooser);
  if (order >= entries->len)
    return;
  canvas_view_get_center (board->view, &x, &y);
  serial = studio_library_add (board->document, entries->pdata[order], x, y, &error);
  if (serial == 0)
    canvas_board_say (board, error != NULL ? error->message : _ ("The module cannot be added here."));
  else
    canvas_board_focus_item (board, studio_scene_find (canvas_board_scene (board), serial), TRUE);
}

void
library_chooser_open (CanvasBoard *board)
{
  g_autoptr (GPtrArray) entries = studio_library_list (NULL);
  StudioChooser *chooser = studio_chooser_new (board->popover, chose_cb, board, NULL);

  studio_chooser_begin (chooser, _ ("Add from the library"), _ ("Name of a module"), NULL);
  for (guint i = 0; i < entries->len; i++)
    {
      const StudioLibraryEntry *entry = entries->pdata[i];
      StudioChoice *choice
          = studio_chooser_add (chooser, "view-grid-symbolic", entry->name, entry->is_own ? _ ("yours") : "Gradloom",
                                studio_search_key_new_text (entry->name, entry->name, entry->doc));

      choice->from = i;
    }
  studio_chooser_show (chooser, "", FALSE, canvas_board_view (board)->width / 2, canvas_board_view (board)->height / 3);
}

void
library_chooser_save (CanvasBoard *board)
{
  StudioScene *scene = canvas_board_scene (board);
  guint item = canvas_board_current (board);
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL, *sentence = NULL;

  if (item == STUDIO_NO_ITEM || !scene->item[item].is_module)
    {
      canvas_board_say (board, _ ("Select the module to save to the library first."));
      return;
    }
  path = studio_library_save (board->document, scene->item[item].kind, NULL, &error);
  sentence = path != NULL ? g_strdup_printf (_ ("%s is in your library: %s"), scene->item[item].kind, path)
                          : g_strdup (error->message);
  canvas_board_say (board, sentence);
}
