/* Opens graphs in the tabs of a window: new ones, examples, recent files, and files by kind, whether dropped, chosen or
 * named on the command line; also unsaved work after a crash. A graph is opened in the current page if that is
 * untouched, else in a new tab. */
#pragma once

#include "ui/window/studio-recovery-bar.h"
#include "ui/window/studio-tabs.h"

#define STUDIO_TYPE_OPENER (studio_opener_get_type ())
G_DECLARE_FINAL_TYPE (StudioOpener, studio_opener, STUDIO, OPENER, GObject)

/* window: the parent of dialogs; files that are dropped on it are opened. */
StudioOpener *studio_opener_new (GtkWindow *window, StudioTabs *tabs, StudioRecoveryBar *recovery);

void studio_opener_new_graph (StudioOpener *self);
/* Opens the window “New from Data”. */
void studio_opener_new_from_data (StudioOpener *self);
void studio_opener_choose_file (StudioOpener *self);
/* Hides the file chooser if it is open. */
void studio_opener_cancel (StudioOpener *self);
/* Opens a graph. */
void studio_opener_open_file (StudioOpener *self, GFile *file);
void studio_opener_open_uri (StudioOpener *self, const char *uri);
/* Opens the graph of a run that goes on without a window, and attaches it. folder: of the run. */
void studio_opener_attach_run (StudioOpener *self, const char *folder);
void studio_opener_open_example (StudioOpener *self, const char *name);
/* Opens a lecture that is built in: "attention". */
void studio_opener_open_lecture (StudioOpener *self, const char *name);
/* Opens the example of an operator as a new graph. */
void studio_opener_open_example_of (StudioOpener *self, const char *op);
/* Opens a file by kind: a graph, an ONNX model, a trace, weights, or a table, which opens the window “New from Data”.
 * FALSE after a message if it is none of them. */
gboolean studio_opener_take_file (StudioOpener *self, GFile *file);

/* Recovers the journal that is offered, or all of them. */
void studio_opener_recover (StudioOpener *self);
void studio_opener_recover_all (StudioOpener *self);
