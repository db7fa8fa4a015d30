/* A step divided among ranks, for listings: the part of rank 0, and what the ways of dividing it cost. */
#pragma once

#include "app/listing.h"

G_BEGIN_DECLS

/* Communicators that plans are made with and that nothing runs on. */
typedef struct
{
  LoomComm **comm;
  int ranks;
} ListingRanks;

/* FALSE with the error where there is no memory for them. */
gboolean listing_ranks_init (ListingRanks *self, int ranks, GError **error);
void listing_ranks_clear (ListingRanks *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ListingRanks, listing_ranks_clear)

/* The step's programs become the part of one of so many ranks, with a pipeline of a stage. spec receives its stages,
 * chosen for the device, where it has none. */
gboolean listing_divide (LoomStep *step, LoomTrainSpec *spec, int rank, int ranks, LoomDevices *devices,
                         const char *device, GError **error);
/* With a pipeline: which nodes each stage has, its time, and the memory of each by schedule. Otherwise a table of
 * strategies: memory of the rank that needs most of it, and bytes that it sends in a step. */
gboolean listing_print_strategies (const LoomGraph *graph, LoomTrainSpec *spec, gint64 batch, const ListingRanks *ranks,
                                   LoomDevices *devices, const LoomPlanOptions *options, gboolean json, GError **error);

G_END_DECLS
