/* Implements remote-prune.h. Times are those of files: a data file is touched when a run names it. */
#include "app/remote-prune.h"

#include "engine/loom-run.h"
#include "engine/runs/loom-runs.h"

#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY (24 * 60 * 60)

typedef struct
{
  char *path;
  gint64 time;
  guint64 size;
} Content;

static void
content_clear (gpointer data)
{
  g_free (((Content *)data)->path);
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  const Content *x = a, *y = b;

  return x->time < y->time ? -1 : x->time > y->time;
}

/* Files of the folder, the oldest first. */
static GArray *
list_files (const char *folder)
{
  GArray *files = g_array_new (FALSE, FALSE, sizeof (Content));
  g_auto (GStrv) names = loom_path_names (folder, NULL);

  g_array_set_clear_func (files, content_clear);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);
      struct stat info;

      if (loom_os->stat (AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG (info.st_mode))
        {
          Content file = { g_steal_pointer (&path), info.st_mtime, (guint64)info.st_size };
          g_array_append_val (files, file);
        }
    }
  g_array_sort (files, compare_times);
  return files;
}

static void
prune_content (gint64 now)
{
  g_autofree char *folder = g_build_filename (g_get_user_cache_dir (), "gradloom", "content", NULL);
  g_autoptr (GArray) files = list_files (folder);
  guint64 bytes = 0;

  for (guint i = 0; i < files->len; i++)
    bytes += g_array_index (files, Content, i).size;
  for (guint i = 0; i < files->len; i++)
    {
      const Content *file = &g_array_index (files, Content, i);
      const gint64 age = now - file->time;

      /* Another start may be about to place one that it has found there. */
      if (age > REMOTE_PRUNE_CONTENT_DAYS * DAY || (bytes > REMOTE_PRUNE_CONTENT_BYTES && age > DAY))
        {
          loom_path_remove (file->path);
          bytes -= file->size;
        }
    }
}

static void
prune_run (const char *folder, gint64 now)
{
  g_autofree char *run = g_build_filename (folder, "run", NULL);
  g_autofree char *events = g_build_filename (run, LOOM_RUN_EVENTS, NULL);
  g_autoptr (LoomRunSummary) summary = NULL;
  struct stat info;
  int fd = -1, pid;

  /* A run that has not begun has no events. */
  if (loom_os->stat (AT_FDCWD, events, &info, AT_SYMLINK_NOFOLLOW) != 0
      && loom_os->stat (AT_FDCWD, folder, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  if (now - info.st_mtime <= REMOTE_PRUNE_RUN_DAYS * DAY)
    return;
  summary = loom_run_summary_new (run, 2);
  /* A worker that was killed has left a socket that no process answers. */
  if (summary->log.is_training || (fd = loom_run_socket_connect (run, &pid, NULL)) >= 0)
    {
      loom_close (fd);
      return;
    }
  loom_path_remove_all (folder);
}

static void
prune_runs (gint64 now)
{
  g_autofree char *folder = g_build_filename (g_get_user_state_dir (), "gradloom", "remote", NULL);
  g_auto (GStrv) names = loom_path_names (folder, NULL);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);
      if (loom_run_host_is_id (names[i]))
        prune_run (path, now);
    }
}

void
remote_prune (void)
{
  const gint64 now = loom_wall () / G_USEC_PER_SEC;

  prune_content (now);
  prune_runs (now);
}
