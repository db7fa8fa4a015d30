/* An export in the background: a picture in a thread, another format by `gradloom export` in a process of its own.
 *
 * Files are written into a new folder next to the named file and moved to their names when all are complete. A
 * cancelled or failed export leaves nothing. */
#pragma once

#include <gio/gio.h>

#include "engine/interop/loom-export-format.h"
#include "ui/drawing/studio-picture.h"

#define STUDIO_TYPE_EXPORT_JOB (studio_export_job_get_type ())
G_DECLARE_FINAL_TYPE (StudioExportJob, studio_export_job, STUDIO, EXPORT_JOB, GObject)

/* Signals:
 *   "progress"(double)     the finished fraction; not emitted if it is not known
 *   "ended"(const char *)  once: NULL if the file is written, else a sentence; not emitted after a cancel */

/* file: absolute. */
StudioExportJob *studio_export_job_new (const LoomExportFormat *format, const char *file);
/* Adds words for the command, such as "--raw". */
void studio_export_job_add_option (StudioExportJob *self, const char *option);
/* Writes the run in a folder. */
void studio_export_job_start_run (StudioExportJob *self, const char *run);
/* Writes a graph: its text, and the folder of its relative paths (NULL: the working folder). */
void studio_export_job_start_graph (StudioExportJob *self, const char *graph_xml, const char *folder);
/* Draws a scene (transfer full). options is copied, with its area; free_data frees its data, and may be NULL. */
void studio_export_job_start_picture (StudioExportJob *self, StudioScene *scene, const StudioPictureOptions *options,
                                      GDestroyNotify free_data);
/* Ends the work; the file is not written. */
void studio_export_job_cancel (StudioExportJob *self);
