/* The breakpoints of a document: conditions on the values of a card, at which training stops before the weights change.
 * They stand in <view>, outside the meaning of the graph, and each new worker gets them. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_BREAKPOINTS (studio_breakpoints_get_type ())
G_DECLARE_FINAL_TYPE (StudioBreakpoints, studio_breakpoints, STUDIO, BREAKPOINTS, GObject)

typedef struct
{
  char *node, *when; /* when: "not_finite", "gradient_above", "dead_above", "equals" */
  double limit;
} StudioBreakpoint;

/* Signals: "changed"; "hit" (node, port, sentence): training stands at one. */
StudioBreakpoints *studio_breakpoints_new (StudioDocument *document, StudioRun *run);
guint studio_breakpoints_n (StudioBreakpoints *self);
const StudioBreakpoint *studio_breakpoints_get (StudioBreakpoints *self, guint i);
/* "stops training if the norm of the gradient is above 10". (transfer full) */
char *studio_breakpoint_words (const StudioBreakpoint *b);
/* Opens the dialog for a node or module, transient for the window of `over`. A node has at most one; setting it is one
 * step that can be undone. */
void studio_breakpoints_ask (StudioBreakpoints *self, const char *node, GtkWidget *over);
