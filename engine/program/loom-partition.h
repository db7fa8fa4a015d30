/* Dividing a program among ranks: one program for the whole batch becomes each rank's part of it.
 *
 * Every value is whole (each rank has all of it), split (each rank has the part along one axis that belongs to its
 * samples), or pending (each rank has a summand, and the value is their sum). Inputs are split along their first axis.
 * A primitive's `share` says in which form it takes its operands and what its results then are; one without it takes
 * whole operands. Where a value is wanted in another form than it has, a collective or a slice stands between. So
 * counts, means and losses are those of the whole batch, whatever is divided how. */
#pragma once

#include "engine/program/loom-program.h"

G_BEGIN_DECLS

typedef struct
{
  gint64 samples; /* of the whole batch, at least as many as ranks */
  int rank, ranks;
  gsize bucket;             /* bytes of gradients that are exchanged in one call; 0: each alone */
  gboolean sync_batch_norm; /* statistics of batch norms are those of the whole batch; else of the rank's samples */
} LoomPartition;

/* The part of one rank. Slots and outputs are whole on every rank and keep their indices; inputs whose first axis is
 * the samples are a part of it. Scalars and shapes that every rank has are as before, so all ranks run the same
 * instructions in the same order. */
LoomProgram *loom_program_partition (const LoomProgram *p, const LoomPartition *partition);

G_END_DECLS
