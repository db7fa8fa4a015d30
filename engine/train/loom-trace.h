/* What the lanes of a step did when: a file in Chrome's trace format, which Perfetto and Studio open.
 *
 * A lane is a device of a rank, what a rank exchanges, or the copies of a device to others of its rank that overlap its
 * computation. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define LOOM_TRACE_FILE "trace.json" /* in the folder of a run that Studio has started */

typedef enum
{
  LOOM_TRACE_COMPUTE,
  LOOM_TRACE_EXCHANGE,
  LOOM_TRACE_WAIT, /* for another rank */
  LOOM_N_TRACE_KINDS
} LoomTraceKind;

/* Plain memory: ranks send it to one another. */
/* The pass of a step that a span belongs to. */
typedef enum
{
  LOOM_TRACE_NO_PHASE, /* unknown, or none */
  LOOM_TRACE_FORWARD,
  LOOM_TRACE_BACKWARD,
  LOOM_TRACE_UPDATE,
  LOOM_N_TRACE_PHASES
} LoomTracePhase;

typedef struct
{
  gint64 begin, end; /* nanoseconds since the step began */
  double bytes;      /* that were read and written, or exchanged; 0: not known */
  gint32 rank, kind;
  gint32 phase; /* LoomTracePhase */
  /* In no file: of a pipeline's stage: 1 + 2·micro-batch, and 1 more for its backward pass; 0: none. Of an exchange:
   * the axis of the mesh. */
  gint32 pass, along;
  char lane[16];  /* "cpu" */
  char label[56]; /* "matmul+bias+relu" */
  char node[96];  /* a path, or what the instruction is for */
} LoomTraceSpan;

/* Texts are cut where they are too long, at a whole character. */
void loom_trace_add (GArray *spans, const LoomTraceSpan *span, const char *lane, const char *label, const char *node);
/* By rank, lane and beginning. */
void loom_trace_sort (GArray *spans);
/* The time of a rank's exchanges, waiting for others left out, and how much of it overlapped its computation. */
typedef struct
{
  gint32 rank;
  double exchange, overlapped; /* seconds */
} LoomTraceOverlap;

/* By rank, of those that exchange anything: an array of LoomTraceOverlap. */
GArray *loom_trace_overlap (const GArray *spans);
/* The same in words, "rank 0 1.20 of 3.40 ms (35 %), rank 1 …"; NULL if no rank exchanges. (transfer full) */
char *loom_trace_say_overlap (const GArray *spans);
/* The text of such a file; title says what it is of. (transfer full) */
char *loom_trace_to_text (const GArray *spans, const char *title);
/* The spans of a text or file that loom_trace_to_text() made; DATA where it is none. title may be NULL. */
GArray *loom_trace_parse (const char *text, gsize length, char **title, GError **error);
GArray *loom_trace_read (const char *path, char **title, GError **error);
/* The one in a run's folder. */
GArray *loom_trace_read_run (const char *run, char **title, GError **error);

G_END_DECLS
