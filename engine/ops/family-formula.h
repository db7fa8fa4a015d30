/* Declares the code that expression and custom_function share: from the inputs of a node to the registers of a
 * formula. */
#pragma once

#include "engine/ops/formula.h"
#include "engine/ops/op-private.h"

/* The inputs of a new node, and those of a node by the names in one of its parameters. */
extern const LoomPortSpec loom_op_formula_fresh[];
const LoomPortSpec *loom_op_formula_ports (const LoomElement *node, const char *parameter);
/* Declares the inputs of the node, named by the parameter, as registers from `first` on, and sets n_in. */
void loom_op_formula_inputs (const char *text, FormulaScope *scope, LoomFormula *formula, guint first);
/* The text of a parameter of a node, or the default; NULL if it is an expression of a module's arguments, which are
 * unknown before the module is instantiated. */
const char *loom_op_formula_text (const LoomElement *node, const LoomParamSpec *param);
/* Reports faults of the parser before the inputs of a node are known (LoomOp.check), and with it infer(). */
void loom_op_formula_check_fault (LoomOpReport report, gpointer data, const char *parameter, const FormulaFault *fault);
void loom_op_formula_fault (LoomInfer *ctx, const char *parameter, const FormulaFault *fault);
/* The shape of a register if the inputs of the node are registers from `first` on; FALSE with a fault if shapes do
 * not broadcast. */
gboolean loom_op_formula_shape (LoomInfer *ctx, const LoomFormula *formula, guint first, guint reg, LoomShape *shape);
/* The inputs converted to floats, in in[first …]. */
void loom_op_formula_operands (LoomLower *ctx, const LoomFormula *formula, guint first, LoomValue *in);
