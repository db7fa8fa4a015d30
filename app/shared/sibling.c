/* Finds another program of Gradloom; see the header. */
#include "app/shared/sibling.h"

#include "engine/loom-run.h"

#include <errno.h>
#include <unistd.h>

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

void
sibling_become (const char *name, const char *const *folders, const char *const *words, GError **error)
{
  g_autofree char *path = sibling_find (name, folders, error);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  if (path == NULL)
    return;
  g_ptr_array_add (argv, path);
  for (; *words != NULL; words++)
    g_ptr_array_add (argv, (gpointer)*words);
  g_ptr_array_add (argv, NULL);
  execv (path, (char **)argv->pdata);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The program %s could not be started: %s.", path, g_strerror (errno));
}
