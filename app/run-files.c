/* Writes the output files of `gradloom run`: all of them or none.
 *
 * Each file is written under another name in the same folder, and all are renamed after all are complete. A target that
 * is no regular file (a pipe, /dev/stdout) cannot be replaced and is written directly. */
#include "app/run-private.h"
#include "engine/loom-run.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  char *shown, *target, *temporary; /* temporary is NULL after it was renamed */
} File;

static void
file_free (File *file)
{
  if (file->temporary != NULL)
    loom_path_remove (file->temporary);
  g_free (file->temporary);
  g_free (file->target);
  g_free (file->shown);
  g_free (file);
}

const char *
run_stage (Run *r, const char *path)
{
  struct stat info;
  gboolean exists = loom_os->stat (AT_FDCWD, path, &info, 0) == 0;

  if (r->files == NULL)
    r->files = g_ptr_array_new_with_free_func ((GDestroyNotify)file_free);
  if (exists && !S_ISREG (info.st_mode))
    return path;
  File *file = g_new0 (File, 1);
  file->shown = g_strdup (path);
  file->target = loom_file_target (path);
  file->temporary = g_strdup_printf ("%s.%d-%u.part", file->target, (int)getpid (), r->files->len);
  g_ptr_array_add (r->files, file);
  return file->temporary;
}

gboolean
run_commit (Run *r, GError **error)
{
  for (guint i = 0; r->files != NULL && i < r->files->len; i++)
    {
      File *file = r->files->pdata[i];
      struct stat info;
      if (loom_os->stat (AT_FDCWD, file->target, &info, 0) == 0)
        chmod (file->temporary, info.st_mode & 07777); /* as the file that it replaces */
      if (loom_os->rename (AT_FDCWD, file->temporary, file->target, 0) != 0)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” could not be written: %s.", file->shown,
                       g_strerror (errno));
          return FALSE;
        }
      g_clear_pointer (&file->temporary, g_free);
      if (g_strcmp0 (file->shown, r->save_weights) == 0)
        loom_safetensors_remove_shards (file->shown);
    }
  return TRUE;
}

void
run_name_files (Run *r, GError *error)
{
  for (guint i = 0; r->files != NULL && i < r->files->len; i++)
    {
      const File *file = r->files->pdata[i];
      if (file->temporary == NULL || strstr (error->message, file->temporary) == NULL)
        continue;
      g_auto (GStrv) part = g_strsplit (error->message, file->temporary, -1);
      g_free (error->message);
      error->message = g_strjoinv (file->shown, part);
    }
}
