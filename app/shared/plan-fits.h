/* `gradloom plan --fits`: whether a run would fit into memory. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* Prints what the run needs, what is available and the largest batch that fits, as an event "fits" or a sentence. */
gboolean plan_fits_print (const LoomGraph *graph, const LoomTrainerOptions *options, gboolean as_json, GError **error);

G_END_DECLS
