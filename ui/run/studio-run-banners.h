/* The bars above the run panel. The version bar reports that the run trains an earlier version of the graph, and offers
 * Restart. The end bar reports how the run ended, that it stalls, trains elsewhere or would not fit into memory. Its
 * buttons are the remedies: Continue, Attach, a tenth of the learning rate, or a batch that fits. The time bar names
 * the earlier step that is shown, with buttons to return to the newest step or to branch. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-memory-forecast.h"

#define STUDIO_TYPE_RUN_BANNERS (studio_run_banners_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunBanners, studio_run_banners, STUDIO, RUN_BANNERS, GtkWidget)

/* Its buttons activate win.attach, win.continue, win.continue-slower, win.restart and win.compare-run. */
StudioRunBanners *studio_run_banners_new (StudioDocument *document, StudioRun *run, StudioMemoryForecast *forecast);
/* Updates "Training an earlier version · 3 changes"; call when the document may have changed. A number of ranks that
 * differs from the live run's counts as a change. */
void studio_run_banners_update_version (StudioRunBanners *self);
/* Puts the buttons below the text if there is no space for both in one line. */
void studio_run_banners_set_narrow (StudioRunBanners *self, gboolean narrow);
/* In a presentation a failed run gives the focus to its remedy, which Enter activates. */
void studio_run_banners_set_presenting (StudioRunBanners *self, gboolean presenting);
