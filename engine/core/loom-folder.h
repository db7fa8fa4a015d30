/* A folder whose contents may be untrusted, such as a run that was received from somebody.
 *
 * The path of the folder itself is the user's, so its symbolic links are followed. Files in it are opened by name
 * relative to the folder's descriptor, and links inside the folder are refused, because a link could lead a reader or a
 * writer to any file that the user may open. Errors name the full path. */
#pragma once

#include <glib.h>
#include <sys/stat.h>

typedef struct _LoomFolder LoomFolder;

/* All functions fail with IO, with an error that names the path. */
LoomFolder *loom_folder_open (const char *path, GError **error);
/* Opens a folder in this one, and creates it if `create`; a link is refused. */
LoomFolder *loom_folder_enter (LoomFolder *parent, const char *name, gboolean create, GError **error);
void loom_folder_free (LoomFolder *folder);

const char *loom_folder_path (LoomFolder *folder);
int loom_folder_fd (LoomFolder *folder);
/* The full path of a name in the folder. If folder is NULL, the name is returned unchanged. (transfer full) */
char *loom_folder_path_of (LoomFolder *folder, const char *name);

/* Files that are written here, and in folders that are entered from here, are not synchronised to the disk: a loss of
 * power may leave them empty or short, so a reader must be able to do without them. */
void loom_folder_set_unsynchronised (LoomFolder *folder);
gboolean loom_folder_is_unsynchronised (LoomFolder *folder);

/* The names in the folder, unsorted. A folder that cannot be read is an error, never an empty one. (transfer full) */
char **loom_folder_names (LoomFolder *folder, GError **error);
/* Of a name in the folder, or of a link itself. FALSE: there is nothing of that name; errno is set. */
gboolean loom_folder_stat (LoomFolder *folder, const char *name, struct stat *info);
/* FALSE: errno is set. */
gboolean loom_folder_rename (LoomFolder *folder, const char *from, const char *to);

/* Opens a regular file with the flags of open(). A file that is opened for writing must have no other hard link,
 * because the other file would change, too. Returns the descriptor, or -1. */
int loom_folder_open_file (LoomFolder *folder, const char *name, int flags, GError **error);
/* The content of a file of at most `max` bytes, followed by a zero byte, for g_free. */
gboolean loom_folder_read (LoomFolder *folder, const char *name, gsize max, char **data, gsize *length, GError **error);
/* Maps a file, for g_mapped_file_unref. */
GMappedFile *loom_folder_map (LoomFolder *folder, const char *name, GError **error);

/* Replaces the content as loom_file_replace() does, without following a link: the link itself is replaced. */
gboolean loom_folder_replace (LoomFolder *folder, const char *name, const void *data, gsize length, GError **error);
/* Removes a file or a link, but never a link's target. */
void loom_folder_remove (LoomFolder *folder, const char *name);
/* Removes an empty folder. */
void loom_folder_remove_folder (LoomFolder *folder, const char *name);

/* Synchronises the folder's entries to the disk; call after files in it were created or renamed. */
gboolean loom_folder_sync (LoomFolder *folder, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomFolder, loom_folder_free)
