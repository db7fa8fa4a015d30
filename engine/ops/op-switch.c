/* Switch: runs one of several modules. engine/net flattens the modules and infers their types, because operators do
 * not know modules. */
#include "engine/ops/loom-loop.h"
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM (LOOM_BODIES, STRING, NULL),
    .doc = "The modules, separated by commas; index selects one of them, counted from 0. A module that is listed "
           "several times has its own weights each time." },
  { NULL },
};

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
  .doc = "Runs one of several modules, selected by an index.",
  .details
  = "index is a scalar for the whole batch, or has one element for each sample. In the second case samples are the "
    "first "
    "dimension of all inputs and outputs: they are grouped by module, each module runs once on its group, and the "
    "outputs are put back in order. Modules that are not selected cost nothing; their weights get gradients of zero, "
    "on "
    "which an optimiser with momentum or weight decay still acts. All modules need the same ports and output types. "
    "Random numbers depend on the module, and on the position of a sample in its group.",
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
  .infer = loom_op_infer_module,
  .lower = loom_op_lower_module,
  .flops = loom_op_no_flops,
};
