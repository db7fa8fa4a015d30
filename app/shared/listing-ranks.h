/* Listings of a step that is divided among ranks: the shard of rank 0, and the cost of each strategy. */
#pragma once

#include "app/shared/listing.h"

G_BEGIN_DECLS

/* A mesh for each rank, that plans are made with and that nothing runs on. */
typedef struct
{
  LoomComm **comm;
  LoomMesh *mesh;
  int ranks;
} ListingRanks;

/* In the mesh of the spec; FALSE with the error if it is not possible. */
gboolean listing_ranks_init (ListingRanks *self, const LoomTrainSpec *spec, int ranks, GError **error);
void listing_ranks_clear (ListingRanks *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ListingRanks, listing_ranks_clear)

/* The step's programs become the part of one rank of a mesh, with a pipeline of a stage. spec receives its stages,
 * chosen for the device, where it has none. */
gboolean listing_divide (LoomStep *step, LoomTrainSpec *spec, const LoomMesh *mesh, LoomDevices *devices,
                         const char *device, GError **error);
/* Which nodes each of n stages has, and its time. */
gboolean listing_print_stages (const LoomGraph *graph, LoomTrainSpec *spec, gint64 batch, int n, LoomDevices *devices,
                               const char *device, gboolean json, GError **error);
/* With a pipeline: which nodes each stage has, its time, and the memory of each by schedule. Otherwise a table of
 * strategies: memory of the rank that needs most of it, and bytes that it sends in a step. */
gboolean listing_print_strategies (const LoomGraph *graph, LoomTrainSpec *spec, gint64 batch, const ListingRanks *ranks,
                                   LoomDevices *devices, const LoomPlanOptions *options, gboolean json, GError **error);

G_END_DECLS
