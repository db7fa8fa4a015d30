/* Shared by expression and custom_function: from a node's inputs to a formula's registers. */
#pragma once

#include "engine/ops/formula.h"
#include "engine/ops/op-private.h"

G_BEGIN_DECLS

/* The inputs of a fresh node, and those of a node by the names in one of its parameters. */
extern const LoomPortSpec loom_op_formula_fresh[];
const LoomPortSpec *loom_op_formula_ports (const LoomElement *node, const char *parameter);
/* Declares the node's inputs, whose names come from the parameter, as registers from `first` on, and sets n_in. */
void loom_op_formula_inputs (const char *text, FormulaScope *scope, LoomFormula *formula, guint first);
/* The text of a parameter as a node has it, else the default; NULL where it is an expression of a module's arguments,
 * which are unknown before the module is used. */
const char *loom_op_formula_text (const LoomElement *node, const LoomParamSpec *param);
/* Reports what the parser found, before a node's inputs are known (LoomOp.check) and with it infer(). */
void loom_op_formula_check_fault (LoomOpReport report, gpointer data, const char *parameter, const FormulaFault *fault);
void loom_op_formula_fault (LoomInfer *ctx, const char *parameter, const FormulaFault *fault);
/* The shape that a register has when the node's inputs are registers from `first` on; FALSE with a fault where shapes
 * do not fit together. */
gboolean loom_op_formula_shape (LoomInfer *ctx, const LoomFormula *formula, guint first, guint reg, LoomShape *shape);
/* The inputs as floats, at in[first …]. */
void loom_op_formula_operands (LoomLower *ctx, const LoomFormula *formula, guint first, LoomValue *in);

G_END_DECLS
