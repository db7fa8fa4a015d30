/* Memory by owner: one bar, cut by owner, with patterns and words beside it. */
#pragma once

#include <gtk/gtk.h>

#include "ui/charts/studio-driver-memory.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_MEMORY_BAR (studio_memory_bar_get_type ())
G_DECLARE_FINAL_TYPE (StudioMemoryBar, studio_memory_bar, STUDIO, MEMORY_BAR, GtkWidget)

StudioMemoryBar *studio_memory_bar_new (void);
/* Owners in the order given: "parameters", "gradients", … device: "cpu". */
void studio_memory_bar_set (StudioMemoryBar *self, const char *device, guint n, const char *const *owner,
                            const guint64 *bytes);
/* A line below the owners', and what was at which time in words when the pointer rests; NULL: none. */
void studio_memory_bar_set_driver (StudioMemoryBar *self, const StudioDriverMemory *driver);
/* Of several ranks it says that it shows the first one, and what that takes beside its part. */
void studio_memory_bar_set_ranks (StudioMemoryBar *self, int ranks);
guint64 studio_memory_bar_get_total (StudioMemoryBar *self);

G_END_DECLS
