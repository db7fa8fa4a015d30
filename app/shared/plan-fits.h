/* `gradloom plan --fits`: whether a run would fit into memory. */
#pragma once

#include "app/shared/command.h"

/* Prints what a run of `ranks` ranks on this machine (0 or 1: a single one) needs, what is available, the largest batch
 * and the strategy that fit, as an event "fits" or a sentence. available and errors: those of loom_forecast(). */
gboolean plan_fits_print (const LoomGraph *graph, const LoomTrainerOptions *options, int ranks, gsize available,
                          gboolean as_json, GError **error);
