/* One data set: its files, where it needs some, and the network that it gets. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_SOURCE_PAGE (studio_source_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioSourcePage, studio_source_page, STUDIO, SOURCE_PAGE, GtkWidget)

/* The signal "changed" says that studio_source_page_get_data() may answer otherwise. */
StudioSourcePage *studio_source_page_new (const LoomDatasetClass *klass);
/* FALSE where something is missing yet. What data points at belongs to the page. */
gboolean studio_source_page_get_data (StudioSourcePage *self, LoomTemplateData *data);

G_END_DECLS
