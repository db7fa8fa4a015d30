/* Listings of a step that is partitioned among ranks: the shard of rank 0, and the cost of each strategy. */
#pragma once

#include "app/shared/listing.h"

/* A communicator for each rank, for planning only: nothing is exchanged. One rank has none. */
typedef struct
{
  LoomComm **rank; /* NULL: one */
  int ranks;
} ListingComm;

/* Errors: OUT_OF_MEMORY. */
gboolean listing_comm_init (ListingComm *self, int ranks, GError **error);
void listing_comm_clear (ListingComm *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ListingComm, listing_comm_clear)

/* A mesh for each rank, for planning only: nothing runs on it. */
typedef struct
{
  ListingComm comm;
  LoomMesh *mesh;
  int ranks;
} ListingRanks;

/* Uses the mesh of the spec; FALSE with the error if it is not possible. */
gboolean listing_ranks_init (ListingRanks *self, const LoomTrainSpec *spec, int ranks, GError **error);
void listing_ranks_clear (ListingRanks *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ListingRanks, listing_ranks_clear)

/* Replaces the step's programs by those of one rank of a mesh, with a pipeline those of a stage. If spec has no stages,
 * it receives stages chosen for the device. */
gboolean listing_divide (LoomStep *step, LoomTrainSpec *spec, const LoomMesh *mesh, LoomDevices *devices,
                         const char *device, GError **error);
/* Prints the nodes of each of n stages, and its time. */
gboolean listing_print_stages (LoomTrainSpec *spec, gint64 batch, int n, LoomDevices *devices, const char *device,
                               gboolean json, GError **error);
/* With a pipeline, prints the nodes and time of each stage, and its memory by schedule. Otherwise prints a table of
 * strategies: the memory of the rank that needs most, and the bytes that it sends per step. */
gboolean listing_print_strategies (LoomTrainSpec *spec, gint64 batch, const ListingRanks *ranks, LoomDevices *devices,
                                   const LoomPlanOptions *options, gboolean json, GError **error);
