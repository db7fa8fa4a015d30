/* The timeline of a step with its words: of a run, whose newest step it follows, or of a file.
 *
 * A step is recorded by the worker when the view asks for one, at most once a second, while the view is visible and not
 * held: the pointer on the lanes, or a selected box, holds the step that is shown. */
#pragma once

#include <gtk/gtk.h>

#include "ui/run/studio-run.h"

#define STUDIO_TYPE_TIMELINE_VIEW (studio_timeline_view_get_type ())
G_DECLARE_FINAL_TYPE (StudioTimelineView, studio_timeline_view, STUDIO, TIMELINE_VIEW, GtkBox)

StudioTimelineView *studio_timeline_view_new (StudioRun *run);
/* Shows a trace in a file. */
StudioTimelineView *studio_timeline_view_new_for_file (const char *path);
