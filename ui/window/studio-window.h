/* The window: a header bar, and documents in tabs (studio-page.h). What the header says and does is of the page that is
 * seen. */
#pragma once

#include <adwaita.h>

#include "ui/window/studio-page.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_WINDOW (studio_window_get_type ())
G_DECLARE_FINAL_TYPE (StudioWindow, studio_window, STUDIO, WINDOW, AdwApplicationWindow)

/* With one page, in which nothing is yet. */
StudioWindow *studio_window_new (AdwApplication *application);
/* In the page that is seen where nothing was done in that yet, else in one of its own. */
void studio_window_open_file (StudioWindow *self, GFile *file);

/* Opens a file by what it is: a graph, an ONNX model, or a table, for which the window “New from Data”
 * appears. FALSE after a sentence
 * where it is nothing that can be opened. */
gboolean studio_window_take_file (StudioWindow *self, GFile *file);

/* The page that is seen (transfer none). */
StudioPage *studio_window_get_page (StudioWindow *self);
guint studio_window_n_pages (StudioWindow *self);
StudioPage *studio_window_get_nth_page (StudioWindow *self, guint i);
void studio_window_show_page (StudioWindow *self, StudioPage *page);
/* Adds a page after the one that is seen, and shows it (transfer none). */
StudioPage *studio_window_add_page (StudioWindow *self);

/* Of the page that is seen. */
StudioDocument *studio_window_get_document (StudioWindow *self);
StudioCanvas *studio_window_get_canvas (StudioWindow *self);
StudioRun *studio_window_get_run (StudioWindow *self);
void studio_window_show_panel (StudioWindow *self);

G_END_DECLS
