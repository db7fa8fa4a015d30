/* The program that a worker is: declared in studio-worker.h. */
#include "ui/worker/studio-worker.h"

#include <glib/gi18n.h>

#include "engine/loom.h"
#include "engine/core/loom-env.h"
#include "engine/core/loom-module.h"

char *
studio_worker_find_program (GError **error)
{
  const char *named = loom_env ("GRADLOOM_WORKER");
  if (named != NULL)
    return g_strdup (named);
  static const char *const folders[] = { ".", "../gradloom", "../app/gradloom", "..", NULL };
  g_autofree char *refused = NULL;
  char *found = loom_module_find_program ("gradloom", folders, &refused);
  if (found != NULL)
    return found;
  if (refused != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                   _ ("The program %s was not started because other users can change it or its folder. Correct "
                      "this with chown or chmod go-w."),
                   refused);
      return NULL;
    }
  found = g_find_program_in_path ("gradloom");
  if (found == NULL)
    g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_IO,
                         _ ("The program “gradloom”, which trains for Studio, was not found next to gradloom-studio or "
                            "in PATH. Install it, or set GRADLOOM_WORKER to its path."));
  return found;
}
