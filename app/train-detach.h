/* `gradloom train --detach`: hands a run to a worker that goes on without this process. */
#pragma once

#include "app/shared/command.h"

/* The options of the worker's Start with this number of ranks. (floating) */
GVariant *train_detach_options (const LoomTrainerOptions *options, int ranks);
/* Starts or resumes a run with these options (a{sv}, consumed), and lets it go on after its first step; *is_done: it is
 * over already. Errors: those of the run; IO. */
gboolean train_detach_begin (LoomGraph *graph, GVariant *options, gboolean *is_done, GError **error);
/* Starts or resumes the run, and returns after its first step: with status 0, or with that of the error that
 * has prevented it. graph is NULL with options->resume. options has a folder. */
int train_detach (const Command *command, LoomGraph *graph, const LoomTrainerOptions *options, int ranks);
