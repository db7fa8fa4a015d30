/* Files as the whole program knows them: which page has one, which were opened last, and the dialog to choose one. */
#pragma once

#include "ui/window/studio-page.h"

G_BEGIN_DECLS

/* The page of any window that has this file, whatever links lead to it; or NULL. */
StudioPage *studio_files_find_page (GFile *file);
/* Among the recent files. */
void studio_files_remember (const char *path);
/* GtkRecentInfo of the graphs that were opened or saved here last and are still there, the newest first, a menu's
 * length at most. Files of other programs are none of them. (transfer full) */
GList *studio_files_recent (void);
/* The recent graphs, for a menu; each runs "win.open-recent". */
GMenuModel *studio_files_recent_menu (void);
/* The kind of a file to Studio, by the end of its name; a graph may have any name. */
typedef enum
{
  STUDIO_FILE_GRAPH,
  STUDIO_FILE_TABLE,
  STUDIO_FILE_MODEL,
  STUDIO_FILE_WEIGHTS,
  STUDIO_FILE_TRACE, /* of `gradloom train --trace` and `gradloom simulate --trace` */
  STUDIO_FILE_OTHER
} StudioFileKind;

StudioFileKind studio_files_kind (GFile *file);
/* For graphs, or for all that can be opened; beside the file at path, which may be NULL. */
GtkFileChooserNative *studio_files_new_chooser (GtkWindow *parent, const char *title, GtkFileChooserAction action,
                                                const char *accept, gboolean any_kind, const char *path);

G_END_DECLS
