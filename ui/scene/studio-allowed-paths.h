/* Files and folders outside a graph's folder that the user has allowed to be read, because a graph may come from an
 * untrusted source.
 *
 * They are stored in the state directory ("gradloom/outside-data"). Thread-safe. */
#pragma once

#include "engine/loom.h"

/* TRUE if the user has allowed this path or a folder that contains it; path is absolute and has no links. A
 * LoomMayRead. */
gboolean studio_agreed_has (const char *path);
/* The paths of loom_net_outside_paths() that are not allowed yet. (transfer full) */
char **studio_allowed_paths_missing (const LoomNet *net, const LoomGraph *graph, const char *file);
/* Allows them in this process and, if the state directory is writable, permanently. */
void studio_allowed_paths_add (char **paths);
