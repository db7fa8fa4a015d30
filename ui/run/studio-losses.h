/* The loss of each rank's samples beside that of all. The worker is asked for it while this is on the screen, and at no
 * other time: the ranks exchange nothing for it then. */
#pragma once

#include <adwaita.h>

#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_LOSSES (studio_losses_get_type ())
G_DECLARE_FINAL_TYPE (StudioLosses, studio_losses, STUDIO, LOSSES, AdwBin)

StudioLosses *studio_losses_new (StudioRun *run);

G_END_DECLS
