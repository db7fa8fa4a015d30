/* What a timeline says in numbers. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* "12.3 µs". (transfer full) */
char *timeline_duration (double ns);
/* "waits". */
const char *timeline_kind (int kind);
/* All of one, as a line. (transfer full) */
char *timeline_describe (const LoomTraceSpan *span);
/* Of LoomTraceSpan: "2 ranks · 200 µs · computing 67 %, …". (transfer full) */
char *timeline_summary (const GArray *spans, double length);
/* The step that a recording says in its title, "step 10302: …"; -1: none. */
gint64 timeline_step (const char *title);

G_END_DECLS
