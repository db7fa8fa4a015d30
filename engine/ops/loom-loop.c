/* Describes the operators that run modules: scan, switch and recurse. */
#include "engine/ops/loom-loop.h"

#include "engine/ops/op-private.h"

extern const LoomOp loom_op_scan, loom_op_switch, loom_op_recurse;

static const LoomLoop loops[] = {
  { &loom_op_scan, LOOM_LOOP_SCAN, LOOM_BODY, "lengths",
    "The number of valid steps of each sample, i64 [B]; if not wired, all are valid.", TRUE },
  { &loom_op_switch, LOOM_LOOP_SWITCH, LOOM_BODIES, "index",
    "The index of the module to run, i64: a scalar for the whole batch, or [B], one for each sample.", FALSE },
  { &loom_op_recurse, LOOM_LOOP_TREE, LOOM_BODY, "parent",
    "The index of the parent of each node, i64 [B, N], or -1 for a root; children come before their parent.", FALSE },
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
