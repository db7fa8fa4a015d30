/* A hand-in: one file with a run and the answers of a learner, which a lecturer's program reads and repeats.
 *
 * The file is one JSON object of numbers and texts (docs/data.md). It names no file: of data sets and initial
 * weights only the last names are kept, so a reader opens what it has itself. The checksum at its end shows edits by
 * hand of somebody who does not compute it again; it protects nothing else, and whether the log is that of the graph is
 * shown by repeating the run. */
#pragma once

#include "engine/graph/loom-graph.h"
#include "engine/infer/loom-run-event.h"
#include "engine/infer/loom-run-sessions.h"

#define LOOM_HAND_IN_SUFFIX ".gradloom"

/* Limits, of characters and of numbers; the file has at most 64 MB. */
#define LOOM_HAND_IN_MOST_NAME    200
#define LOOM_HAND_IN_MOST_ANSWER  10000
#define LOOM_HAND_IN_MOST_ANSWERS 1000
#define LOOM_HAND_IN_MOST_THREADS 4096

/* What a learner typed on a page of a lesson. */
typedef struct
{
  gint64 page; /* from 1 */
  char *title; /* of the page; "" if it has none */
  char *text;
} LoomHandInAnswer;

typedef struct
{
  char *name;         /* of the learner, as typed */
  double made;        /* seconds since 1970 */
  char *program;      /* "gradloom 0.1.0" */
  char *graph;        /* XML, with settings and seed in its <train> and without lessons */
  GPtrArray *answers; /* LoomHandInAnswer */

  gboolean has_run; /* FALSE: a graph and answers alone, and what follows is NULL or 0 */
  char *device;
  char *machine; /* processor, threads and libraries; "" if the run has not recorded them */
  gint64 threads;
  gint64 step;      /* of the newest checkpoint, with which the log ends */
  gboolean is_over; /* all epochs are done */
  char *weights;    /* SHA-256 of the checkpoint's weights.safetensors, 64 hexadecimal digits */
  char *costs;      /* the cost table of the checkpoint; "": none */
  char *log;        /* lines of events.jsonl up to the checkpoint */
  GArray *sessions; /* LoomRunSession, the oldest first, without sentences */

  gboolean is_intact; /* after reading: the checksum is that of the text */
} LoomHandIn;

/* Of the newest checkpoint of the run in a folder. DATA if it has none, was trained by several ranks, or is damaged;
 * IO. */
LoomHandIn *loom_hand_in_new (const char *run, const char *name, GError **error);
/* Of a graph that was not trained. */
LoomHandIn *loom_hand_in_new_untrained (const LoomGraph *graph, const char *name);
void loom_hand_in_free (LoomHandIn *self);
/* Longer texts are cut; an empty one is left out. title may be NULL. */
void loom_hand_in_add_answer (LoomHandIn *self, gint64 page, const char *title, const char *text);

/* Replaces the graph by one of the same meaning, whose layout and view are newer. FALSE: its meaning differs, and
 * nothing is replaced. */
gboolean loom_hand_in_take_view (LoomHandIn *self, const LoomGraph *graph);

/* The file's text. (transfer full) */
char *loom_hand_in_to_text (const LoomHandIn *self);
/* Errors: IO. */
gboolean loom_hand_in_write (const LoomHandIn *self, const char *path, GError **error);
/* Checks every member and all limits. Errors: DATA, IO. */
LoomHandIn *loom_hand_in_read (const char *path, GError **error);

/* The attribute of <train>, or the options of a data set, that name files: calls func for each in the graph. The value
 * may be changed by func. */
typedef gboolean (*LoomHandInFileFunc) (LoomElement *element, const char *attribute, const char *value, gpointer data);
/* FALSE if a call returned FALSE, which ends it. */
gboolean loom_hand_in_each_file (LoomGraph *graph, LoomHandInFileFunc func, gpointer data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomHandIn, loom_hand_in_free)
