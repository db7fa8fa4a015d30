/* The layer over the canvas with the values of a step, or of a graph without data: the chips at the wires, a mark
 * around the current card, and breakpoints. It takes no pointer or key. */
#pragma once

#include "ui/stepper/studio-breakpoints.h"
#include "ui/stepper/studio-instant.h"
#include "ui/stepper/studio-stepper.h"

#define STUDIO_TYPE_STEP_LAYER (studio_step_layer_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepLayer, studio_step_layer, STUDIO, STEP_LAYER, GtkWidget)

StudioStepLayer *studio_step_layer_new (StudioDocument *document, StudioCanvas *canvas, StudioStepper *stepper,
                                        StudioBreakpoints *breakpoints, StudioInstant *instant);
/* Prints "geometry chip" for each chip, "geometry breakpoint" for each breakpoint, and "geometry current" for the
 * marked card, for tests of the whole program. */
typedef void (*StudioStepLayerPrint) (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect);
void studio_step_layer_print (StudioStepLayer *self, StudioStepLayerPrint print);
