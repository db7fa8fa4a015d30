/* The row below a pin by which one goes through the iterations of a loop: “‹ iteration 3 of 8 ›”. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

typedef struct _StudioIterations StudioIterations;

/* changed: another iteration was chosen. */
StudioIterations *studio_iterations_new (void (*changed) (gpointer data), gpointer data);
void studio_iterations_free (StudioIterations *self);
/* Hidden as long as there is nothing to choose. */
GtkWidget *studio_iterations_get_widget (StudioIterations *self);
/* Takes the iterations of n_loops loops from the shape (ax) of a tensor that has a leading dimension for each, the
 * outer one's first. Returns how many of these the index picks from: the last two dimensions are sent whole, so of
 * numbers and vectors all iterations are seen at once. */
gsize studio_iterations_take (StudioIterations *self, guint n_loops, GVariant *full_shape);
/* The index (ax, floating) of the chosen iteration: a number for each dimension that was taken. */
GVariant *studio_iterations_get_index (StudioIterations *self);
gint64 studio_iterations_get_chosen (StudioIterations *self);
void studio_iterations_choose (StudioIterations *self, gint64 iteration);

G_END_DECLS
