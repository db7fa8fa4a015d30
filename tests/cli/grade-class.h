/* Runs of learners, hand-ins of them, and `gradloom grade`, for its tests. */
#pragma once

#include "engine/runs/loom-runs.h"
#include "tests/cli/cli.h"

#include <json-glib/json-glib.h>

#define CLASS_KEY    "key.xml"
#define CLASS_CHANGE 10 /* the step after which a number is changed */

typedef enum
{
  PLAIN,
  RATE,   /* is changed while it trains */
  BATCH,  /* likewise */
  PAUSED, /* and resumed */
  STOPPED,
  OTHER_BATCH, /* from the beginning */
  N_WAYS
} Way;

/* Trains the key's graph as a learner does, and hands in. */
LoomHandIn *class_train (gint64 seed, Way way, int epochs, const char *name);
void class_write_key (void);
/* Replaces match `which` of a pattern. */
void class_substitute (char **text, const char *pattern, const char *with, guint which);

typedef struct
{
  CliResult result;
  GPtrArray *parsers;
  GHashTable *row; /* JsonObject by file */
} Graded;

/* Grades a folder or a file with the key; option may be NULL. */
Graded class_grade (const char *what, const char *option);
void graded_clear (Graded *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Graded, graded_clear)
/* The findings of a file as one text; asserts its verdict. (transfer full) */
char *class_expect (const Graded *graded, const char *file, const char *verdict);
