/* The folders of single states in checkpoints/ and history/: put in place whole, and removed without the files of
 * others. */
#pragma once

#include "engine/core/loom-folder.h"

/* Removes the files of a checkpoint, and its folder if no other files are in it. */
void checkpoint_folder_remove (LoomFolder *checkpoints, const char *name);
void checkpoint_folder_remove_step (LoomFolder *checkpoints, gint64 step);
/* Removes a state, which no loss of power brings back once the caller has synchronised `checkpoints`. IO. */
gboolean checkpoint_folder_erase_step (LoomFolder *checkpoints, gint64 step, GError **error);
/* Removes the rests of interrupted writes. */
void checkpoint_folder_remove_rests (LoomFolder *checkpoints);
/* The name of a folder while it is written, ".new-STEP" (transfer full). */
char *checkpoint_folder_temporary (gint64 step);
/* Gives a written folder its name. If there is one of that step already, with other hyper-parameters, both are
 * exchanged atomically, and that one is a rest, to be removed once the exchange is on the disk: a loss of power could
 * otherwise bring it back without its files. IO. */
gboolean checkpoint_folder_put (LoomFolder *checkpoints, const char *fresh, gint64 step, GError **error);
