/* Makes the rows of a list of runs: the switch of the chart, name, change, curve, result and star. */
#pragma once

#include "ui/runs/studio-runs.h"

#include <gtk/gtk.h>

/* runs outlives the factory's rows. (transfer full) */
GtkListItemFactory *studio_run_rows_new (StudioRuns *runs);
