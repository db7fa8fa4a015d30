/* The key of a lecturer that `gradloom grade` reads, and the row that it writes for each hand-in. */
#pragma once

#include "engine/loom-run.h"
#include "engine/runs/loom-runs.h"

/* The lecturer's graph: its lessons have the goals, its data sets are the only ones that a hand-in may read. */
typedef struct
{
  LoomGraph *graph;
  GPtrArray *lessons; /* LoomLesson */
} GradeKey;

typedef struct
{
  gint64 steps;      /* to repeat at most; 0: all */
  double seconds;    /* after which repeating a hand-in ends */
  double tolerance;  /* of a curve of another machine, relative to its first losses */
  gboolean is_rough; /* products of 16 bits, or of TF32 */
} GradeOptions;

typedef enum
{
  GRADE_HOLDS,     /* repeated steps and log agree */
  GRADE_UNTRAINED, /* a graph without a run */
  GRADE_SHARED,    /* the run is also in the file of somebody else */
  GRADE_CHANGED,   /* the log is not that of the graph */
  GRADE_REFUSED    /* it cannot be read or repeated */
} GradeVerdict;

extern const char *const grade_verdicts[];

typedef struct
{
  char *file, *name; /* name NULL: the file cannot be read */
  GradeVerdict verdict;
  const char *compared;                 /* "bits", "curve", or NULL: nothing */
  gint64 steps, checked;                /* of the run, and the number of those that were repeated */
  guint goals, met, questions, right;   /* pages */
  GPtrArray *unmet, *answers, *finding; /* char*: titles, "1: text", sentences */
  char *run, *training; /* equal for the same run, and for runs with the same graph and log; NULL: no run */
} GradeRow;

GradeRow *grade_row_new (const char *file);
void grade_row_free (GradeRow *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradeRow, grade_row_free)
/* A sentence about the hand-in; the verdict becomes this one if it is worse. */
void grade_row_add (GradeRow *self, GradeVerdict verdict, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* Errors: of reading the graph; DATA without a lesson. */
gboolean grade_key_read (GradeKey *self, const char *path, GError **error);
void grade_key_clear (GradeKey *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GradeKey, grade_key_clear)
/* Replaces the names of data sets and weights in a hand-in's graph by the paths of the key, and lets it read nothing
 * else. DATA, if it names another. */
gboolean grade_key_lend_files (const GradeKey *self, LoomGraph *graph, GError **error);

/* Reads, repeats and compares one hand-in. */
GradeRow *grade_hand_in (const GradeKey *key, const char *path, const GradeOptions *options);

/* Time stamps that no run has. */
void grade_times (const LoomHandIn *hand_in, GradeRow *row);

/* The metrics of training after the last step of a repeated run, which are not in its log. */
typedef struct
{
  GPtrArray *name; /* char* */
  GArray *value;   /* double */
} GradeMetrics;

/* Compares the log of a hand-in with that of its repetition. is_whole FALSE: the repetition ended earlier, for want of
 * time. */
void grade_compare (const LoomHandIn *hand_in, const LoomHandIn *repeated, gboolean is_whole,
                    const GradeOptions *options, GradeRow *row);

/* Evaluates the key's goals on the graph of a hand-in, with the figures of a log and these metrics (NULL: none). */
void grade_goals (const GradeKey *key, const LoomHandIn *hand_in, const LoomGraph *graph, const char *log,
                  const GradeMetrics *metrics, GradeRow *row);
