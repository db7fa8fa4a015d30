/* The samples of a split, page by page, in the form of the file, as they are evaluated, and as the run reads them for
 * training: normalised and with the augmentation of a chosen epoch, by the run's seed. */
#pragma once

#include <gtk/gtk.h>

#include "ui/evaluate/studio-evaluation.h"

#define STUDIO_TYPE_DATA_VIEW (studio_data_view_get_type ())
G_DECLARE_FINAL_TYPE (StudioDataView, studio_data_view, STUDIO, DATA_VIEW, GtkBox)

/* Reads nothing while it is not mapped. */
GtkWidget *studio_data_view_new (StudioEvaluation *model);
