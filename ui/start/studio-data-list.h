/* Which data? Every data set that the engine knows, with a sample, its size, and whether its data are here. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_DATA_LIST (studio_data_list_get_type ())
G_DECLARE_FINAL_TYPE (StudioDataList, studio_data_list, STUDIO, DATA_LIST, GtkWidget)

/* The signal "chosen" has the source's name. */
StudioDataList *studio_data_list_new (void);

G_END_DECLS
