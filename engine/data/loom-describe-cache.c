/* A cache of the descriptions of sources whose files have not changed.
 *
 * Every edit of a graph describes its data sets, in Studio on the main thread. A file that was described once is then
 * only checked (modification time, size, inode), not opened. The cache is small. A file that changed a moment ago could
 * change again within the resolution of its time stamp, so it is read each time until its time stamp is old enough. */
#include "engine/core/loom-os.h"
#include "engine/data/loom-dataset-private.h"

#include <glib/gstdio.h>

#define MAX_KEPT 64
/* Coarser than the clocks of file systems that keep whole seconds. */
#define REST_SECONDS 3

typedef struct
{
  LoomDatasetInfo info;
  GError *error; /* why it could not be described, or NULL */
} Description;

static GMutex mutex;
static GHashTable *kept;

static void
description_free (gpointer data)
{
  Description *d = data;

  g_clear_error (&d->error);
  g_free (d);
}

char *
loom_file_stamp (const char *path)
{
  const gint64 now = loom_wall () / G_USEC_PER_SEC;
  struct stat state;

  if (loom_os->stat (AT_FDCWD, path, &state, 0) != 0 || !S_ISREG (state.st_mode)
      || (state.st_mtim.tv_sec <= now && now - state.st_mtim.tv_sec < REST_SECONDS))
    return NULL;
  return g_strdup_printf ("%s\n%" G_GINT64_FORMAT ".%ld %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT, path,
                          (gint64)state.st_mtim.tv_sec, state.st_mtim.tv_nsec, (gint64)state.st_size,
                          (guint64)state.st_ino);
}

/* Source, options and the stamp of each file; NULL without files, or if a file has no stamp. */
static char *
make_key (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  g_autoptr (GString) key = g_string_new (klass->name);
  gboolean has_file = FALSE;

  for (const LoomDatasetParam *param = klass->params; param != NULL && param->name != NULL; param++)
    {
      const char *text = loom_option_string (klass, options, param->name);
      g_autofree char *path = NULL, *stamp = NULL;

      if (param->type != LOOM_DATASET_PATH)
        {
          g_string_append_printf (key, "\n%s", text != NULL ? text : "");
          continue;
        }
      path = loom_option_path (klass, options, param->name);
      stamp = path != NULL ? loom_file_stamp (path) : NULL;
      if (path != NULL && stamp == NULL)
        return NULL;
      g_string_append_printf (key, "\n%s", path != NULL ? stamp : "");
      has_file = has_file || path != NULL;
    }
  return has_file ? g_string_free (g_steal_pointer (&key), FALSE) : NULL;
}

gboolean
loom_describe_cached (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
                      GError **error)
{
  g_autofree char *key = make_key (klass, options);
  Description *d;
  gboolean fine;

  if (key == NULL)
    return klass->describe (klass, options, info, error);

  g_mutex_lock (&mutex);
  if (kept == NULL)
    kept = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, description_free);
  d = g_hash_table_lookup (kept, key);
  if (d != NULL)
    {
      *info = d->info;
      fine = d->error == NULL;
      if (!fine && error != NULL)
        *error = g_error_copy (d->error);
      g_mutex_unlock (&mutex);
      return fine;
    }
  g_mutex_unlock (&mutex);

  /* Without the lock, so that other threads do not wait for this file. */
  d = g_new0 (Description, 1);
  fine = klass->describe (klass, options, info, &d->error);
  d->info = *info;
  if (!fine && error != NULL)
    *error = g_error_copy (d->error);
  g_mutex_lock (&mutex);
  if (g_hash_table_size (kept) >= MAX_KEPT)
    g_hash_table_remove_all (kept);
  g_hash_table_replace (kept, g_steal_pointer (&key), d);
  g_mutex_unlock (&mutex);
  return fine;
}
