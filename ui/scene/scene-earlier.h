/* The scene before an edit, from which the next one takes what has not changed, by the versions of elements. Everything
 * that depends on other elements is computed. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

typedef struct
{
  StudioScene *scene;         /* NULL: nothing can be taken */
  guint next_item, next_link; /* of scene: those before are passed */
  StudioItem **item;          /* by item of the next scene: that of this one, if it was taken */
  guint *taken_by;            /* by item of this scene: the item that took it; STUDIO_NO_ITEM */
  GArray *link;               /* by link of the next scene: that of this one, or STUDIO_NO_ITEM; guint */
} SceneEarlier;

/* n_items, most_links: of the next scene. */
void scene_earlier_init (SceneEarlier *self, StudioScene *scene, guint n_items, guint most_links);
void scene_earlier_clear (SceneEarlier *self);
/* The card of this node, if nothing of it can have changed but what the net and faults say; NULL. */
StudioItem *scene_earlier_find (SceneEarlier *self, const LoomElement *e);
/* Moves what the card shows to item k of the next scene. */
void scene_earlier_take_words (SceneEarlier *self, StudioItem *was, guint k, StudioItem *item);
/* Sets by_serial and by_id of the next scene, whose items are complete: those of this scene, if nothing was inserted or
 * removed before its last item. */
void scene_earlier_take_indexes (SceneEarlier *self, StudioScene *scene);
/* Adds item i to by_serial and by_id, as which it is found. */
void scene_earlier_index (StudioScene *scene, guint i);
/* Takes ports without their wires and, unless they are kept, their types. (transfer full) */
StudioPort *scene_earlier_take_ports (StudioPort **was, guint n, gboolean keep_types);
/* Call it before the wires are passed, in the order of the file. */
void scene_earlier_begin_links (SceneEarlier *self);
/* Takes the ends of a wire, if its two cards were taken. *was: the wire, or STUDIO_NO_ITEM for one that is to be
 * labelled; the caller appends it to `link`. */
gboolean scene_earlier_take_ends (SceneEarlier *self, const LoomElement *e, StudioLink *link, guint *was);
/* The link that link i of the next scene was; NULL. */
StudioLink *scene_earlier_link (SceneEarlier *self, guint i);

G_END_DECLS
