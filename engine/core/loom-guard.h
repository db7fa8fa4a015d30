/* Guards: who is asked before data outside a graph's own folder are read.
 *
 * A graph may come from somebody else and name any file. The command line warns of such paths; Studio sets a guard,
 * which refuses them until the user has agreed. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* path: absolute, links followed. May be called from any thread. */
typedef gboolean (*LoomMayRead) (const char *path);

typedef struct
{
  char *own;            /* the folder of the graph's file; of a run, data paths start at another one */
  LoomMayRead may_read; /* NULL: there is no guard */
} LoomGuard;

void loom_guard_set (LoomGuard *self, const char *own, LoomMayRead may_read);
void loom_guard_clear (LoomGuard *self);

/* TRUE if path, which is absolute and has no links, is the folder or is in it. The folder's own links are followed. */
gboolean loom_path_is_within (const char *path, const char *folder);
/* Where path leads, links followed; NULL if that is in own (NULL: there is none), in the folder of data sets
 * (GRADLOOM_DATA) or in /usr/share, which holds nothing of the user. path is absolute or starts at from (NULL: the
 * working folder). (transfer full) */
char *loom_path_outside (const char *path, const char *from, const char *own);

G_END_DECLS
