/* Checkpoints by which a run can go back to any of its steps: dense lately, sparse before, within a budget of the disk.
 *
 * They are in history/STEP of the run's folder, next to checkpoints/ from which a run is resumed. Steps between two of
 * them are computed again. If there are too many, one is removed whose neighbours are close to each other compared with
 * the square root of its age: the oldest are then twice as far apart as evenly spaced ones would be, and those of the
 * last hundredth of the run a tenth of that. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define HISTORY_BUDGET 200000000 /* bytes, by default */

/* Times in µs. */
typedef struct
{
  gint64 budget;   /* bytes; 0: none are written */
  GArray *steps;   /* gint64, of those on the disk, ascending; NULL: unknown */
  gint64 bytes;    /* of the largest one */
  gboolean is_due; /* one is to be written before the next step */
  gint64 last;     /* when the newest had been written */
  gint64 cost;     /* the time of writing it */
} History;

void history_clear (History *self);
/* Call after a step at this time: one is due when the last one has cost a twentieth of the time since then. */
void history_note_time (History *self, gint64 now);
/* One of these bytes was written for this step, from `begin` to `end`. */
void history_note_written (History *self, gint64 step, gint64 bytes, gint64 begin, gint64 end);
/* The step of the one to remove; -1: they are within the budget. */
gint64 history_superfluous (const History *self);
void history_note_removed (History *self, gint64 step);

G_END_DECLS
