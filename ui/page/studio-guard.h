/* Questions before something is lost: changes that are in no file, and a run that would end. One question at a time: a
 * second request presents the dialog that is open. */
#pragma once

#include "ui/page/studio-saver.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_GUARD (studio_guard_get_type ())
G_DECLARE_FINAL_TYPE (StudioGuard, studio_guard, STUDIO, GUARD, GObject)

StudioGuard *
studio_guard_new (StudioDocument *document, StudioRun *run, StudioSaver *saver, StudioQuestions *questions);
/* Changes that are in no file, or a run that has not ended. */
gboolean studio_guard_would_lose (StudioGuard *self);
/* Asks about both; does after (transfer full) unless the user cancels. */
void studio_guard_ask_to_leave (StudioGuard *self, StudioAfter *after);
/* “LeNet” is training, at step 75 of 3,200. */
char *studio_guard_dup_run_sentence (StudioGuard *self);

G_END_DECLS
