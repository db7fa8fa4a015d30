/* Recurse: runs a module over trees. engine/net flattens the module and infers its types, because operators do not
 * know modules. */
#include "engine/ops/op-private.h"

#define MOST_CHILDREN 16

static const LoomParamSpec params[] = {
  { LOOM_PARAM (LOOM_BODY, STRING, NULL), .doc = "The module to run for each node of a tree." },
  { LOOM_PARAM ("arity", INT, "0"), LOOM_RANGE (0, MOST_CHILDREN),
    .doc = "The number of children per node, each with its own input: h0, h1, …; with 0 a node can have any number of "
           "children, whose values are summed." },
  { NULL },
};

const LoomOp loom_op_recurse = {
  .name = "recurse",
  .title = "Recurse",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_LOOP,
  .icon = "loom-recurse-symbolic",
  .synonyms = "recursive recursion tree trees treelstm parse syntax rntn rvnn",
  .doc = "Runs a module for each node of trees, from the leaves to the root.",
  .details = "parent [B,N] holds the index of each node’s parent, -1 for a root; children come before their parents. "
             "The parent receives an output with carry=\"h\" as its input h: the sum over its children or, with arity, "
             "h0, h1, … in the order of their positions; zeros, of the shape and type of the module_input, for missing "
             "children. These inputs are not wired. All other inputs and outputs are [B,N,…], with one row for each "
             "node. All nodes of one level, of all trees of the batch, are computed together as [rows,…]. Random "
             "numbers differ between levels.",
  .formula = "hₙ, yₙ = body(Σ hₘ over children m of n, xₙ)",
  .reference = "a loop over nodes",
  .source = "Goller and Küchler, “Learning task-dependent distributed representations by backpropagation through "
            "structure”, 1996; Tai, Socher and Manning, “Improved semantic representations from tree-structured long "
            "short-term memory networks”, 2015",
  .params = params,
  .example
  = "<module name=\"node\"><node id=\"x\" op=\"module_input\"/>"
    "<node id=\"h\" op=\"module_input\" shape=\"B,3\"/>"
    "<node id=\"in\" op=\"linear\" out_features=\"3\"/><node id=\"rec\" op=\"linear\" out_features=\"3\"/>"
    "<node id=\"sum\" op=\"add\"/><node id=\"act\" op=\"tanh\"/><node id=\"h1\" op=\"module_output\" carry=\"h\"/>"
    "<wire from=\"x\" to=\"in\"/><wire from=\"h\" to=\"rec\"/><wire from=\"in\" to=\"sum.input\"/>"
    "<wire from=\"rec\" to=\"sum.other\"/><wire from=\"sum\" to=\"act\"/><wire from=\"act\" to=\"h1\"/></module>"
    "<node id=\"x\" op=\"input\" shape=\"B,N,2\"/><node id=\"parent\" op=\"input\" shape=\"B,N\" dtype=\"i64\"/>"
    "<node id=\"tree\" op=\"recurse\" body=\"node\"/><wire from=\"x\" to=\"tree.x\"/>"
    "<wire from=\"parent\" to=\"tree.parent\"/>",
  .infer = loom_op_infer_module,
  .lower = loom_op_lower_module,
  .flops = loom_op_no_flops,
};
