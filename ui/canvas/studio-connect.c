/* Wiring by keyboard: a list of the ports that could take a wire of the card, and of layers that would be new. */
#include "ui/canvas/studio-canvas-private.h"

#include <glib/gi18n.h>

typedef struct
{
  guint64 serial;
  StudioAddPlace place; /* of a layer that is new */
} Connect;

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  StudioCanvas *canvas = studio_chooser_get_canvas (chooser);
  const Connect *self = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *said = NULL;
  guint64 focus = self->serial;

  if (choice == NULL)
    return;
  if (choice->name != NULL)
    focus = studio_document_add (canvas->document, choice->name, choice->is_module, NULL, &self->place, &said);
  else if (studio_document_connect (canvas->document, choice->from, choice->output, choice->to, choice->input, &error)
           == 0)
    said = g_strdup (error->message);
  if (said != NULL)
    studio_canvas_say (canvas, said);
  studio_chooser_close (chooser);
  studio_canvas_focus_item (canvas, studio_scene_find (studio_canvas_scene (canvas), focus), TRUE);
}

/* Rows for one port of the card, each a wire that could be drawn from or to it. */
static void
add_wires (StudioChooser *chooser, StudioScene *scene, guint item, gboolean from_output, guint port)
{
  g_autofree guint *first = g_new (guint, scene->n_items + 1);
  g_autofree gboolean *lit = NULL;
  const StudioItem *mine = &scene->item[item];
  const char *own = from_output ? mine->output[port].name : mine->input[port].name;
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i++)
    {
      first[i] = n;
      n += from_output ? scene->item[i].n_offered : scene->item[i].n_outputs;
    }
  first[scene->n_items] = n;
  lit = g_new0 (gboolean, n + 1);
  studio_document_compatible_ports (studio_chooser_get_canvas (chooser)->document, mine->serial, from_output, port, lit,
                                    first);
  for (guint i = 0; i < scene->n_items; i++)
    for (guint p = 0; p < first[i + 1] - first[i]; p++)
      {
        const StudioItem *other = &scene->item[i];
        const StudioPort *theirs = from_output ? &other->input[p] : &other->output[p];
        g_autofree char *title = NULL;
        StudioChoice *choice;

        if (!lit[first[i] + p])
          continue;
        title = g_strdup_printf ("%s.%s", other->id, theirs->name);
        choice = studio_chooser_add (chooser, other->op != NULL ? other->op->icon : "view-grid-symbolic", title,
                                     from_output ? (theirs->n_links > 0 ? _ ("replaces a wire") : own) : own,
                                     studio_search_key_new_text (title, studio_item_title (other), own));
        choice->from = from_output ? mine->serial : other->serial;
        choice->output = from_output ? own : theirs->name;
        choice->to = from_output ? other->serial : mine->serial;
        choice->input = from_output ? theirs->name : own;
      }
}

void
studio_connect_popup (StudioCanvas *canvas, guint item)
{
  StudioScene *scene = studio_canvas_scene (canvas);
  const StudioItem *mine;
  g_autofree char *hint = g_strdup_printf (_ ("Connect %s to"), scene->item[item].id);
  Connect *self = g_new0 (Connect, 1);
  StudioChooser *chooser = studio_chooser_new (canvas, chose_cb, self, g_free);
  double x, y;

  studio_document_get_faults (canvas->document);
  scene = studio_canvas_scene (canvas);
  mine = &scene->item[item];
  self->serial = mine->serial;
  studio_chooser_begin (chooser, NULL, hint, NULL);
  for (guint p = 0; p < mine->n_outputs; p++)
    add_wires (chooser, scene, item, TRUE, p);
  /* A card without outputs, a loss, is wired from its inputs. */
  if (mine->n_outputs == 0)
    for (guint p = 0; p < mine->n_inputs; p++)
      add_wires (chooser, scene, item, FALSE, p);
  /* Text that names no port here names a new layer, which is wired at once. */
  self->place = (StudioAddPlace){ .kind = STUDIO_ADD_BEHIND, .serial = mine->serial, .branch = TRUE };
  if (mine->n_outputs > 0)
    studio_quick_add_layers (chooser, &self->place, TRUE);
  studio_view_to_screen (&canvas->view, mine->x + mine->width / 2, mine->y + mine->height, &x, &y);
  studio_chooser_show (chooser, "", FALSE, x, y);
}
