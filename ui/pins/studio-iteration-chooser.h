/* The row below a pin that selects an iteration of a loop: “‹ iteration 3 of 8 ›”. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

typedef struct _StudioIterationChooser StudioIterationChooser;

/* changed is called when another iteration is selected. */
StudioIterationChooser *studio_iteration_chooser_new (void (*changed) (gpointer data), gpointer data);
void studio_iteration_chooser_free (StudioIterationChooser *self);
/* Hidden while there is at most one iteration. */
GtkWidget *studio_iteration_chooser_get_widget (StudioIterationChooser *self);
/* Reads the sizes of n_loops loops from full_shape (ax), which has one leading dimension per loop, outermost first.
 * Returns how many dimensions the index selects from: the last two dimensions are always sent whole, so for scalars and
 * vectors all iterations are shown at once. */
gsize studio_iteration_chooser_set_shape (StudioIterationChooser *self, guint n_loops, GVariant *full_shape);
/* Returns the selected index (ax, floating), one number per loop dimension. */
GVariant *studio_iteration_chooser_get_index (StudioIterationChooser *self);
gint64 studio_iteration_chooser_get_selected (StudioIterationChooser *self);
void studio_iteration_chooser_select (StudioIterationChooser *self, gint64 iteration);

G_END_DECLS
