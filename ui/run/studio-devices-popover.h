/* The popover for devices and ranks of the next run: host, device, ranks, stages and shards, what each rank will hold,
 * and how long a step will take.
 *
 * Device, stages and shards are written into <train> and its <parallel>; the number of ranks and the host are the
 * run's. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

/* Presents it in a widget, below the button, and removes it when it is closed. button NULL: at the upper end. A host
 * that is none is kept for the next time, and a "problem" of the run says that this machine trains. */
void studio_devices_popover_open (StudioDocument *document, StudioRun *run, GtkWidget *at, GtkWidget *button);
