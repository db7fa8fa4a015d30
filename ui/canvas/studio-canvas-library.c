/* The library of modules from the canvas: a search over it that adds, and keeping a module in it. */
#include "ui/canvas/studio-canvas-private.h"

#include <glib/gi18n.h>

#include "ui/canvas/studio-chooser.h"
#include "ui/document/studio-library.h"

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  g_autoptr (GPtrArray) entries = studio_library_list (NULL);
  g_autoptr (GError) error = NULL;
  guint order = choice != NULL ? (guint)choice->from : G_MAXUINT;
  guint64 serial = 0;
  double x, y;

  studio_chooser_close (chooser);
  if (order >= entries->len)
    return;
  studio_canvas_get_centre (canvas, &x, &y);
  serial = studio_library_add (canvas->document, entries->pdata[order], x, y, &error);
  if (serial == 0)
    studio_canvas_say (canvas, error != NULL ? error->message : _ ("The module cannot be added here."));
  else
    studio_canvas_focus_item (canvas, studio_scene_find (studio_canvas_scene (canvas), serial), TRUE);
}

void
studio_canvas_add_from_library (StudioCanvas *canvas)
{
  g_autoptr (GPtrArray) entries = studio_library_list (NULL);
  StudioChooser *chooser = studio_chooser_new (canvas, chose_cb, NULL, NULL);

  studio_chooser_begin (chooser, _ ("Add from the library"), _ ("Name of a module"), NULL);
  for (guint i = 0; i < entries->len; i++)
    {
      const StudioLibraryEntry *entry = entries->pdata[i];
      StudioChoice *choice
          = studio_chooser_add (chooser, "view-grid-symbolic", entry->name, entry->is_own ? _ ("yours") : "Gradloom",
                                studio_search_key_new_text (entry->name, entry->name, entry->doc));

      choice->from = i;
    }
  studio_chooser_show (chooser, "", FALSE, canvas->view.width / 2, canvas->view.height / 3);
}

void
studio_canvas_save_to_library (StudioCanvas *canvas)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  guint item = studio_canvas_current (canvas);
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL, *sentence = NULL;

  if (item == STUDIO_NO_ITEM || !scene->item[item].is_module)
    {
      studio_canvas_say (canvas, _ ("Select the module to save to the library first."));
      return;
    }
  path = studio_library_save (canvas->document, scene->item[item].kind, NULL, &error);
  sentence = path != NULL ? g_strdup_printf (_ ("%s is in your library: %s"), scene->item[item].kind, path)
                          : g_strdup (error->message);
  studio_canvas_say (canvas, sentence);
}
