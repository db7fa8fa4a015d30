/* Saves a document: where to, over what, and whether that is intended. It asks for a file name if there is none, and
 * before it overwrites what another program wrote or what the reader did not understand. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/page/studio-after.h"
#include "ui/shell/studio-question.h"

#define STUDIO_TYPE_SAVER (studio_saver_get_type ())
G_DECLARE_FINAL_TYPE (StudioSaver, studio_saver, STUDIO, SAVER, GObject)

/* toasts: an AdwToastOverlay for sentences; dialogs are over its window.
 * Signal "commit": text that is being typed must become part of the document now. */
StudioSaver *studio_saver_new (StudioDocument *document, GtkWidget *toasts, StudioQuestions *questions);
/* Forgets the document. A save that has begun is finished. */
void studio_saver_close (StudioSaver *self);

void studio_saver_save (StudioSaver *self);
void studio_saver_save_as (StudioSaver *self);
/* Saves, and does after (transfer full; or NULL) if the document was saved, else cancels it. */
void studio_saver_save_before (StudioSaver *self, StudioAfter *after);
/* Reads the file again. */
void studio_saver_reload (StudioSaver *self);
