/* The fields of a document, for the few files that own them. Files with edits include document-edit.h. */
#pragma once

#include "ui/document/document-edit.h"

#include "ui/document/edit-reach.h"
#include "ui/document/run-version.h"
#include "ui/document/saved-content.h"
#include "ui/document/scope-path.h"
#include "ui/document/selection.h"
#include "ui/document/selection-history.h"
#include "ui/document/studio-document.h"
#include "ui/document/studio-document-origin.h"
#include "ui/document/studio-journal.h"
#include "ui/document/undo-log.h"
#include "ui/scene/studio-routes.h"

/* A gap that a deleted node left between two remaining nodes. */
typedef struct
{
  guint64 from, to;
  const char *output, *input; /* interned */
} StudioBridge;

struct _StudioDocument
{
  GObject parent_instance;

  LoomGraph *graph;
  char *path;
  char *origin; /* the file that is not the document's own, but that the text is from; NULL: begun here */
  GBytes *base; /* the text by which serials are numbered */
  LoomFaults *grammar;
  guint n_dropped; /* parts of the file that the reader skipped */

  UndoLog *log;
  guint64
      saved_step; /* after which the file was written last; 0: never, G_MAXUINT64: a step that is not in this history */

  ScopePath *scope;
  Selection *selection;
  SelectionHistory *selected_then;

  LoomNet *net;
  LoomFaults *faults;
  gboolean net_valid;
  EditReach reach;     /* of the edits since "changed" was last emitted */
  gint64 trials_until; /* no fix is tried after this time of studio_trials_clock () */
  gboolean trials_unlimited;
  guint idle;
  StudioScene *scene;
  StudioScene *earlier; /* the last scene, until the next is made of it */
  GArray *bridges;

  StudioFileWatch *watch; /* of path */

  SavedContent *saved;
  GTask *saving;            /* of the save in progress; its result is ignored after another document was opened */
  gboolean reported_edited; /* the state that "file-changed" reported last */

  RunVersion *run; /* NULL: no run */
  char *hash;      /* of the current graph; NULL: not computed */

  gboolean wants_journal;
  char *journal_folder;
  StudioJournal *journal;
};

/* Applies an edit (transfer full) to the graph, updates journal and derived data, and returns the inverse. For the log:
 * data is the document. */
LoomEdit *studio_document_apply (LoomEdit *edit, gpointer data);
/* Call after a change of the graph: derived data is computed again at its next use. */
void studio_document_forget_derived (StudioDocument *self);
/* The same, and emits signals. */
void studio_document_changed (StudioDocument *self);
/* The gap at an unwired input, or NULL. */
const StudioBridge *studio_document_find_bridge (StudioDocument *self, guint64 serial, const char *port);
/* The label of the button for a fault: the fault's own fix, or one that was tried (studio-quick-fix.h). */
char *studio_document_fix_for_fault (const LoomFault *fault, guint64 serial, gpointer self);
/* Call before making a scene: fixes are tried for some milliseconds. */
void studio_document_begin_trials (StudioDocument *self);
void studio_document_infer (StudioDocument *self); /* at once, if the idle callback has not run yet */
/* Sets the graph's guard: if the graph is from a file, which may be untrusted, data outside its folder wait for the
 * user's agreement. */
void studio_document_guard (StudioDocument *self);
/* Watches the file at the document's path; digest (transfer full) is that of its content. NULL, if there is no path,
 * stops watching. */
void studio_document_note_disk (StudioDocument *self, char *digest);
/* The save in progress; NULL: none. */
void studio_document_set_saving (StudioDocument *self, GTask *saving);
/* Marks the document as saved, also in the journal. */
void studio_document_note_saved (StudioDocument *self);
/* Reads a graph and the exact text of its file. */
LoomGraph *studio_document_read (const char *path, char **text, gsize *length, LoomFaults **faults, GError **error);
