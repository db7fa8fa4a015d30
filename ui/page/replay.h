/* Plays a recording on a document and a run: both are as they were at a time. Nothing is trained; the run takes the
 * figures that were recorded. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/page/recording-file.h"
#include "ui/run/studio-run.h"

typedef struct _Replay Replay;

/* recording (transfer full). The document has its graph. */
Replay *replay_new (Recording *recording, StudioDocument *document, StudioRun *run);
void replay_free (Replay *self);
double replay_get_length (const Replay *self);
double replay_get_position (const Replay *self);
/* Shows this second, also an earlier one. */
void replay_seek (Replay *self, double seconds);
/* The caption of this second; "": none. */
const char *replay_get_note (const Replay *self);
/* The action of the command that was run last, not longer than three seconds ago; or NULL. */
const char *replay_get_command (const Replay *self);
