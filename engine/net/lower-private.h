/* Shared by the files that lower a net to a program. */
#pragma once

#include "engine/net/net-private.h"
#include "engine/program/loom-prim.h"

G_BEGIN_DECLS

typedef struct
{
  const LoomNet *net;
  const LoomLowerOptions *options;
  LoomProgram *program; /* the target of lowering: inside a loop its body */
  LoomValue **value;    /* by node, by output; 0: none (yet) */
  gboolean *needed;     /* by node: has to be lowered */
  GHashTable *wrt;      /* keys of sources that gradients are taken with respect to */
  GHashTable *read;     /* keys of sources that a needed node reads */
  LoomValue *inside;    /* by wanted port within loops: its stack, in the innermost program lowered so far */
  LoomValue *probe;     /* likewise what is added to it; 0 if not requested */
  GError *error;
} NetLowering;

/* TRUE if an output is wanted or read. */
gboolean loom_net_is_asked (const NetLowering *l, guint node, guint output);
/* TRUE if recompute="true" is set at a path, or at a module around it, and is not ignored. */
gboolean loom_net_is_recomputed (const NetLowering *l, const char *path);
/* FALSE with l->error. */
gboolean loom_net_lower_node (NetLowering *l, guint i);
/* Reads the value of a weight for a wire. FALSE with l->error if its node is at fault. */
gboolean loom_net_read_weight (NetLowering *l, const LoomNetSource *source);
static inline LoomDType
program_dtype (const NetLowering *l, LoomDType dtype)
{
  return dtype == LOOM_F32 ? l->options->float_dtype : dtype;
}

/* net-lower-loop.c: the body of a loop, and the instruction that runs it. */
gboolean loom_net_lower_loop (NetLowering *l, guint i);
/* net-lower-visit.c: the same of switch and recurse. */
gboolean loom_net_lower_visit (NetLowering *l, guint i);
#define NET_STEPS_OF_LOOPS (G_GINT64_CONSTANT (1) << 20) /* the most steps of a loop in one training step */
/* Lowers the nodes of a loop's body to l->program, and the weights that its outputs are. lowered (may be NULL) is
 * called for each lowered node. */
typedef void (*NetLoweredFunc) (gpointer data, guint node);
gboolean loom_net_lower_body (NetLowering *l, guint node, const NetLoop *loop, guint body, NetLoweredFunc lowered,
                              gpointer data);
/* A copy of v: gradients count the uses of a result apart from those of its source. */
LoomValue loom_net_copy_value (LoomProgram *p, LoomValue v);

G_END_DECLS
