/* A body of a loop or a branch on a device: its plan, its kernels with their arguments, and the addresses in the
 * arguments that change between runs. plan-loop.c and plan-visit.c are schedules of bodies: they decide how often which
 * body runs, and on which addresses. */
#pragma once

#include "engine/plan/plan-private.h"

#define PLAN_BODY_ALIGNMENT 64 /* that kernels rely on */

/* Reserves scratch memory and returns its offset. */
static inline gsize
plan_schedule_reserve (gsize *scratch, gsize bytes)
{
  const gsize at = *scratch;

  *scratch += (bytes + PLAN_BODY_ALIGNMENT - 1) / PLAN_BODY_ALIGNMENT * PLAN_BODY_ALIGNMENT;
  return at;
}

/* An input or an output. */
typedef struct
{
  guint value;       /* of the plan; G_MAXUINT: the input is unused */
  gboolean is_bound; /* a kernel binds its address, so it cannot change */
  GPtrArray *patch;  /* void **: the addresses in the arguments of kernels that change with it */
  char *at;          /* the current address */
  gboolean is_fixed; /* inputs: a run copies them to this offset in scratch, where kernels read them */
  gsize offset;
} PlanBodyPort;

typedef struct
{
  LoomKernel *kernel;
  const LoomPlanInstr *instr;
  void **buffers;
} PlanBodyCall;

typedef struct
{
  LoomProgram *program;
  LoomPlan *plan;
  const LoomPlanDevice *device;
  guint n_in, n_out, n_calls, n_setup;
  PlanBodyPort *in, *out;
  gsize arena_bytes, once_bytes; /* the memory that it needs, for values and for results of setup instructions, … */
  gsize arena_at, once_at;       /* … its offsets in scratch, which bodies that run in turn may share, … */
  char *arena, *once;            /* … and its addresses */
  PlanBodyCall *calls;
  void **all_buffers;
} PlanBody;

/* Plans a program for one device. A node that requests another device is a fault. fixed_inputs: LoomPlanOptions. */
PlanBody *plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                         LoomProgram *program, guint fixed_inputs, GError **error);

/* The root of a value of the plan. */
guint plan_body_root (const PlanBody *b, guint value);
/* Makes all arguments with the port's bytes change with it. All inputs do from the start. */
void plan_body_patch (PlanBody *b, PlanBodyPort *port);

void plan_body_set (PlanBodyPort *port, void *address);
/* The address of output o: that of an input with the same bytes, or its own; NULL: it has neither. */
char *plan_body_output (const PlanBody *b, guint o);
/* The address of a value in the body's own memory; NULL: it has none. */
char *plan_body_own (const PlanBody *b, guint value);
/* Computes setup results, and lets kernels pack fixed operands. */
LoomStatus plan_body_prepare (const PlanBody *b, LoomStream *stream, LoomMessage *message);
/* Runs the calls after those that compute setup results. */
LoomStatus plan_body_run (const PlanBody *b, LoomStream *stream, LoomMessage *message);

/* The part that the kernels which run bodies have in common. */
typedef struct
{
  LoomKernel base;
  const LoomPlanDevice *device;
  guint n_bodies;
  PlanBody **body; /* owned, as the name is */
  char *name;
  char *scratch; /* the memory and the site for which fixed addresses were set */
  gint64 site;
} PlanSchedule;

void plan_schedule_init (PlanSchedule *s, const LoomPlanDevice *device, guint most_bodies);
void plan_schedule_clear (PlanSchedule *s);
/* Sets the addresses that do not change while scratch memory does not move. */
LoomStatus plan_schedule_fix (PlanSchedule *s, char *scratch, LoomMessage *message);

/* Copies bytes on the device, or in host memory. */
LoomStatus plan_body_copy (const LoomPlanDevice *device, LoomStream *stream, void *to, const void *from, gsize bytes,
                           LoomCopyKind kind, LoomMessage *message);
