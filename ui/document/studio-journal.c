/* An append-only journal of edits, written at once and synchronised to the disk within a second.
 *
 * Layout: a line "gradloom-journal 1", "path URI" or "path -", "base N" and N bytes of the text that editing began
 * with, a newline; then "e EDIT" for an edit, "c NAME" for the end of a transaction, "s URI" for each time the user
 * saved.
 *
 * Writes go directly to the descriptor, so after a crash everything is kept except what the kernel had not written;
 * fdatasync runs on a thread of its own, because it may be slow and the canvas must not wait for it. */
#include "ui/document/studio-journal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "engine/loom.h"

#define MAGIC             "gradloom-journal 1\n"
#define SYNC_MILLISECONDS 500

struct _StudioJournal
{
  char *file;
  int fd;
  GString *pending; /* of the open transaction: written as a whole */
  guint timer;
  gboolean failed;
};

char *
studio_journal_default_folder (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "journal", NULL);
}

static gboolean
write_all (int fd, const char *data, gsize length)
{
  while (length > 0)
    {
      gssize n = write (fd, data, length);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      data += n;
      length -= n;
    }
  return TRUE;
}

StudioJournal *
studio_journal_new (const char *folder, const char *path, const char *base, gsize length, GError **error)
{
  g_autofree char *stamp = NULL, *uri = path != NULL ? g_filename_to_uri (path, NULL, NULL) : NULL, *head = NULL;
  g_autofree char *file = NULL;
  StudioJournal *self;
  int fd = -1;

  for (guint tries = 0; fd < 0 && tries < 100; tries++)
    {
      struct stat info;

      g_free (stamp);
      g_free (file);
      stamp = g_strdup_printf ("%" G_GINT64_FORMAT "-%d-%u.journal", g_get_real_time (), (int)getpid (), tries);
      file = g_build_filename (folder, stamp, NULL);
      fd = open (file, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
      if (fd < 0 && errno != EEXIST)
        break;
      /* Another Studio that searches for orphans may have found it before it was locked, and taken it. */
      if (fd >= 0 && flock (fd, LOCK_EX) == 0 && fstat (fd, &info) == 0 && info.st_nlink == 0)
        {
          close (fd);
          fd = -1;
        }
    }
  head = g_strdup_printf (MAGIC "path %s\nbase %" G_GSIZE_FORMAT "\n", uri != NULL ? uri : "-", length);
  if (fd < 0 || !write_all (fd, head, strlen (head)) || !write_all (fd, base, length) || !write_all (fd, "\n", 1))
    {
      int code = errno;

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, _ ("The journal in %s cannot be written: %s."), folder,
                   g_strerror (code));
      if (fd >= 0)
        {
          g_unlink (file);
          close (fd);
        }
      return NULL;
    }
  self = g_new0 (StudioJournal, 1);
  self->file = g_steal_pointer (&file);
  self->fd = fd;
  self->pending = g_string_new (NULL);
  return self;
}

void
studio_journal_append (StudioJournal *self, const char *line)
{
  g_string_append_printf (self->pending, "e %s\n", line);
}

static gpointer
sync_thread (gpointer data)
{
  int fd = GPOINTER_TO_INT (data);

  fdatasync (fd);
  close (fd);
  return NULL;
}

static gboolean
sync_cb (gpointer data)
{
  StudioJournal *self = data;
  int fd = fcntl (self->fd, F_DUPFD_CLOEXEC, 0);

  self->timer = 0;
  if (fd >= 0)
    g_thread_unref (g_thread_new ("journal", sync_thread, GINT_TO_POINTER (fd)));
  return G_SOURCE_REMOVE;
}

static void
flush (StudioJournal *self)
{
  if (!self->failed && !write_all (self->fd, self->pending->str, self->pending->len))
    {
      /* A full disk must not stop the user's work. */
      g_message ("The journal %s can no longer be written: %s", self->file, g_strerror (errno));
      self->failed = TRUE;
    }
  g_string_truncate (self->pending, 0);
  if (self->timer == 0)
    self->timer = g_timeout_add (SYNC_MILLISECONDS, sync_cb, self);
}

static void
append_escaped (StudioJournal *self, char kind, const char *text)
{
  g_autofree char *escaped = g_strescape (text, NULL);

  g_string_append_printf (self->pending, "%c %s\n", kind, escaped);
}

void
studio_journal_commit (StudioJournal *self, const char *name)
{
  append_escaped (self, 'c', name);
  flush (self);
}

void
studio_journal_saved (StudioJournal *self, const char *path)
{
  g_autofree char *uri = g_filename_to_uri (path, NULL, NULL);

  append_escaped (self, 's', uri != NULL ? uri : "-");
  flush (self);
}

void
studio_journal_note_file (StudioJournal *self, const char *digest)
{
  append_escaped (self, 'd', digest);
  flush (self);
}

void
studio_journal_sync (StudioJournal *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  fdatasync (self->fd);
}

static void
journal_free (StudioJournal *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  close (self->fd);
  g_string_free (self->pending, TRUE);
  g_free (self->file);
  g_free (self);
}

void
studio_journal_abandon (StudioJournal *self)
{
  fdatasync (self->fd);
  journal_free (self);
}

void
studio_journal_remove (StudioJournal *self)
{
  g_unlink (self->file);
  journal_free (self);
}

/* ---- reading ------------------------------------------------------------ */

void
studio_journal_content_free (StudioJournalContent *content)
{
  g_free (content->path);
  g_free (content->digest);
  g_clear_pointer (&content->base, g_bytes_unref);
  g_ptr_array_unref (content->lines);
  g_free (content);
}

static const char *
next_line (const char **at, const char *end, gsize *length)
{
  const char *start = *at, *newline = start < end ? memchr (start, '\n', end - start) : NULL;

  if (newline == NULL)
    return NULL;
  *length = newline - start;
  *at = newline + 1;
  return start;
}

static char *
uri_path (const char *uri)
{
  return strcmp (uri, "-") == 0 ? NULL : g_filename_from_uri (uri, NULL, NULL);
}

StudioJournalContent *
studio_journal_read (const char *file, GError **error)
{
  g_autofree char *data = NULL;
  g_autoptr (StudioJournalContent) content = g_new0 (StudioJournalContent, 1);
  const char *at, *end, *line;
  gsize length, size;
  guint64 base = 0;
  guint open = 0;

  content->lines = g_ptr_array_new_with_free_func (g_free);
  if (!g_file_get_contents (file, &data, &length, error))
    return NULL;
  at = data;
  end = data + length;
  line = next_line (&at, end, &size);
  if (line == NULL || size + 1 != strlen (MAGIC) || strncmp (line, MAGIC, size) != 0)
    goto torn;
  line = next_line (&at, end, &size);
  if (line == NULL || size < 6 || strncmp (line, "path ", 5) != 0)
    goto torn;
  {
    g_autofree char *uri = g_strndup (line + 5, size - 5);

    content->path = uri_path (uri);
  }
  line = next_line (&at, end, &size);
  if (line == NULL || size < 6 || size > 25 || strncmp (line, "base ", 5) != 0)
    goto torn;
  {
    g_autofree char *number = g_strndup (line + 5, size - 5);

    if (!g_ascii_string_to_unsigned (number, 10, 0, G_MAXINT64, &base, NULL))
      goto torn;
  }
  if (base >= (guint64)(end - at))
    goto torn;
  content->base = g_bytes_new (at, base);
  at += base + 1;

  while ((line = next_line (&at, end, &size)) != NULL)
    {
      if (size < 2 || line[1] != ' ')
        break;
      if (line[0] == 'e')
        {
          g_ptr_array_add (content->lines, g_strndup (line + 2, size - 2));
          open++;
        }
      else if (line[0] == 'c')
        {
          open = 0;
          content->n_transactions++;
        }
      else if (line[0] == 'd')
        {
          g_free (content->digest);
          content->digest = g_strndup (line + 2, size - 2);
        }
      else if (line[0] == 's')
        {
          g_autofree char *escaped = g_strndup (line + 2, size - 2), *uri = g_strcompress (escaped);

          g_free (content->path);
          content->path = uri_path (uri);
          content->n_transactions = 0;
          content->n_saved = content->lines->len;
        }
      else
        break;
    }
  if (open > 0)
    g_ptr_array_set_size (content->lines, content->lines->len - open);
  return g_steal_pointer (&content);

torn:
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_PARSE, _ ("%s is not a journal of unsaved work."), file);
  return NULL;
}

static int
newest_first (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)b, *(const char *const *)a);
}

char **
studio_journal_orphans (const char *folder)
{
  g_autofree char *standard = folder == NULL ? studio_journal_default_folder () : g_strdup (folder);
  g_autoptr (GDir) dir = g_dir_open (standard, 0, NULL);
  GPtrArray *found = g_ptr_array_new ();
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (standard, name, NULL);
      g_autoptr (StudioJournalContent) content = NULL;
      int fd;

      if (!g_str_has_suffix (name, ".journal"))
        continue;
      fd = open (file, O_RDONLY | O_CLOEXEC);
      if (fd < 0)
        continue;
      if (flock (fd, LOCK_EX | LOCK_NB) == 0)
        {
          content = studio_journal_read (file, NULL);
          if (content == NULL || content->n_transactions == 0)
            g_unlink (file);
          else
            g_ptr_array_add (found, g_steal_pointer (&file));
        }
      close (fd);
    }
  g_ptr_array_sort (found, newest_first);
  g_ptr_array_add (found, NULL);
  return (char **)g_ptr_array_free (found, FALSE);
}
