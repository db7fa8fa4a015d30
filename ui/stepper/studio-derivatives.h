/* A window with the chain rule for one number of an output or a weight: the local derivatives on the way to the loss.
 */
#pragma once

#include <gtk/gtk.h>

#include "ui/stepper/studio-instant.h"
#include "ui/stepper/studio-stepper.h"

/* port: "act", "fc.weight"; element: row-major, of a node in a loop also over its iterations; over: a widget of the
 * window in front of which it opens. */
void studio_derivatives_show (StudioDocument *document, StudioRun *run, StudioStepper *stepper, StudioInstant *instant,
                              const char *port, gint64 element, GtkWidget *over);
