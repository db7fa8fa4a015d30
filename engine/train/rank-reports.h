/* The values that observers query from all ranks: the loss of each one's samples, step by step, and the memory of each.
 *
 * Rank 0 is queried, and informs the others before the next step. While losses are queried, steps have plans of their
 * own, which also compute each rank's loss; otherwise nothing is computed, communicated or stored for them. */
#pragma once

#include "engine/train/rank-group.h"

enum
{
  RANK_REPORT_LOSSES = 1, /* of every step, while an observer queries them */
  RANK_REPORT_MEMORY = 2  /* once */
};

/* The memory of a rank. Ranks send it to each other. */
typedef struct
{
  gint64 process, before, resident, most;
  guint64 bytes[LOOM_N_OWNERS], used, total;
  char device[32];
} RankMemory;

typedef struct
{
  const RankGroup *group;
  /* Sets bytes, used, total and device. */
  void (*measure) (RankMemory *memory, gpointer data);
  gpointer measure_data;

  int wanted;     /* on rank 0, or on a single rank: the queried reports */
  int on;         /* equal on all ranks: the reports of the next step */
  gint64 queried; /* time of the last query of losses, in µs */
  double own;     /* the loss of this rank's samples in the step; NaN: none */
  guint64 before; /* bytes of the process when the trainer was made */
  double *kept;   /* rows of losses since the last query, on rank 0; NULL: no query yet */
  guint n_kept;
  double *all;  /* buffer for a loss of each rank */
  char *memory; /* the newest, on rank 0; NULL: unknown yet */
} RankReports;

/* The caller sets the fields before `wanted`. */
void rank_reports_init (RankReports *self);
void rank_reports_clear (RankReports *self);
/* The reports that observers query at present; on rank 0, which informs the others. */
int rank_reports_wanted (RankReports *self);
/* Adds a batch with this fraction of a step's samples, in a step that reports losses. own: the loss of this rank's
 * samples; NaN: none. */
void rank_reports_batch (RankReports *self, double own, gint64 part, double share);
/* Ends such a step, on all ranks; `step` steps are finished. */
gboolean rank_reports_step (RankReports *self, gint64 step, double loss, GError **error);
/* Ends a round of a parameter server, on all ranks. */
gboolean rank_reports_round (RankReports *self, GError **error);
/* Ends a step within a round, on rank 0; own: the losses of the other ranks. */
void rank_reports_served (RankReports *self, gint64 step, double loss, const double *own);
/* LOOM_SNAPSHOT_LOSSES and LOOM_SNAPSHOT_RANKS. (transfer full) */
char *rank_reports_losses (RankReports *self);
char *rank_reports_memory (RankReports *self);
