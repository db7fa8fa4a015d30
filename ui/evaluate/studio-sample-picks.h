/* The samples of a page of an evaluation, the mistakes or those of a cell: pictures where samples have one, and a line
 * each with target, prediction, probability and loss. */
#pragma once

#include <gtk/gtk.h>

#include "ui/evaluate/studio-evaluation.h"

#define STUDIO_TYPE_SAMPLE_PICKS (studio_sample_picks_get_type ())
G_DECLARE_FINAL_TYPE (StudioSamplePicks, studio_sample_picks, STUDIO, SAMPLE_PICKS, GtkBox)

/* of_cell: those of the cell, else the mistakes. */
GtkWidget *studio_sample_picks_new (StudioEvaluation *model, gboolean of_cell);
/* The number of samples that are shown. */
guint studio_sample_picks_n (StudioSamplePicks *self);
