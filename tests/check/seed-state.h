/* What is known of a range of seeds, in memory and as a file of lines. */
#pragma once

#include "tests/check/check-graph.h"

/* The numbers of CheckPieces as words. */
#define PIECES                                                                                                         \
  "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
#define PIECES_OF(pieces) (pieces).all, (pieces).by_rule, (pieces).evaluated, (pieces).too_large, (pieces).unchecked
/* Adds such words, which end with NULL. */
void check_pieces_read (char *const *word, CheckPieces *pieces);

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
/* Adds the results of the seeds that follow. */
void seed_state_add (SeedState *self, const SeedState *more);
void seed_state_add_wrong (SeedState *self, guint64 seed, const char *rule, const char *text);
void seed_state_count_operator (SeedState *self, const char *name, guint n);
