/* Runs on another machine: `gradloom train --host` and `gradloom attach` of such a run. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* Begins the run on the host and mirrors it in options->out; follows it unless `detach`. Returns the exit status. */
int train_remote (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options, const char *host,
                  gboolean detach);
/* Begins it with options of the worker's Start, which are consumed, and returns after its first step. The folder
 * exists. With an error nothing stays in it, except if the run may have begun: then a second call finds it. */
gboolean train_remote_begin (LoomGraph *graph, GVariant *options, const char *host, const char *folder, GError **error);
/* Gets what is missing of a run, shows it, and gets the rest. */
int train_remote_attach (const Command *command, const char *folder, const char *host, const char *id, gboolean stop,
                         gboolean json);
/* Updates the mirror of a run that is about to end, at most `tries` times. Returns its state; NULL with an error: IO.
 * (transfer full) */
char *train_remote_update_end (const char *folder, const char *host, const char *id, guint tries, GError **error);

G_END_DECLS
