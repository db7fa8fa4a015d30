/* A node that runs modules, while it is lowered: what scan, switch and recurse have in common. net-lower-loop.c and
 * net-lower-visit.c add the schedule by which the bodies run. */
#pragma once

#include "engine/net/lower-private.h"
#include "engine/program/program-body.h"

typedef struct
{
  NetLowering *l;
  guint node;
  const LoomNetNode *runner; /* that node */
  const NetLoop *loop;
  const NetScope *module; /* its first body */
  LoomProgram *outer;     /* the program that gets the instruction */
} NetRegion;

NetRegion net_region (NetLowering *l, guint node);
/* The value of an input of the node that runs the bodies, or for a body's output (loom_net_body_output()); 0: it is not
 * wired. */
LoomValue net_region_input (const NetRegion *r, guint input);
/* Declares a slot in a program, and reads it. */
LoomValue net_region_read (LoomProgram *p, const LoomSlot *slot, int *index);
/* TRUE for the name of the slot that counts training steps. Random numbers depend on it, so a body gets it combined
 * with the iteration or the level: the number of the step is multiplied by the largest number of iterations in a step.
 */
gboolean net_region_is_step (const NetRegion *r, const char *slot);
LoomValue net_region_scale_step (const NetRegion *r, LoomValue step);
/* Starts a program for a body. (transfer full) */
LoomProgram *net_region_new_body (const NetRegion *r);
/* Lowers the nodes of a body to a program, and the weights that are its outputs. lowered (may be NULL) is called for
 * each node. FALSE with l->error. */
typedef void (*NetLoweredFunc) (gpointer data, guint node);
gboolean net_region_lower_body (const NetRegion *r, guint body, LoomProgram *to, NetLoweredFunc lowered, gpointer data);
/* Makes further instructions of a program belong to the node that runs the bodies. */
void net_region_set_origin (const NetRegion *r, LoomProgram *p);
/* Returns a copy of v, so that gradients with respect to a result do not include other uses of its source. */
LoomValue net_region_copy (LoomProgram *p, LoomValue v);
