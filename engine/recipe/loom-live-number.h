/* The numbers of a graph that can change while it trains, with their limits: those of the optimiser and its groups, of
 * clipping, of operators (p of dropout), and the batch size. */
#pragma once

#include "engine/recipe/loom-train-spec.h"

#define LOOM_LIVE_BATCH_SIZE "batch_size"

typedef struct
{
  char *name;   /* of the trainer's scalar: "lr", "group1.lr", "clip_norm", "block.0.drop.p" */
  double value; /* with which a run begins */
  double minimum, maximum;
  gboolean above;    /* the minimum itself is refused */
  gboolean whole;    /* an integer */
  const char *node;  /* the path of the operator's node; NULL: of <train>. Interned */
  const char *op;    /* of that node: "dropout"; NULL likewise. Static */
  gboolean drops;    /* it is the probability of a kind of dropout */
  const char *param; /* the name without path and group: "p". Interned */
  const char *doc;   /* static */
} LoomLiveNumber;

/* An array of LoomLiveNumber: <train>'s, then operators' in the order of the net. (transfer full) */
GPtrArray *loom_live_numbers_new (const LoomTrainSpec *spec, const LoomNet *net);
/* Returns FALSE with USAGE, and a sentence with the limits, if the number cannot have this value. */
gboolean loom_live_number_check (const LoomLiveNumber *self, double value, GError **error);
