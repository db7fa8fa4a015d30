/* The message of rank 0 to the other ranks between two steps: an action, changed values, and requests of observers. */
#pragma once

#include "engine/train/rank-group.h"

typedef struct
{
  const RankGroup *group;
  GArray *values; /* on rank 0: changed since the last message; NULL: none */
} Agreement;

/* For the next step, equal on all ranks. */
typedef struct
{
  gint32 action;  /* TrainAction */
  gint32 trace;   /* the step is recorded */
  gint32 reports; /* RANK_REPORT_… */
} AgreedStep;

void agreement_clear (Agreement *self);
/* Adds a value that the other ranks must set, too; together: rank 0 sets it with them, and has not yet. */
void agreement_note_value (Agreement *self, const char *name, double value, gboolean together);
gboolean agreement_has_values (const Agreement *self);
/* Called by all ranks: all receive rank 0's *step, and ranks other than 0 call set() for each value, rank 0 for those
 * that are set together. */
gboolean agreement_pass_on (Agreement *self, AgreedStep *step,
                            gboolean (*set) (const char *name, double value, gpointer data, GError **error),
                            gpointer data, GError **error);
