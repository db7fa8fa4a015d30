/* The fields of a document, for the few files that own them. Files that edit include document-edit.h. */
#pragma once

#include "ui/document/document-edit.h"

#include "ui/document/edit-reach.h"
#include "ui/document/run-version.h"
#include "ui/document/saved-content.h"
#include "ui/document/scope-path.h"
#include "ui/document/selection.h"
#include "ui/document/studio-document.h"
#include "ui/document/studio-journal.h"
#include "ui/document/undo-log.h"
#include "ui/scene/studio-routes.h"

G_BEGIN_DECLS

/* A gap that a deleted node left between two that still stand. */
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
  GBytes *base; /* the text that the serials are counted in */
  LoomFaults *grammar;
  guint n_dropped; /* parts of the file that the reader left out */

  UndoLog *log;
  guint64 saved_step; /* after which the file was written last; 0: none yet, G_MAXUINT64: it is not of this history */

  ScopePath *scope;
  Selection *selection;

  LoomNet *net;
  LoomFaults *faults;
  gboolean net_valid;
  EditReach reach;     /* of the edits since "changed" was last emitted */
  gint64 trials_until; /* no remedy is tried out after that; of studio_trials_clock () */
  gboolean trials_unlimited;
  guint idle;
  StudioScene *scene;
  StudioScene *earlier; /* the last scene, until the next is made of it */
  GArray *bridges;

  StudioFileWatch *watch; /* of path */

  SavedContent *saved;
  GTask *saving;            /* what is being written now; nothing is said of it once this is another document */
  gboolean reported_edited; /* as "file-changed" was emitted for it last */

  RunVersion *run; /* NULL: there is no run */
  char *hash;      /* of the present graph; NULL: not computed */

  gboolean wants_journal;
  char *journal_folder;
  StudioJournal *journal;
};

/* Applies an edit (transfer full) to the graph, keeps journal and derived things in step, and returns the inverse. For
 * the log: data is the document. */
LoomEdit *studio_document_apply (LoomEdit *edit, gpointer data);
/* After the graph changed: what was derived from it is made anew when it is asked for. */
void studio_document_forget_derived (StudioDocument *self);
/* The same, and tells. */
void studio_document_changed (StudioDocument *self);
/* The bridge over an unwired input, or NULL. */
const StudioBridge *studio_document_find_bridge (StudioDocument *self, guint64 serial, const char *port);
/* The label of the button for a fault: what the fault itself says, or a remedy that was tried out (studio-mend.h). */
char *studio_document_fix_for_fault (const LoomFault *fault, guint64 serial, gpointer self);
/* Before a scene is made: remedies are tried out for some milliseconds. */
void studio_document_begin_trials (StudioDocument *self);
void studio_document_infer (StudioDocument *self); /* now, if the idle has not come yet */
/* Sets the graph's guard: of one that has a file, which may be from elsewhere, data outside its folder wait for the
 * user's agreement. */
void studio_document_guard (StudioDocument *self);
/* digest (transfer full) is that of what the file at the document's path holds: watches it from here on. NULL, where
 * there is no path, ends that. */
void studio_document_note_disk (StudioDocument *self, char *digest);
/* What is being written now; NULL: nothing. */
void studio_document_set_saving (StudioDocument *self, GTask *saving);
/* The file holds what the document does: nothing is edited, and the journal says so. */
void studio_document_note_saved (StudioDocument *self);
/* The graph of a file and the very text that it was read from. */
LoomGraph *studio_document_read (const char *path, char **text, gsize *length, LoomFaults **faults, GError **error);

G_END_DECLS
