/* Starts, pauses, continues and restarts the run of a document, and reports its faults.
 *
 * A graph is checked first; data outside its folder are read only after the user has agreed. An interrupted run of an
 * opened graph is found again. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"
#include "ui/shell/studio-question.h"

#define STUDIO_TYPE_RUNNER (studio_runner_get_type ())
G_DECLARE_FINAL_TYPE (StudioRunner, studio_runner, STUDIO, RUNNER, GObject)

/* toasts: an AdwToastOverlay for sentences. Signals:
 *   "started"    the document has a run: one was started, or found again
 *   "faulty"     faults of the graph prevent a run
 *   "continued"  the run that continues is of the version of the document
 *   "resumed"    the user has continued a run that had ended */
StudioRunner *
studio_runner_new (StudioDocument *document, StudioRun *run, GtkWidget *toasts, StudioQuestions *questions);
/* Another graph was opened: it has no run yet, or an interrupted one. */
void studio_runner_open (StudioRunner *self);
/* Lets the worker finish, because the page closes; nothing continues the run. */
void studio_runner_close (StudioRunner *self);

void studio_runner_train (StudioRunner *self); /* trains, pauses or resumes */
void studio_runner_step (StudioRunner *self);
/* Shows the run of this graph that goes on without a window, or the one in this folder, unless a run is live. */
void studio_runner_attach (StudioRunner *self);
void studio_runner_attach_to (StudioRunner *self, const char *folder);
/* Starts or continues a run that waits before its next step. */
void studio_runner_prepare (StudioRunner *self);
void studio_runner_restart (StudioRunner *self);
/* Sets the batch size of the document, and restarts. */
void studio_runner_use_batch (StudioRunner *self, const char *batch);
/* Sets the data sets of the document to leave out pictures that are not readable, in one step, and restarts. */
void studio_runner_skip_broken (StudioRunner *self);
/* The same for the strategy of <parallel>. */
void studio_runner_use_strategy (StudioRunner *self, const char *strategy);
/* From the newest checkpoint, on the device and for the epochs of the document. */
void studio_runner_continue (StudioRunner *self);
void studio_runner_continue_slower (StudioRunner *self); /* at a tenth of the learning rate */
/* Resumes from the newest checkpoint at or before this step; a run that trains is stopped first. */
void studio_runner_go_back (StudioRunner *self, gint64 step);
/* TRUE if the document could be trained now; otherwise its first fault is reported, or the user is asked about its
 * data.
 */
gboolean studio_runner_check (StudioRunner *self);
/* Trains a graph that has waited, unless a run is live. folder: of its relative paths; title: names the run's folder.
 */
void studio_runner_train_other (StudioRunner *self, const char *xml, const char *folder, const char *title);
/* Asks whether data outside the graph's folder may be read, if some need that. */
void studio_runner_ask_to_read (StudioRunner *self);
