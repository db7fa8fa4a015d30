/* Implements remote-content.h. The cache is gradloom/content of the user's cache folder, a file for each content. */
#include "app/remote-content.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_LENGTH 1024
#define MOST_DEPTH  32

static gboolean
io_error (const char *what, const char *path, GError **error)
{
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s cannot be %s: %s.", path, what, g_strerror (errno));
  return FALSE;
}

/* ---- what a graph reads -------------------------------------------------- */

static void
file_free (gpointer data)
{
  RemoteFile *file = data;

  g_free (file->name);
  g_free (file->path);
  g_free (file->sum);
  g_free (file);
}

typedef struct
{
  LoomGraph *graph;
  GPtrArray *files;
  GHashTable *names; /* of files: two data sets may read one */
  guint64 bytes;
  guint n_outside;
} Listing;

static char *
sum_of (const char *path, GError **error)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guint8 *piece = g_malloc (REMOTE_CHUNK);
  int fd = loom_open (AT_FDCWD, path, O_RDONLY);
  gssize n = -1;

  while (fd >= 0 && (n = loom_read (fd, piece, REMOTE_CHUNK)) > 0)
    g_checksum_update (sum, piece, n);
  if (n < 0)
    io_error ("read", path, error);
  loom_close (fd);
  return n == 0 ? g_strdup (g_checksum_get_string (sum)) : NULL;
}

static gboolean
add_file (Listing *l, const char *name, const char *path, guint64 size, GError **error)
{
  RemoteFile *file;

  if (g_hash_table_contains (l->names, name))
    return TRUE;
  file = g_new0 (RemoteFile, 1);
  g_ptr_array_add (l->files, file);
  file->name = g_strdup (name);
  g_hash_table_add (l->names, file->name);
  file->path = g_strdup (path);
  file->size = size;
  l->bytes += size;
  if (l->files->len > REMOTE_MOST_FILES || l->bytes > REMOTE_MOST_BYTES)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "The data are more than %d files or 64 GiB. Copy them to the host, and train there.",
                   REMOTE_MOST_FILES);
      return FALSE;
    }
  file->sum = sum_of (path, error);
  return file->sum != NULL;
}

/* A file, or a folder with all that is in it but hidden files. */
static gboolean
add_path (Listing *l, const char *name, const char *path, guint depth, GError **error)
{
  struct stat info;
  g_auto (GStrv) names = NULL;

  if (loom_os->stat (AT_FDCWD, path, &info, 0) != 0)
    return io_error ("read", path, error);
  if (S_ISREG (info.st_mode))
    return add_file (l, name, path, (guint64)info.st_size, error);
  if (!S_ISDIR (info.st_mode) || depth > MOST_DEPTH)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s is not a file, or in too many folders.", path);
      return FALSE;
    }
  names = loom_path_names (path, error);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *inner = g_build_filename (path, names[i], NULL);
      g_autofree char *inner_name = g_build_filename (name, names[i], NULL);
      if (*names[i] != '.' && !add_path (l, inner_name, inner, depth + 1, error))
        return FALSE;
    }
  return names != NULL;
}

/* One option of a data set that names a file or a folder. */
static gboolean
add_option (Listing *l, LoomElement *node, const char *option, const char *text, GError **error)
{
  const char *folder = loom_graph_get_folder (l->graph);
  g_autofree char *base = g_canonicalize_filename (folder != NULL ? folder : ".", NULL);
  g_autofree char *path = g_canonicalize_filename (text, base);
  g_autofree char *name = NULL, *leaf = NULL;

  if (remote_name_is_safe (text))
    return add_path (l, text, path, 0, error);
  leaf = g_path_get_basename (path);
  name = g_strdup_printf ("outside-%u/%s", l->n_outside++, leaf);
  g_autoptr (LoomEdit) inverse = loom_graph_apply (l->graph, loom_edit_set (node, option, name));
  return add_path (l, name, path, 0, error);
}

static gboolean
add_node (Listing *l, LoomElement *node, GError **error)
{
  const char *source = loom_element_get (node, "source");
  const LoomDatasetClass *klass
      = loom_op_has_role (node, LOOM_ROLE_DATASET) && source != NULL ? loom_dataset_class (source) : NULL;

  for (const LoomDatasetParam *p = klass != NULL ? loom_dataset_class_params (klass) : NULL;
       p != NULL && p->name != NULL; p++)
    {
      g_autofree char *text = g_strdup (loom_element_get (node, p->name));
      if (p->type == LOOM_DATASET_PATH && text != NULL && *text != '\0' && !add_option (l, node, p->name, text, error))
        return FALSE;
    }
  for (guint i = 0; i < loom_element_n_children (node); i++)
    if (!add_node (l, loom_element_child (node, i), error))
      return FALSE;
  return TRUE;
}

GPtrArray *
remote_content_list (LoomGraph *graph, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (file_free);
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  Listing listing = { .graph = graph, .files = files, .names = names };

  return add_node (&listing, loom_graph_root (graph), error) ? g_steal_pointer (&files) : NULL;
}

gboolean
remote_content_send (const RemoteFile *file, GOutputStream *stream, GError **error)
{
  g_autofree guint8 *piece = g_malloc (REMOTE_CHUNK);
  int fd = loom_open (AT_FDCWD, file->path, O_RDONLY);
  guint64 left = file->size;
  gboolean ok = fd >= 0 || io_error ("read", file->path, error);

  while (ok && left > 0)
    {
      gssize n = loom_read (fd, piece, MIN (left, REMOTE_CHUNK));
      if (n <= 0)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s has changed while it was sent.", file->path);
          ok = FALSE;
        }
      else
        ok = g_output_stream_write_all (stream, piece, (gsize)n, NULL, NULL, error);
      left -= n > 0 ? (guint64)n : 0;
    }
  loom_close (fd);
  return ok;
}

/* ---- on the host ----------------------------------------------------------- */

gboolean
remote_name_is_safe (const char *name)
{
  g_auto (GStrv) parts = g_strsplit (name, "/", -1);
  const guint n = g_strv_length (parts);

  if (strlen (name) > MOST_LENGTH || !g_utf8_validate (name, -1, NULL) || n == 0 || n > MOST_DEPTH + 2)
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      if (*parts[i] == '\0' || *parts[i] == '.' || strlen (parts[i]) > 255)
        return FALSE;
      for (const char *p = parts[i]; *p != '\0'; p++)
        if (g_ascii_iscntrl (*p))
          return FALSE;
    }
  return TRUE;
}

static gboolean
is_sum (const char *sum)
{
  return strlen (sum) == 64 && strspn (sum, "0123456789abcdef") == 64;
}

static char *
dup_cached (const char *sum)
{
  return g_build_filename (g_get_user_cache_dir (), "gradloom", "content", sum, NULL);
}

gboolean
remote_content_has (const char *sum, guint64 size)
{
  g_autofree char *path = is_sum (sum) ? dup_cached (sum) : NULL;
  struct stat info;

  if (path == NULL || loom_os->stat (AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG (info.st_mode)
      || (guint64)info.st_size != size)
    return FALSE;
  utimensat (AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); /* it is used now */
  return TRUE;
}

static gboolean
receive_into (int fd, const char *path, const char *sum, guint64 size, GInputStream *stream, GError **error)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guint8 *piece = g_malloc (REMOTE_CHUNK);

  while (size > 0)
    {
      gsize n = 0;
      if (!g_input_stream_read_all (stream, piece, MIN (size, REMOTE_CHUNK), &n, NULL, error))
        return FALSE;
      if (n == 0)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The connection is lost.");
          return FALSE;
        }
      g_checksum_update (checksum, piece, (gssize)n);
      if (!loom_write (fd, piece, n))
        return io_error ("written", path, error);
      size -= n;
    }
  if (g_str_equal (g_checksum_get_string (checksum), sum))
    return loom_sync (fd, TRUE) || io_error ("written", path, error);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "A data file has arrived with another content. Try again.");
  return FALSE;
}

gboolean
remote_content_receive (const char *sum, guint64 size, GInputStream *stream, GError **error)
{
  g_autofree char *path = NULL, *folder = NULL, *new_path = NULL;
  gboolean ok;
  int fd;

  if (!is_sum (sum))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The other end names a content that is none.");
      return FALSE;
    }
  path = dup_cached (sum);
  folder = g_path_get_dirname (path);
  new_path = g_strdup_printf ("%s/.new-XXXXXX", folder);
  loom_path_make_folder (folder, 0700);
  fd = g_mkstemp_full (new_path, O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0)
    return io_error ("written", folder, error);
  ok = receive_into (fd, path, sum, size, stream, error);
  loom_close (fd);
  if (ok && loom_os->rename (AT_FDCWD, new_path, path, 0) == 0)
    return TRUE;
  if (ok)
    io_error ("written", path, error);
  loom_path_remove (new_path);
  return FALSE;
}

gboolean
remote_content_place (const char *sum, const char *folder, const char *name, GError **error)
{
  g_autofree char *from = dup_cached (sum), *to = g_build_filename (folder, name, NULL);
  g_autofree char *parent = g_path_get_dirname (to);
  g_autoptr (GFile) source = NULL, target = NULL;

  loom_path_make_folder (parent, 0700);
  loom_path_remove (to); /* of a start that was interrupted */
  /* The copy shares its blocks with the cache where both are on one disk; a run reads its data only. */
  if (loom_os->link (AT_FDCWD, from, AT_FDCWD, to) == 0)
    return TRUE;
  source = g_file_new_for_path (from);
  target = g_file_new_for_path (to);
  return g_file_copy (source, target, G_FILE_COPY_NONE, NULL, NULL, NULL, error);
}
