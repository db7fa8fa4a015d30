/* Fields for the numbers of a run that can change while it trains: rate, momentum, weight decay, clipping, batch size,
 * and those of operators, such as p of each dropout and of all together. Hidden while nothing trains. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_LIVE_NUMBERS (studio_live_numbers_get_type ())
G_DECLARE_FINAL_TYPE (StudioLiveNumbers, studio_live_numbers, STUDIO, LIVE_NUMBERS, GtkBox)

GtkWidget *studio_live_numbers_new (StudioDocument *document, StudioRun *run);
