/* The chart with the loss of each rank's own samples next to the loss over all ranks. Values are requested only while
 * the chart is visible, because ranks exchange them only on request. */
#pragma once

#include <adwaita.h>

#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_LOSSES (studio_losses_get_type ())
G_DECLARE_FINAL_TYPE (StudioLosses, studio_losses, STUDIO, LOSSES, AdwBin)

StudioLosses *studio_losses_new (StudioRun *run);

G_END_DECLS
