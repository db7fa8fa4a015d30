/* The dialog “New from Data”, which creates a graph for a data set or table. */
#pragma once

#include <adwaita.h>

#define STUDIO_TYPE_NEW_DIALOG (studio_new_dialog_get_type ())
G_DECLARE_FINAL_TYPE (StudioNewDialog, studio_new_dialog, STUDIO, NEW_DIALOG, AdwWindow)

/* Signal "made"(text of the graph); the dialog closes itself. csv: a table to begin with; NULL: starts with the list of
 * data sets. */
StudioNewDialog *studio_new_dialog_new (GtkWindow *parent, const char *csv);
