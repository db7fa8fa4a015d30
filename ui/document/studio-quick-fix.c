/* Quick fixes of a document: new nodes are placed on the wire, and each fix is one step. */
#include "ui/document/studio-quick-fix.h"

#include <glib/gi18n.h>

#include "ui/document/document-edit.h"
#include "ui/scene/studio-routes.h"

GPtrArray *
studio_document_find_fixes (StudioDocument *self, const LoomFault *fault, guint64 serial)
{
  return loom_fixes_find (studio_document_get_graph (self),
                          studio_document_has_net (self) ? studio_document_peek_net (self) : NULL, fault, serial,
                          studio_document_own_fix (self, fault, serial), gettext);
}

gboolean
studio_document_fix_place (StudioDocument *self, const LoomFix *fix, StudioAddPlace *place)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint item = studio_scene_find (scene, fix->node);
  guint port = item != STUDIO_NO_ITEM ? studio_item_find_port (&scene->item[item], FALSE, fix->port) : STUDIO_NO_ITEM;
  guint link;

  if (fix->kind != LOOM_FIX_INSERT || port == STUDIO_NO_ITEM || scene->item[item].input[port].n_links == 0)
    return FALSE;
  link = scene->item[item].input[port].link;
  *place = (StudioAddPlace){ .kind = STUDIO_ADD_ON_WIRE, .serial = scene->link[link].serial };
  studio_route_at (&studio_scene_routes (scene)[link], 0.5, &place->x, &place->y);
  return TRUE;
}

gboolean
studio_document_apply_quick_fix (StudioDocument *self, const LoomFix *fix)
{
  StudioAddPlace place;
  gboolean done;

  switch (fix->kind)
    {
    case LOOM_FIX_INSERT:
      done = studio_document_fix_place (self, fix, &place)
             && studio_document_add_with (self, fix->op, fix->value, &place) != 0;
      studio_document_select_only (self, fix->node);
      return done;
    case LOOM_FIX_SET:
      studio_document_set_attribute (self, fix->node, fix->port, fix->value);
      return TRUE;
    case LOOM_FIX_CONNECT:
      return studio_document_connect (self, fix->from, fix->output, fix->node, fix->port, NULL) != 0;
    case LOOM_FIX_CUT:
      return studio_document_edit_fix (self, fix, _ ("Remove wire"));
    case LOOM_FIX_SWAP:
      return studio_document_edit_fix (self, fix, _ ("Swap wires"));
    case LOOM_FIX_OPEN:
      return studio_document_reveal (self, fix->value);
    case LOOM_FIX_OWN:
    case LOOM_FIX_ASK:
      break;
    }
  return FALSE;
}
