/* The main window: a header bar, and documents in tabs (studio-page.h). The header shows and acts on the current page.
 */
#pragma once

#include <adwaita.h>

#include "ui/page/studio-page.h"

#define STUDIO_TYPE_WINDOW (studio_window_get_type ())
G_DECLARE_FINAL_TYPE (StudioWindow, studio_window, STUDIO, WINDOW, AdwApplicationWindow)

/* Adds the commands of windows and pages to the list of all (studio-commands.h). */
void studio_window_add_commands (void);

/* With one empty page. */
StudioWindow *studio_window_new (AdwApplication *application);
/* In the current page if it is untouched, else in a new one. */
void studio_window_open_file (StudioWindow *self, GFile *file);

/* Opens a file by kind: a graph, an ONNX model, a trace, weights, or a table, which opens the window “New from Data”.
 * FALSE after a message if it is none of them. */
gboolean studio_window_take_file (StudioWindow *self, GFile *file);

/* The current page (transfer none). */
StudioPage *studio_window_get_page (StudioWindow *self);
guint studio_window_n_pages (StudioWindow *self);
StudioPage *studio_window_get_nth_page (StudioWindow *self, guint i);
void studio_window_show_page (StudioWindow *self, StudioPage *page);

/* Of the current page. */
StudioDocument *studio_window_get_document (StudioWindow *self);
StudioCanvas *studio_window_get_canvas (StudioWindow *self);
StudioRun *studio_window_get_run (StudioWindow *self);
void studio_window_show_panel (StudioWindow *self);
