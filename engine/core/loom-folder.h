/* A folder whose contents may come from elsewhere, such as a run that was received.
 *
 * The path of the folder itself is the user's, so its symbolic links are followed. Files in it are reached by name from
 * the folder's descriptor, and links inside the folder are refused: a link could lead a reader or a writer to any file
 * that the user may open. Sentences name the full path. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _LoomFolder LoomFolder;

/* Errors of all functions: IO, with a sentence naming the path. */
LoomFolder *loom_folder_open (const char *path, GError **error);
/* A folder in this one, made if `create`; a link is refused. */
LoomFolder *loom_folder_enter (LoomFolder *parent, const char *name, gboolean create, GError **error);
void loom_folder_free (LoomFolder *folder);

const char *loom_folder_path (LoomFolder *folder);
int loom_folder_fd (LoomFolder *folder);
/* The full path of a name in the folder. A folder of NULL leaves the name as it is. (transfer full) */
char *loom_folder_path_of (LoomFolder *folder, const char *name);

/* The names in the folder, in no order. (transfer full) */
char **loom_folder_names (LoomFolder *folder);

/* Opens an ordinary file with the flags of open(). A file that is opened for writing must have no second name, because
 * what is written would show in the other file, too. Returns the descriptor, or -1. */
int loom_folder_open_file (LoomFolder *folder, const char *name, int flags, GError **error);
/* The content of a file of at most `max` bytes, with a zero after it, for g_free. */
gboolean loom_folder_read (LoomFolder *folder, const char *name, gsize max, char **data, gsize *length, GError **error);
/* The file's bytes, for g_mapped_file_unref. */
GMappedFile *loom_folder_map (LoomFolder *folder, const char *name, GError **error);

/* Replaces the content as loom_file_replace() does, without following a link: the link itself is replaced. */
gboolean loom_folder_replace (LoomFolder *folder, const char *name, const void *data, gsize length, GError **error);
/* Removes a file or a link, never what it leads to. */
void loom_folder_remove (LoomFolder *folder, const char *name);

/* Forces what the folder lists to the disk: after files in it were made or renamed. */
gboolean loom_folder_sync (LoomFolder *folder, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomFolder, loom_folder_free)

G_END_DECLS
