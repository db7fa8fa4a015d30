/* A module along trees: engine/net makes it flat and types it, since only it knows modules. */
#include "engine/ops/op-private.h"

#define MOST_CHILDREN 16

static const LoomParamSpec params[] = {
  { .name = LOOM_BODY, .type = LOOM_PARAM_STRING, .doc = "The module that is run for each node of a tree." },
  { .name = "arity",
    .type = LOOM_PARAM_INT,
    .def = "0",
    .minimum = 0,
    .maximum = MOST_CHILDREN,
    .doc = "How many children a node may have, each with an input of its own: h0, h1 and so on. 0: any number, whose "
           "values are added up." },
  { NULL },
};

/* engine/net types and lowers it: these are there for tables that ask every operator. */
static void
infer (LoomInfer *ctx)
{
}

static void
lower (LoomLower *ctx)
{
}

const LoomOp loom_op_recurse = {
  .name = "recurse",
  .title = "Recurse",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_LOOP,
  .icon = "loom-recurse-symbolic",
  .synonyms = "recursive recursion tree trees treelstm parse syntax rntn rvnn",
  .doc = "Runs a module for each node of trees, from the leaves up.",
  .details
  = "parent says of each node where its parent stands, -1 for a root; children stand before their parents. An output "
    "with "
    "carry=\"h\" is what the parent finds as its input h: the sum over its children or, with arity, h0, h1 and so on, "
    "and zeros where there is no child. The other inputs have one row for each node, and so have the outputs. All "
    "nodes of a level, of all trees, are computed at once.",
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
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
};
