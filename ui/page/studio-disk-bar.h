/* The bar that reports what other programs do to the file of a document: changed, deleted, open in another Studio. Its
 * buttons activate win.reload, win.save, win.save-as and win.dismiss-disk. */
#pragma once

#include <adwaita.h>

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_DISK_BAR (studio_disk_bar_get_type ())
G_DECLARE_FINAL_TYPE (StudioDiskBar, studio_disk_bar, STUDIO, DISK_BAR, AdwBin)

/* Property "shown" (read-only): there is something to report. Call once. */
void studio_disk_bar_set_document (StudioDiskBar *self, StudioDocument *document);
gboolean studio_disk_bar_is_shown (StudioDiskBar *self);
/* narrow: the buttons are below the sentence. */
void studio_disk_bar_set_narrow (StudioDiskBar *self, gboolean narrow);
/* Hides the bar while it reports only that another Studio has the file open. */
void studio_disk_bar_dismiss (StudioDiskBar *self);
