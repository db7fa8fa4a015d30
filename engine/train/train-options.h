/* Options of the command line, written into the graph. */
#pragma once

#include "engine/train/loom-train-options.h"

G_BEGIN_DECLS

/* A list of the attributes that options have set. (transfer full) */
GPtrArray *train_options_given_new (void);
/* A copy of the graph with the options written into it; the attributes that they set are appended to given. */
LoomGraph *
train_options_apply (const LoomGraph *graph, const LoomTrainerOptions *options, GPtrArray *given, GError **error);
/* TRUE if there is no fault. Else an error as of loom_faults_to_error(), in which a fault of an attribute that an
 * option has set is the option's; if the graph without them (original) has no fault, all faults are the options'. */
gboolean
train_options_check (const LoomGraph *original, const GPtrArray *given, const LoomFaults *faults, GError **error);

G_END_DECLS
