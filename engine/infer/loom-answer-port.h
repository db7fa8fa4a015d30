/* Finds the port of a net that is the prediction, and the port of the data that it depends on. */
#pragma once

#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"

/* Returns the port of the prediction: `wanted` by name, else the only output node's input, else the loss's input, else
 * the first metric's input. spec may be NULL. PORT if that is ambiguous. */
gboolean loom_answer_find_output (const LoomNet *net, const LoomTrainSpec *spec, const char *wanted,
                                  LoomNetSource *output, GError **error);
/* The blank of the ctc_loss that reads this port, whose labels are then those of greedy decoding; -1: none does. */
gint64 loom_answer_find_blank (const LoomNet *net, const LoomNetSource *output);
/* The port of target tokens shifted by one position, which a decoder reads in training. */
#define LOOM_ANSWER_SHIFTED "y_in"

/* Returns the port of a data set, or the input node, that the prediction depends on. PORT unless it is exactly one; but
 * if one of two is the data set's LOOM_ANSWER_SHIFTED port, *writes (may be NULL) becomes TRUE, and input is the data
 * set's first port. */
gboolean loom_answer_find_input (const LoomNet *net, const LoomNetSource *output, LoomNetSource *input,
                                 gboolean *writes, GError **error);

/* All ports of data sets and input nodes that the prediction depends on, LoomNetSource, in the order in which nodes
 * read them. (transfer full) */
GArray *loom_answer_list_inputs (const LoomNet *net, const LoomNetSource *output);
