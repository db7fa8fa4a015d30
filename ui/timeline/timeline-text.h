/* Formats durations, spans and summaries of a trace as text for the timeline. */
#pragma once

#include "engine/loom.h"

/* "12.3 µs". (transfer full) */
char *timeline_duration (double ns);
/* The verb of a span: "computes", "exchanges", "waits". */
const char *timeline_kind (int kind);
/* One line with everything about a span. (transfer full) */
char *timeline_describe (const LoomTraceSpan *span);
/* spans: GArray of LoomTraceSpan. "2 ranks · 200 µs · computing 67 %, …". (transfer full) */
char *timeline_summary (const GArray *spans, double length);
/* The step in the title of a recording, "step 10302: …"; -1: none. */
gint64 timeline_step (const char *title);

/* "forward"; NULL for none. */
const char *timeline_phase (int phase);
