/* What observers query of all ranks: the loss of each one's samples, step by step, and the memory of each.
 *
 * Rank 0 is queried, and informs the others before the next step. While losses are queried, steps have plans of their
 * own, which compute each rank's loss as well; otherwise nothing is computed, exchanged or kept for them. */
#pragma once

#include "engine/train/rank-group.h"

G_BEGIN_DECLS

enum
{
  RANK_REPORT_LOSSES = 1, /* of every step, as long as an observer queries them */
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

  int wanted;     /* of rank 0, or the only one: what is queried */
  int on;         /* of all ranks alike: what the next step reports */
  gint64 queried; /* when losses were queried last, in µs */
  double own;     /* the loss of this rank's samples in the step; NaN: it has none of its own */
  guint64 before; /* bytes of the process when the trainer was made */
  double *kept;   /* rows of losses that were not queried yet, on rank 0; NULL: there was no query */
  guint n_kept;
  double *all;  /* buffer for a loss of each rank */
  char *memory; /* the newest, on rank 0; NULL: not known yet */
} RankReports;

/* The fields before `wanted` are set. */
void rank_reports_init (RankReports *self);
void rank_reports_clear (RankReports *self);
/* What observers query at present; on rank 0, which informs the others. */
int rank_reports_wanted (RankReports *self);
/* A batch with this share of a step's samples was computed, in a step that reports losses. own: the loss of this rank's
 * samples; NaN: it has none of its own. */
void rank_reports_batch (RankReports *self, double own, gint64 part, double share);
/* Such a step is over, on all ranks; `step` steps are. */
gboolean rank_reports_step (RankReports *self, gint64 step, double loss, GError **error);
/* A round of a parameter server is over, on all ranks. */
gboolean rank_reports_round (RankReports *self, GError **error);
/* Within a round a step is over, on rank 0; own: the losses of the other ranks. */
void rank_reports_served (RankReports *self, gint64 step, double loss, const double *own);
/* LOOM_SNAPSHOT_LOSSES and LOOM_SNAPSHOT_RANKS. (transfer full) */
char *rank_reports_losses (RankReports *self);
char *rank_reports_memory (RankReports *self);

G_END_DECLS
