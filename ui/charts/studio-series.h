/* A growing series of points (x never decreases) with a pyramid of minima, maxima and sums, so that drawing a million
 * points costs as much as drawing a thousand.
 *
 * At most STUDIO_SERIES_MAX points are kept, so that a run of any length has a bounded series (1.5 MB): if there are
 * more, neighbours are merged, and so are all points appended later. A merged point has position and value of its
 * newest one; extrema and means remain those of all points.
 *
 * Level 0 is the points; each entry of level k covers FANOUT entries of level k - 1. Appending is amortised O(1); the
 * range of any interval reads at most 2·FANOUT entries per level. Points that are not finite are kept (empty in
 * exports) but excluded from the extrema. */
#pragma once

#include <glib.h>

/* Four for each pixel of a chart as wide as a screen of 8K. */
#define STUDIO_SERIES_MAX 32768

typedef struct _StudioSeries StudioSeries;

StudioSeries *studio_series_new (void);
StudioSeries *studio_series_ref (StudioSeries *series);
void studio_series_unref (StudioSeries *series);

/* If x is smaller than the last x, the points from x on are removed first: a resumed run overwrites the steps after its
 * checkpoint. */
void studio_series_append (StudioSeries *series, double x, double y);
/* The number of points that are kept. */
gsize studio_series_length (const StudioSeries *series);
void studio_series_get (const StudioSeries *series, gsize i, double *x, double *y);
/* The first index with at least this x; the length if there is none. */
gsize studio_series_lower_bound (const StudioSeries *series, double x);
/* The point nearest to x; FALSE: empty. */
gboolean studio_series_nearest (const StudioSeries *series, double x, gsize *index);
/* Extrema and mean (may be NULL) of the finite points in [from, to); FALSE: none. */
gboolean studio_series_range (const StudioSeries *series, gsize from, gsize to, double *min, double *max, double *mean);
/* The last finite point; FALSE: none. */
gboolean studio_series_last (const StudioSeries *series, double *x, double *y);
/* The number of entries that the last studio_series_range() read; for tests. */
gsize studio_series_last_cost (const StudioSeries *series);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioSeries, studio_series_unref)
