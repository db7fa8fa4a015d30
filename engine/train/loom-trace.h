/* The lanes of a step with their spans of time: a file in Chrome's trace format, which Perfetto and Studio open. A lane
 * is a device of a rank, the communication of a rank, or the copies of a device to others of its rank that overlap its
 * computation. */
#pragma once

#include <glib.h>

#define LOOM_TRACE_FILE "trace.json" /* in the folder of a run started by Studio */

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
  double bytes;      /* read and written, or communicated; 0: unknown */
  gint32 rank, kind;
  gint32 phase; /* LoomTracePhase */
  /* Not in files. For a pipeline's stage: 1 + 2·micro-batch, plus 1 for its backward pass; 0: none. For an exchange:
   * the axis of the mesh. */
  gint32 pass, along;
  char lane[16];  /* "cpu" */
  char label[56]; /* "matmul+bias+relu" */
  char node[96];  /* a path, or the purpose of the instruction */
} LoomTraceSpan;

/* Sets both texts; long ones are cut at a whole character. */
void loom_trace_add (GArray *spans, const LoomTraceSpan *span, const char *lane, const char *label, const char *node);
/* Sorts by rank, lane and beginning. */
void loom_trace_sort (GArray *spans);
/* The communication time of a rank, without waiting for others, and how much of it overlapped its computation. */
typedef struct
{
  gint32 rank;
  double exchange, overlapped; /* seconds */
} LoomTraceOverlap;

/* An array of LoomTraceOverlap, by rank, for ranks that communicate. */
GArray *loom_trace_overlap (const GArray *spans);
/* The same as text, "rank 0 1.20 of 3.40 ms (35 %), rank 1 …"; NULL if no rank communicates. (transfer full) */
char *loom_trace_describe_overlap (const GArray *spans);
/* The text of such a file; title describes it. (transfer full) */
char *loom_trace_to_text (const GArray *spans, const char *title);
/* Parses a text or file made by loom_trace_to_text(); DATA if it is not valid. title may be NULL. */
GArray *loom_trace_parse (const char *text, gsize length, char **title, GError **error);
GArray *loom_trace_read (const char *path, char **title, GError **error);
/* The one in a run's folder. */
GArray *loom_trace_read_run (const char *run, char **title, GError **error);
