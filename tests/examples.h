/* Which of the example graphs are large, for the tests that loop over all of them.
 *
 * A network such as VGG-16 needs 93 thousand million operations for one step with one sample, which plain loops do in
 * minutes. What these tests do with a large example is therefore the least that shows it to be whole: it is planned as
 * it stands, in the size that it was made for, and a processor takes one step of it, reduced. The suite `long`
 * (test-learns.c, its part /long), which is not among the tests that run by default, trains the large ones. */
#pragma once

#include "engine/net/loom-net.h"

/* Forward, for one sample. A character GPT, which is not large yet, has 24 million. */
#define EXAMPLE_LARGE_FLOPS 2.5e7
/* Each is initialised, differentiated and updated, however few operations it takes part in. */
#define EXAMPLE_LARGE_PARAMETERS 4e6
/* The side of the pictures in a reduced step, where a data set has an option `size`. */
#define EXAMPLE_REDUCED_SIZE  "64"
#define EXAMPLE_REDUCED_BATCH 2
/* The tokens of a sample in a reduced step, where a data set has more than EXAMPLE_LONG_CONTEXT. */
#define EXAMPLE_REDUCED_CONTEXT "16"
#define EXAMPLE_LONG_CONTEXT    256

/* Forward, for one sample. */
static inline double
example_flops (const LoomNet *net)
{
  double flops = 0;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    flops += loom_net_node (net, i)->cost.flops;
  return flops;
}

static inline gboolean
example_is_large (const LoomNet *net)
{
  double parameters = 0;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    parameters += loom_net_node (net, i)->cost.parameters;
  return example_flops (net) > EXAMPLE_LARGE_FLOPS || parameters > EXAMPLE_LARGE_PARAMETERS;
}

/* TRUE if the data decide what is computed: then a card's step is not recorded. */
static inline gboolean
example_chooses (const LoomNet *net)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    if (g_str_equal (loom_net_node (net, i)->op->name, "switch")
        || g_str_equal (loom_net_node (net, i)->op->name, "recurse"))
      return TRUE;
  return FALSE;
}

/* A size that a reduced example has less of. What is larger than `above` becomes `value`; expressions stay. */
typedef struct
{
  const char *op, *attribute, *value; /* op NULL: of each node */
  gint64 above;
} ExampleSize;

static const ExampleSize example_sizes[] = {
  { "dataset", "size", EXAMPLE_REDUCED_SIZE, 0 },
  { "dataset", "context", EXAMPLE_REDUCED_CONTEXT, EXAMPLE_LONG_CONTEXT },
  /* Thousands of features, and tens of thousands of words: a row of weights less has the same kernels. */
  { "linear", "out_features", "512", 2000 },
  { "embedding", "num_embeddings", "512", 10000 },
  /* The copies of a module are all the same. */
  { NULL, "repeat", "2", 4 },
};

static inline void
example_reduce_element (LoomGraph *graph, LoomElement *element)
{
  for (guint k = 0; k < G_N_ELEMENTS (example_sizes); k++)
    {
      const ExampleSize *size = &example_sizes[k];
      const char *text = loom_element_get (element, size->attribute);
      gint64 value;

      if ((size->op == NULL || g_strcmp0 (loom_element_get (element, "op"), size->op) == 0) && text != NULL
          && g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &value, NULL) && value > size->above)
        loom_edit_free (loom_graph_apply (graph, loom_edit_set (element, size->attribute, size->value)));
    }
  for (guint i = 0; i < loom_element_n_children (element); i++)
    example_reduce_element (graph, loom_element_child (element, i));
}

/* Makes the samples of a graph's data sets smaller, its widest layers narrower, and long chains of copies shorter. The
 * networks are the same otherwise, with a node of every kind that they have: they average or pool at their end, or take
 * texts of any length where they were made for long ones. Weights of gigabytes would take longer to draw and to page in
 * than all else of these tests. */
static inline void
example_reduce (LoomGraph *graph)
{
  example_reduce_element (graph, loom_graph_root (graph));
}
