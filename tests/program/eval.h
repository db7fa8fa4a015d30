/* A minimal evaluator for tests: walks a program with the reference kernels, one instruction at a time.
 *
 * It shares no code with engine/plan or engine/run, so what it says is independent of them. Values from outside are
 * filled by the test; everything else is computed. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/program/loom-prim.h"

typedef struct
{
  const LoomProgram *p;
  LoomDevice *device;
  LoomTensor **value;  /* by value number */
  LoomKernel **kernel; /* by instruction */
} Eval;

Eval *eval_new (const LoomProgram *p);
void eval_free (Eval *e);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Eval, eval_free)

/* The tensor of an input or slot, to be written before eval_run(). */
LoomTensor *eval_tensor (Eval *e, LoomValue v);
/* Numbers for a tensor by the names of LoomSample.range: NULL is normal. Integers take the number behind "class:". */
void eval_fill (LoomTensor *t, const char *range, GRand *rand);
/* Fills every input by range, every slot by its kind of init. */
void eval_fill_all (Eval *e, const char *range, GRand *rand);
/* Computes every value; g_error() names the instruction that has no kernel. */
void eval_run (Eval *e);
double eval_scalar (Eval *e, LoomValue v);

/* Compares the gradients of loss with respect to wrt against central differences. grads[i] may be 0 (then the
 * difference must be 0). Fails the running test with `what` in the message. */
void
eval_check_gradients (Eval *e, LoomValue loss, guint n, const LoomValue *wrt, const LoomValue *grads, const char *what);

/* Σ r·y over float values y with fixed random r: a scalar to differentiate. */
LoomValue eval_contract (LoomProgram *p, guint n, const LoomValue *y, GRand *rand);
