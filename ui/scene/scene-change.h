/* Changes the arrays of a scene into those of the next version of its graph: cards and wires whose elements did not
 * change stay in place, with their ports, types and labels. studio-scene.c
 * computes what depends on other elements. A new scene is the change of an empty one. */
#pragma once

#include "ui/scene/studio-scene.h"

/* A wire while ports are found. */
typedef struct
{
  guint64 serial;
  guint was; /* the link that it was, and is still; STUDIO_NO_ITEM */
  guint from, output, to, input;
} SceneEnds;

typedef struct
{
  StudioScene *scene;
  const LoomGraph *graph;
  guint64 version; /* of the graph that the scene was of */
  guint64 number;  /* of the net that the scene was of; 0: of none */
  guint n_was, n_now;
  guint *is;             /* by item before: the item now; STUDIO_NO_ITEM: it is gone */
  gboolean *is_kept;     /* by item: its words and ports are those before */
  gboolean *is_retyped;  /* by item: its outputs may have other types than before */
  gboolean *is_relinked; /* by item: a wire at it came, went or changed, or one into it is retyped */
  gboolean is_in_place;  /* all items have the indices that they had, with others after them */
  gboolean is_indexed;   /* by_serial and by_id lack only the items that are not kept */
  gboolean is_rejoined;  /* wires came or went, or have other ends than before */
  GArray *ends;          /* SceneEnds: of the wires that are shown, in the order of the file */
  guint next_link;       /* of the scene before: those before it are passed */
} SceneChange;

/* The scene has its items, all zeroed but those that are kept; nodes: of the scope, in the order of the file. */
void scene_change_begin (SceneChange *self, StudioScene *scene, const LoomGraph *graph, GPtrArray *nodes, guint n_items,
                         guint most_links);
void scene_change_clear (SceneChange *self);
/* Removes from a card that is kept what others say of it: faults, devices, measured values. */
void scene_change_reset (SceneChange *self, guint i);
/* Sets by_serial and by_id of the scene, whose items have their words. */
void scene_change_index (SceneChange *self);
/* The same for the first n items. */
void scene_change_index_all (StudioScene *scene, guint n);
/* Call it before the wires are passed, in the order of the file. */
void scene_change_begin_links (SceneChange *self);
/* Sets the ends of a wire that is kept; else FALSE: the caller finds its ends. The caller appends it to `ends`. */
gboolean scene_change_keep_link (SceneChange *self, const LoomElement *wire, SceneEnds *ends);
/* The scene has its links: those that are kept, and others without types. */
void scene_change_arrange_links (SceneChange *self);
/* What a card shows has changed in this scene. */
void scene_change_touch (StudioScene *scene, guint i);

void scene_item_clear (StudioItem *item); /* frees and zeroes */
void scene_link_clear (StudioLink *link);
