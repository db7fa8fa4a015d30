/* The content of a tab: one document and everything shown of it. Palette left, canvas in the middle, inspector right,
 * run panel and status line below; with its own undo, selection, view, run, worker and lesson.
 *
 * A page knows no window and may be moved to another. It reports by signals what header and tab show of it. Its
 * commands are actions, which the window that shows it inserts as its own. */
#pragma once

#include <adwaita.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/document/studio-document.h"
#include "ui/run/studio-memory-forecast.h"
#include "ui/run/studio-run.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_PAGE (studio_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioPage, studio_page, STUDIO, PAGE, AdwBin)

/* Signals:
 *   "changed"    title, subtitle, undo, run or device
 *   "size-class" the page is of another size class, or a pane was opened or closed (studio_panes_get_size_class)
 *   "attention"  a sentence was shown in a page that may not be visible */
StudioPage *studio_page_new (void);
StudioDocument *studio_page_get_document (StudioPage *self);
StudioCanvas *studio_page_get_canvas (StudioPage *self);
StudioRun *studio_page_get_run (StudioPage *self);
StudioPanes *studio_page_get_panes (StudioPage *self);
/* Its commands, by the names that they have in the window ("save" of "win.save"). */
GActionGroup *studio_page_get_actions (StudioPage *self);
const char *studio_page_get_title (StudioPage *self);
/* The operator of the selected layer if the focus is on the canvas, or the focused one of the palette; or NULL. */
const LoomOp *studio_page_get_op_at_focus (StudioPage *self);
/* "Edited · 61,706 parameters · 4.2 MB". */
const char *studio_page_get_subtitle (StudioPage *self);
/* The device of its run, or of the next one ("cpu"); NULL while the devices are unknown. */
/* The memory that the graph's run would need; "changed" of the page follows it. */
StudioMemoryForecast *studio_page_get_forecast (StudioPage *self);
const char *studio_page_get_device (StudioPage *self);
/* The button of the window that the popover of devices points at. */
void studio_page_set_devices_button (StudioPage *self, GtkWidget *button);

/* ---- content ---- */

/* TRUE for an empty page without a past: another graph may be opened in it. */
gboolean studio_page_is_untouched (StudioPage *self);
/* On failure the page is as it was, and the error says where in the file, and what to do. */
gboolean studio_page_open_file (StudioPage *self, GFile *file, GError **error);
/* The text of a graph as an untitled document. length -1: it ends with 0. */
gboolean studio_page_open_text (StudioPage *self, const char *text, gssize length, GError **error);
/* Replays a recorded session. */
gboolean studio_page_open_recording (StudioPage *self, const char *path, GError **error);
/* name: "lessons/spirals". */
gboolean studio_page_open_example (StudioPage *self, const char *name, GError **error);
/* Restores unsaved work after a crash. FALSE: the journal could be read in part only; that part is shown. */
gboolean studio_page_recover (StudioPage *self, const char *journal, GError **error);
void studio_page_reset (StudioPage *self);

/* ---- leaving ---- */

/* Text that is being typed becomes part of the document, as if its field were left. */
void studio_page_commit (StudioPage *self);
/* Changes that are in no file, or a run that has not ended. */
gboolean studio_page_would_lose (StudioPage *self);
typedef void (*StudioPageThen) (StudioPage *self, gpointer data);
/* Asks about both; then is called unless the user cancels, and otherwise is called if so. Either may destroy the page.
 * If a question is open already, it is presented, and otherwise is called. */
void studio_page_ask_to_leave (StudioPage *self, StudioPageThen then, StudioPageThen otherwise, gpointer data);
/* Saves, with questions as needed; then is called after a save, otherwise if there was none. */
void studio_page_save_then (StudioPage *self, StudioPageThen then, StudioPageThen otherwise, gpointer data);
/* TRUE while a question waits for its response; presents it. */
gboolean studio_page_is_asking (StudioPage *self);
/* Ends the run and removes the journal; the user has decided about both. */
void studio_page_let_go (StudioPage *self);
/* "“LeNet” is training, at step 75 of 3,200." */
char *studio_page_dup_run_sentence (StudioPage *self);
/* Runs in the queue, which would be lost. */
guint studio_page_n_queued (StudioPage *self);

/* ---- view ---- */

/* Shows a toast (transfer full). */
void studio_page_add_toast (StudioPage *self, AdwToast *toast);
/* Shows a sentence at the lower edge; lasting: until it is dismissed, for text that is read with care. */
void studio_page_toast (StudioPage *self, const char *sentence);
void studio_page_toast_lasting (StudioPage *self, const char *heading, const char *sentence);
void studio_page_focus (StudioPage *self);
void studio_page_show_panel (StudioPage *self);
void studio_page_set_presenting (StudioPage *self, gboolean on);
/* TRUE if the key has a meaning in a presentation only, and has been handled. */
gboolean studio_page_presenting_key (StudioPage *self, guint keyval, GdkModifierType state);
/* For tests: prints cards and wires, and the state, as lines on standard error. */
void studio_page_dump_cards (StudioPage *self);
void studio_page_dump_state (StudioPage *self);
