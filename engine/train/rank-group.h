/* The ranks of a run: their mesh, each rank's shard of a batch, and their communication between steps. Every exchange
 * is called by all ranks. Errors are DIST, with the error of the rank that failed. */
#pragma once

#include "engine/plan/loom-mesh.h"
#include "engine/train/train-model.h"
#include "engine/train/train-notes.h"

typedef struct
{
  LoomComm *comm; /* NULL: a single rank */
  LoomMesh mesh;
  gboolean has_server; /* rank 0 is a parameter server, the others train */
} RankGroup;

/* Returns FALSE, with the ranks' error, if communication failed. */
gboolean rank_group_check (LoomStatus status, const LoomMessage *message, GError **error);
/* Forms the mesh that <parallel> describes. SCHEMA or USAGE if the number of ranks does not match. `begins`: notes
 * which settings of <parallel> have no effect on this run. */
gboolean rank_group_open (RankGroup *group, LoomComm *comm, const LoomTrainSpec *spec, gboolean begins,
                          TrainNotes *notes, GError **error);
void rank_group_close (RankGroup *group);
/* Notes that a run with `before` ranks continues with one. */
void rank_group_note_fewer (const RankGroup *group, const LoomTrainSpec *spec, int before, TrainNotes *notes);
/* Call before the first step: makes the communicators of the mesh's axes. */
gboolean rank_group_join (RankGroup *group, GError **error);

/* For plans; NULL: a single rank. */
const LoomMesh *rank_group_mesh (const RankGroup *group);
gboolean rank_group_has_several (const RankGroup *group);
gboolean rank_group_is_first (const RankGroup *group);
/* The number of this rank among the n ranks with shards of a training batch. The server has the number 0. */
void rank_group_shard (const RankGroup *group, int *rank, int *n);
/* FALSE if a server computes the update for this rank. */
gboolean rank_group_updates (const RankGroup *group);
/* The command that resumes the run in a folder, with as many ranks if all are on this machine. (transfer full) */
char *rank_group_resume_words (const RankGroup *group, const char *folder);

/* most[i] receives the maximum of own[i] over all ranks. */
gboolean rank_group_max (const RankGroup *group, const gint64 *own, gint64 *most, gint64 n, GError **error);
/* Broadcasts from rank 0. */
gboolean rank_group_broadcast (const RankGroup *group, void *data, gsize bytes, GError **error);
/* all receives comm->size times `bytes`, ordered by rank. */
gboolean rank_group_gather (const RankGroup *group, const void *own, gsize bytes, void *all, GError **error);
/* Waits for rank 0, which may be paused. The other ranks sleep meanwhile, whereas MPI's broadcast would keep a
 * processor busy. */
gboolean rank_group_wait_for_first (const RankGroup *group, GError **error);

/* If ranks have shards of the state, all return rank 0's value; else each its own. FALSE on an error. */
gboolean rank_group_first_says (const RankGroup *group, const LoomState *state, gboolean yes, GError **error);
/* If all ranks take each step together: TRUE if any rank passes TRUE; else, with a parameter server, this rank's value.
 */
gboolean rank_group_any_says (const RankGroup *group, gboolean yes);
/* The whole values of a program's slots, in a state of their own: called by all ranks. */
LoomState *rank_group_whole_state (const TrainModel *model, const LoomProgram *program, GError **error);
