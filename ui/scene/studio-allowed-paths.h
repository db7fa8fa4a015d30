/* Files and folders outside a graph's folder that the user has allowed to be read, because a graph may come from
 * somebody else. They are stored in the state directory ("gradloom/outside-data"). Thread-safe. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* TRUE if the user has agreed to this path or to a folder that it is in; path is absolute and has no links. A
 * LoomMayRead. */
gboolean studio_agreed_has (const char *path);
/* Those of loom_net_outside_paths() that were not agreed to. (transfer full) */
char **studio_allowed_paths_missing (const LoomNet *net, const LoomGraph *graph, const char *file);
/* Allows them in this process and, if the state directory is writable, permanently. */
void studio_allowed_paths_add (char **paths);

G_END_DECLS
