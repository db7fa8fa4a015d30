/* What rank 0 passes on to the other ranks between two steps: an action, the values that were set, and what observers
 * query. */
#pragma once

#include "engine/train/rank-group.h"

G_BEGIN_DECLS

typedef struct
{
  const RankGroup *group;
  GArray *values; /* of rank 0: set since the others were informed last; NULL: none */
} Agreement;

/* Of the next step, on all ranks alike. */
typedef struct
{
  gint32 action;  /* TrainAction */
  gint32 trace;   /* the step is recorded */
  gint32 reports; /* RANK_REPORT_… */
} AgreedStep;

void agreement_clear (Agreement *self);
/* The other ranks will set this value, too. */
void agreement_note_value (Agreement *self, const char *name, double value);
/* A call of all ranks: *step of rank 0 becomes that of all, and ranks other than the first call set() for each value.
 */
gboolean agreement_pass_on (Agreement *self, AgreedStep *step,
                            gboolean (*set) (const char *name, double value, gpointer data, GError **error),
                            gpointer data, GError **error);

G_END_DECLS
