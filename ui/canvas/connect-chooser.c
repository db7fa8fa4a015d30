#include "ui/canvas/connect-chooser.h"

#include <glib/gi18n.h>

#include "ui/canvas/quick-add.h"
#include "ui/document/studio-search.h"

typedef struct
{
  CanvasBoard *board;
  guint64 serial;
  StudioAddPlace place; /* of a new layer */
} Connect;

static void
chose_cb (StudioChooser *chooser, const StudioChoice *choice, const char *text, gboolean go_on, gpointer data)
{
  const Connect *self = data;
  CanvasBoard *board = self->board;
  g_autoptr (GError) error = NULL;
  g_autofree char *said = NULL;
  guint64 focus = self->serial;

  if (choice == NULL)
    return;
  if (choice->name != NULL)
    focus = studio_document_add (board->document, choice->name, choice->is_module, NULL, &self->place, &said);
  else if (studio_document_connect (board->document, choice->from, choice->output, choice->to, choice->input, &error)
           == 0)
    said = g_strdup (error->message);
  if (said != NULL)
    canvas_board_say (board, said);
  studio_chooser_close (chooser);
  canvas_board_focus_item (board, studio_scene_find (canvas_board_scene (board), focus), TRUE);
}

/* Rows for one port of the card, each a wire that could be drawn from or to it. */
static void
add_wires (StudioChooser *chooser, StudioDocument *document, const StudioScene *scene, guint item, gboolean from_output,
           guint port)
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
  studio_document_compatible_ports (document, mine->serial, from_output, port, lit, first);
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
connect_chooser_open (CanvasBoard *board, guint item)
{
  StudioScene *scene = canvas_board_scene (board);
  const StudioItem *mine;
  g_autofree char *hint = g_strdup_printf (_ ("Connect %s to"), scene->item[item].id);
  Connect *self = g_new0 (Connect, 1);
  StudioChooser *chooser = studio_chooser_new (board->popover, chose_cb, self, g_free);
  double x, y;

  studio_document_get_faults (board->document);
  scene = canvas_board_scene (board);
  mine = &scene->item[item];
  self->board = board;
  self->serial = mine->serial;
  studio_chooser_begin (chooser, NULL, hint, NULL);
  for (guint p = 0; p < mine->n_outputs; p++)
    add_wires (chooser, board->document, scene, item, TRUE, p);
  /* A card without outputs, a loss, is wired from its inputs. */
  if (mine->n_outputs == 0)
    for (guint p = 0; p < mine->n_inputs; p++)
      add_wires (chooser, board->document, scene, item, FALSE, p);
  /* Text that matches no port may be the name of a new layer, which is wired at once. */
  self->place = (StudioAddPlace){ .kind = STUDIO_ADD_AFTER, .serial = mine->serial, .branch = TRUE };
  if (mine->n_outputs > 0)
    quick_add_list (chooser, board->document, &self->place, TRUE);
  studio_view_to_screen (canvas_board_view (board), mine->x + mine->width / 2, mine->y + mine->height, &x, &y);
  studio_chooser_show (chooser, "", FALSE, x, y);
}
