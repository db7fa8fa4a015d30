/* The document's file as others may change it: a digest of what was last read or written, a monitor, and a lock.
 *
 * Times alone would not do: a checkout or a copy may keep them, and a touch changes nothing. So a file whose stamp
 * differs is read, and its content decides. The monitor makes the news come soon; whoever is about to write asks
 * studio_document_check_disk() itself, because a monitor may be late, or blind on a network. */
#include "ui/document/studio-document-private.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>

#include <glib/gstdio.h>

/* Long enough for a program that writes in several pieces to be done with them. */
#define SETTLE_MILLISECONDS 200

/* ---- what lies there ----------------------------------------------------------- */

static gboolean
read_stamp (const char *path, StudioDiskStamp *stamp)
{
  GStatBuf info;
  memset (stamp, 0, sizeof *stamp);
  if (g_stat (path, &info) != 0)
    return FALSE;
  stamp->device = info.st_dev;
  stamp->inode = info.st_ino;
  stamp->size = info.st_size;
  stamp->seconds = info.st_mtim.tv_sec;
  stamp->nanoseconds = info.st_mtim.tv_nsec;
  stamp->is_file = S_ISREG (info.st_mode);
  return TRUE;
}

static gboolean
same_stamp (const StudioDiskStamp *a, const StudioDiskStamp *b)
{
  return memcmp (a, b, sizeof *a) == 0;
}

StudioDiskState
studio_document_get_disk (StudioDocument *self)
{
  return self->disk;
}

char *
studio_document_digest (const char *text, gsize length)
{
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)text, length);
}

/* Whoever had it before may be gone. */
static void
take_lock (StudioDocument *self)
{
  if (self->lock != NULL)
    return;
  g_clear_pointer (&self->holder, g_free);
  self->lock = studio_file_lock_new (NULL, self->path, &self->holder);
}

/* The stamp is taken before the content is read: a write between the two is seen the next time. */
static StudioDiskState
look (StudioDocument *self)
{
  g_autofree char *text = NULL, *digest = NULL;
  StudioDiskStamp stamp;
  gsize length;

  if (!read_stamp (self->path, &stamp))
    return errno == ENOENT || errno == ENOTDIR ? STUDIO_DISK_GONE : STUDIO_DISK_CHANGED;
  /* A pipe or a device holds nothing that could be lost, and a folder cannot be written over. */
  if (!stamp.is_file)
    return STUDIO_DISK_SAME;
  if (self->disk == STUDIO_DISK_SAME && same_stamp (&stamp, &self->disk_stamp))
    return STUDIO_DISK_SAME;
  if (stamp.size <= STUDIO_DISK_MAX && g_file_get_contents (self->path, &text, &length, NULL))
    digest = studio_document_digest (text, length);
  if (g_strcmp0 (digest, self->disk_digest) != 0)
    return STUDIO_DISK_CHANGED;
  self->disk_stamp = stamp;
  return STUDIO_DISK_SAME;
}

StudioDiskState
studio_document_check_disk (StudioDocument *self)
{
  g_clear_handle_id (&self->disk_timer, g_source_remove);
  /* A file that is being written now is no change by others. */
  if (self->disk_digest != NULL && self->saving == NULL)
    {
      StudioDiskState before = self->disk;
      gboolean shared = self->holder != NULL;
      self->disk = look (self);
      take_lock (self);
      if (self->disk != before || shared != (self->holder != NULL))
        g_signal_emit_by_name (self, "file-changed");
    }
  return self->disk;
}

/* ---- watching it ---------------------------------------------------------------- */

static gboolean
settled_cb (gpointer data)
{
  StudioDocument *self = data;
  self->disk_timer = 0;
  studio_document_check_disk (self);
  return G_SOURCE_REMOVE;
}

static void
monitor_cb (GFileMonitor *monitor, GFile *file, GFile *other, GFileMonitorEvent event, StudioDocument *self)
{
  g_clear_handle_id (&self->disk_timer, g_source_remove);
  self->disk_timer = g_timeout_add (SETTLE_MILLISECONDS, settled_cb, self);
}

void
studio_document_unwatch (StudioDocument *self)
{
  g_clear_handle_id (&self->disk_timer, g_source_remove);
  if (self->monitor != NULL)
    g_signal_handlers_disconnect_by_data (self->monitor, self);
  g_clear_object (&self->monitor);
  g_clear_pointer (&self->lock, studio_file_lock_free);
  g_clear_pointer (&self->holder, g_free);
  g_clear_pointer (&self->watched, g_free);
  g_clear_pointer (&self->disk_digest, g_free);
  self->disk = STUDIO_DISK_SAME;
}

const char *
studio_document_get_holder (StudioDocument *self)
{
  return self->holder;
}

static void
watch (StudioDocument *self)
{
  if (g_strcmp0 (self->watched, self->path) != 0)
    {
      g_autoptr (GFile) file = g_file_new_for_path (self->path);
      studio_document_unwatch (self);
      self->watched = g_strdup (self->path);
      self->monitor = g_file_monitor_file (file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL);
      if (self->monitor != NULL)
        g_signal_connect (self->monitor, "changed", G_CALLBACK (monitor_cb), self);
    }
  take_lock (self);
}

void
studio_document_note_disk (StudioDocument *self, char *digest)
{
  if (digest == NULL)
    {
      studio_document_unwatch (self);
      return;
    }
  watch (self);
  g_free (self->disk_digest);
  self->disk_digest = digest;
  if (self->journal != NULL)
    studio_journal_note_file (self->journal, digest);
  memset (&self->disk_stamp, 0, sizeof self->disk_stamp);
  self->disk = look (self);
}

/* ---- reading it again -------------------------------------------------------------- */

/* Everything under the root is replaced, so that it is one step that can be undone, and stands in the journal. */
static void
replace_content (StudioDocument *self, const LoomGraph *graph, const char *step)
{
  LoomElement *root = loom_graph_root (self->graph), *other = loom_graph_root (graph);

  studio_document_begin (self, step);
  while (loom_element_n_children (root) > 0)
    studio_document_edit (self, loom_edit_remove (loom_element_child (root, loom_element_n_children (root) - 1)));
  for (guint i = loom_element_n_attributes (root); i-- > 0;)
    {
      const char *name, *value;
      loom_element_attribute (root, i, &name, &value);
      studio_document_edit (self, loom_edit_set (root, name, NULL));
    }
  for (guint i = 0; i < loom_element_n_attributes (other); i++)
    {
      const char *name, *value;
      loom_element_attribute (other, i, &name, &value);
      studio_document_edit (self, loom_edit_set (root, name, value));
    }
  for (guint i = 0; i < loom_element_n_children (other); i++)
    studio_document_edit (self, loom_edit_insert (root, i, loom_element_copy (loom_element_child (other, i))));
  studio_document_end (self);
}

LoomGraph *
studio_document_read (const char *path, char **text, gsize *length, LoomFaults **faults, GError **error)
{
  /* The reader takes a path, so the text is read beside it; both again when the file was written meanwhile. */
  for (int tries = 0;; tries++)
    {
      g_autoptr (LoomFaults) found = loom_faults_new ();
      g_autoptr (LoomGraph) graph = NULL;
      StudioDiskStamp before, after;

      read_stamp (path, &before);
      graph = loom_run_read_graph (path, found, error);
      if (graph == NULL || !g_file_get_contents (path, text, length, error))
        return NULL;
      read_stamp (path, &after);
      if (same_stamp (&before, &after) || tries == 10)
        {
          *faults = g_steal_pointer (&found);
          return g_steal_pointer (&graph);
        }
      g_clear_pointer (text, g_free);
    }
}

gboolean
studio_document_replace (StudioDocument *self, const char *text, const char *step, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "the graph", faults, error);

  if (graph == NULL)
    return FALSE;
  studio_document_leave_to (self, 0);
  replace_content (self, graph, step);
  return TRUE;
}

gboolean
studio_document_reload (StudioDocument *self, GError **error)
{
  g_autoptr (LoomFaults) faults = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  g_autofree char *text = NULL;
  gsize length;

  g_return_val_if_fail (self->path != NULL, FALSE);
  graph = studio_document_read (self->path, &text, &length, &faults, error);
  if (graph == NULL)
    return FALSE;
  /* Whoever leaves a module while it is replaced would stand in one that is no more. */
  studio_document_leave_to (self, 0);
  self->n_dropped = loom_graph_n_dropped (graph);
  g_clear_pointer (&self->grammar, loom_faults_free);
  self->grammar = g_steal_pointer (&faults);
  replace_content (self, graph, _ ("Reload"));
  studio_document_note_disk (self, studio_document_digest (text, length));
  studio_document_note_saved (self);
  return TRUE;
}
