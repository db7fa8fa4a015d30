/* The state of lowering a net to a program (Lower), shared by net-lower*.c. */
#pragma once

#include "engine/net/net-private.h"
#include "engine/program/loom-prim.h"

typedef struct
{
  const LoomNet *net;
  const LoomLowerOptions *options;
  LoomProgram *program; /* the program to which instructions are appended: inside a loop, its body */
  LoomValue **value;    /* by node and output: its value in `program`; 0: not lowered yet */
  gboolean *needed;     /* by node: the wanted ports depend on it */
  GHashTable *wrt;      /* keys of the sources with respect to which gradients are taken */
  GHashTable *read;     /* keys of the sources that a needed node reads */
  LoomValue *inside;    /* by wanted port in a loop: its stack, in the innermost program lowered so far */
  LoomValue *probe;     /* by wanted port in a loop: the value that is added to it; 0 if not requested */
  GError *error;
} NetLowering;

/* TRUE if an output is a wanted port or is read by a needed node. */
gboolean loom_net_is_requested (const NetLowering *l, guint node, guint output);
/* TRUE if recompute="true" applies at a path: it is set there or at a module around it, and not ignored. */
gboolean loom_net_is_recomputed (const NetLowering *l, const char *path);
/* FALSE with l->error. */
gboolean loom_net_lower_node (NetLowering *l, guint i);
/* The value of a weight that a wire reads. FALSE with l->error if its node has a fault. */
gboolean loom_net_read_weight (NetLowering *l, const LoomNetSource *source);
static inline LoomDType
program_dtype (const NetLowering *l, LoomDType dtype)
{
  return dtype == LOOM_F32 ? l->options->float_dtype : dtype;
}

/* net-lower-loop.c: lowers the body of a loop and emits the scan. */
gboolean loom_net_lower_loop (NetLowering *l, guint i);
/* net-lower-visit.c: the same for switch and recurse. */
gboolean loom_net_lower_visit (NetLowering *l, guint i);
