/* Options of the command line, written into the graph. */
#pragma once

#include "engine/train/loom-train-options.h"

/* A list of the attributes that options have set. (transfer full) */
GPtrArray *train_options_given_new (void);
/* Returns a copy of the graph with the options written into it, and appends the attributes that they set to given. */
LoomGraph *
train_options_apply (const LoomGraph *graph, const LoomTrainerOptions *options, GPtrArray *given, GError **error);
/* TRUE if there is no fault. Otherwise an error as from loom_faults_to_error(), in which a fault of an attribute that
 * an option has set is reported as the option's; if the graph without them (original) has no fault, all faults are
 * reported as the options'. */
gboolean
train_options_check (const LoomGraph *original, const GPtrArray *given, const LoomFaults *faults, GError **error);
