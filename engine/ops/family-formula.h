/* What expression and custom_function share: from a node's inputs to a formula's registers. */
#pragma once

#include "engine/ops/formula.h"
#include "engine/ops/op-private.h"

G_BEGIN_DECLS

/* Declares the node's inputs, whose names come from the parameter, as registers from `first` on, and sets n_in. */
void loom_op_formula_inputs (const LoomInfer *ctx, const char *parameter, FormulaScope *scope, LoomFormula *formula,
                             guint first);
/* Reports what the parser found. */
void loom_op_formula_fault (LoomInfer *ctx, const char *parameter, FormulaFault *fault);
/* The shape that a register has when the node's inputs are registers from `first` on; FALSE with a fault where shapes
 * do not fit together. */
gboolean loom_op_formula_shape (LoomInfer *ctx, const LoomFormula *formula, guint first, guint reg, LoomShape *shape);
/* The inputs as floats, at in[first …]. */
void loom_op_formula_operands (LoomLower *ctx, const LoomFormula *formula, guint first, LoomValue *in);

G_END_DECLS
