/* The journal: the edits since the file was opened, on disk within a second.
 *
 * One append-only file per document: a header with the user's path, the text that editing began with, then a line per
 * edit and a line per end of transaction. It is locked while its writer lives, so a free lock means a crash. Plain C
 * over file descriptors, no widgets. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"

typedef struct _StudioJournal StudioJournal;

/* "$XDG_STATE_HOME/gradloom/journal". */
char *studio_journal_default_folder (void);
/* path: the user's file, may be NULL; base: the text by which the serials of the edits are numbered. */
StudioJournal *
studio_journal_new (const char *folder, const char *path, const char *base, gsize length, GError **error);
/* Called, once, if a crash or a loss of power may lose edits: the journal cannot be written, or what was written has
 * not reached the disk. why: of the operating system. */
typedef void (*StudioJournalFailedFunc) (const char *why, gpointer data);
void studio_journal_set_failed_func (StudioJournal *self, StudioJournalFailedFunc failed, gpointer data);
void studio_journal_append (StudioJournal *self, const char *line);
/* Ends a transaction: the lines before it are valid only after this line. */
void studio_journal_commit (StudioJournal *self, const char *name);
/* Records that the user's file contains everything so far. */
void studio_journal_saved (StudioJournal *self, const char *path);
/* Records the digest of the user's file, by which recovery detects whether other programs have written it since. */
void studio_journal_note_file (StudioJournal *self, const char *digest);
/* Records the file that a graph without a file of its own is from, which decides what recovered work may read. */
void studio_journal_note_origin (StudioJournal *self, const char *path);
/* At once, for tests and for closing. TRUE: all transactions are on the disk. */
gboolean studio_journal_sync (StudioJournal *self);
void studio_journal_abandon (StudioJournal *self); /* keeps the file, as a crash would */
void studio_journal_remove (StudioJournal *self);  /* frees, and removes the file */

/* The unlocked journals with unsaved edits, newest first: NULL-terminated file names. Those without unsaved edits are
 * removed. */
char **studio_journal_orphans (const char *folder);

typedef struct
{
  char *path;   /* the user's file, or NULL */
  char *origin; /* studio_journal_note_origin(); or NULL */
  GBytes *base;
  GPtrArray *lines;     /* edits of complete transactions, in order */
  guint n_transactions; /* since the file was saved */
  char *digest;         /* of the last known content of the user's file; or NULL */
  guint n_saved;        /* number of the lines that were in the file when it was last saved; 0: never */
} StudioJournalContent;
/* An incomplete last transaction is ignored. */
StudioJournalContent *studio_journal_read (const char *file, GError **error);
void studio_journal_content_free (StudioJournalContent *content);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioJournalContent, studio_journal_content_free)
