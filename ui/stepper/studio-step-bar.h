/* The bar above the run panel while a step is taken apart: Forward · Backward · Update, and where it stands. */
#pragma once

#include <gtk/gtk.h>

#include "ui/stepper/studio-stepper.h"

GtkWidget *studio_step_bar_new (StudioStepper *stepper);
