/* A growing series of points (x never falls) with a pyramid of minima, maxima and sums, so that a chart of a million
 * points costs as much as one of a thousand.
 *
 * Level 0 is the points; each entry of level k covers FANOUT entries of level k - 1. Appending touches one entry a
 * level only where one is completed, hence amortised O(1); asking for the range of any stretch touches at most
 * 2·FANOUT entries a level. Points that are not finite stay in the data (the export shows them as empty) and out of the
 * extrema. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _StudioSeries StudioSeries;

StudioSeries *studio_series_new (void);
StudioSeries *studio_series_ref (StudioSeries *series);
void studio_series_unref (StudioSeries *series);

/* x must be at least the last one's; a smaller x cuts the series back first (a run that was resumed from an earlier
 * step writes over what it had not saved). */
void studio_series_append (StudioSeries *series, double x, double y);
gsize studio_series_length (const StudioSeries *series);
void studio_series_get (const StudioSeries *series, gsize i, double *x, double *y);
/* First index whose x is at least this; length when there is none. */
gsize studio_series_lower_bound (const StudioSeries *series, double x);
/* The point nearest to x; FALSE when empty. */
gboolean studio_series_nearest (const StudioSeries *series, double x, gsize *index);
/* Extrema and mean (may be NULL) of the finite points in [from, to); FALSE when there are none. */
gboolean studio_series_range (const StudioSeries *series, gsize from, gsize to, double *min, double *max, double *mean);
/* The last finite point; FALSE when there is none. */
gboolean studio_series_last (const StudioSeries *series, double *x, double *y);
/* How many entries the last call of studio_series_range looked at: what tests hold the pyramid to. */
gsize studio_series_last_cost (const StudioSeries *series);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioSeries, studio_series_unref)

G_END_DECLS
