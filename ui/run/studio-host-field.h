/* The field for the host of the next run: this machine, hosts that were used before, or a host that is typed. */
#pragma once

#include <gtk/gtk.h>

#include "ui/run/studio-run.h"

/* The run's host follows the field as long as what is in it is a host. */
GtkWidget *studio_host_field_new (StudioRun *run);
/* A sentence about the text of the field; NULL: it is this machine, or a host. (transfer full) */
char *studio_host_field_dup_fault (GtkWidget *field);
