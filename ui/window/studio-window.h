/* The window: palette left, canvas in the middle, inspector right, run panel below. */
#pragma once

#include <adwaita.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"
#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_WINDOW (studio_window_get_type ())
G_DECLARE_FINAL_TYPE (StudioWindow, studio_window, STUDIO, WINDOW, AdwApplicationWindow)

StudioWindow *studio_window_new (AdwApplication *application);
/* TRUE when a window has this file already; it is shown. */
gboolean studio_window_present_file (GtkApplication *application, GFile *file);
void studio_window_open_file (StudioWindow *self, GFile *file);
StudioDocument *studio_window_get_document (StudioWindow *self);
StudioCanvas *studio_window_get_canvas (StudioWindow *self);
StudioRun *studio_window_get_run (StudioWindow *self);

G_END_DECLS
