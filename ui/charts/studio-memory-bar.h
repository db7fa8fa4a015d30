/* Memory by owner: one bar, cut by owner, with patterns and words beside it. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_MEMORY_BAR (studio_memory_bar_get_type ())
G_DECLARE_FINAL_TYPE (StudioMemoryBar, studio_memory_bar, STUDIO, MEMORY_BAR, GtkWidget)

StudioMemoryBar *studio_memory_bar_new (void);
/* Owners in the order given: "parameters", "gradients", … device: "cpu". */
void studio_memory_bar_set (StudioMemoryBar *self, const char *device, guint n, const char *const *owner,
                            const guint64 *bytes);
guint64 studio_memory_bar_get_total (StudioMemoryBar *self);

G_END_DECLS
