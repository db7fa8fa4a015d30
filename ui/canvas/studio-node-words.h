/* The description of a card for screen readers. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Shapes, mark of a comparison (NULL: none), state and neighbours of an item (transfer full). */
char *studio_node_words (const StudioScene *scene, guint item, const char *mark);
/* A digest of the card's id, kind and title. */
guint studio_node_names_digest (const StudioItem *item);
/* A digest of everything that the name, the description and the targets of a card are made from, in far less time than
 * the words take. */
guint studio_node_words_digest (const StudioScene *scene, guint item, const char *mark);
