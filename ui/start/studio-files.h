/* Files that Studio opens: their kinds, the recent ones, and the file chooser. */
#pragma once

#include <gtk/gtk.h>

/* Adds a file to the recent files. */
void studio_files_remember (const char *path);
/* A file that cannot be opened is not a recent file, although the dialog for files makes it one. */
void studio_files_refuse (const char *path);
/* Returns GtkRecentInfo of the existing graphs that Studio opened or saved last, newest first, as many as fit in a
 * menu. (transfer full) */
GList *studio_files_recent (void);
/* A menu of the recent graphs; each item activates "win.open-recent". */
GMenuModel *studio_files_recent_menu (void);
/* The kind of a file, by extension; graphs may have any extension. */
typedef enum
{
  STUDIO_FILE_GRAPH,
  STUDIO_FILE_TABLE,
  STUDIO_FILE_MODEL,
  STUDIO_FILE_WEIGHTS,
  STUDIO_FILE_TRACE, /* of `gradloom train --trace` and `gradloom simulate --trace` */
  STUDIO_FILE_LECTURE, /* a list of graphs: engine/lesson/loom-lecture.h */
  STUDIO_FILE_RECORDING,
  STUDIO_FILE_OTHER
} StudioFileKind;

StudioFileKind studio_files_kind (GFile *file);
/* any_kind: filter for all files that Studio opens instead of graphs only. path: the file whose folder is shown first,
 * or NULL. */
GtkFileChooserNative *studio_files_new_chooser (GtkWindow *parent, const char *title, GtkFileChooserAction action,
                                                const char *accept, gboolean any_kind, const char *path);
