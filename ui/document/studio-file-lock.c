/* Advisory locks on files named by the hash of the path that they represent. */
#include "ui/document/studio-file-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "engine/loom.h"

struct _StudioFileLock
{
  char *name;
  int fd;
};

static char *
lock_name (const char *folder, const char *path)
{
  g_autofree char *target = loom_file_target (path);
  g_autofree char *absolute = g_canonicalize_filename (target, NULL);
  g_autofree char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, absolute, -1);
  g_autofree char *leaf = g_strconcat (hash, ".lock", NULL);
  return g_build_filename (folder, leaf, NULL);
}

/* "PID HOST", as written by the holder. */
static char *
read_holder (int fd)
{
  char text[320], host[256];
  int pid;
  gssize n = loom_read_at (fd, text, sizeof text - 1, 0);
  text[MAX (n, 0)] = '\0';
  if (sscanf (text, "%d %255s", &pid, host) != 2)
    return g_strdup (_ ("another process"));
  return g_str_equal (host, g_get_host_name ()) ? g_strdup_printf (_ ("process %d"), pid)
                                                : g_strdup_printf (_ ("process %d on %s"), pid, host);
}

/* TRUE if the name still refers to this descriptor: the former holder has removed the file. */
static gboolean
still_there (int fd, const char *name)
{
  struct stat held, named;
  return loom_stat_fd (fd, &held) && loom_os->stat (AT_FDCWD, name, &named, 0) == 0 && held.st_dev == named.st_dev
         && held.st_ino == named.st_ino;
}

StudioFileLock *
studio_file_lock_new (const char *folder, const char *path, char **holder)
{
  g_autofree char *standard
      = folder != NULL ? g_strdup (folder) : g_build_filename (g_get_user_state_dir (), "gradloom", "open", NULL);
  g_autofree char *name = lock_name (standard, path);
  int fd = -1;

  *holder = NULL;
  loom_path_make_folder (standard, 0700);
  for (int tries = 0; fd < 0 && tries < 100; tries++)
    {
      fd = loom_os->open (AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (fd < 0)
        return NULL;
      if (!loom_lock (fd, LOCK_EX | LOCK_NB))
        {
          if (errno == EWOULDBLOCK)
            *holder = read_holder (fd);
          loom_close (fd);
          return NULL;
        }
      if (!still_there (fd, name))
        {
          loom_close (fd);
          fd = -1;
        }
    }
  if (fd < 0)
    return NULL;
  /* If the write fails, the other window's message is only less precise. */
  g_autofree char *text = g_strdup_printf ("%d %s\n", (int)getpid (), g_get_host_name ());
  if (loom_os->truncate (fd, 0) == 0 && !loom_write_at (fd, text, strlen (text), 0))
    g_message ("The lock %s cannot be written: %s", name, g_strerror (errno));
  StudioFileLock *self = g_new0 (StudioFileLock, 1);
  self->name = g_steal_pointer (&name);
  self->fd = fd;
  return self;
}

void
studio_file_lock_free (StudioFileLock *self)
{
  if (self == NULL)
    return;
  loom_path_remove (
      self->name); /* before unlocking: a process that opened it meanwhile finds that it is gone, and tries again */
  loom_close (self->fd);
  g_free (self->name);
  g_free (self);
}
