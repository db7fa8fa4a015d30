/* Questions before something is lost: changes that are in no file, a run that would end, and runs in the queue. One
 * question at a time: a second request presents the dialog that is open. */
#pragma once

#include "ui/page/studio-saver.h"
#include "ui/run/studio-run.h"
#include "ui/runs/studio-run-queue.h"

#define STUDIO_TYPE_GUARD (studio_guard_get_type ())
G_DECLARE_FINAL_TYPE (StudioGuard, studio_guard, STUDIO, GUARD, GObject)

StudioGuard *
studio_guard_new (StudioDocument *document, StudioRun *run, StudioSaver *saver, StudioQuestions *questions);
/* The queue whose runs are lost with the page. */
void studio_guard_set_queue (StudioGuard *self, StudioRunQueue *queue);
/* Number of runs in it. */
guint studio_guard_n_queued (StudioGuard *self);
/* "2 runs in the queue will be lost." n > 0. */
char *studio_guard_dup_queue_sentence (guint n);
/* Changes that are in no file, a run that has not ended, or runs in the queue. */
gboolean studio_guard_would_lose (StudioGuard *self);
/* Asks about them; does after (transfer full) unless the user cancels. */
void studio_guard_ask_to_leave (StudioGuard *self, StudioAfter *after);
/* Adds a check button to a question about unsaved changes: n live runs go on without the window. */
void studio_guard_add_goes_on (AdwMessageDialog *dialog, guint n);
gboolean studio_guard_get_goes_on (AdwMessageDialog *dialog);
/* Says why the worker has refused to let a run go on without the window. */
void studio_guard_say_not_kept (StudioQuestions *questions, const char *sentence);
/* “LeNet” is training, at step 75 of 3,200. */
char *studio_guard_dup_run_sentence (StudioGuard *self);
