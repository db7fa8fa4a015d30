/* The journal: what was edited since the file was opened, on disk within a second.
 *
 * One append-only file a document: a header with the user's path, the text that editing began
 * with, then a line an edit and a line an end of transaction. It is locked while its writer
 * lives, so a lock that can be had means a crash. Plain C over file descriptors, no widgets. */
#pragma once

#include <gio/gio.h>

#include "engine/loom.h"

G_BEGIN_DECLS

typedef struct _StudioJournal StudioJournal;

/* "$XDG_STATE_HOME/gradloom/journal". */
char *studio_journal_default_folder (void);
/* path: the user's file, may be NULL; base: what the serials of the edits are counted in. */
StudioJournal *
studio_journal_new (const char *folder, const char *path, const char *base, gsize length, GError **error);
void studio_journal_append (StudioJournal *self, const char *line);
/* Ends a transaction: until this line the ones before it do not count. */
void studio_journal_commit (StudioJournal *self, const char *name);
/* The user's file now holds all of it. */
void studio_journal_saved (StudioJournal *self, const char *path);
/* Notes the digest of the user's file as it is now: who recovers tells by it whether others have written it since. */
void studio_journal_note_file (StudioJournal *self, const char *digest);
void studio_journal_sync (StudioJournal *self);    /* now, for tests and for closing */
void studio_journal_abandon (StudioJournal *self); /* keeps the file, as a crash would */
void studio_journal_remove (StudioJournal *self);  /* frees, and removes the file */

/* Journals that crashes left with work in them that is in no file, newest first: NULL-terminated file names. Those
 * with nothing unsaved are removed on the way. */
char **studio_journal_orphans (const char *folder);

typedef struct
{
  char *path; /* the user's file, or NULL */
  GBytes *base;
  GPtrArray *lines;     /* edits of whole transactions, in order */
  guint n_transactions; /* since the file was saved */
  char *digest;         /* of what the user's file held last, as far as is known; or NULL */
  guint n_saved;        /* so many of the lines were in the file when it was saved last; 0: it never was */
} StudioJournalContent;
/* A torn last transaction is left out: it was never finished. */
StudioJournalContent *studio_journal_read (const char *file, GError **error);
void studio_journal_content_free (StudioJournalContent *content);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioJournalContent, studio_journal_content_free)

G_END_DECLS
