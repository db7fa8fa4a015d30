/* Writes a report of a run as one file, HTML or PDF by its suffix. */
#pragma once

#include "engine/loom-run.h"

/* progress: called with the finished fraction; NULL: not called. The file is written completely or not at all. The same
 * run, data, language and version give the same bytes. Errors: DATA if the folder is no run; IO. */
gboolean report_write (const char *run, const char *file, void (*progress) (double done, gpointer data), gpointer data,
                       GError **error);

/* Writes PDF, or HTML by the suffix: of the lessons, or of the slides if there is no lesson or if slides is TRUE.
 * answers: the teacher's copy, with answers and hints instead of lines to write on. DATA if the graph has neither;
 * SCHEMA of pages with faults; IO. */
gboolean handout_write (const LoomGraph *graph, const char *file, gboolean answers, gboolean slides, GError **error);
