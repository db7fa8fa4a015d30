/* Chooses the states of a run that are kept, so that it can go back to any of its steps: within a budget of bytes,
 * evenly over the whole run, and in addition as dense as fits lately.
 *
 * The run is divided into slots of equally many steps, of which the first state is kept: steps between two states are
 * computed again, so that none is further from one than a slot. What the budget has left, which is most of it while the
 * run is young, is for states between them: if there are too many, one is removed whose neighbours are close to each
 * other compared with the square root of its age. Writing takes at most a twentieth of the time.
 *
 * The same rule chooses checkpoints in history/STEP of the run's folder, next to checkpoints/ from which a run is
 * resumed, and states in memory (moments.h). */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define HISTORY_BUDGET 200000000 /* bytes, by default */

/* Times in µs. */
typedef struct
{
  gint64 budget; /* bytes; 0: none are kept */
  gint64 total;  /* steps of the run, as far as it is known */
  gint64 slot;   /* steps of a slot; 0: those that fit */
  GArray *steps; /* gint64, of those that are kept, ascending; NULL: unknown */
  gint64 bytes;  /* of the largest one; 0: none yet */
  gint64 last;   /* when the newest had been written */
  gint64 cost;   /* the time of writing it */
} History;

void history_clear (History *self);
/* The steps of a slot. */
gint64 history_slot (const History *self);
/* TRUE if the state after this step is to be kept. */
gboolean history_wants (const History *self, gint64 step);
/* One of these bytes was written for this step, from `begin` to `end`. */
void history_note_written (History *self, gint64 step, gint64 bytes, gint64 begin, gint64 end);
/* The step of the one to remove; -1: they are within the budget. */
gint64 history_superfluous (const History *self);
void history_note_removed (History *self, gint64 step);

G_END_DECLS
