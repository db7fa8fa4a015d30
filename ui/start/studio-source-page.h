/* The page of one data set: its files, if it needs any, and the kind of network to create. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"

#define STUDIO_TYPE_SOURCE_PAGE (studio_source_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioSourcePage, studio_source_page, STUDIO, SOURCE_PAGE, GtkWidget)

/* Signal "changed": studio_source_page_get_data() may return something else. */
StudioSourcePage *studio_source_page_new (const LoomDatasetClass *klass);
/* FALSE: incomplete. Pointers in data are owned by the page. */
gboolean studio_source_page_get_data (StudioSourcePage *self, LoomTemplateData *data);
