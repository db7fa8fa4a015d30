/* The lanes of one step, as a trace has them: for each device of each rank, and for what a rank exchanges, when it
 * computed, exchanged and waited. */
#pragma once

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define STUDIO_TYPE_TIMELINE (studio_timeline_get_type ())
G_DECLARE_FINAL_TYPE (StudioTimeline, studio_timeline, STUDIO, TIMELINE, GtkWidget)

/* Signal "told"(const char *text): what is under the pointer, or chosen by the keyboard; NULL: nothing is. */

StudioTimeline *studio_timeline_new (void);
/* spans: GArray of LoomTraceSpan, sorted; kept by reference. */
void studio_timeline_set_spans (StudioTimeline *self, GArray *spans);
/* "2 ranks · 3.1 ms · computing 78 %, exchanging 12 %, waiting 10 %"; NULL where nothing is shown. (transfer full) */
char *studio_timeline_summary (StudioTimeline *self);

G_END_DECLS
