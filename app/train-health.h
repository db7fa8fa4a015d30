/* Prints the health of a net after a run. */
#pragma once

#include "app/shared/command.h"

/* Measures it with the current weights: an event "health" for each node, or a table of those with a
 * figure. */
gboolean train_health_print (LoomTrainer *trainer, gboolean as_json, GError **error);
