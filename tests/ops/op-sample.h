/* The samples of the operator table as graphs: inputs i0, i1, … and the operator as node n. */
#pragma once

#include "engine/net/loom-net.h"

/* Values of the samples' symbols: B is 4, T is 5. */
extern const LoomBinding op_sample_binding;

/* The number of an operator's samples; 0: it is hidden. */
static inline guint
op_sample_count (const LoomOp *op)
{
  guint n = 0;

  if (op->category == LOOM_CATEGORY_HIDDEN || op->samples == NULL)
    return 0;
  while (op->samples[n].params != NULL || op->samples[n].inputs[0] != NULL)
    n++;
  return n;
}

/* The text of the graph; its symbols are open. */
char *op_sample_graph (const LoomOp *op, const LoomSample *sample);
/* Calls visit for each sample of each operator; what names it in messages. */
void op_sample_for_each (void (*visit) (const LoomOp *op, const LoomSample *sample, const char *what));
