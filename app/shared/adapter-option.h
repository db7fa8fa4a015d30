/* The option --adapter: weights with the factors of LoRA added to them. */
#pragma once

#include "app/shared/command.h"

#define COMMAND_ADAPTER_OPTION(variable)                                                                               \
  {                                                                                                                    \
    "adapter", 0, 0, G_OPTION_ARG_FILENAME, &variable,                                                                 \
        "Add the factors of this file, or folder, of PEFT to the weights", "F"                                         \
  }

/* With an adapter, or with factors in the graph if all is TRUE: *values receives all weights (LoomNamedTensor) with the
 * products added, and the graph is changed to one without factors. Else, and without weights, *values is NULL. USAGE:
 * an adapter without weights. */
gboolean command_merge_adapter (LoomGraph *graph, const char *adapter, const char *weights, gboolean all,
                                GPtrArray **values, GError **error);
/* Sets the state's weights to these values; DATA: one is missing, or has another shape. */
gboolean command_set_values (LoomState *state, const GPtrArray *values, GError **error);
