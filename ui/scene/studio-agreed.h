/* Files and folders outside a graph's own folder that the user has agreed to be read: a graph may come from somebody
 * else. They are kept in a small file of the state directory ("gradloom/outside-data"), and nothing is lost with it.
 * All may be called from any thread. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* TRUE if the user has agreed to this path or to a folder that it is in; path is absolute and has no links. A
 * LoomMayRead. */
gboolean studio_agreed_has (const char *path);
/* Those of loom_net_outside_paths() that were not agreed to. (transfer full) */
char **studio_agreed_missing (const LoomNet *net, const LoomGraph *graph, const char *file);
/* For as long as the program runs, and, where the state directory can be written, longer. */
void studio_agreed_add (char **paths);

G_END_DECLS
