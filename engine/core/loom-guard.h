/* Guards decide whether data outside a graph's folder may be read. A graph may come from an untrusted source and name
 * any file. The command line warns of such paths; Studio sets a guard, which refuses them until the user has agreed. */
#pragma once

#include <glib.h>

/* path: absolute, without links. May be called on any thread. */
typedef gboolean (*LoomMayRead) (const char *path);

typedef struct
{
  char *own;            /* the folder of the graph's file; relative data paths of a run have another base */
  LoomMayRead may_read; /* NULL: no guard */
} LoomGuard;

void loom_guard_set (LoomGuard *self, const char *own, LoomMayRead may_read);
void loom_guard_clear (LoomGuard *self);

/* TRUE if path, which is absolute and has no links, is the folder or inside it. Links in the folder's own path are
 * followed. */
gboolean loom_path_is_within (const char *path, const char *folder);
/* Returns path with links resolved; NULL if it is inside own (NULL: no folder), in the folder of data sets
 * (GRADLOOM_DATA) or in /usr/share, which has no files of the user. path is absolute or relative to from (NULL: the
 * working folder). (transfer full) */
char *loom_path_outside (const char *path, const char *from, const char *own);
