/* The description of a card for screen readers. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Shapes, mark of a comparison (NULL: none), state and neighbours of an item (transfer full). */
char *studio_node_words (const StudioScene *scene, guint item, const char *mark);
/* A digest of the card's id, kind and title. */
guint studio_node_names_digest (const StudioItem *item);
