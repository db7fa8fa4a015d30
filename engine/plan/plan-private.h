/* The planner's working form: a program whose instructions may be merged, moved and
 * given kernels.
 *
 * Values keep the program's numbers (0 is none) and new ones are appended. Each knows its producer and its uses, a list
 * that the helpers below keep right at every change, so no pass counts anything. Instructions are a list, too: an
 * erased one stays in it, marked dead, until the pass is over, so that a pass may go on behind it. An element-wise
 * instruction keeps its steps with value numbers as operands, so that merging two is concatenation; registers are
 * assigned once, when the kernel is made. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "kernels/move.h"

G_BEGIN_DECLS

typedef struct _WorkInstr WorkInstr;
typedef struct _WorkUse WorkUse;
typedef struct _WorkOrder WorkOrder;

/* A value is read: by an operand of an instruction, or by another value that is a view of its bytes. */
struct _WorkUse
{
  guint value;          /* what is read; 0: an absent operand, which is on no list */
  WorkInstr *instr;     /* who reads it; NULL: a view */
  guint at;             /* which operand, or the view's number */
  WorkUse *prev, *next; /* the value's other uses */
};

typedef struct
{
  LoomTensorDesc desc;
  WorkInstr *producer; /* NULL for slots, inputs and views */
  WorkUse *first_use, *last_use;
  int slot, input;
  int commit; /* slot that takes this value when the step ends, else -1 */
  gboolean is_output;
  gboolean is_uniform; /* every element is `uniform`, known at planning */
  double uniform;
  guint alias;      /* it is a view of this value's bytes, which is no view itself; 0: bytes of its own */
  WorkUse *as_view; /* its place among the uses of alias */
  LoomRegion region;
  const char *origin;
  const char *device_name; /* as asked for; NULL: the default */
  int device;              /* once placed */
  guint other_layout;      /* the same value in the other layout once a reorder made it, else 0 */
  guint on_device;         /* the newest copy of it on another device, which has the one before it; else 0 */
  LoomOwner owner;
  int storage;
} WorkValue;

typedef enum
{
  WORK_STEP_SCALAR,
  WORK_STEP_TAKE, /* the result is a part of operand arg[0] (plan-bundle.c) */
  WORK_STEP_PUT   /* arg[0] is a part of the result */
} WorkStepKind;

typedef struct
{
  LoomScalarOp op; /* of parts LOOM_SCALAR_ID, so that who goes through arguments needs to know of no kind */
  guint arg[3];
  double imm;
  guint result;
  WorkStepKind kind;
  int axis; /* of parts: of the operand or the result, and what they are along it */
  gint64 start, length;
} WorkStep;

struct _WorkInstr
{
  WorkInstr *prev, *next; /* in program order, dead ones among them; work_first() and work_next() leave those out */
  guint64 order;          /* ascends along the list */
  const LoomPrim *prim;   /* of the last instruction in it; NULL for a copy between devices */
  gpointer attrs;         /* the primitive's own, prim->attrs_size bytes */
  GPtrArray *in;          /* WorkUse */
  GArray *out;            /* guint */
  GArray *steps;          /* WorkStep; elementwise only */
  LoomDType compute;      /* elementwise only */
  LoomRegion region;
  const char *origin, *device_name;
  guint recomputation, pass;
  guint chunk; /* of a head, from 1; 0: of none */
  int device;
  gboolean dead, setup;
  gboolean crosses_only; /* the result is the operand's bytes on another device */
  LoomKernel *kernel;
  const char *algorithm; /* the option that was chosen for it */
  GString *label;
  gsize scratch_offset;
  int stream; /* WORK_COMPUTE or another one of its device, on which it goes on beside that */
  GPtrArray
      *after; /* WorkInstr in front of it in the schedule, of other lanes, for which an event has it wait; or NULL */
};

/* The streams of a device. Each is a lane. */
enum
{
  WORK_COMPUTE,
  WORK_SEND,     /* copies to other devices of the back end, beside it */
  WORK_EXCHANGE, /* what ranks exchange beside it: from here on one for each line of a mesh, as links have them */
  WORK_N_STREAMS = WORK_EXCHANGE + LOOM_MESH_AXES
};

/* A copy from one device to another that both make on their streams, without the host. */
static inline gboolean
work_is_send (const WorkInstr *instr)
{
  return instr->prim == NULL && instr->stream == WORK_SEND;
}

/* When memory of a device is in use, in the order of what happens on its lanes (plan-order.c): for each stream, how
 * many of its operations are over before anything touches it, and the number of the last one that does, from 1; 0:
 * none. */
typedef struct
{
  guint begins[WORK_N_STREAMS], ends[WORK_N_STREAMS];
} WorkSpan;

#define WORK_FOREVER G_MAXUINT /* of ends: whoever ran the step reads it */

typedef struct
{
  gsize bytes;
  WorkSpan span;   /* what decides whether it may share bytes */
  int first, last; /* positions in the schedule between which that lies; setup is -1 */
  int device;
  int slot, input; /* not in the arena when either is ≥ 0 */
  gboolean once;   /* made by a setup instruction: not in the arena, which other plans use between two steps */
  int block;       /* the storage it is a part of, at `offset` in it, else -1 */
  LoomOwner owner;
  const char *origin; /* the node of the value that it was made for; NULL: of none */
  gsize offset;
} WorkStorage;

typedef struct
{
  LoomProgram *program;
  LoomDevices *devices;
  LoomPlanOptions options;
  GArray *values; /* WorkValue, by number */
  WorkInstr *first, *last;
  GPtrArray *schedule; /* borrowed WorkInstr, those that run, setup ones first */
  WorkOrder *order;    /* of the schedule, once memory is assigned */
  GArray *storages;    /* WorkStorage */
  GPtrArray *plan_devices;
  GArray *input_copied; /* gboolean by program input: it has a place in the arena */
  GArray *uploads;      /* LoomPlanUpload */
  GArray *staging;      /* int by device: the storage that uploads come to, else -1 */
  GArray *results;      /* int by device: the storage of small results, else -1 */
  GArray *output_value; /* guint by program output */
  LoomFaults *faults;   /* what no device can do */
  GError *error;        /* why planning cannot go on */
} Work;

static inline WorkValue *
work_value (Work *w, guint v)
{
  return &g_array_index (w->values, WorkValue, v);
}

static inline LoomPlanDevice *
work_device (Work *w, int device)
{
  return g_ptr_array_index (w->plan_devices, (guint)device);
}

static inline guint
work_in (const WorkInstr *instr, guint i)
{
  return ((const WorkUse *)g_ptr_array_index (instr->in, i))->value;
}

static inline guint
work_out (const WorkInstr *instr, guint i)
{
  return g_array_index (instr->out, guint, i);
}

static inline WorkStep *
work_step (const WorkInstr *instr, guint s)
{
  return &g_array_index (instr->steps, WorkStep, s);
}

/* ---- plan-work.c: the helpers ------------------------------------------ */

/* The value whose bytes v has. */
static inline guint
work_root (Work *w, guint v)
{
  return work_value (w, v)->alias != 0 ? work_value (w, v)->alias : v;
}

guint work_new_value (Work *w, const LoomTensorDesc *desc, const WorkValue *like);
/* v becomes a view of what base has the bytes of, and its own views with it; base 0 gives v bytes of its own. */
void work_set_alias (Work *w, guint v, guint base);
/* A slot takes v when the step ends: v itself, or a view of it where another slot takes that. */
void work_commit (Work *w, guint v, int slot);
/* TRUE if v is used: by an instruction, the caller, a slot, or a view of it that is used. */
gboolean work_is_used (Work *w, guint v);
/* The only living instruction that reads v itself (or, with views, something that has v's bytes), where v is neither
 * an output nor a state's next value and nothing else reads it; NULL otherwise. */
WorkInstr *work_only_reader (Work *w, guint v, gboolean views);

/* The instructions of which a result takes an operand's place, by the value whose bytes they update: WorkInstr.
 * (transfer full) */
GHashTable *work_find_updaters (Work *w);
/* How many read v, none of them through a view: at most `max` of them are stored. More than that where the caller, a
 * slot or a view's reader knows of v. */
guint work_readers (Work *w, guint v, guint max, WorkInstr **reader);

/* A new instruction in front of another one (NULL: at the end), without operands and results. attrs are copied. */
WorkInstr *work_insert (Work *w, WorkInstr *before, const LoomPrim *prim, const void *attrs);
/* Likewise, for the same part of the step as `like`: its node, device, region, recomputation, micro-batch and chunk. */
WorkInstr *work_insert_like (Work *w, WorkInstr *before, const WorkInstr *like, const LoomPrim *prim, const void *attrs,
                             const char *label);
void work_move (Work *w, WorkInstr *instr, WorkInstr *before);
/* Takes its operands from it and leaves its results without a producer. */
void work_erase (Work *w, WorkInstr *instr);
/* Makes all readers of a read b. Where a is an output or a state's next value it becomes a view of b, so what
 * made it is to be erased. */
void work_replace (Work *w, guint a, guint b);

void work_add_in (Work *w, WorkInstr *instr, guint v);
/* Operand k is v from now on, in the steps, too. */
void work_set_in (Work *w, WorkInstr *instr, guint k, guint v);
void work_drop_in (Work *w, WorkInstr *instr, guint k);
void work_add_out (Work *w, WorkInstr *instr, guint v);
/* Result o is v from now on. */
void work_set_out (Work *w, WorkInstr *instr, guint o, guint v);

/* The living instructions in order. One that is inserted behind the place that is looked at is met. */
WorkInstr *work_first (const Work *w);
WorkInstr *work_next (const WorkInstr *instr);
gboolean work_is_before (const WorkInstr *a, const WorkInstr *b);
void work_sort (GPtrArray *instrs /* WorkInstr */);

/* TRUE if v, or what it is a view of, is there when the instruction runs. Who takes up what stands behind it makes the
 * result earlier than it was, and may read nothing that is made later. */
gboolean work_is_ready (Work *w, guint v, const WorkInstr *instr);

/* TRUE if it is a call of this primitive, and nothing merged: for the passes whose pattern it is. */
gboolean work_is (const WorkInstr *instr, const char *primitive);
/* TRUE if it is this one scalar operation. */
gboolean work_is_step (const WorkInstr *instr, LoomScalarOp op);
/* TRUE if a kernel may have so many steps and parts. */
gboolean work_steps_fit (const GArray *steps);
/* How an error calls an instruction that belongs to no node; NULL where it belongs to one. (transfer full) */
char *work_purpose (Work *w, const WorkInstr *instr);
/* The primitive of its kernel call: "matmul", "elementwise"; "transfer" for a copy between devices. */
const char *work_kernel (const WorkInstr *instr);
gboolean work_same_dims (const LoomTensorDesc *a, const LoomTensorDesc *b);

/* Erases instructions whose results are not used. */
void work_remove_dead (Work *w);
/* Frees what was erased; the driver does so behind each pass. */
void work_sweep (Work *w);

/* plan-import.c: program → work, as it is. */
Work *work_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options);
void work_free (Work *w);

/* ---- plan-scores.c: what has to do with the scores of a loss -------------- */

typedef struct
{
  Work *w;
  const char *device_name;
  gint64 rows, classes; /* classes is 0 where a loss has other scores than rows × classes */
  GHashTable *roots;    /* of what is rows × classes */
  GHashTable *members;  /* WorkInstr: those that make or read them */
  GPtrArray *instrs;    /* the same, in program order */
} WorkScores;

void work_scores_init (WorkScores *s, Work *w, const WorkInstr *loss);
void work_scores_clear (WorkScores *s);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WorkScores, work_scores_clear)
/* FALSE where somebody else wants the scores: the caller, a slot, another device. */
gboolean work_scores_find (WorkScores *s, const WorkInstr *loss);
gboolean work_scores_has (const WorkScores *s, guint v);
/* TRUE if v is n numbers for each row, one row after the other, whichever axes the rows have. */
gboolean work_scores_is_rows_by (const WorkScores *s, guint v, gint64 n);

/* ---- plan-passes.c: the table ------------------------------------------- */

typedef enum
{
  WORK_IS_FUSION = 1 << 0 /* it is left out where every primitive is to have a kernel of its own */
} WorkPassFlags;

/* Properties of the working form once a pass has run. Which pass comes first among those that need the same is a matter
 * of what is gained, stated at the table. */
typedef enum
{
  WORK_HAS_VIEWS = 1 << 0, /* an instruction that moves no byte is a view, or marked as one that only crosses devices */
  WORK_HAS_DEVICES = 1 << 1, /* operands lie on their instruction's device */
  WORK_HAS_LAYOUTS = 1 << 2, /* they lie in the layout that it reads: no instruction is inserted any more */
  WORK_HAS_KERNELS = 1 << 3,
  WORK_HAS_SCHEDULE = 1 << 4,
  WORK_HAS_MEMORY = 1 << 5 /* the arena is there */
} WorkFacts;

typedef struct
{
  const char *name, *doc; /* one line */
  void (*run) (Work *w);
  WorkPassFlags flags;
  WorkFacts needs, gives; /* what must hold when it begins, and what holds besides when it is over */
} WorkPass;

extern const WorkPass work_passes[]; /* ends with a NULL name */

/* Receives each pass when it is over; ran: FALSE where it was left out. */
typedef void (*WorkPassFunc) (Work *w, const WorkPass *pass, gboolean ran, gpointer data);
gboolean work_run_passes (Work *w, WorkPassFunc behind, gpointer data, GError **error);
guint work_n_instrs (const Work *w);
/* Of all that instructions make, views apart, as if nothing shared a place. */
gsize work_bytes (Work *w);

/* plan-collective.c: the kernel of a collective; NULL with a message. */
LoomKernel *work_collective_new (const LoomMesh *mesh, const LoomPlanDevice *device, const LoomPrim *prim,
                                 const LoomKernelSpec *spec, LoomMessage *message);

/* ---- plan-moves.c: what only moves elements ----------------------------------- */

/* Elements as they are read: in an order of their own, at strides, from an operand. */
typedef struct
{
  guint from;
  int rank;
  gint64 dim[LOOM_MAX_RANK], stride[LOOM_MAX_RANK], start;
} WorkReading;

/* The strides of the same elements in the same order under another shape. FALSE where one of its axes runs over several
 * old ones that no single stride leads along. */
gboolean
work_restride (int rank, const gint64 *dim, const gint64 *stride, int to_rank, const gint64 *to_dim, gint64 *to_stride);
/* How what an instruction makes is read; FALSE where it does not only move elements of one operand. */
gboolean work_reading_of (Work *w, const WorkInstr *instr, WorkReading *reading);
/* Likewise, with where it is written. */
gboolean work_move_of (Work *w, const WorkInstr *instr, LoomMovePart *part);

/* plan-check.c: whether the form agrees with itself (uses with operands, producers with results, the order with both);
 * FALSE with a sentence, to be freed, where it does not. For tests. */
gboolean work_check (Work *w, char **why);

/* ---- the passes, in the order of the table ------------------------------ */
void work_share_common (Work *w);
void work_fold_transposes (Work *w);
void work_fold_constants (Work *w);
void work_draw_masks (Work *w);
void work_join_parts (Work *w);
void work_find_views (Work *w);
void work_keep_classes_last (Work *w);
void work_pad_scores (Work *w);
void work_narrow_scores (Work *w);
void work_cut_heads (Work *w);
void work_join_moves (Work *w);
void work_attend_in_place (Work *w);
void work_copy_state (Work *w);
void work_log_steps (Work *w);
void work_move_relus (Work *w);
void work_fuse_epilogues (Work *w);
void work_fuse_norms (Work *w);
/* What a batch norm, or batch_norm_apply, adds at the end of a residual block; 0: nothing. */
guint work_norm_residual (const WorkInstr *norm);
void work_absorb_casts (Work *w);
void work_widen_results (Work *w);
/* The conversion of v to f32 that is all that happens to it; NULL: none, or v is no float of 16 bits. */
WorkInstr *work_only_widening (Work *w, guint v, const char *device_name);
void work_join_casts (Work *w);
void work_join_bias_gradients (Work *w);
void work_fuse_chains (Work *w);
void work_join_slopes (Work *w);
void work_rematerialise (Work *w);
void work_bundle (Work *w);
void work_view_slices (Work *w);

/* plan-place.c: devices and the copies between them. Where something cannot be done, here and in the two passes behind
 * it, the fault is noted and the rest goes on, so that all faults are found at once. */
void work_place (Work *w);
void work_schedule (Work *w);
/* Notes what cannot be done at a node, once for each kind of fault; message is taken, port and fix may be NULL. */
void work_refuse (Work *w, LoomErrorCode code, const char *node, const char *port, const char *fix, char *message);
/* The first fault, as one sentence, becomes the error for callers that take no list. */
void work_faults_to_error (Work *w);
/* A copy that the planner makes, in front of an instruction (NULL: at the end); prim NULL: between devices. */
WorkInstr *work_insert_copy (Work *w, WorkInstr *before, const LoomPrim *prim, const void *attrs, guint from, guint to,
                             int device);

/* plan-overlap.c: what ranks exchange, beside what they compute. */
void work_overlap_exchanges (Work *w);

/* plan-send.c: copies that devices make by themselves, beside what they compute. */
void work_send_copies (Work *w);
/* The executor learns which these are, and who waits for them. */
void work_tell_sends (Work *w, LoomPlan *plan);

/* plan-layout.c: algorithms and layouts, chosen together for the whole graph, and the reorders between them. */
void work_choose_layouts (Work *w);

/* plan-kernel.c */
void work_make_kernels (Work *w);
/* The call that an instruction is, or would be with other operands and results. */
typedef struct
{
  LoomKernelSpec spec;
  LoomTensorDesc *desc;
  LoomElementwiseAttrs elementwise;
} WorkCall;
void work_call_of (Work *w, WorkCall *call, const WorkInstr *instr);
void work_call_clear (WorkCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WorkCall, work_call_clear)
/* The plan of a body on one device; what its nodes ask for elsewhere is a fault of theirs. */
LoomPlan *work_plan_body (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                          LoomProgram *program, GError **error);
/* plan-visit.c: the kernel of switch and visit, and the plans of its distinct bodies. */
LoomKernel *loom_plan_visit_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                                 const LoomPrim *prim, const void *attrs, GError **error);
const LoomPlan *loom_plan_of_visit (const LoomKernel *kernel, guint body);
/* Its attributes in words, as measurements are kept under. (transfer full) */
char *work_describe (const WorkInstr *instr);
/* loom_plan_options() with costs by rates alone. */
guint work_estimates (const LoomPlanDevice *device, const LoomKernelSpec *spec,
                      LoomKernelOption option[LOOM_MAX_OPTIONS], LoomMessage *message);
/* Puts measurements in the place of estimates where all options were measured, for a clock and a rate are not compared;
 * FALSE where not. */
gboolean work_take_measurements (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                                 LoomKernelOption *option, guint n);
/* The same estimates of a call that instr is or would be. Where there is no option because the device failed, which is
 * not the same as having no kernel, that is noted. */
guint work_options (Work *w, const LoomPlanDevice *device, const WorkInstr *instr, const LoomKernelSpec *spec,
                    LoomKernelOption option[LOOM_MAX_OPTIONS]);
/* TRUE if the instruction's device has a kernel for it, with its attributes and steps as they are now but these
 * operands and results. Whoever joins instructions asks this before. */
gboolean work_has_kernel (Work *w, const WorkInstr *instr, guint n_in, const guint *in, guint n_out, const guint *out);
/* TRUE if that kernel also works in less than `limit` bytes of scratch: one that converts an operand there first wins
 * nothing over a conversion of its own. */
gboolean work_has_small_kernel (Work *w, const WorkInstr *instr, guint n_in, const guint *in, guint n_out,
                                const guint *out, gsize limit);
/* TRUE if this device has memory of its own, as a GPU has, and its work launched; NULL is the plan's. */
gboolean work_is_on_gpu (Work *w, const char *device_name);

/* plan-overlap.c: an event has an instruction wait for one in front of it. */
void work_wait_for (WorkInstr *instr, WorkInstr *other);
/* What lies beside the others learns who waits for it. */
void work_tell_waits (Work *w, LoomPlan *plan);

/* plan-figures.c: the memory figures of a finished plan, by device and owner. */
void work_tell_memory (Work *w, LoomPlan *plan);

/* plan-order.c: what happens before what, by the lanes of the schedule and the events between them. */
WorkOrder *work_order_new (Work *w);
void work_order_free (WorkOrder *order, const Work *w);
/* The operations that the instruction of a position is: the one that reads its operands, and the one from which on its
 * results' places are its own. They differ where it is a copy between devices. */
guint work_reads_at (const WorkOrder *order, guint position);
guint work_writes_at (const WorkOrder *order, guint position);
/* The operation with which a device's part of a step begins: what it is fed lies in the arena then. */
guint work_begins_at (int device);
/* An operation of the device's lanes touches it. */
void work_span_touch (WorkSpan *span, const WorkOrder *order, guint op);
/* TRUE if all that touches it is over when the operation begins, apart from that itself where it touches it, too. */
gboolean work_span_is_over (const WorkSpan *span, const WorkOrder *order, guint op, gboolean but_for_itself);
/* The last position in the schedule that is not behind all of it: as far as its device's instructions are concerned, it
 * is in use until there. */
int work_span_last (const WorkSpan *span, const WorkOrder *order, guint device);

static inline gboolean
work_span_is_empty (const WorkSpan *span)
{
  guint most = 0;

  for (int k = 0; k < WORK_N_STREAMS; k++)
    most = MAX (most, span->ends[k]);
  return most == 0;
}

/* TRUE if all that touches the one happens before anything touches the other. */
static inline gboolean
work_span_precedes (const WorkSpan *a, const WorkSpan *b)
{
  for (int k = 0; k < WORK_N_STREAMS; k++)
    if (a->ends[k] > b->begins[k])
      return FALSE;
  return TRUE;
}

/* Both may have the same bytes: one is over before the other begins. */
static inline gboolean
work_span_in_turn (const WorkSpan *a, const WorkSpan *b)
{
  return work_span_precedes (a, b) || work_span_precedes (b, a);
}

/* The first covers the second, too. */
static inline void
work_span_join (WorkSpan *span, const WorkSpan *other)
{
  for (int k = 0; k < WORK_N_STREAMS; k++)
    {
      span->begins[k] = MIN (span->begins[k], other->begins[k]);
      span->ends[k] = MAX (span->ends[k], other->ends[k]);
    }
}

/* plan-memory.c: liveness, in-place, offsets. */
void work_assign_memory (Work *w);
/* plan-upload.c: places for what goes up to devices and for small results that come down. */
void work_stage_uploads (Work *w);
void work_join_results (Work *w);
int work_new_storage (Work *w, gsize bytes, int device, int first, LoomOwner owner);
/* plan-arena.c: where in a device's arena each storage lies that is in no block. */
void work_assign_offsets (Work *w, int device);
gboolean work_in_arena (Work *w, const WorkStorage *s);
/* The bytes of a device's arena. */
gsize work_arena (Work *w, guint device);

/* Bytes of a node, made once or alive at the moment of the peak. */
typedef struct
{
  const char *node; /* NULL: of none */
  guint device;
  LoomOwner owner;
  gsize bytes;
  gboolean once;
} PlanHolding;

struct _LoomPlan
{
  LoomProgram *program;
  LoomDevices *devices;
  GPtrArray *plan_devices;            /* borrowed LoomPlanDevice */
  GArray *instrs;                     /* LoomPlanInstr */
  guint n_setup;                      /* the first ones run once, when the plan is bound */
  GArray *values;                     /* LoomPlanValue */
  GArray *input_value, *output_value; /* guint */
  GArray *commit_copy;                /* pairs of value, slot: copied when the step ends */
  GArray *slot_device;                /* guint by slot of the program */
  GArray *memory;                     /* LoomPlanMemory, by device */
  GArray *holdings;                   /* PlanHolding: what `once` and `peak` of these are made of */
  GArray *uploads;                    /* LoomPlanUpload */
  GArray *staging, *results;          /* LoomPlanArea, by device */
};

G_END_DECLS
