/* Walks a program node by node: forward, backward and update, into modules and into the iterations of loops.
 *
 * The eager executor walks instructions; the stepper groups them by the node of the graph that they belong to. It
 * stands after a node, whose values are known, or before the first one. Going back frees values, so that the same node
 * computed again has the same bits. Nothing is committed. */
#pragma once

#include "engine/program/loom-gradient-port.h"
#include "engine/run/loom-eager.h"

typedef struct _LoomStepper LoomStepper;

typedef enum
{
  LOOM_STEPPER_NEXT, /* to the next node, over modules and loops */
  LOOM_STEPPER_BACK,
  LOOM_STEPPER_INTO, /* to the first node of the module or iteration at which it stands */
  LOOM_STEPPER_OUT   /* to the end of the module or loop around it */
} LoomStepperMove;

typedef struct
{
  LoomRegion region;
  char *node;                   /* path of the node or module that was computed last; NULL: none, or an update */
  char *scope;                  /* path of the module or loop around it; "" outside */
  guint index, count;           /* number of nodes that are computed, and of all, in this region and scope */
  gint64 iteration, iterations; /* of the innermost loop around it, from 0; iterations is 0 outside of loops */
  gboolean has_inside;          /* LOOM_STEPPER_INTO finds something */
  gboolean is_end;              /* everything is computed */
} LoomStepperPlace;

void loom_stepper_place_clear (LoomStepperPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomStepperPlace, loom_stepper_place_clear)

/* Takes ownership of the executor. */
LoomStepper *loom_stepper_new (LoomEager *eager);
void loom_stepper_free (LoomStepper *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomStepper, loom_stepper_free)

/* Reads the state and the inputs of the executor, and stands before the first node. */
gboolean loom_stepper_begin (LoomStepper *self, GError **error);
/* Errors of this and the next functions: those of loom_eager_step(); the stepper stands before the failed node. A move
 * that finds nothing changes nothing. */
gboolean loom_stepper_move (LoomStepper *self, LoomStepperMove move, GError **error);
/* To the end of a region. */
gboolean loom_stepper_finish (LoomStepper *self, LoomRegion region, GError **error);
/* To the end of a node or module in a region, forwards or back; for a node of a loop, in the first iteration. PORT: the
 * region computes no such node. */
gboolean loom_stepper_go_to (LoomStepper *self, const char *node, LoomRegion region, GError **error);
/* TRUE if it stands in no loop. */
gboolean loom_stepper_is_outside (const LoomStepper *self);
/* (transfer full) fields */
void loom_stepper_get_place (const LoomStepper *self, LoomStepperPlace *place);
/* The value of a port, or with LOOM_PORT_GRADIENT before its name its gradient; of a node in a loop, in the iteration
 * that is entered. NULL without error: it is not computed, or does not exist. (transfer full) */
LoomTensor *loom_stepper_port (LoomStepper *self, const char *port, GError **error);
/* The executor of the whole program; borrowed. */
LoomEager *loom_stepper_eager (const LoomStepper *self);
