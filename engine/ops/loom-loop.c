/* The table of operators that run modules. */
#include "engine/ops/loom-loop.h"

#include "engine/ops/op-private.h"

extern const LoomOp loom_op_scan, loom_op_switch, loom_op_recurse;

static const LoomLoop loops[] = {
  { &loom_op_scan, LOOM_LOOP_SCAN, LOOM_BODY, "lengths", "How many steps of each sample count.", TRUE },
  { &loom_op_switch, LOOM_LOOP_SWITCH, LOOM_BODIES, "index",
    "The number of the module that runs: one, or one for each sample.", FALSE },
  { &loom_op_recurse, LOOM_LOOP_TREE, LOOM_BODY, "parent",
    "Where the parent of each node stands, -1 for a root; children stand before it.", FALSE },
};

const LoomLoop *
loom_op_loop (const LoomOp *op)
{
  for (guint i = 0; i < G_N_ELEMENTS (loops); i++)
    if (loops[i].op == op)
      return &loops[i];
  return NULL;
}

const LoomLoop *
loom_loop_of_kind (LoomLoopKind kind)
{
  for (guint i = 0; i < G_N_ELEMENTS (loops); i++)
    if (loops[i].kind == kind)
      return &loops[i];
  return NULL;
}
