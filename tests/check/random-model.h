/* Random models: whole graphs over the whole operator table, as text.
 *
 * They are for planning and not for running, so unlike those of tests/exec/random-graph.h their shapes keep the symbol
 * B, which strategies divide, and their numbers need not be far from ties. Each operator is placed in a configuration
 * of its samples, sometimes with other values of its parameters, if its infer() accepts them; its inputs are values
 * that the graph has already, reshaped to fit. Around them are modules, repeats, loops, branches and trees, devices and
 * types of nodes, a loss, and a <train> with optimizer, accumulation, clipping and <parallel>. */
#pragma once

#include <glib.h>

/* The graph's XML (transfer full): a function of the two numbers. Some combinations are refused by a later step of the
 * compiler (a strategy that an optimizer lacks); `attempt` numbers the tries of a seed. The first operator of a seed is
 * that of its number in loom_ops(), modulo their count. */
char *random_model_text (guint32 seed, guint attempt);
