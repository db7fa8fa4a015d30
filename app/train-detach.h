/* `gradloom train --detach`: hands a run to a worker that goes on without this process. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* Starts or resumes the run, and returns after its first step: with status 0, or with that of the error that
 * has prevented it. graph is NULL with options->resume. options has a folder. */
int train_detach (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options);

G_END_DECLS
