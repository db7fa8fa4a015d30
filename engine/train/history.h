/* Chooses the states of a run that are kept, so that it can go back to any of its steps: within a budget of bytes,
 * evenly over the whole run, and in addition denser lately.
 *
 * The run is divided into slots of equally many steps, as many as fit: steps between two states are computed again, so
 * none should be further from one than a slot. A state is wanted at each piece of a slot. If the budget is exceeded,
 * one is removed whose neighbours are close to each other compared with the square root of its age. A state that others
 * are packed against (state-pack.h) stays as long as they do. Writing takes at most a fortieth of the time, so that
 * disk and memory together take a twentieth.
 *
 * The same rule chooses states in history/STEP of the run's folder, next to checkpoints/ from which a run is resumed,
 * and states in memory (moments.h). */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define HISTORY_BUDGET 200000000 /* bytes, by default */

typedef struct
{
  gint64 step;
  gint64 base; /* the step of the state against which it is packed; -1: none */
  gint64 bytes;
} HistoryState;

/* Times in µs. */
typedef struct
{
  gint64 budget; /* bytes; 0: none are kept */
  gint64 total;  /* steps of the run, as far as it is known */
  guint pieces;  /* of a slot, lately; at least 1 */
  GArray *state; /* HistoryState, ascending; NULL: unknown */
  gint64 bytes;  /* of all of them */
  gint64 last;   /* when the newest had been written */
  gint64 cost;   /* the time of writing it */
} History;

/* Removes what is stored of a state. */
typedef void (*HistoryRemove) (gint64 step, gpointer data);

void history_init (History *self);
void history_clear (History *self);
/* The steps of a slot. */
gint64 history_slot (const History *self);
/* TRUE if the state after this step is to be kept. */
gboolean history_wants (const History *self, gint64 step);
/* Removes states until a new one of `bytes`, packed against the state after step `base` (-1: none), is within the
 * budget; bytes 0: until those that are kept are. A new state replaces neither its base nor the first one, from which
 * every step can be computed again: FALSE, and nothing is removed, if there is not enough space next to them. */
gboolean history_make_space (History *self, gint64 bytes, gint64 base, HistoryRemove remove, gpointer data);
/* A state was written, from `begin` to `end`. */
void history_note_written (History *self, const HistoryState *state, gint64 begin, gint64 end);

G_END_DECLS
