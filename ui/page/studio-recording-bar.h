/* The bar below the canvas while a session is recorded or replayed: its time, its speed, and the caption, which is a
 * line above the bar. */
#pragma once

#include <adwaita.h>

#include "ui/page/recording-file.h"
#include "ui/run/studio-run.h"
#include "ui/document/studio-document.h"

#define STUDIO_TYPE_RECORDING_BAR (studio_recording_bar_get_type ())
G_DECLARE_FINAL_TYPE (StudioRecordingBar, studio_recording_bar, STUDIO, RECORDING_BAR, AdwBin)

/* Signal "say"(sentence). Call once. */
void studio_recording_bar_set (StudioRecordingBar *self, StudioDocument *document, StudioRun *run);
/* Asks for a file and records into it, or stops. */
void studio_recording_bar_toggle (StudioRecordingBar *self);
/* Plays from the beginning. The document has the recording's graph. recording (transfer full). */
void studio_recording_bar_play (StudioRecordingBar *self, Recording *recording);
/* Another document is opened, or a run begins: what is played would overwrite it. */
void studio_recording_bar_end_replay (StudioRecordingBar *self);
/* TRUE while a session is recorded or replayed, also after its last second. */
gboolean studio_recording_bar_is_on (StudioRecordingBar *self);
/* A command of the table is run. */
void studio_recording_bar_take_command (StudioRecordingBar *self, const char *name);
/* "recording", "playing", "paused" or "-"; the second; and the caption. */
const char *studio_recording_bar_get_state (StudioRecordingBar *self);
double studio_recording_bar_get_seconds (StudioRecordingBar *self);
const char *studio_recording_bar_get_caption (StudioRecordingBar *self);
