/* The ranks of a run: how they form a mesh, which shard of a batch each has, and what they exchange between steps.
 *
 * Every exchange is a call of all ranks. Errors are DIST, with the sentence of the rank that failed. */
#pragma once

#include "engine/plan/loom-mesh.h"
#include "engine/train/train-model.h"
#include "engine/train/train-notes.h"

G_BEGIN_DECLS

typedef struct
{
  LoomComm *comm; /* NULL: there is one rank */
  LoomMesh mesh;
  gboolean has_server; /* rank 0 is a parameter server, the others train */
} RankGroup;

/* FALSE, with the sentence of the ranks, if they could not exchange something. */
gboolean rank_group_check (LoomStatus status, const LoomMessage *message, GError **error);
/* Forms the mesh that <parallel> describes. SCHEMA or USAGE if the number of ranks does not fit it. `begins`: a run, of
 * which it is noted what <parallel> describes without effect. */
gboolean rank_group_open (RankGroup *group, LoomComm *comm, const LoomTrainSpec *spec, gboolean begins,
                          TrainNotes *notes, GError **error);
void rank_group_close (RankGroup *group);
/* Notes that a run which had `before` ranks continues with one. */
void rank_group_note_fewer (const RankGroup *group, const LoomTrainSpec *spec, int before, TrainNotes *notes);
/* Before the first step: communicators of the mesh's axes. */
gboolean rank_group_join (RankGroup *group, GError **error);

/* For plans; NULL: there is one rank. */
const LoomMesh *rank_group_mesh (const RankGroup *group);
gboolean rank_group_has_several (const RankGroup *group);
gboolean rank_group_is_first (const RankGroup *group);
/* Of the n ranks that have shards of a training batch, the number of this one. The server has the first one's. */
void rank_group_shard (const RankGroup *group, int *rank, int *n);
/* FALSE if a server computes the update for this rank. */
gboolean rank_group_updates (const RankGroup *group);
/* The command that resumes the run in a folder, with as many ranks if all are on this machine. (transfer full) */
char *rank_group_resume_words (const RankGroup *group, const char *folder);

/* most[i]: the largest own[i] of all ranks. */
gboolean rank_group_max (const RankGroup *group, const gint64 *own, gint64 *most, gint64 n, GError **error);
/* Of rank 0 to all. */
gboolean rank_group_broadcast (const RankGroup *group, void *data, gsize bytes, GError **error);
/* all: comm->size times `bytes`, by rank. */
gboolean rank_group_gather (const RankGroup *group, const void *own, gsize bytes, void *all, GError **error);
/* Rank 0 may have been paused. The other ranks sleep meanwhile, while MPI's broadcast would keep a processor busy. */
gboolean rank_group_wait_for_first (const RankGroup *group, GError **error);

/* If each rank has a part of the state, all do what rank 0 says; else each what it says itself. FALSE on an error. */
gboolean rank_group_first_says (const RankGroup *group, const LoomState *state, gboolean yes, GError **error);
/* If all ranks take each step together: TRUE if any rank says yes; else, with a parameter server, what this one says.
 */
gboolean rank_group_any_says (const RankGroup *group, gboolean yes);
/* The values of a program's slots, whole, in a state of its own: a call of all ranks. */
LoomState *rank_group_whole_state (const TrainModel *model, const LoomProgram *program, GError **error);

G_END_DECLS
