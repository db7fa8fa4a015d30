/* Random graphs over the whole operator table, as text, and numbers to feed them.
 *
 * Each operator is placed in a configuration of its own samples. What the sample wants as an input is made from a value
 * that the graph has already: its elements are repeated, cut and reshaped, and a formula brings them into the range
 * that the operator is good for. An operator that is smooth there takes them as they are; any other one (a kink, a
 * comparison, a sort) takes numbers from a lattice that is clear of halves, of ties and of the other inputs' lattices,
 * plus a little of the value: so no rounding can change a decision, and gradients still pass. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/ops/loom-op.h"

typedef struct _RandomGraph RandomGraph;

/* About n_nodes nodes (at most n_nodes + 12). Every operator is the first one of some seed below loom_ops()'s length.
 */
RandomGraph *random_graph_new (guint32 seed, guint n_nodes);
void random_graph_free (RandomGraph *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RandomGraph, random_graph_free)

/* The graph's XML. */
char *random_graph_text (const RandomGraph *self);
guint random_graph_n_nodes (const RandomGraph *self);
/* The longest path through it, in nodes. */
guint random_graph_depth (const RandomGraph *self);
/* Adds the names of the operators in it to a set. */
void random_graph_add_operators (const RandomGraph *self, GHashTable *names);
/* A fault that appeared while it grew; NULL: none. It ends at the node that is wrong. */
const char *random_graph_fault (const RandomGraph *self);

/* Numbers for the input of this name, or for any other name; a function of the seed and the name alone, exact in f32.
 */
void random_graph_fill (const RandomGraph *self, const char *name, LoomTensor *t);
