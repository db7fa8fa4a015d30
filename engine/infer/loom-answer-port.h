/* Finds the port of a net that answers, and the port of the data that the answer depends on. */
#pragma once

#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"

G_BEGIN_DECLS

/* The port that answers: `wanted` by name, else the only output node's input, else the loss's input, else the first
 * metric's input. spec may be NULL. PORT if that is not clear. */
gboolean loom_answer_find_output (const LoomNet *net, const LoomTrainSpec *spec, const char *wanted,
                                  LoomNetSource *output, GError **error);
/* What a decoder reads while it learns, one place later than what it is to say. */
#define LOOM_ANSWER_SHIFTED "y_in"

/* The port of a data set, or the input node, that the answer depends on. PORT where it is not one alone; but where one
 * is the data set's LOOM_ANSWER_SHIFTED, *writes (which may be NULL) becomes TRUE, and input is the data set's first.
 */
gboolean loom_answer_find_input (const LoomNet *net, const LoomNetSource *output, LoomNetSource *input,
                                 gboolean *writes, GError **error);

G_END_DECLS
