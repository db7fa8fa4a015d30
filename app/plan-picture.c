/* Starts gradloom-picture with the events of a plan's steps on its standard input; see the header. Like
 * export-picture.c, because few starts draw, and linking what draws takes long. */
#include "app/plan-picture.h"

#include "app/shared/sibling.h"
#include "engine/loom-run.h"

#include <gio/gio.h>

static const char *const folders[] = { ".", "../" LABORATORY_FOLDER, LABORATORY_DIR, NULL };

gboolean
plan_picture_write (const GString *events, const char *file, int *status, GError **error)
{
  g_autofree char *program = sibling_find ("gradloom-picture", folders, error);
  const char *const words[] = { program, "--steps", file, NULL };
  g_autoptr (GSubprocess) process = NULL;

  if (program == NULL)
    return FALSE;
  process = g_subprocess_newv (words, G_SUBPROCESS_FLAGS_STDIN_PIPE, error);
  if (process == NULL || !g_subprocess_communicate_utf8 (process, events->str, NULL, NULL, NULL, error))
    return FALSE;
  *status = g_subprocess_get_if_exited (process) ? g_subprocess_get_exit_status (process) : 1;
  return TRUE;
}
