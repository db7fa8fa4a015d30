/* The row below a pin that selects an iteration of a loop: “‹ iteration 3 of 8 ›”. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

typedef struct _StudioIterations StudioIterations;

/* changed is called when another iteration is selected. */
StudioIterations *studio_iterations_new (void (*changed) (gpointer data), gpointer data);
void studio_iterations_free (StudioIterations *self);
/* Hidden while there is at most one iteration. */
GtkWidget *studio_iterations_get_widget (StudioIterations *self);
/* Reads the sizes of n_loops loops from full_shape (ax), which has one leading dimension per loop, outermost first.
 * Returns how many dimensions the index selects from: the last two dimensions are always sent whole, so for scalars and
 * vectors all iterations are shown at once. */
gsize studio_iterations_take (StudioIterations *self, guint n_loops, GVariant *full_shape);
/* Returns the selected index (ax, floating), one number per loop dimension. */
GVariant *studio_iterations_get_index (StudioIterations *self);
gint64 studio_iterations_get_chosen (StudioIterations *self);
void studio_iterations_choose (StudioIterations *self, gint64 iteration);

G_END_DECLS
