/* The widget that predicts the user's own input with the current weights: a drawing, a file in the form of the
 * data, a sentence, or a point that is moved. */
#pragma once

#include <gtk/gtk.h>

#include "ui/evaluate/studio-evaluation.h"

#define STUDIO_TYPE_OWN_INPUT (studio_own_input_get_type ())
G_DECLARE_FINAL_TYPE (StudioOwnInput, studio_own_input, STUDIO, OWN_INPUT, GtkBox)

/* Requests nothing while it is not mapped. */
GtkWidget *studio_own_input_new (StudioEvaluation *model);
/* The predicted class and its probability, or values, as a sentence, or the text that is written; NULL: no prediction
 * yet, or that of an earlier input. */
const char *studio_own_input_get_answer (StudioOwnInput *self);
