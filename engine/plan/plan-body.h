/* A body of a loop or a branch on a device: its plan, its kernels with their arguments, and the addresses in the
 * arguments that change between runs. plan-loop.c and plan-visit.c are schedules of bodies: they decide how often which
 * body runs, and on which addresses. */
#pragma once

#include "engine/plan/plan-private.h"

G_BEGIN_DECLS

#define PLAN_BODY_ALIGNMENT 64 /* that kernels rely on */

static inline gsize
plan_body_aligned (gsize bytes)
{
  return (bytes + PLAN_BODY_ALIGNMENT - 1) / PLAN_BODY_ALIGNMENT * PLAN_BODY_ALIGNMENT;
}

/* An input or an output. */
typedef struct
{
  guint value;       /* of the plan; G_MAXUINT: the input is unused */
  gboolean is_bound; /* a kernel binds its address, so it cannot change */
  GPtrArray *patch;  /* void **: the addresses in the arguments of kernels that change with it */
  char *at;          /* the current address */
} PlanBodyPort;

typedef struct
{
  LoomKernel *kernel;
  const LoomPlanInstr *instr;
  void **buffers;
} PlanBodyCall;

typedef struct
{
  LoomPlan *plan;
  const LoomPlanDevice *device;
  guint n_in, n_out, n_calls, n_setup;
  PlanBodyPort *in, *out;
  gsize arena_bytes, once_bytes; /* the memory that it needs, and … */
  char *arena, *once;            /* … has: for values, and for results of setup instructions */
  PlanBodyCall *calls;
  void **all_buffers;
} PlanBody;

/* Plans a program for one device. A node that requests another device is a fault. */
PlanBody *plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                         LoomProgram *program, GError **error);
void plan_body_free (PlanBody *b);

/* The root of a value of the plan. */
guint plan_body_root (const PlanBody *b, guint value);
/* Makes all arguments with the port's bytes change with it. All inputs do from the start. */
void plan_body_patch (PlanBody *b, PlanBodyPort *port);

/* Sets the addresses of the body's own values, after its memory has moved, and clears those of all ports. */
void plan_body_place (PlanBody *b, char *arena, char *once, gint64 site);
void plan_body_set (PlanBodyPort *port, void *address);
/* Binds the addresses that kernels bind, after bound ports are set. */
LoomStatus plan_body_bind (const PlanBody *b, LoomMessage *message);
/* The address of output o: that of an input with the same bytes, or its own. NULL if it is on neither. */
char *plan_body_output (const PlanBody *b, guint o);
/* The address of a value in the body's own memory; NULL: it has none. */
char *plan_body_own (const PlanBody *b, guint value);
/* Runs the calls from `first` to before `end`: those before n_setup compute setup results. */
LoomStatus plan_body_run (const PlanBody *b, LoomStream *stream, guint first, guint end, LoomMessage *message);

/* Copies bytes on the device, or in host memory. */
LoomStatus plan_body_copy (const LoomPlanDevice *device, LoomStream *stream, void *to, const void *from, gsize bytes,
                           LoomCopyKind kind, LoomMessage *message);

G_END_DECLS
