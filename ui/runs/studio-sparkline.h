/* A small curve without axes, for a row of a list. Rows describe it in words, so it is hidden from screen readers. */
#pragma once

#include "ui/runs/studio-run-entry.h"

#include <gtk/gtk.h>

#define STUDIO_TYPE_SPARKLINE (studio_sparkline_get_type ())
G_DECLARE_FINAL_TYPE (StudioSparkline, studio_sparkline, STUDIO, SPARKLINE, GtkWidget)

/* entry: NULL clears it. */
void studio_sparkline_set (StudioSparkline *self, StudioRunEntry *entry);
