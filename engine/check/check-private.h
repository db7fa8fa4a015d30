/* Between the files of the checker: faults, and the trace of a step. */
#pragma once

#include "engine/check/loom-check.h"

#include <string.h>

/* Adds a fault; instr and value are of the plan, G_MAXUINT for none. */
void check_fault (LoomCheckReport *report, LoomCheckRule rule, guint instr, guint value, const char *format, ...)
    G_GNUC_PRINTF (5, 6);
/* "instruction 3 (matmul+bias of fc1)"; G_MAXUINT: "the step's beginning". (transfer full) */
char *check_name_instr (const LoomPlan *plan, guint instr);
/* "value 17 (of fc1)". (transfer full) */
char *check_name_value (const LoomPlan *plan, guint value);

/* The program's primitive of an instruction; NULL for a copy, an element-wise kernel and a wait. */
const LoomPrim *check_prim (const LoomPlanInstr *instr);
gboolean check_is (const LoomPlanInstr *instr, const char *primitive);
/* Element type and shape. */
static inline gboolean
check_same_type (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  return a->dtype == b->dtype && a->rank == b->rank
         && (a->rank == 0 || memcmp (a->dim, b->dim, sizeof a->dim[0] * (gsize)a->rank) == 0);
}

/* In the same layout, too. */
static inline gboolean
check_same_desc (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  return a->layout == b->layout && check_same_type (a, b);
}

/* Operand k and result o; G_MAXUINT: absent. */
static inline guint
check_in (const LoomPlanInstr *instr, guint k)
{
  return instr->value[k];
}

static inline guint
check_out (const LoomPlanInstr *instr, guint o)
{
  return instr->value[instr->n_in + o];
}

static inline guint
check_root (const LoomPlan *plan, guint value)
{
  return loom_plan_value (plan, value)->root;
}

/* ---- check-trace.c: what a step does ---------------------------------------
 *
 * The operations of a step in the order in which the executor starts them, the lane of each, the operations that it
 * waits for, and the bytes that it reads and writes. This is engine/run's behaviour written down as data; the rules
 * prove their claims from it. */

typedef struct
{
  guint instr; /* G_MAXUINT: the beginning or the end of a step, or an upload */
  guint lane;
  guint first_wait, n_waits; /* in CheckTrace.waits: earlier operations on other lanes */
  guint first_access, n_accesses;
} CheckOp;

typedef struct
{
  guint space;
  gsize begin, end;
  guint value; /* the root value whose contents these bytes are; G_MAXUINT: none, scratch or other plans' bytes */
  guint named; /* the value of the plan, a view or the root; G_MAXUINT: none */
  gboolean is_write;
} CheckAccess;

typedef struct
{
  const LoomPlan *plan;
  guint n_devices, n_spaces, n_lanes;
  GArray *ops;      /* CheckOp */
  GArray *waits;    /* guint */
  GArray *accesses; /* CheckAccess */
  guint *op_of;     /* of each instruction the operation that writes its results */
  guint *read_op;   /* likewise, that reads its operands */
} CheckTrace;

CheckTrace *check_trace_new (const LoomPlan *plan);
void check_trace_free (CheckTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckTrace, check_trace_free)
/* A space is memory in which accesses can meet: a device's arena or its block of setup results, a slot, an input. */
guint check_space (const LoomPlan *plan, const LoomLocation *location);
gsize check_space_bytes (const LoomPlan *plan, guint space);

/* ---- check-map.c: what is known of each byte of a space -------------------- */

typedef struct
{
  gsize begin, end;
  guint value, writer; /* CheckAccess.value and the operation of the last write; G_MAXUINT: none */
  gsize start;         /* where the value's first byte is */
  guint read[];        /* by lane, 1 + the last operation that has read the bytes since they were written; 0: none */
} CheckBytes;

typedef struct _CheckMap CheckMap;
CheckMap *check_map_new (guint n_lanes);
void check_map_free (CheckMap *map);
/* Makes begin and end boundaries, and returns the first piece in between; bytes that were never accessed become pieces.
 * *n receives the number of pieces. */
CheckBytes **check_map_cut (CheckMap *map, gsize begin, gsize end, guint *n);
/* Makes one piece of them, written by the operation. */
void check_map_write (CheckMap *map, gsize begin, gsize end, guint value, guint writer);

/* ---- check-order.c: the vector clocks of operations ------------------------ */

typedef struct _CheckClocks CheckClocks;
CheckClocks *check_clocks_new (const CheckTrace *trace);
void check_clocks_free (CheckClocks *clocks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckClocks, check_clocks_free)
/* TRUE if operation a is over when operation b begins, in every execution. */
gboolean check_clocks_precede (const CheckClocks *clocks, guint a, guint b);

/* ---- the rules -------------------------------------------------------------- */

void check_memory (const LoomPlan *plan, LoomCheckReport *report);
void check_order (const LoomPlan *plan, LoomCheckReport *report);
void check_state (const LoomPlan *plan, LoomCheckReport *report);
void check_random (const LoomPlan *plan, LoomCheckReport *report);
void check_forecast (const LoomPlan *plan, LoomCheckReport *report);
void check_meaning (const LoomPlan *plan, const LoomCheckOptions *options, LoomCheckReport *report);
