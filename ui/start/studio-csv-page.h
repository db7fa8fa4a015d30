/* A table as text: which column is to be predicted, and from which. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_CSV_PAGE (studio_csv_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioCsvPage, studio_csv_page, STUDIO, CSV_PAGE, GtkWidget)

/* path may be NULL: then a file is chosen first. The signal "changed" says that studio_csv_page_get_data() may answer
 * otherwise. */
StudioCsvPage *studio_csv_page_new (const char *path);
/* FALSE where something is missing yet. What data points at belongs to the page. */
gboolean studio_csv_page_get_data (StudioCsvPage *self, LoomTemplateData *data);

G_END_DECLS
