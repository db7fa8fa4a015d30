/* Runs on another machine: `gradloom train --host` and `gradloom attach` of such a run. */
#pragma once

#include "app/shared/command.h"

/* Begins the run on the host, with this number of ranks, and mirrors it in options->out; follows it unless `detach`.
 * graph is NULL with options->resume or options->branch, a mirror of a run of this host. Returns the exit status. */
int train_remote (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options, int ranks,
                  const char *host, gboolean detach);
/* Begins it with options of the worker's Start, which are consumed, and returns after its first step. The folder
 * exists. The option "branch" is a mirror, of whose run the host has the state and the data; graph is that of the
 * branch. With an error nothing stays in the folder, except if the run may have begun: then a second call finds it. */
gboolean train_remote_begin (LoomGraph *graph, GVariant *options, const char *host, const char *folder, GError **error);
/* Resumes the run of a mirror on its host, from its newest checkpoint, with these options, which are consumed. Errors:
 * DATA if the host does not have it any more, IO, those of the run. */
gboolean train_remote_resume (GVariant *options, const char *folder, GError **error);
/* Gets what is missing of a run, shows it, and gets the rest. */
int train_remote_attach (const Command *command, const char *folder, const char *host, const char *id, gboolean stop,
                         gboolean json);
/* Updates the mirror of a run that is about to end, at most `tries` times. Returns its state; NULL with an error: IO.
 * (transfer full) */
char *train_remote_update_end (const char *folder, const char *host, const char *id, guint tries, GError **error);
