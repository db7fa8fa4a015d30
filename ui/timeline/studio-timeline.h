/* The widget that draws the trace of one step as a timeline: one lane per device of each rank and per channel of
 * communication, with spans of computing, exchanging and waiting. */
#pragma once

#include <gtk/gtk.h>

#define STUDIO_TYPE_TIMELINE (studio_timeline_get_type ())
G_DECLARE_FINAL_TYPE (StudioTimeline, studio_timeline, STUDIO, TIMELINE, GtkWidget)

/* Signal "described"(const char *text): the description of the span under the pointer or selected by the keyboard;
 * NULL: none. */

/* spans: GArray of LoomTraceSpan, sorted; kept by reference. */
void studio_timeline_set_spans (StudioTimeline *self, GArray *spans);
/* TRUE while the pointer is on the lanes or a span is selected: the reader looks at this step. Escape ends a selection.
 */
gboolean studio_timeline_is_held (StudioTimeline *self);
/* "2 ranks · 3.1 ms · computing 78 %, exchanging 12 %, waiting 10 %"; NULL: empty. (transfer full) */
char *studio_timeline_summary (StudioTimeline *self);

/* The colour of a pass of a step (LoomTracePhase), 0xrrggbb. */
guint32 studio_timeline_colour (int phase, gboolean dark);
