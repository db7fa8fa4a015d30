/* Checks many seeds in child processes, with results that survive a crash and resume. */
#pragma once

#include "tests/check/check-graph.h"

typedef struct
{
  guint32 seed;
  char *rule, *text;
} WrongSeed;

/* What is known of the seeds first … next-1. */
typedef struct
{
  guint64 first, next;
  guint64 n_graphs, n_refused, n_plans; /* refused: no try of the seed was a graph that the engine accepts */
  CheckPieces pieces;
  GPtrArray *wrong;      /* WrongSeed */
  GHashTable *operators; /* name → GUINT_TO_POINTER (graphs with it) */
} SeedState;

void seed_state_init (SeedState *self, guint64 first);
void seed_state_clear (SeedState *self);
/* Reads the file, if it exists and begins at the same seed. */
gboolean seed_state_read (SeedState *self, const char *path, GError **error);
gboolean seed_state_write (const SeedState *self, const char *path, GError **error);

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
