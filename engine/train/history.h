/* Chooses the states of a run that are kept, so that it can go back to any of its steps: within a budget of bytes,
 * evenly over the whole run, and in addition denser lately.
 *
 * Steps between two states are computed again, so the widest gap is the longest wait. It is smallest if all gaps are
 * equal and the budget is used up at the end: the next state is wanted after as many steps as are left, divided by the
 * number of states that still fit. States are not thinned out for that, because two gaps that become one are twice as
 * wide. A state in the middle of a gap is an extra one, for the latest steps, and is removed first.
 *
 * Only if no other way is left, for example because a run was given more epochs, another state is removed, whose
 * neighbours are close to each other compared with the square root of its age. A state that others are packed against
 * (state-pack.h) stays as long as they do.
 *
 * Writing takes at most one part in 28 of the run's time to the disk and one in 80 to memory, together less than 5 %.
 * What it costs is the median of the latest states, so that one during which another program ran does not widen a gap.
 *
 * In figures, of 100,000 steps of fashion-lenet (Adam, 2.48 MB): packed states take 1.17 MB in the first 52,000 steps,
 * and 1.0 MB later, when the loss is close to 0, so that 200 MB hold 177. Even gaps are 565 steps, and those in the
 * middle of the run up to 612: 0.92 s at 680 steps/s, and 20 ms to read a state. Smaller states alone shorten that: 26
 * of 32 bits of Adam's averages are noise, except of units that are dead. 1.5 GB of memory hold 600 plain copies: 170
 * steps, 0.24 s. Writing a state takes as long as ten steps of training, a copy a fifth of one.
 * tests/bench/travelling.c measures it.
 *
 * The same rule chooses states in history/STEP of the run's folder, next to checkpoints/ from which a run is resumed,
 * and states in memory (moments.h). */
#pragma once

#include <glib.h>

#define HISTORY_BUDGET 200000000 /* bytes, by default */
#define HISTORY_COSTS  5

typedef struct
{
  gint64 step;
  gint64 base; /* the step of the state against which it is packed; -1: none */
  gint64 bytes;
  gboolean is_extra; /* in the middle of a gap */
} HistoryState;

/* Times in µs. */
typedef struct
{
  gint64 budget;       /* bytes; 0: none are kept */
  gint64 total;        /* steps of the run, as far as it is known */
  gint64 part;         /* of the time, for writing: one in this number; 0: all */
  gboolean has_extras; /* states in the middle of gaps are wanted, too */
  GArray *state;       /* HistoryState, ascending; NULL: unknown */
  gint64 bytes;        /* of all of them */
  gint64 extra_bytes;  /* of the extra ones */
  gint64 last;         /* when the newest had been written */
  gint64 last_lasting; /* when the newest that is not extra had been */
  guint n_written;
  gint64 cost[HISTORY_COSTS]; /* of writing the latest ones, the nth at n % HISTORY_COSTS */
} History;

/* Removes what is stored of a state. */
typedef void (*HistoryRemove) (gint64 step, gpointer data);

void history_init (History *self);
void history_clear (History *self);
/* The number of states of the mean size within the budget. */
gint64 history_fits (const History *self);
/* TRUE if the state after this step is to be kept. *is_extra (may be NULL): as one in the middle of a gap. */
gboolean history_wants (const History *self, gint64 step, gboolean *is_extra);
/* TRUE if there is the state after this step. */
gboolean history_has (const History *self, gint64 step);
/* Removes states until a new one of `bytes`, packed against the state after step `base` (-1: none), is within the
 * budget; bytes 0: until those that are kept are. A new state replaces neither its base nor the first one, from which
 * every step can be computed again: FALSE, and nothing is removed, if there is not enough space next to them. */
gboolean history_make_space (History *self, gint64 bytes, gint64 base, HistoryRemove remove, gpointer data);
/* A state was written, from `begin` to `end`; both 0: by an earlier process. */
void history_note_written (History *self, const HistoryState *state, gint64 begin, gint64 end);
