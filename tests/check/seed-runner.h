/* Checks many seeds in child processes, with results that survive a crash and resume. */
#pragma once

#include "tests/check/seed-state.h"

typedef struct
{
  CheckOptions check; /* without devices and seed */
  guint n_jobs;
  const char *state_file; /* NULL: none */
  gboolean verbose;       /* prints why seeds are refused, and each wrong one when it is found */
  guint64 crash;          /* the seed whose child ends itself, to test the tests; G_MAXUINT64: none */
} SeedOptions;

/* The number of tries of a seed, of which the first one that is not refused counts. */
#define SEED_TRIES 12

/* Checks seeds state->next … end-1. */
gboolean seeds_run (SeedState *state, guint64 end, const SeedOptions *options, GError **error);

/* The first text of a seed that the engine accepts and the result of its check, which has the last refusal as text if
 * the seed is sound; NULL: none. (transfer full) */
char *seed_check (guint32 seed, const CheckOptions *options, CheckResult *result);
/* The same for a graph, in a process of its own, which may crash: then the rule is "crash". */
void seed_check_apart (const LoomGraph *graph, const CheckOptions *options, CheckResult *result);
