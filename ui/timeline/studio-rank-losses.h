/* The chart with the loss of each rank's own samples next to the loss over all ranks. Values are requested only while
 * the chart is visible, because ranks exchange them only on request. */
#pragma once

#include <adwaita.h>

#include "ui/run/studio-run.h"

#define STUDIO_TYPE_RANK_LOSSES (studio_rank_losses_get_type ())
G_DECLARE_FINAL_TYPE (StudioRankLosses, studio_rank_losses, STUDIO, RANK_LOSSES, AdwBin)

StudioRankLosses *studio_rank_losses_new (StudioRun *run);
