/* Principal components, for pictures of embeddings. */
#pragma once

#include <glib.h>

/* The coordinates of n rows of `columns` values along the two directions of largest variance, [n, 2]; in f64, and the
 * same for the same values: power iteration from a fixed start, the largest element of a direction positive. Rows that
 * are not finite get NaN. (transfer full) */
double *pin_components_compute (const float *values, gsize n, gsize columns);
