/* Runs on another machine: `gradloom train --host` and `gradloom attach` of such a run. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* Begins the run on the host and mirrors it in options->out; follows it unless `detach`. Returns the exit status. */
int train_remote (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options, const char *host,
                  gboolean detach);
/* Gets what is missing of a run, shows it, and gets the rest. */
int train_remote_attach (const Command *command, const char *folder, const char *host, const char *id, gboolean stop,
                         gboolean json);

G_END_DECLS
