/* A minimal evaluator for tests: runs a program with the reference kernels, one instruction at a time.
 *
 * It shares no code with engine/plan or engine/run, so its results are independent of them. The test fills inputs and
 * slots; everything else is computed. */
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
/* Fills a tensor by a name of LoomSample.range; NULL is normal. Integers use the number after "class:". */
void eval_fill (LoomTensor *t, const char *range, GRand *rand);
/* Fills every input by range, every slot by its initialisation. */
void eval_fill_all (Eval *e, const char *range, GRand *rand);
/* Computes every value; g_error() names an instruction without a kernel. */
void eval_run (Eval *e);
double eval_scalar (Eval *e, LoomValue v);

/* Compares the gradients of loss with respect to wrt with central differences. If grads[i] is 0, the difference must be
 * 0. Fails the test with `what` in the message. */
void
eval_check_gradients (Eval *e, LoomValue loss, guint n, const LoomValue *wrt, const LoomValue *grads, const char *what);

/* Σ r·y over float values y with fixed random r: a scalar to differentiate. */
LoomValue eval_contract (LoomProgram *p, guint n, const LoomValue *y, GRand *rand);
