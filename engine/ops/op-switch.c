/* One of several modules: engine/net makes them flat and types them, since only it knows modules. */
#include "engine/ops/loom-loop.h"
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = LOOM_BODIES,
    .type = LOOM_PARAM_STRING,
    .doc
    = "The modules of which one is run, with commas between; index numbers them from 0. One may stand there several "
      "times, with weights of its own each time." },
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

#define MODULE(name, op)                                                                                               \
  "<module name=\"" name "\"><node id=\"x\" op=\"module_input\"/>" op                                                  \
  "<node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"f\"/><wire from=\"f\" to=\"y\"/></module>"

const LoomOp loom_op_switch = {
  .name = "switch",
  .title = "Switch",
  .category = LOOM_CATEGORY_HIDDEN,
  .role = LOOM_ROLE_LOOP,
  .icon = "loom-switch-symbolic",
  .synonyms = "if cond conditional case branch mixture experts modular gate route choose",
  .doc = "Runs one of several modules, chosen by a number.",
  .details
  = "index is the number of a module, counted from 0: one number for the whole batch, or one for each sample. Then "
    "samples "
    "are gathered by module, each module runs on its own, and what they give is put back in order. Modules that are "
    "not chosen cost nothing, and their weights get gradients of zero. All have the same ports and give the same "
    "types.",
  .formula = "y = bodyᵢ(x), i = index",
  .reference = "torch.cond",
  .source = "Andreas, Rohrbach, Darrell and Klein, “Neural module networks”, 2016",
  .params = params,
  .example = MODULE ("bent", "<node id=\"f\" op=\"tanh\"/>")
      MODULE ("layer", "<node id=\"f\" op=\"linear\" "
                       "out_features=\"3\"/>") "<node id=\"x\" op=\"input\" shape=\"B,3\"/><node id=\"which\" "
                                               "op=\"input\" shape=\"B\" dtype=\"i64\"/>"
                                               "<node id=\"choice\" op=\"switch\" bodies=\"bent,layer\"/><wire "
                                               "from=\"x\" to=\"choice.x\"/>"
                                               "<wire from=\"which\" to=\"choice.index\"/>",
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
};
