/* The window in which a graph begins with data. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_NEW_DIALOG (studio_new_dialog_get_type ())
G_DECLARE_FINAL_TYPE (StudioNewDialog, studio_new_dialog, STUDIO, NEW_DIALOG, AdwWindow)

/* The signal "made" has the text of the graph; the dialog closes itself. csv: a table to begin with; NULL: the data set
 * is chosen first. */
StudioNewDialog *studio_new_dialog_new (GtkWindow *parent, const char *csv);

G_END_DECLS
