/* The seconds of a recorded step, to be looked up by instruction. */
#pragma once

#include "engine/train/loom-trace.h"

typedef struct _LoomTraceTimes LoomTraceTimes;

/* Of the computations of one rank. spans: LoomTraceSpan. */
LoomTraceTimes *loom_trace_times_new (const GArray *spans, int rank);
void loom_trace_times_free (LoomTraceTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTraceTimes, loom_trace_times_free)
/* The seconds of an instruction; node is its path, or its purpose. Several instructions of the same words are taken in
 * the order of the calls. Negative: there is no such span, or no further one. */
double loom_trace_times_take (LoomTraceTimes *times, LoomTracePhase phase, const char *label, const char *node);
