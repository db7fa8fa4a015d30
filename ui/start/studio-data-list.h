/* The page that lists all data sets of the engine, with a sample, the size, and whether the data are available. Signal
 * "chosen"(name of the source). */
#pragma once

#include <adwaita.h>

#define STUDIO_TYPE_DATA_LIST (studio_data_list_get_type ())
G_DECLARE_FINAL_TYPE (StudioDataList, studio_data_list, STUDIO, DATA_LIST, AdwBin)
