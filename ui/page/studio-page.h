/* A page of the window's tabs: one document and all that is seen of it. Palette left, canvas in the middle, inspector
 * right, run panel and status line below; with its own undo, selection, view, run, worker and lesson.
 *
 * A page knows no window: it is in one, may be moved to another, and tells it by a signal when what header and tab show
 * of it is another. What it can be asked to do are actions, which the window that shows it takes over as its own. */
#pragma once

#include <adwaita.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"
#include "ui/shell/studio-panes.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_PAGE (studio_page_get_type ())
G_DECLARE_FINAL_TYPE (StudioPage, studio_page, STUDIO, PAGE, AdwBin)

/* Signals:
 *   "changed"    title, subtitle, undo, run or device
 *   "room"       there is more or less room for what lies beside the canvas (studio_panes_get_size_class)
 *   "attention"  a sentence was shown in a page that may not be the one that is looked at */
StudioPage *studio_page_new (void);
StudioDocument *studio_page_get_document (StudioPage *self);
StudioCanvas *studio_page_get_canvas (StudioPage *self);
StudioRun *studio_page_get_run (StudioPage *self);
StudioPanes *studio_page_get_panes (StudioPage *self);
/* Its commands, by the names that they have in the window ("save" of "win.save"). */
GActionGroup *studio_page_get_actions (StudioPage *self);
const char *studio_page_get_title (StudioPage *self);
/* The operator of the one layer that is selected, while the keyboard is on the canvas; NULL otherwise. */
const LoomOp *studio_page_get_op_at_keyboard (StudioPage *self);
/* "Edited · 61,706 parameters · 4.2 MB". */
const char *studio_page_get_subtitle (StudioPage *self);
/* Where it trains or would ("cpu"); NULL as long as nobody knows the devices. */
const char *studio_page_get_device (StudioPage *self);

/* Adds the commands of pages and canvases to the list of all (studio-commands.h). */
void studio_page_add_commands (void);

/* ---- content ---- */

/* TRUE while nothing was done in it: another graph may take its place. */
gboolean studio_page_is_untouched (StudioPage *self);
/* On failure the page is as it was, and the error says where in the file, and what to do. */
gboolean studio_page_open_file (StudioPage *self, GFile *file, GError **error);
/* name: "lessons/spirals". */
/* A graph's text as an untitled document. length -1: it ends with 0. */
gboolean studio_page_open_text (StudioPage *self, const char *text, gssize length, GError **error);
gboolean studio_page_open_example (StudioPage *self, const char *name, GError **error);
/* Restores the work that a crash left. FALSE: not all of it could be read; what could be is shown. */
gboolean studio_page_recover (StudioPage *self, const char *journal, GError **error);
void studio_page_reset (StudioPage *self);

/* ---- leaving ---- */

/* Takes over what is being typed into a field or a note, as leaving it would. */
void studio_page_commit (StudioPage *self);
/* Changes that are in no file, or a run that goes on. */
gboolean studio_page_would_lose (StudioPage *self);
typedef void (*StudioPageThen) (StudioPage *self, gpointer data);
/* Asks about both first; then is called unless the user cancels, and otherwise is called where it was cancelled: both
 * may destroy the page. Nothing is asked while another question waits. */
void studio_page_ask_to_leave (StudioPage *self, StudioPageThen then, StudioPageThen otherwise, gpointer data);
/* Saves, asking where and whether as needed; then follows only a save, and otherwise anything else. */
void studio_page_save_then (StudioPage *self, StudioPageThen then, StudioPageThen otherwise, gpointer data);
/* TRUE while a question waits for its answer; shows it. */
gboolean studio_page_is_asking (StudioPage *self);
/* Ends the run and removes the journal: the user has answered for both. */
void studio_page_let_go (StudioPage *self);
/* "“LeNet” is training, at step 75 of 3,200." */
char *studio_page_dup_run_sentence (StudioPage *self);

/* ---- looks ---- */

/* A sentence at the lower edge. lasting: until it is dismissed, for what wants to be read with care. */
/* One with a button or a life of its own (transfer full). */
void studio_page_add_toast (StudioPage *self, AdwToast *toast);
void studio_page_toast (StudioPage *self, const char *sentence);
void studio_page_toast_lasting (StudioPage *self, const char *heading, const char *sentence);
void studio_page_focus (StudioPage *self);
void studio_page_show_panel (StudioPage *self);
void studio_page_set_presenting (StudioPage *self, gboolean on);
/* The keys that only count on the projector. TRUE: it was one. */
gboolean studio_page_presenting_key (StudioPage *self, guint keyval, GdkModifierType state);
/* For tests: cards and wires, and the state, as lines on standard error. */
void studio_page_dump_cards (StudioPage *self);
void studio_page_dump_state (StudioPage *self);

G_END_DECLS
