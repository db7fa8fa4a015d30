/* Writes the user's cost table, safely with several programs at once.
 *
 * Tuning takes minutes, during which another program may have written its own measurements. So the file is read again
 * just before it is replaced, and both happen under a lock. The lock is a separate file, because the table is replaced
 * by a new file each time. */
#include "engine/plan/loom-cost-table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-os.h"

/* Locks the table's lock file; closing the returned descriptor releases it. On a file system without locks the table is
 * written unlocked. */
static int
lock (const char *path, GError **error)
{
  g_autofree char *name = g_strconcat (path, ".lock", NULL), *folder = g_path_get_dirname (path);
  int fd;

  if (!loom_path_make_folder (folder, 0700))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "Cannot create the folder %s: %s.", folder, g_strerror (errno));
      return -1;
    }
  fd = loom_os->open (AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "Cannot write %s: %s.", name, g_strerror (errno));
      return -1;
    }
  loom_lock (fd, LOCK_EX);
  return fd;
}

LoomCostTable *
loom_cost_table_save_measured (LoomCostTable *from, GError **error)
{
  g_autofree char *path = loom_cost_table_user_file (), *text = NULL;
  g_autoptr (LoomCostTable) table = NULL;
  gboolean written;
  int fd = lock (path, error);

  if (fd < 0)
    return NULL;
  table = loom_cost_table_new_default (); /* an unusable table is replaced */
  loom_cost_table_add_measured (table, from);
  text = loom_cost_table_to_text (table, FALSE);
  written = loom_file_replace (path, text, strlen (text), error);
  loom_close (fd);
  return written ? g_steal_pointer (&table) : NULL;
}
