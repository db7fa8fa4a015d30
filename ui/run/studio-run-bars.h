/* The bars above the run panel. One says that the run trains an earlier version of the graph; the other says how the
 * run ended and offers Continue and Restart. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_RUN_BARS (studio_run_bars_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunBars, studio_run_bars, STUDIO, RUN_BARS, GtkWidget)

/* Its buttons activate win.continue, win.continue-slower, win.restart and win.compare-run. */
StudioRunBars *studio_run_bars_new (StudioDocument *document, StudioRun *run);
/* Updates "Training an earlier version · 3 changes"; call when the document may have changed. A number of ranks that
 * differs from the live run's counts as a change. */
void studio_run_bars_update_version (StudioRunBars *self);
/* Puts the buttons below the text if there is no space for both in one line. */
void studio_run_bars_set_narrow (StudioRunBars *self, gboolean narrow);

G_END_DECLS
