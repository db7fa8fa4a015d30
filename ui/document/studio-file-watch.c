/* A watched file.
 *
 * Modification times are not sufficient: a checkout or a copy may preserve them, and touching a file changes nothing.
 * So a file with a different stamp is read, and its content is compared. A monitor reports changes early; before
 * writing, the owner calls studio_file_watch_check(), because a monitor may be late, or report nothing on a network. */
#include "ui/document/studio-file-watch.h"

#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>

#include "ui/document/studio-file-lock.h"

/* Long enough for a program that writes in several pieces to finish. */
#define SETTLE_MILLISECONDS 200
#define LARGEST             (64 * 1024 * 1024) /* the reader refuses larger graphs */

struct _StudioFileWatch
{
  GObject parent_instance;

  char *path;
  char *digest; /* of the known content; NULL: nothing is watched */
  StudioDiskStamp stamp;
  StudioDiskState state;
  gboolean held;
  GFileMonitor *monitor;
  guint timer;
  StudioFileLock *lock;
  char *holder;
};

enum
{
  PROPERTY_STATE = 1,
  PROPERTY_HOLDER,
  N_PROPERTIES
};
static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_ENUM_TYPE (StudioDiskState, studio_disk_state, G_DEFINE_ENUM_VALUE (STUDIO_DISK_SAME, "same"),
                    G_DEFINE_ENUM_VALUE (STUDIO_DISK_CHANGED, "changed"),
                    G_DEFINE_ENUM_VALUE (STUDIO_DISK_GONE, "gone"))
G_DEFINE_FINAL_TYPE (StudioFileWatch, studio_file_watch, G_TYPE_OBJECT)

/* ---- the content ----------------------------------------------------------- */

gboolean
studio_disk_stamp_read (const char *path, StudioDiskStamp *stamp)
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

gboolean
studio_disk_stamp_equal (const StudioDiskStamp *a, const StudioDiskStamp *b)
{
  return memcmp (a, b, sizeof *a) == 0;
}

char *
studio_file_watch_digest_of (const char *text, gsize length)
{
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)text, length);
}

/* The stamp is read before the content: a write between the two is found the next time. */
static StudioDiskState
compare (StudioFileWatch *self)
{
  g_autofree char *text = NULL, *digest = NULL;
  StudioDiskStamp stamp;
  gsize length;

  if (!studio_disk_stamp_read (self->path, &stamp))
    return errno == ENOENT || errno == ENOTDIR ? STUDIO_DISK_GONE : STUDIO_DISK_CHANGED;
  /* A pipe or a device has no content to lose, and a folder cannot be overwritten. */
  if (!stamp.is_file)
    return STUDIO_DISK_SAME;
  if (self->state == STUDIO_DISK_SAME && studio_disk_stamp_equal (&stamp, &self->stamp))
    return STUDIO_DISK_SAME;
  if (stamp.size <= LARGEST && g_file_get_contents (self->path, &text, &length, NULL))
    digest = studio_file_watch_digest_of (text, length);
  if (g_strcmp0 (digest, self->digest) != 0)
    return STUDIO_DISK_CHANGED;
  self->stamp = stamp;
  return STUDIO_DISK_SAME;
}

/* The process that had the lock before may have ended. */
static void
take_lock (StudioFileWatch *self)
{
  if (self->lock != NULL)
    return;
  g_clear_pointer (&self->holder, g_free);
  self->lock = studio_file_lock_new (NULL, self->path, &self->holder);
}

/* ---- monitoring ------------------------------------------------------------ */

StudioDiskState
studio_file_watch_check (StudioFileWatch *self)
{
  g_return_val_if_fail (STUDIO_IS_FILE_WATCH (self), STUDIO_DISK_SAME);

  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->digest != NULL && !self->held)
    {
      const StudioDiskState before = self->state;
      const gboolean had_holder = self->holder != NULL;

      self->state = compare (self);
      take_lock (self);
      g_object_freeze_notify (G_OBJECT (self));
      if (self->state != before)
        g_object_notify_by_pspec (G_OBJECT (self), properties[PROPERTY_STATE]);
      if ((self->holder != NULL) != had_holder)
        g_object_notify_by_pspec (G_OBJECT (self), properties[PROPERTY_HOLDER]);
      g_object_thaw_notify (G_OBJECT (self));
    }
  return self->state;
}

static gboolean
settled_cb (gpointer data)
{
  StudioFileWatch *self = data;

  self->timer = 0;
  studio_file_watch_check (self);
  return G_SOURCE_REMOVE;
}

static void
monitor_cb (StudioFileWatch *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  self->timer = g_timeout_add (SETTLE_MILLISECONDS, settled_cb, self);
}

static void
end (StudioFileWatch *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->monitor != NULL)
    g_signal_handlers_disconnect_by_data (self->monitor, self);
  g_clear_object (&self->monitor);
  g_clear_pointer (&self->lock, studio_file_lock_free);
  g_clear_pointer (&self->holder, g_free);
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->digest, g_free);
  self->state = STUDIO_DISK_SAME;
}

static void
begin (StudioFileWatch *self, const char *path)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);

  end (self);
  self->path = g_strdup (path);
  self->monitor = g_file_monitor_file (file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL);
  if (self->monitor != NULL)
    g_signal_connect_swapped (self->monitor, "changed", G_CALLBACK (monitor_cb), self);
}

void
studio_file_watch_set (StudioFileWatch *self, const char *path, char *digest)
{
  g_return_if_fail (STUDIO_IS_FILE_WATCH (self) && (path != NULL) == (digest != NULL));

  if (path == NULL)
    {
      end (self);
      return;
    }
  if (g_strcmp0 (self->path, path) != 0)
    begin (self, path);
  take_lock (self);
  g_free (self->digest);
  self->digest = digest;
  memset (&self->stamp, 0, sizeof self->stamp);
  self->state = compare (self);
}

const char *
studio_file_watch_get_digest (StudioFileWatch *self)
{
  return self->digest;
}

void
studio_file_watch_set_held (StudioFileWatch *self, gboolean held)
{
  self->held = held;
}

StudioDiskState
studio_file_watch_get_state (StudioFileWatch *self)
{
  return self->state;
}

const char *
studio_file_watch_get_holder (StudioFileWatch *self)
{
  return self->holder;
}

/* ---- object ---------------------------------------------------------------- */

static void
studio_file_watch_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  StudioFileWatch *self = STUDIO_FILE_WATCH (object);

  if (id == PROPERTY_STATE)
    g_value_set_enum (value, self->state);
  else if (id == PROPERTY_HOLDER)
    g_value_set_string (value, self->holder);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static void
studio_file_watch_finalize (GObject *object)
{
  end (STUDIO_FILE_WATCH (object));
  G_OBJECT_CLASS (studio_file_watch_parent_class)->finalize (object);
}

static void
studio_file_watch_class_init (StudioFileWatchClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = studio_file_watch_get_property;
  object_class->finalize = studio_file_watch_finalize;
  properties[PROPERTY_STATE] = g_param_spec_enum ("state", NULL, NULL, STUDIO_TYPE_DISK_STATE, STUDIO_DISK_SAME,
                                                  G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  properties[PROPERTY_HOLDER]
      = g_param_spec_string ("holder", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
studio_file_watch_init (StudioFileWatch *self)
{
}

StudioFileWatch *
studio_file_watch_new (void)
{
  return g_object_new (STUDIO_TYPE_FILE_WATCH, NULL);
}
