/* Detects whether another Studio has a file open.
 *
 * There is one small file per open graph, in the user's state directory so that no files are left next to the user's
 * own, and it is locked while its Studio lives: the kernel releases the lock however the process ends, so a crash
 * leaves no stale warning. Plain C over file descriptors, no widgets. */
#pragma once

#include <glib.h>

typedef struct _StudioFileLock StudioFileLock;

/* path: the user's file with links resolved, so that two names of one file match. folder: NULL for
 * "$XDG_STATE_HOME/gradloom/open". NULL with *holder ("process 1234", with its machine if that is another one) if
 * another process has it open; NULL without a holder if locks are not possible (a home directory that cannot be
 * written): then the state is unknown, which does not prevent opening the file. */
StudioFileLock *studio_file_lock_new (const char *folder, const char *path, char **holder);
void studio_file_lock_free (StudioFileLock *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioFileLock, studio_file_lock_free)
