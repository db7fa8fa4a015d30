/* Evaluates instructions of a program on the plain loops of `ref`, each value in memory of its own.
 *
 * With `wide` all floats are f64, so that intermediate values are not rounded; without it they have the program's
 * types, and the difference between both evaluations measures how much rounding may change a result. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/program/loom-prim.h"

typedef struct
{
  const LoomProgram *program;
  const LoomValue *number; /* by value: the one whose tensor holds it; NULL: itself */
  gboolean wide;
  LoomDevice *device;  /* of ref; borrowed */
  LoomTensor **value;  /* by value; NULL: not needed yet */
  LoomKernel **kernel; /* by instruction; NULL: not made yet */
  /* Not NULL: results of a batch norm change as if each mean were rounded once to its type before it is subtracted, and
   * those of its gradient as if each term were. Evaluations in f64 do not show how much that changes: of one sample,
   * mean and x are the same number, and the gradient's terms may cancel. Borrowed. */
  GRand *rounding;
} CheckEval;

CheckEval *check_eval_new (const LoomProgram *program, const LoomValue *number, gboolean wide, LoomDevice *device);
void check_eval_free (CheckEval *eval);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckEval, check_eval_free)

/* Allocates the tensor of a value; FALSE: there is not enough memory. */
gboolean check_eval_reserve (CheckEval *eval, LoomValue v);
/* The tensor of a value, to be filled or read; borrowed. */
LoomTensor *check_eval_value (CheckEval *eval, LoomValue v);
/* Runs instruction i. UNSUPPORTED: `ref` has no such kernel, or it is an exchange of ranks. */
LoomStatus check_eval_run (CheckEval *eval, guint i, LoomMessage *message);
/* TRUE if `rounding` changes results of an instruction, or of one of its bodies. */
gboolean check_instr_rounds (const LoomInstr *instr);
/* Runs the whole program of a body. */
LoomStatus check_eval_run_all (CheckEval *eval, LoomMessage *message);

/* check-bodies.c: instructions that run bodies. */
LoomStatus check_eval_run_bodies (CheckEval *eval, const LoomInstr *instr, LoomMessage *message);
