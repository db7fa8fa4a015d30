/* The page for a table, as text or in Parquet: which column to predict, and from which columns. */
#pragma once

#include <adwaita.h>

#include "engine/loom.h"

#define STUDIO_TYPE_CSV_PAGE (studio_csv_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioCsvPage, studio_csv_page, STUDIO, CSV_PAGE, AdwBin)

/* path may be NULL: the user chooses a file first. Signal "changed": studio_csv_page_get_data() may return something
 * else. */
StudioCsvPage *studio_csv_page_new (const char *path);
/* Of the kind of table: "CSV table". */
const char *studio_csv_page_get_title (StudioCsvPage *self);
/* FALSE: incomplete. Pointers in data are owned by the page. */
gboolean studio_csv_page_get_data (StudioCsvPage *self, LoomTemplateData *data);
