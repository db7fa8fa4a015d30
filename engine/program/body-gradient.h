/* Writes a body and its gradients as one program. The gradients of scan, switch and visit begin with it, and find in it
 * which values of the forward pass the gradients read. */
#pragma once

#include "engine/program/program-body.h"

typedef struct
{
  LoomProgram *body, *run; /* the body, and a copy of it that its gradients follow */
  guint n_in, n_out;
  guint n_forward;  /* the number of instructions of `run` that are the body's */
  LoomValue *map;   /* value of the body → value of run */
  LoomValue *input; /* by the body's input: value of run */
  LoomValue *seed;  /* by the body's output: its cotangent, an input of run; 0: none */
  LoomValue *grad;  /* by the body's input: its gradient; 0: none */
  GArray *kept;     /* LoomValue of run: values of the body that the gradients read, except inputs */
} BodyGradient;

/* Begins `run` with a copy of the body, on which it keeps a reference: extending the forward instruction replaces its
 * bodies. */
void body_gradient_begin (BodyGradient *b, LoomProgram *body);
void body_gradient_clear (BodyGradient *b);
/* The value of the body's output o, in `run`. */
LoomValue body_gradient_output (const BodyGradient *b, guint o);
/* Sets body k of a call to the body as it is in `run`, with its inputs and outputs: a loop in it may have been extended
 * for its own gradient. */
void body_gradient_set_call (const BodyGradient *b, LoomBodyCall *call, guint k);
/* Appends the gradients of inputs to `run`. of[], by output: it has a cotangent, if it is a float. wanted[], by input:
 * a gradient is wanted, if it is a float. */
gboolean body_gradient_differentiate (BodyGradient *b, const gboolean *of, const gboolean *wanted, GError **error);
/* Finds the values that are kept, from the last instruction to the first: an instruction of the gradients needs its
 * operands; a value of the body is kept if keeps[] (by instruction of the body) is TRUE, else its operands are needed
 * in turn. wanted[], by value of run, begins with the values to be computed and receives all that are needed. */
void body_gradient_find_kept (BodyGradient *b, const gboolean *keeps, gboolean *wanted);

/* An input of a program with this type, and a tensor of zeros. */
LoomValue body_add_input (LoomProgram *p, const char *name, const LoomTensorDesc *d);
LoomValue body_zeros_like (LoomProgram *p, const LoomTensorDesc *d);
