/* The dialog for a file of weights: what it contains, and whether to use it for the open graph or to create a graph
 * from it. */
#pragma once

#include <adwaita.h>

#include "ui/start/studio-weights-job.h"

#define STUDIO_TYPE_WEIGHTS_DIALOG (studio_weights_dialog_get_type ())
G_DECLARE_FINAL_TYPE (StudioWeightsDialog, studio_weights_dialog, STUDIO, WEIGHTS_DIALOG, AdwWindow)

/* Signals: "used": start the open graph from the file; "made": the text of a graph guessed from it. Closes after
 * either. Takes ownership of look. */
StudioWeightsDialog *studio_weights_dialog_new (GtkWindow *parent, StudioWeightsInfo *look);
const StudioWeightsInfo *studio_weights_dialog_get_info (StudioWeightsDialog *self);
