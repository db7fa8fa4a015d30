/* Chooses the number of ranks of the next run: one among which the graph's <parallel> can be divided. The header also
 * declares the field that shows it. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

#define STUDIO_RANK_COUNT_MAX 16 /* maximum of the spin button */

/* The number that the graph requires; 1 if it requires none, or cannot be trained yet. */
int studio_rank_count_required (StudioDocument *document);
/* Returns the number to set after the user changed it from had to chosen: chosen if the graph can be divided among that
 * number. Otherwise, after a change by one, the next valid number in that direction up to most. 0 with a sentence if
 * there is none. */
int studio_rank_count_choose (StudioDocument *document, int had, int chosen, int most, char **sentence);

/* Sets the number of ranks of the next run as above. A number among which the graph cannot be divided is refused as a
 * problem of the run. */
void studio_rank_count_set (StudioDocument *document, StudioRun *run, int chosen);
/* A field with the number of ranks of the next run. */
GtkWidget *studio_rank_count_spin_new (StudioDocument *document, StudioRun *run);
