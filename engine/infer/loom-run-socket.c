/* Finds, makes and checks the socket of a run.
 *
 * Names are bound and connected relative to the descriptor of their folder, by way of /proc/self/fd, because the path
 * of a socket has at most 107 bytes. */
#include "engine/infer/loom-run-socket.h"

#include "engine/core/loom-folder.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG   8
#define PATH      ".path" /* the file next to the socket with the path of the run's folder, for lists */
#define MOST_PATH 4096

struct _LoomRunSocket
{
  int folder, fd;
  char *name;
  ino_t inode; /* of the file: a later process may have replaced it */
};

gboolean
loom_run_identify (const char *folder, LoomRunIdentity *identity)
{
  struct stat info;

  if (loom_os->stat (AT_FDCWD, folder, &info, 0) != 0 || !S_ISDIR (info.st_mode))
    return FALSE;
  *identity = (LoomRunIdentity){ (guint64)info.st_dev, (guint64)info.st_ino };
  return TRUE;
}

gboolean
loom_run_is_described (const char *folder, GVariant *description)
{
  LoomRunIdentity id, its = { 0 };

  return g_variant_lookup (description, "device", "t", &its.device)
         && g_variant_lookup (description, "inode", "t", &its.inode) && loom_run_identify (folder, &id)
         && id.device == its.device && id.inode == its.inode;
}

/* The host is part of it, because a home folder may be shared between hosts, and a socket is not. NULL: no folder. */
static char *
dup_name (const char *folder)
{
  LoomRunIdentity id;

  if (!loom_run_identify (folder, &id))
    return NULL;
  g_autofree char *text
      = g_strdup_printf ("%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, g_get_host_name (), id.device, id.inode);
  g_autofree char *sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
  return g_strdup_printf ("%.32s.socket", sum);
}

static char *
dup_folder (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "live", NULL);
}

/* Returns the descriptor of the folder of sockets, which only this user may enter; -1 with an error. */
static int
open_folder (gboolean create, GError **error)
{
  g_autofree char *path = dup_folder ();
  struct stat info;
  int fd;

  if (create)
    loom_path_make_folder (path, 0700);
  fd = loom_open (AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The folder %s for sockets of runs cannot be opened: %s.", path,
                   g_strerror (errno));
      return -1;
    }
  if (loom_stat_fd (fd, &info) && info.st_uid == geteuid () && (info.st_mode & 077) == 0)
    return fd;
  loom_close (fd);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
               "The folder %s for sockets of runs can be entered by others. Remove it; it is made again.", path);
  return -1;
}

static void
fill_address (struct sockaddr_un *address, int folder, const char *name)
{
  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  g_snprintf (address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", folder, name);
}

static gboolean
is_same_user (int fd, int *pid)
{
  struct ucred peer;
  socklen_t n = sizeof peer;

  if (getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0 || peer.uid != geteuid ())
    return FALSE;
  if (pid != NULL)
    *pid = peer.pid;
  return TRUE;
}

/* ---- listening -------------------------------------------------------- */

/* A list lacks a run whose path cannot be written. */
static void
write_path (int at, const char *name, const char *folder)
{
  g_autofree char *leaf = g_strconcat (name, PATH, NULL), *path = g_canonicalize_filename (folder, NULL);
  const gsize n = strlen (path);
  int fd;

  loom_os->unlink (at, leaf, 0);
  fd = loom_os->open (at, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0 && !loom_write (fd, path, n))
    loom_os->unlink (at, leaf, 0);
  loom_close (fd);
}

LoomRunSocket *
loom_run_socket_listen (const char *folder, GError **error)
{
  g_autofree char *name = dup_name (folder);
  struct sockaddr_un address;
  struct stat info;
  int at, fd;

  if (name == NULL)
    return loom_refuse_null (error, LOOM_ERROR_IO, "The run's folder %s does not exist yet. Try again in a moment.",
                             folder);
  at = open_folder (TRUE, error);
  if (at < 0)
    return NULL;
  fill_address (&address, at, name);
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* Only one process trains in a folder, so whatever is left was left by a killed one. */
  loom_os->unlink (at, name, 0);
  /* Linux gives the file the mode of the socket. */
  if (fd < 0 || loom_os->chmod (fd, 0600) != 0 || bind (fd, (struct sockaddr *)&address, sizeof address) != 0
      || listen (fd, BACKLOG) != 0 || loom_os->stat (at, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
    {
      g_autofree char *path = dup_folder ();
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "No socket for the run can be made in %s: %s.", path,
                   g_strerror (errno));
      loom_close (fd);
      loom_close (at);
      return NULL;
    }
  write_path (at, name, folder);
  LoomRunSocket *self = g_new0 (LoomRunSocket, 1);
  *self = (LoomRunSocket){ .folder = at, .fd = fd, .name = g_steal_pointer (&name), .inode = info.st_ino };
  return self;
}

int
loom_run_socket_fd (LoomRunSocket *self)
{
  return self->fd;
}

int
loom_run_socket_accept (LoomRunSocket *self)
{
  int fd;

  while ((fd = accept4 (self->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
    {
      if (is_same_user (fd, NULL))
        return fd;
      loom_close (fd);
    }
  return -1;
}

void
loom_run_socket_free (LoomRunSocket *self)
{
  struct stat info;

  if (self == NULL)
    return;
  if (loom_os->stat (self->folder, self->name, &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_ino == self->inode)
    {
      g_autofree char *leaf = g_strconcat (self->name, PATH, NULL);
      loom_os->unlink (self->folder, self->name, 0);
      loom_os->unlink (self->folder, leaf, 0);
    }
  loom_close (self->fd);
  loom_close (self->folder);
  g_free (self->name);
  g_free (self);
}

/* ---- connecting ------------------------------------------------------- */

static gboolean
is_own_socket (int folder, const char *name)
{
  struct stat info;

  return loom_os->stat (folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK (info.st_mode)
         && info.st_uid == geteuid ();
}

gboolean
loom_run_socket_exists (const char *folder)
{
  g_autofree char *name = dup_name (folder);
  int at = name != NULL ? open_folder (FALSE, NULL) : -1;
  gboolean found = at >= 0 && is_own_socket (at, name);

  loom_close (at);
  return found;
}

char **
loom_run_socket_list (void)
{
  g_autofree char *store = dup_folder ();
  g_autoptr (LoomFolder) files = loom_folder_open (store, NULL);
  g_auto (GStrv) names = files != NULL ? loom_folder_names (files, NULL) : NULL;
  GPtrArray *folders = g_ptr_array_new ();

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *path = NULL;

      /* The file is a hint: the socket is found by the folder alone. */
      if (g_str_has_suffix (names[i], PATH) && loom_folder_read (files, names[i], MOST_PATH, &path, NULL, NULL)
          && loom_run_socket_exists (path))
        g_ptr_array_add (folders, g_steal_pointer (&path));
    }
  g_ptr_array_add (folders, NULL);
  return (char **)g_ptr_array_free (folders, FALSE);
}

static int
connect_to (int at, const char *name, int *pid)
{
  struct sockaddr_un address;
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  fill_address (&address, at, name);
  if (fd >= 0 && connect (fd, (struct sockaddr *)&address, sizeof address) != 0)
    {
      loom_close (fd);
      fd = -1;
    }
  if (fd >= 0 && !is_same_user (fd, pid))
    {
      loom_close (fd);
      fd = -1;
    }
  return fd;
}

int
loom_run_socket_connect (const char *folder, int *pid, GError **error)
{
  g_autofree char *name = dup_name (folder), *sockets = dup_folder ();
  const gboolean any = name != NULL && loom_path_exists (sockets);
  int at = any ? open_folder (FALSE, error) : -1, fd = -1;

  if (any && at < 0)
    return -1;
  if (at >= 0 && is_own_socket (at, name))
    fd = connect_to (at, name, pid);
  loom_close (at);
  if (fd < 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "No run goes on in %s that could be attached.", folder);
  return fd;
}
