/* The reach of an edit: what has to be derived from the graph again. */
#pragma once

#include "engine/loom.h"

typedef enum
{
  EDIT_REACH_NOTHING,
  EDIT_REACH_POSITIONS, /* of cards, frames, notes and reroute points */
  EDIT_REACH_ALL        /* the net, its faults, and the contents of cards */
} EditReach;

/* The reach of an edit that was applied to the graph, given as its inverse, if the root or module `scope` is shown.
 * Moves in another scope change the pictures of it on cards, so they reach everything. */
EditReach edit_reach_of (const LoomGraph *graph, const LoomElement *scope, const LoomEdit *inverse);
