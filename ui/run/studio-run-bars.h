/* The bars above the run panel: that it trains an earlier version, and how it ended. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_RUN_BARS (studio_run_bars_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunBars, studio_run_bars, STUDIO, RUN_BARS, GtkWidget)

/* Its buttons activate win.continue, win.continue-slower, win.restart and win.compare-run. */
StudioRunBars *studio_run_bars_new (StudioDocument *document, StudioRun *run);
/* "Training an earlier version · 3 changes" as often as the document may have changed; another number of ranks than
 * that of a run that trains is a change, too. */
void studio_run_bars_update_version (StudioRunBars *self);
/* Puts buttons below the words, where both have no room in one line. */
void studio_run_bars_set_narrow (StudioRunBars *self, gboolean narrow);

G_END_DECLS
