/* Paths inside and outside a graph's folder, for guards. */
#include "engine/core/loom-guard.h"

#include <string.h>

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-env.h"

void
loom_guard_set (LoomGuard *self, const char *own, LoomMayRead may_read)
{
  char *copy = g_strdup (own);

  loom_guard_clear (self);
  *self = (LoomGuard){ copy, may_read };
}

void
loom_guard_clear (LoomGuard *self)
{
  g_clear_pointer (&self->own, g_free);
  self->may_read = NULL;
}

gboolean
loom_path_is_within (const char *path, const char *folder)
{
  g_autofree char *target = folder != NULL ? loom_file_target (folder) : NULL;
  gsize n = target != NULL ? strlen (target) : 0;

  return target != NULL && strncmp (path, target, n) == 0
         && (path[n] == '\0' || path[n] == G_DIR_SEPARATOR || (n > 0 && target[n - 1] == G_DIR_SEPARATOR));
}

char *
loom_path_outside (const char *path, const char *from, const char *own)
{
  g_autofree char *start = g_canonicalize_filename (from != NULL ? from : ".", NULL);
  g_autofree char *absolute = g_canonicalize_filename (path, start);
  g_autofree char *target = loom_file_target (absolute);

  return loom_path_is_within (target, own) || loom_path_is_within (target, "/usr/share")
                 || loom_path_is_within (target, loom_env ("GRADLOOM_DATA"))
             ? NULL
             : g_steal_pointer (&target);
}
