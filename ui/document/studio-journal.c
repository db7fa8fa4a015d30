/* An append-only journal of edits, written at once and synchronised to the disk within a second.
 *
 * Layout: a line "gradloom-journal 1", "path URI" or "path -", "base N" and N bytes of the text that editing began
 * with, a newline; then "e EDIT" for an edit, "c NAME" for the end of a transaction, "s URI" for each time the user
 * saved.
 *
 * Writes go directly to the descriptor, so after a crash everything is kept except what the kernel had not written;
 * fdatasync runs on a thread of its own, because it may be slow and the canvas must not wait for it. There is one such
 * thread at a time, and the timer that starts it looks at its result. */
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

/* What a thread synchronises, on descriptors of its own. */
typedef struct
{
  int fd, folder, code; /* code: errno; 0: it was synchronised */
  gint is_done;
} Sync;

struct _StudioJournal
{
  char *file;
  int fd, folder;   /* both are synchronised: the file may be new */
  off_t length;     /* of what was written whole */
  gboolean is_torn; /* the file has more, of a write that failed */
  gboolean is_lost; /* synchronising has failed: what the system should have written then may be gone */
  GString *pending; /* of the open transaction: written as a whole; and what could not be written before */
  guint timer;
  gboolean is_dirty; /* something was written since the thread began */
  GThread *thread;   /* NULL: none synchronises */
  Sync *sync;        /* its own, g_atomic_rc_box */
  StudioJournalFailedFunc failed;
  gpointer failed_data;
};

char *
studio_journal_default_folder (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "journal", NULL);
}

StudioJournal *
studio_journal_new (const char *folder, const char *path, const char *base, gsize length, GError **error)
{
  g_autofree char *stamp = NULL, *uri = path != NULL ? g_filename_to_uri (path, NULL, NULL) : NULL, *head = NULL;
  g_autofree char *file = NULL;
  StudioJournal *self;
  int fd = -1, at;

  for (guint tries = 0; fd < 0 && tries < 100; tries++)
    {
      struct stat info;

      g_free (stamp);
      g_free (file);
      stamp = g_strdup_printf ("%" G_GINT64_FORMAT "-%d-%u.journal", loom_wall (), (int)getpid (), tries);
      file = g_build_filename (folder, stamp, NULL);
      fd = loom_os->open (AT_FDCWD, file, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
      if (fd < 0 && errno != EEXIST)
        break;
      /* Another Studio that searches for orphans may have found it before it was locked, and taken it. */
      if (fd >= 0 && loom_lock (fd, LOCK_EX) && loom_stat_fd (fd, &info) && info.st_nlink == 0)
        {
          loom_close (fd);
          fd = -1;
        }
    }
  head = g_strdup_printf (MAGIC "path %s\nbase %" G_GSIZE_FORMAT "\n", uri != NULL ? uri : "-", length);
  at = loom_open (AT_FDCWD, folder, O_RDONLY | O_DIRECTORY);
  if (fd < 0 || at < 0 || !loom_write (fd, head, strlen (head)) || !loom_write (fd, base, length)
      || !loom_write (fd, "\n", 1))
    {
      int code = errno;

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, _ ("The journal in %s cannot be written: %s."), folder,
                   g_strerror (code));
      if (fd >= 0)
        loom_path_remove (file);
      loom_close (fd);
      loom_close (at);
      return NULL;
    }
  self = g_new0 (StudioJournal, 1);
  self->file = g_steal_pointer (&file);
  self->fd = fd;
  self->folder = at;
  self->length = (off_t)(strlen (head) + length + 1);
  self->pending = g_string_new (NULL);
  return self;
}

void
studio_journal_append (StudioJournal *self, const char *line)
{
  g_string_append_printf (self->pending, "e %s\n", line);
}

void
studio_journal_set_failed_func (StudioJournal *self, StudioJournalFailedFunc failed, gpointer data)
{
  self->failed = failed;
  self->failed_data = data;
}

static void
report (StudioJournal *self, int code)
{
  const StudioJournalFailedFunc failed = self->failed;

  g_message ("The journal %s cannot be written: %s", self->file, g_strerror (code));
  self->failed = NULL;
  if (failed != NULL)
    failed (g_strerror (code), self->failed_data);
}

/* ---- synchronising ------------------------------------------------------ */

static gboolean
synchronise (int fd, int folder)
{
  return loom_sync (fd, TRUE) && loom_sync (folder, FALSE);
}

static void
sync_clear (gpointer data)
{
  Sync *sync = data;

  loom_close (sync->fd);
  loom_close (sync->folder);
}

static gpointer
sync_thread (gpointer data)
{
  Sync *sync = data;

  sync->code = synchronise (sync->fd, sync->folder) ? 0 : errno;
  g_atomic_int_set (&sync->is_done, TRUE);
  g_atomic_rc_box_release_full (sync, sync_clear);
  return NULL;
}

/* Waits for the thread. The system reports to one caller that what was written is lost, and that may have been it. */
static void
end_thread (StudioJournal *self)
{
  if (self->thread == NULL)
    return;
  g_thread_join (g_steal_pointer (&self->thread));
  if (self->sync->code != 0)
    {
      self->is_lost = TRUE;
      report (self, self->sync->code);
    }
  g_atomic_rc_box_release_full (g_steal_pointer (&self->sync), sync_clear);
}

static void
begin_thread (StudioJournal *self)
{
  const int fd = fcntl (self->fd, F_DUPFD_CLOEXEC, 0), folder = fcntl (self->folder, F_DUPFD_CLOEXEC, 0);

  if (fd < 0 || folder < 0)
    {
      loom_close (fd);
      loom_close (folder);
      return;
    }
  self->is_dirty = FALSE;
  self->sync = g_atomic_rc_box_new0 (Sync);
  self->sync->fd = fd;
  self->sync->folder = folder;
  self->thread = g_thread_new ("journal", sync_thread, g_atomic_rc_box_acquire (self->sync));
}

static gboolean
sync_cb (gpointer data)
{
  StudioJournal *self = data;

  if (self->thread != NULL && !g_atomic_int_get (&self->sync->is_done))
    return G_SOURCE_CONTINUE;
  end_thread (self);
  if (self->is_dirty)
    begin_thread (self);
  if (self->thread != NULL || self->is_dirty)
    return G_SOURCE_CONTINUE;
  self->timer = 0;
  return G_SOURCE_REMOVE;
}

/* ---- writing ------------------------------------------------------------ */

/* FALSE: errno is set. The rest of a write that failed is cut off before the next one. */
static gboolean
write_pending (StudioJournal *self)
{
  if (self->is_torn && loom_os->truncate (self->fd, self->length) != 0)
    return FALSE;
  self->is_torn = !loom_write (self->fd, self->pending->str, self->pending->len);
  if (self->is_torn)
    return FALSE;
  self->length += (off_t)self->pending->len;
  g_string_truncate (self->pending, 0);
  return TRUE;
}

/* A full disk must not stop the user's work: what cannot be written is kept, and written with the next transaction. */
static void
flush (StudioJournal *self)
{
  if (!write_pending (self))
    report (self, errno);
  self->is_dirty = TRUE;
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

static void
append_path (StudioJournal *self, char kind, const char *path)
{
  g_autofree char *uri = g_filename_to_uri (path, NULL, NULL);

  append_escaped (self, kind, uri != NULL ? uri : "-");
  flush (self);
}

void
studio_journal_saved (StudioJournal *self, const char *path)
{
  append_path (self, 's', path);
}

void
studio_journal_note_origin (StudioJournal *self, const char *path)
{
  append_path (self, 'o', path);
}

void
studio_journal_note_file (StudioJournal *self, const char *digest)
{
  append_escaped (self, 'd', digest);
  flush (self);
}

gboolean
studio_journal_sync (StudioJournal *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  end_thread (self);
  self->is_lost = !synchronise (self->fd, self->folder) || self->is_lost;
  self->is_dirty = FALSE;
  return !self->is_lost && self->pending->len == 0;
}

static void
journal_free (StudioJournal *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->thread != NULL) /* it ends by itself */
    {
      g_thread_unref (self->thread);
      g_atomic_rc_box_release_full (self->sync, sync_clear);
    }
  loom_close (self->fd);
  loom_close (self->folder);
  g_string_free (self->pending, TRUE);
  g_free (self->file);
  g_free (self);
}

void
studio_journal_abandon (StudioJournal *self)
{
  synchronise (self->fd, self->folder);
  journal_free (self);
}

void
studio_journal_remove (StudioJournal *self)
{
  loom_path_remove (self->file);
  journal_free (self);
}

/* ---- reading ------------------------------------------------------------ */

void
studio_journal_content_free (StudioJournalContent *content)
{
  g_free (content->path);
  g_free (content->origin);
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

/* The path of a line that append_path() wrote. */
static void
read_path (const char *line, gsize size, char **path)
{
  g_autofree char *escaped = g_strndup (line + 2, size - 2), *uri = g_strcompress (escaped);

  g_free (*path);
  *path = uri_path (uri);
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
  if (!loom_path_read (file, &data, &length, error))
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
  /* A loss of power leaves zeros in place of what was not synchronised. */
  if (base >= (guint64)(end - at) || memchr (at, '\0', base) != NULL)
    goto torn;
  content->base = g_bytes_new (at, base);
  at += base + 1;

  while ((line = next_line (&at, end, &size)) != NULL)
    {
      if (size < 2 || line[1] != ' ' || memchr (line, '\0', size) != NULL)
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
      else if (line[0] == 'o')
        read_path (line, size, &content->origin);
      else if (line[0] == 's')
        {
          read_path (line, size, &content->path);
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
  g_auto (GStrv) names = loom_path_names (standard, NULL);
  GPtrArray *found = g_ptr_array_new ();

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *file = g_build_filename (standard, names[i], NULL);
      g_autoptr (StudioJournalContent) content = NULL;
      g_autoptr (GError) error = NULL;
      int fd;

      if (!g_str_has_suffix (names[i], ".journal"))
        continue;
      fd = loom_open (AT_FDCWD, file, O_RDONLY);
      if (fd < 0)
        continue;
      if (loom_lock (fd, LOCK_EX | LOCK_NB))
        {
          content = studio_journal_read (file, &error);
          /* One that cannot be read now may have unsaved work. */
          if (content != NULL ? content->n_transactions == 0 : g_error_matches (error, LOOM_ERROR, LOOM_ERROR_PARSE))
            loom_path_remove (file);
          else if (content != NULL)
            g_ptr_array_add (found, g_steal_pointer (&file));
        }
      loom_close (fd);
    }
  g_ptr_array_sort (found, newest_first);
  g_ptr_array_add (found, NULL);
  return (char **)g_ptr_array_free (found, FALSE);
}
