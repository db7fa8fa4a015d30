/* The costs of observers: the time between steps that the requests of each view took. */
#pragma once

#include <glib.h>

/* The port of view_costs_text() in a snapshot. */
#define LOOM_SNAPSHOT_COSTS "costs:"

typedef struct
{
  GPtrArray *all; /* ViewCost; NULL: none */
} ViewCosts;

void view_costs_clear (ViewCosts *self);
/* A request of this view took so long. The first one, which plans, is not counted, and neither is a view after the
 * first 256. */
void view_costs_add (ViewCosts *self, const char *view, gint64 microseconds);
/* A line {"view":s,"requests":n,"seconds":x} for each view with a counted request, by descending seconds. (transfer
 * full) */
char *view_costs_text (const ViewCosts *self);
