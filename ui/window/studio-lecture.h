/* Lectures in a window: the stops are tabs, in their order, and a presentation walks from one to the next. */
#pragma once

#include "ui/window/studio-tabs.h"

/* Opens each stop of the lecture in a tab and shows the first. On failure tabs opened so far stay. Errors: those of
 * loom_lecture_read() and of graphs. */
gboolean studio_lecture_open (StudioTabs *tabs, GFile *file, GError **error);
/* The same for a lecture that is built in, with its graphs: "attention". */
gboolean studio_lecture_open_example (StudioTabs *tabs, const char *name, GError **error);
/* Shows the tab of the next (1) or the previous (-1) stop, if the current page is a stop and its lecture has one. */
void studio_lecture_next (StudioTabs *tabs);
void studio_lecture_previous (StudioTabs *tabs);
