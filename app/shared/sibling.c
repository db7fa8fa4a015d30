/* Finds another program of Gradloom; see the header. */
#include "app/shared/sibling.h"

#include "engine/loom-run.h"

char *
sibling_find (const char *name, const char *const *folders, GError **error)
{
  g_autofree char *refused = NULL;
  char *path = loom_module_find_program (name, folders, &refused);

  if (path != NULL)
    return path;
  if (refused != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "The program %s was not started because other users can change it or its folder. Correct this with "
                 "chown or chmod go-w.",
                 refused);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The program %s is neither next to this one nor in %s. Install it.",
                 name, folders[g_strv_length ((char **)folders) - 1]);
  return NULL;
}
