/* Follows a file that other programs may change: digest of the known content, monitor and lock. It depends on a path
 * and on no document.
 *
 * Properties, read-only, with notify: "state" (StudioDiskState), and "holder", the other Studio that has the file open.
 */
#pragma once

#include <gio/gio.h>

typedef enum
{
  STUDIO_DISK_SAME,    /* as it was last read or written; also without a path */
  STUDIO_DISK_CHANGED, /* other content, or it can no longer be read */
  STUDIO_DISK_GONE     /* deleted or moved */
} StudioDiskState;

#define STUDIO_TYPE_DISK_STATE (studio_disk_state_get_type ())
GType studio_disk_state_get_type (void);

#define STUDIO_TYPE_FILE_WATCH (studio_file_watch_get_type ())
G_DECLARE_FINAL_TYPE (StudioFileWatch, studio_file_watch, STUDIO, FILE_WATCH, GObject)

/* Makes an object that watches nothing. */
StudioFileWatch *studio_file_watch_new (void);
/* The SHA-256 of a content (transfer full). */
char *studio_file_watch_digest_of (const char *text, gsize length);
/* Watches this path, whose known content has this digest (transfer full). NULL, NULL: watches nothing. The file is
 * compared at once, without notification. */
void studio_file_watch_set (StudioFileWatch *self, const char *path, char *digest);
/* The digest of the known content; NULL: nothing is watched. */
const char *studio_file_watch_get_digest (StudioFileWatch *self);
/* Compares the file now. While the watch is held, because the owner writes the file, returns the last known state. */
StudioDiskState studio_file_watch_check (StudioFileWatch *self);
void studio_file_watch_set_held (StudioFileWatch *self, gboolean held);
/* The last known state. */
StudioDiskState studio_file_watch_get_state (StudioFileWatch *self);
const char *studio_file_watch_get_holder (StudioFileWatch *self); /* "process 1234"; NULL: no other is known */

/* A file's state by its metadata, without reading it. */
typedef struct
{
  guint64 device, inode;
  gint64 size, seconds, nanoseconds;
  gint64 is_file;
} StudioDiskStamp;

gboolean studio_disk_stamp_read (const char *path, StudioDiskStamp *stamp); /* FALSE with errno: it cannot be read */
gboolean studio_disk_stamp_equal (const StudioDiskStamp *a, const StudioDiskStamp *b);
