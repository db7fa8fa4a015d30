/* Puts the folders of states in place, and removes them. */
#include "engine/train/checkpoint-folder.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-run-files.h"
#include "engine/train/state-pack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* TRUE for a file of a checkpoint, or the rest of an interrupted write. */
static gboolean
is_part (const char *name)
{
  static const char *const parts[]
      = { LOOM_RUN_WEIGHTS, LOOM_RUN_OPTIMIZER, LOOM_RUN_STATE, LOOM_RUN_COSTS, STATE_PACK_FILE };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (g_str_has_prefix (name, parts[i]) && (name[strlen (parts[i])] == '\0' || g_str_has_suffix (name, ".tmp")))
      return TRUE;
  return FALSE;
}

void
checkpoint_folder_remove (LoomFolder *checkpoints, const char *name)
{
  g_autoptr (LoomFolder) folder = loom_folder_enter (checkpoints, name, FALSE, NULL);
  g_auto (GStrv) names = folder != NULL ? loom_folder_names (folder, NULL) : NULL;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (is_part (names[i]))
      loom_folder_remove (folder, names[i]);
  if (folder != NULL)
    loom_folder_remove_folder (checkpoints, name);
}

void
checkpoint_folder_remove_rests (LoomFolder *checkpoints)
{
  g_auto (GStrv) names = loom_folder_names (checkpoints, NULL);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (g_str_has_prefix (names[i], ".new-"))
      checkpoint_folder_remove (checkpoints, names[i]);
}

void
checkpoint_folder_remove_step (LoomFolder *checkpoints, gint64 step)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step);

  checkpoint_folder_remove (checkpoints, name);
}

/* A folder stays if it has other files, or if one of its own cannot be removed: then a loss of power could bring the
 * removed ones back, and with them the state. */
gboolean
checkpoint_folder_erase_step (LoomFolder *checkpoints, gint64 step, GError **error)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step), *path = NULL;
  g_autoptr (LoomFolder) rest = NULL;
  struct stat info;

  checkpoint_folder_remove (checkpoints, name);
  if (!loom_folder_stat (checkpoints, name, &info) && errno == ENOENT)
    return TRUE;
  rest = loom_folder_enter (checkpoints, name, FALSE, error);
  if (rest == NULL)
    return FALSE;
  path = loom_folder_path_of (rest, LOOM_RUN_STATE);
  if (loom_folder_stat (rest, LOOM_RUN_STATE, &info) || errno != ENOENT)
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be removed. Try again.", path);
  return loom_folder_sync (rest, error);
}

char *
checkpoint_folder_temporary (gint64 step)
{
  return g_strdup_printf (".new-%" G_GINT64_FORMAT, step);
}

static gboolean
rename_error (GError **error, const char *path)
{
  return loom_refuse (error, LOOM_ERROR_IO, "Cannot rename a checkpoint to %s: %s.", path, g_strerror (errno));
}

gboolean
checkpoint_folder_put (LoomFolder *checkpoints, const char *fresh, gint64 step, GError **error)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step), *path = loom_folder_path_of (checkpoints, name);

  if (loom_folder_rename (checkpoints, fresh, name))
    return TRUE;
  if (errno != ENOTEMPTY && errno != EEXIST)
    return rename_error (error, path);
  if (loom_os->rename (loom_folder_fd (checkpoints), fresh, name, RENAME_EXCHANGE) != 0)
    {
      /* Not every file system supports this; another failure leaves the old one. */
      if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return rename_error (error, path);
      checkpoint_folder_remove (checkpoints, name);
      if (!loom_folder_rename (checkpoints, fresh, name))
        return rename_error (error, path);
    }
  return TRUE;
}
