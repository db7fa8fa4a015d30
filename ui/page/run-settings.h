/* The settings with which a document trains: its device, and the speed (watch or full). */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run-panel.h"
#include "ui/run/studio-run.h"

/* The device that the document names, else the default of this machine; NULL while devices are unknown. */
const char *run_settings_get_device (StudioDocument *document);
void run_settings_set_device (StudioDocument *document, const char *device);

/* "watch": short runs are stretched to half a minute; "full": as fast as possible. Kept while the program runs, for
 * pages that are opened later. */
void run_settings_set_speed (StudioRun *run, StudioRunPanel *panel, const char *speed);
const char *run_settings_get_speed (void);
