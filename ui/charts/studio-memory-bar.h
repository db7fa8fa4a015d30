/* The widget that shows memory by owner: a segmented bar and a line per owner. */
#pragma once

#include <gtk/gtk.h>

#include "ui/charts/studio-driver-memory.h"

#define STUDIO_TYPE_MEMORY_BAR (studio_memory_bar_get_type ())
G_DECLARE_FINAL_TYPE (StudioMemoryBar, studio_memory_bar, STUDIO, MEMORY_BAR, GtkWidget)

StudioMemoryBar *studio_memory_bar_new (void);
/* The owners in display order: "parameters", "gradients", …. device: "cpu". */
void studio_memory_bar_set (StudioMemoryBar *self, const char *device, guint n, const char *const *owner,
                            const guint64 *bytes);
/* Adds a line with the driver's report, and its history in the tooltip; NULL: none. */
void studio_memory_bar_set_driver (StudioMemoryBar *self, const StudioDriverMemory *driver);
/* With several ranks, says that the bar shows rank 0, and which memory is not part of its plan. */
void studio_memory_bar_set_ranks (StudioMemoryBar *self, int ranks);
guint64 studio_memory_bar_get_total (StudioMemoryBar *self);
