/* The widget of a confusion matrix: rows are classes, columns are predictions.
 *
 * Pointer and arrow keys move a cursor; the cell under it is the accessible description. Enter or a click opens its
 * samples. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"

#define STUDIO_TYPE_CONFUSION (studio_confusion_get_type ())
G_DECLARE_FINAL_TYPE (StudioConfusion, studio_confusion, STUDIO, CONFUSION, GtkWidget)

/* Signal "opened"(guint target, guint predicted). */
StudioConfusion *studio_confusion_new (void);
/* Copies both. confusion NULL: nothing is shown; names NULL: numbers. */
void studio_confusion_set (StudioConfusion *self, const LoomConfusion *confusion, const char *const *names);
/* Cells show the fraction of their class's samples in place of counts. */
void studio_confusion_set_share (StudioConfusion *self, gboolean share);
/* The cell under the cursor, a sentence; NULL: none. (transfer full) */
char *studio_confusion_describe_cell (StudioConfusion *self);
/* The accessible description. */
const char *studio_confusion_get_description (StudioConfusion *self);
