/* External data: numbers in a second file next to the model, as PyTorch exports them by default ("model.onnx.data").
 *
 * A model may be hostile, and so may its references to other files. Only a plain file in the model's own folder or a
 * folder below it is opened; links must stay in their folder. A tensor's bytes must be inside the file at its current
 * size, and no two tensors may share bytes unless they have the same ones, so no more is read than exists. Bytes are
 * copied and not mapped: if a file shrinks meanwhile, that is an error and no signal. Format: ONNX,
 * docs/ExternalData.md */
#include "engine/core/loom-os.h"
#include "engine/onnx/onnx-private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  int fd;
  guint64 size;
  GError *error;      /* the reason why it cannot be read */
  GSequence *regions; /* OnnxRegion by offset */
} DataFile;

struct _OnnxExternal
{
  char *folder;
  GHashTable *files; /* name → DataFile */
};

static void
region_free (gpointer data)
{
  OnnxRegion *region = data;

  g_clear_pointer (&region->tensor, loom_tensor_unref);
  g_free (region);
}

static void
data_file_free (gpointer data)
{
  DataFile *file = data;

  loom_close (file->fd);
  g_clear_error (&file->error);
  g_sequence_free (file->regions);
  g_free (file);
}

OnnxExternal *
onnx_external_new (const char *model_path)
{
  OnnxExternal *self = g_new0 (OnnxExternal, 1);

  self->folder = model_path != NULL ? g_path_get_dirname (model_path) : NULL;
  self->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, data_file_free);
  return self;
}

void
onnx_external_free (OnnxExternal *self)
{
  g_hash_table_unref (self->files);
  g_free (self->folder);
  g_free (self);
}

/* ---- files ------------------------------------------------------------ */

static gboolean
is_plain_name (const char *name)
{
  return *name && strchr (name, '/') == NULL && strchr (name, '\\') == NULL && !g_str_equal (name, ".")
         && !g_str_equal (name, "..");
}

/* Names of folders and a file, separated by /. */
static gboolean
is_below (const char *path)
{
  g_auto (GStrv) names = g_strsplit (path, "/", -1);
  gboolean plain = *path != 0;

  for (guint i = 0; plain && names[i] != NULL; i++)
    plain = is_plain_name (names[i]);
  return plain;
}

/* A link to a file of the same folder is followed once; openat() refuses any other link, also in place of a folder. */
static int
open_below (const char *folder, const char *path)
{
  int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  int dir = loom_open (AT_FDCWD, folder, O_RDONLY | O_DIRECTORY);
  g_auto (GStrv) names = g_strsplit (path, "/", -1);
  char target[NAME_MAX + 1], **last = names;
  int fd;

  for (; dir >= 0 && last[1] != NULL; last++)
    {
      fd = loom_open (dir, *last, flags | O_DIRECTORY);
      loom_close (dir);
      dir = fd;
    }
  if (dir < 0)
    return -1;
  const char *name = *last;
  fd = loom_open (dir, name, flags);
  if (fd < 0 && errno == ELOOP)
    {
      gssize n = loom_os->read_link (dir, name, target, sizeof target - 1);
      target[MAX (n, 0)] = 0;
      errno = ELOOP;
      if (n > 0 && is_plain_name (target))
        fd = loom_open (dir, target, flags);
    }
  loom_close (dir);
  return fd;
}

static void
open_file (DataFile *file, const char *folder, const char *name)
{
  struct stat is;

  file->fd = open_below (folder, name);
  if (file->fd < 0 && errno == ENOENT)
    g_set_error (&file->error, LOOM_ERROR, LOOM_ERROR_IO,
                 "The model stores weights in “%s”, which does not exist. Put that file next to the model.", name);
  else if (file->fd < 0 && errno == ELOOP)
    g_set_error (
        &file->error, LOOM_ERROR, LOOM_ERROR_IO,
        "The model stores weights in “%s”, which is a link out of the model's folder. Replace it with the file.", name);
  else if (file->fd < 0)
    g_set_error (&file->error, LOOM_ERROR, LOOM_ERROR_IO, "The model's weights in “%s” cannot be read: %s.", name,
                 g_strerror (errno));
  else if (!loom_stat_fd (file->fd, &is) || !S_ISREG (is.st_mode))
    g_set_error (&file->error, LOOM_ERROR, LOOM_ERROR_IO,
                 "The model stores weights in “%s”, which is not a regular file.", name);
  else
    file->size = (guint64)is.st_size;
}

static DataFile *
file_of (OnnxExternal *self, const char *name, GError **error)
{
  DataFile *file = g_hash_table_lookup (self->files, name);

  if (file == NULL)
    {
      file = g_new0 (DataFile, 1);
      file->regions = g_sequence_new (region_free);
      open_file (file, self->folder, name);
      g_hash_table_insert (self->files, g_strdup (name), file);
    }
  if (file->error == NULL)
    return file;
  g_propagate_error (error, g_error_copy (file->error));
  return NULL;
}

/* ---- regions ---------------------------------------------------------- */

static int
by_offset (gconstpointer a, gconstpointer b, gpointer data)
{
  const OnnxRegion *left = a, *right = b;

  return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Finds or adds the region with these bounds; NULL if it overlaps another one. */
static OnnxRegion *
claim (DataFile *file, const OnnxRegion *wanted)
{
  /* The position after all regions whose offset is not larger. */
  GSequenceIter *next = g_sequence_search (file->regions, (gpointer)wanted, by_offset, NULL);
  OnnxRegion *before = g_sequence_iter_is_begin (next) ? NULL : g_sequence_get (g_sequence_iter_prev (next));
  OnnxRegion *after = g_sequence_iter_is_end (next) ? NULL : g_sequence_get (next);

  if (before != NULL && before->offset == wanted->offset && before->length == wanted->length)
    return before;
  if ((before != NULL && before->offset + before->length > wanted->offset)
      || (after != NULL && wanted->offset + wanted->length > after->offset))
    return NULL;
  OnnxRegion *region = g_new (OnnxRegion, 1);
  *region = *wanted;
  g_sequence_insert_before (next, region);
  return region;
}

/* FALSE if the entry exists and is no number. */
static gboolean
entry_number (const Onnx__TensorProto *proto, const char *key, gboolean *present, guint64 *value)
{
  *present = FALSE;
  for (gsize i = 0; i < proto->n_external_data; i++)
    {
      const Onnx__StringStringEntryProto *entry = proto->external_data[i];
      if (g_strcmp0 (entry->key, key) != 0)
        continue;
      *present = TRUE;
      return entry->value != NULL && g_ascii_string_to_unsigned (entry->value, 10, 0, G_MAXINT64, value, NULL);
    }
  return TRUE;
}

static const char *
location_of (const Onnx__TensorProto *proto)
{
  for (gsize i = 0; i < proto->n_external_data; i++)
    if (g_strcmp0 (proto->external_data[i]->key, "location") == 0)
      {
        const char *name = proto->external_data[i]->value != NULL ? proto->external_data[i]->value : "";
        return g_str_has_prefix (name, "./") ? name + 2 : name;
      }
  return NULL;
}

OnnxRegion *
onnx_external_region (OnnxExternal *self, const Onnx__TensorProto *proto, const char *what, guint64 bytes,
                      GError **error)
{
  const char *name = location_of (proto);
  OnnxRegion wanted = { 0 };
  gboolean has_offset, has_length;
  guint64 length = 0;

  if (self == NULL || self->folder == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s is stored in another file, but this model is not in a folder.", what);
      return NULL;
    }
  if (name == NULL || !is_below (name))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s is stored in “%s”, but only files in the model's folder or below it are read. Put it there.",
                   what, name != NULL ? name : "");
      return NULL;
    }
  if (!entry_number (proto, "offset", &has_offset, &wanted.offset)
      || !entry_number (proto, "length", &has_length, &length))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The offset of %s in “%s” is not a number.", what, name);
      return NULL;
    }
  DataFile *file = file_of (self, name, error);
  if (file == NULL)
    return NULL;
  /* Without a length it is the rest of the file. */
  length = has_length ? length : file->size - MIN (file->size, wanted.offset);
  if (length != bytes)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s needs %" G_GUINT64_FORMAT " bytes, but by the model “%s” has %" G_GUINT64_FORMAT " for it.",
                   what, bytes, name, length);
      return NULL;
    }
  if (wanted.offset > file->size || length > file->size - wanted.offset)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "%s should end at byte %" G_GUINT64_FORMAT " of “%s”, which has %" G_GUINT64_FORMAT ": the file is "
                   "truncated, or belongs to another model.",
                   what, wanted.offset + length, name, file->size);
      return NULL;
    }
  wanted.length = length;
  wanted.fd = file->fd;
  OnnxRegion *region = claim (file, &wanted);
  if (region == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s shares bytes of “%s” with another tensor.", what, name);
  return region;
}

gboolean
onnx_region_read (const OnnxRegion *region, guint8 *to, const char *what, GError **error)
{
  const gssize n = loom_read_at (region->fd, to, region->length, (gint64)region->offset);

  if (n >= 0 && (guint64)n == region->length)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s cannot be read: %s.", what,
               n < 0 ? g_strerror (errno) : "the file ends before them");
  return FALSE;
}
