/* Whether another Studio has a file open.
 *
 * One small file for each open graph, under the user's state directory so that nothing is left beside the user's own
 * files, and locked while its Studio lives: the kernel lets go of it however the process ends, so a crash leaves no
 * stale warning. Plain C over file descriptors, no widgets. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _StudioFileLock StudioFileLock;

/* path: the user's file, links followed, so that two names of one file meet. folder: NULL for
 * "$XDG_STATE_HOME/gradloom/open". NULL with *holder ("process 1234", with its machine where that is another one) when
 * somebody else has it; NULL without a holder where locks cannot be kept (a home that cannot be written to): then
 * nothing is known, which is no reason against opening a file. */
StudioFileLock *studio_file_lock_new (const char *folder, const char *path, char **holder);
void studio_file_lock_free (StudioFileLock *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioFileLock, studio_file_lock_free)

G_END_DECLS
