/* Writes what happens to a document and its run into a recording, as it happens. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

typedef struct _Recorder Recorder;

Recorder *recorder_new (StudioDocument *document, StudioRun *run, const char *path, GError **error);
void recorder_free (Recorder *self);
double recorder_get_seconds (const Recorder *self);
/* A caption, from now until the next one; "" ends it. */
void recorder_note (Recorder *self, const char *text);
/* A command of the table was run. */
void recorder_command (Recorder *self, const char *name);
/* A sentence if the file could not be written or has reached a limit, which ends the recording; or NULL. */
const char *recorder_get_fault (const Recorder *self);
