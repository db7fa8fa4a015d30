/* The window of a file of weights: what it holds, and what can begin with it. */
#pragma once

#include <adwaita.h>

#include "ui/start/studio-weights-job.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_WEIGHTS_DIALOG (studio_weights_dialog_get_type ())
G_DECLARE_FINAL_TYPE (StudioWeightsDialog, studio_weights_dialog, STUDIO, WEIGHTS_DIALOG, AdwWindow)

/* Signals: "used" where the open graph is to begin from the file, "made" with the text of a graph that was guessed from
 * it. It closes after either. look is taken. */
StudioWeightsDialog *studio_weights_dialog_new (GtkWindow *parent, StudioWeightsLook *look);
const StudioWeightsLook *studio_weights_dialog_get_look (StudioWeightsDialog *self);

G_END_DECLS
