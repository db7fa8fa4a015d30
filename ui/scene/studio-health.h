/* The health of cards and wires, as the worker measures it: figures, their words, and positions on the bar. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Sets the health of cards and wires from LoomHealthNode of the net; a card has that of all its nodes. nodes NULL:
 * none. */
void studio_health_set (StudioScene *scene, const LoomNet *net, const GPtrArray *nodes);

StudioCardHealth studio_health_of_node (const LoomHealthNode *node);

/* The bar of a card shows |gradient| / |weight| on a logarithmic scale, or without weights the share of units or
 * outputs that pass no gradient on. 0 … 1. FALSE: there is nothing to show. */
gboolean studio_health_bar (const StudioCardHealth *health, double *at);
/* The parts of that bar in which the card is sick: below *low and above *high. */
void studio_health_bands (const StudioCardHealth *health, double *low, double *high);
/* "∇ 0.0021", "31 of 32 dead": the figure at the bar's end; NULL: none. (transfer full) */
char *studio_health_figure (const StudioCardHealth *health);
/* The same in words, with all that is known, for a tooltip and a screen reader; NULL: nothing is known. (transfer full)
 */
char *studio_health_words (const StudioCardHealth *health);
/* What a sick card has, as the subject's sentence without its end: "act: 31 of 32 units are dead". (transfer full) */
char *studio_health_complaint (const char *node, const StudioCardHealth *health);
/* The text of the legend. */
const char *studio_health_legend (const StudioScene *scene);
