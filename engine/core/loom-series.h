/* A growing series of points (x never decreases) with a pyramid of minima, maxima and sums, so that drawing a million
 * points costs as much as drawing a thousand: the curve of a run in the worker, in a list of runs, in a report and in a
 * chart.
 *
 * The number of points is bounded, so that a run of any length has a bounded series: if there are more, neighbours are
 * merged, and so are all points appended later. A merged point has position and value of its newest one; extrema and
 * means remain those of all points.
 *
 * Level 0 is the points; each entry of level k covers FANOUT entries of level k - 1. Appending is amortised O(1); the
 * range of any interval reads at most 2·FANOUT entries per level. Points that are not finite are kept (empty in
 * exports) but excluded from the extrema. */
#pragma once

#include <glib.h>

/* For a chart: four for each pixel of one as wide as a screen of 8K, 1.5 MB. */
#define LOOM_SERIES_MOST 32768

typedef struct _LoomSeries LoomSeries;

/* most: how many points are kept at most, from 2; one less if it is odd. */
LoomSeries *loom_series_new (guint most);
LoomSeries *loom_series_ref (LoomSeries *series);
void loom_series_unref (LoomSeries *series);
/* A series with the same points, which grows by itself. */
LoomSeries *loom_series_copy (const LoomSeries *series);

/* If x is smaller than the last x, the points from x on are removed first: a resumed run overwrites the steps after its
 * checkpoint. */
void loom_series_append (LoomSeries *series, double x, double y);
/* The number of points that are kept. */
gsize loom_series_length (const LoomSeries *series);
void loom_series_get (const LoomSeries *series, gsize i, double *x, double *y);
/* The first index with at least this x; the length if there is none. */
gsize loom_series_lower_bound (const LoomSeries *series, double x);
/* The point nearest to x; FALSE: empty. */
gboolean loom_series_nearest (const LoomSeries *series, double x, gsize *index);
/* Extrema and mean (may be NULL) of the finite points in [from, to); FALSE: none. */
gboolean loom_series_range (const LoomSeries *series, gsize from, gsize to, double *min, double *max, double *mean);
/* The mean of the points that a kept one stands for; NaN: none is finite. */
double loom_series_mean (const LoomSeries *series, gsize i);
/* The last finite point; FALSE: none. */
gboolean loom_series_last (const LoomSeries *series, double *x, double *y);
/* The number of entries that the last loom_series_range() read; for tests. */
gsize loom_series_last_cost (const LoomSeries *series);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomSeries, loom_series_unref)
