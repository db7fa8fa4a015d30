/* The planner's working form: a graph of instructions and values that passes fuse, move and give kernels. Its nodes are
 * instructions (a node of the user's graph is only named, by `origin`).
 *
 * Values keep the program's numbers (0 is none), and new ones are appended. Each value has its producer and a list of
 * uses, which the helpers below maintain, so no pass counts readers. An erased instruction stays in the list, marked
 * dead, until the pass is over, so that a pass can continue from it. The steps of an element-wise instruction have
 * value numbers as operands, so that fusing two is concatenation; registers are assigned once, when the kernel is
 * made. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "kernels/move.h"

G_BEGIN_DECLS

typedef struct _WorkInstr WorkInstr;
typedef struct _WorkUse WorkUse;
typedef struct _WorkOrder WorkOrder;

/* A use of a value: as an operand of an instruction, or as the base of a view. */
struct _WorkUse
{
  guint value;          /* the value used; 0: an absent operand, which is on no list */
  WorkInstr *instr;     /* the reader; NULL: a view */
  guint at;             /* the operand's index, or the view's number */
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
  guint alias;      /* the root of which this is a view; 0: it has its own bytes */
  WorkUse *as_view; /* its entry among the uses of alias */
  LoomRegion region;
  const char *origin;
  const char *device_name; /* as requested; NULL: the default */
  int device;              /* once placed */
  guint other_layout;      /* the same value in the other layout, made by a reorder, else 0 */
  guint on_device;         /* its newest copy on another device, which links to the one before; else 0 */
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
  LoomScalarOp op; /* of parts LOOM_SCALAR_ID, so that code that walks arguments can ignore the kind */
  guint arg[3];
  double imm;
  guint result;
  WorkStepKind kind;
  int axis; /* of parts: the axis of the operand or result, and the range along it */
  gint64 start, length;
} WorkStep;

struct _WorkInstr
{
  WorkInstr *prev, *next; /* in program order, including dead ones, which work_first() and work_next() skip */
  guint64 order;          /* ascends along the list */
  const LoomPrim *prim;   /* of its last fused instruction; NULL for a copy between devices */
  gpointer attrs;         /* prim->attrs_size bytes */
  GPtrArray *in;          /* WorkUse */
  GArray *out;            /* guint */
  GArray *steps;          /* WorkStep; elementwise only */
  LoomDType compute;      /* elementwise only */
  LoomRegion region;
  const char *origin, *device_name;
  guint recomputation, pass;
  guint chunk; /* of a head, from 1; 0: none */
  int device;
  gboolean dead, setup;
  gboolean crosses_only; /* the result is the operand's bytes on another device */
  LoomKernel *kernel;
  const char *algorithm; /* the chosen option */
  GString *label;
  gsize scratch_offset;
  int stream;       /* WORK_COMPUTE, or another stream of its device that overlaps it */
  GPtrArray *after; /* earlier WorkInstr on other lanes that it waits for by an event; or NULL */
};

/* The streams of a device. Each is a lane. */
enum
{
  WORK_COMPUTE,
  WORK_SEND,     /* copies to other devices of the back end, overlapping WORK_COMPUTE */
  WORK_EXCHANGE, /* exchanges of ranks that overlap it: from here on one stream for each axis of the mesh, as in
                    PlanLink */
  WORK_N_STREAMS = WORK_EXCHANGE + LOOM_MESH_AXES
};

/* TRUE for a copy between devices that they make on their streams, without the host. */
static inline gboolean
work_is_send (const WorkInstr *instr)
{
  return instr->prim == NULL && instr->stream == WORK_SEND;
}

/* When memory of a device is in use, by the order of its lanes (plan-order.c): for each stream, the number of
 * operations that are finished before the first access, and the number (from 1) of the last operation that accesses it;
 * 0: none. */
typedef struct
{
  guint begins[WORK_N_STREAMS], ends[WORK_N_STREAMS];
} WorkSpan;

#define WORK_FOREVER G_MAXUINT /* in `ends`: the caller reads it after the step */

typedef struct
{
  gsize bytes;
  WorkSpan span;   /* decides whether it may share bytes */
  int first, last; /* the positions in the schedule that enclose the span; setup is -1 */
  int device;
  int slot, input; /* not in the arena if either is ≥ 0 */
  gboolean once;   /* made by a setup instruction: not in the arena, which other plans use between steps */
  int block;       /* the storage that contains it at `offset`, else -1 */
  LoomOwner owner;
  const char *origin; /* the node of the value for which it was made; NULL: none */
  gsize offset;
} WorkStorage;

typedef struct
{
  LoomProgram *program;
  LoomDevices *devices;
  LoomPlanOptions options;
  GArray *values; /* WorkValue, by number */
  WorkInstr *first, *last;
  GPtrArray *schedule; /* borrowed WorkInstr that run, setup ones first */
  WorkOrder *order;    /* of the schedule, once memory is assigned */
  GArray *storages;    /* WorkStorage */
  GPtrArray *plan_devices;
  GArray *input_copied; /* gboolean by program input: it has memory in the arena */
  GArray *uploads;      /* LoomPlanUpload */
  GArray *staging;      /* int by device: the storage for uploads, else -1 */
  GArray *results;      /* int by device: the storage of small results, else -1 */
  GArray *output_value; /* guint by program output */
  LoomFaults *faults;   /* everything that no device can do */
  GError *error;        /* why planning failed */
} Work;

static inline WorkValue *
work_value (Work *g, guint v)
{
  return &g_array_index (g->values, WorkValue, v);
}

static inline LoomPlanDevice *
work_device (Work *g, int device)
{
  return g_ptr_array_index (g->plan_devices, (guint)device);
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
work_root (Work *g, guint v)
{
  return work_value (g, v)->alias != 0 ? work_value (g, v)->alias : v;
}

guint work_new_value (Work *g, const LoomTensorDesc *desc, const WorkValue *like);
/* Makes v, and its views, views of base's root; base 0 gives v bytes of its own. */
void work_set_alias (Work *g, guint v, guint base);
/* Makes a slot take v when the step ends, or a view of v if another slot takes v itself. */
void work_commit (Work *g, guint v, int slot);
/* TRUE if v is used: by an instruction, the caller, a slot, or a view that is used. */
gboolean work_is_used (Work *g, guint v);
/* The only living instruction that reads v itself (with `views`: v or its views), if v is neither an output nor a
 * state's next value and nothing else reads it; else NULL. */
WorkInstr *work_only_reader (Work *g, guint v, gboolean views);

/* The instructions that overwrite an operand with a result, by the root value that they update: WorkInstr. (transfer
 * full) */
GHashTable *work_find_updaters (Work *g);
/* The number of readers of v, none of them through a view; at most `max` are stored. More than `max` if the caller, a
 * slot or a reader of a view uses v. */
guint work_readers (Work *g, guint v, guint max, WorkInstr **reader);

/* Inserts an instruction without operands and results before another one (NULL: at the end). attrs are copied. */
WorkInstr *work_insert (Work *g, WorkInstr *before, const LoomPrim *prim, const void *attrs);
/* Does the same with like's node, device, region, recomputation, micro-batch and chunk. */
WorkInstr *work_insert_like (Work *g, WorkInstr *before, const WorkInstr *like, const LoomPrim *prim, const void *attrs,
                             const char *label);
void work_move (Work *g, WorkInstr *instr, WorkInstr *before);
/* Drops its operands and leaves its results without a producer. */
void work_erase (Work *g, WorkInstr *instr);
/* Makes all readers of a read b. If a is an output or a state's next value it becomes a view of b, so its producer has
 * to be erased. */
void work_replace (Work *g, guint a, guint b);

void work_add_in (Work *g, WorkInstr *instr, guint v);
/* Replaces operand k with v, in the steps too. */
void work_set_in (Work *g, WorkInstr *instr, guint k, guint v);
void work_drop_in (Work *g, WorkInstr *instr, guint k);
void work_add_out (Work *g, WorkInstr *instr, guint v);
/* Replaces result o with v. */
void work_set_out (Work *g, WorkInstr *instr, guint o, guint v);

/* The living instructions in order. One that is inserted after the current one is visited. */
WorkInstr *work_first (const Work *g);
WorkInstr *work_next (const WorkInstr *instr);
gboolean work_is_before (const WorkInstr *a, const WorkInstr *b);
void work_sort (GPtrArray *instrs /* WorkInstr */);

/* TRUE if v, or its root, is available at the instruction. A pass that fuses a later instruction makes its result
 * earlier and may read nothing that is made later. */
gboolean work_is_ready (Work *g, guint v, const WorkInstr *instr);

/* TRUE if it is an unfused call of this primitive, for the passes whose pattern it is. */
gboolean work_is (const WorkInstr *instr, const char *primitive);
/* TRUE if it is this one scalar operation. */
gboolean work_is_step (const WorkInstr *instr, LoomScalarOp op);
/* TRUE if the steps and parts are within a kernel's limits. */
gboolean work_steps_fit (const GArray *steps);
/* The name, in errors, of an instruction that belongs to no node; else NULL. (transfer full) */
char *work_purpose (Work *g, const WorkInstr *instr);
/* The primitive of its kernel call: "matmul", "elementwise"; "transfer" for a copy between devices. */
const char *work_kernel (const WorkInstr *instr);
gboolean work_same_dims (const LoomTensorDesc *a, const LoomTensorDesc *b);

/* Erases instructions whose results are not used. */
void work_remove_dead (Work *g);
/* Frees erased instructions; the driver calls it after each pass. */
void work_sweep (Work *g);

/* plan-import.c: converts a program to the working form, unchanged. */
Work *work_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options);
void work_free (Work *g);

/* ---- plan-scores.c: the logits of a loss ---------------------------------- */

typedef struct
{
  Work *g;
  const char *device_name;
  gint64 rows, classes; /* classes is 0 if a loss has logits other than rows × classes */
  GHashTable *roots;    /* of the values that are rows × classes */
  GHashTable *members;  /* WorkInstr that make or read them */
  GPtrArray *instrs;    /* the same, in program order */
} WorkScores;

void work_scores_init (WorkScores *s, Work *g, const WorkInstr *loss);
void work_scores_clear (WorkScores *s);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WorkScores, work_scores_clear)
/* FALSE if anything else uses the logits: the caller, a slot, another device. */
gboolean work_scores_find (WorkScores *s, const WorkInstr *loss);
gboolean work_scores_has (const WorkScores *s, guint v);
/* TRUE if v is n numbers for each row, in row order, for any shape of the rows. */
gboolean work_scores_is_rows_by (const WorkScores *s, guint v, gint64 n);

/* ---- plan-passes.c: the table ------------------------------------------- */

typedef enum
{
  WORK_IS_FUSION = 1 << 0 /* skipped if every primitive is to have a kernel of its own */
} WorkPassFlags;

/* Properties of the working form after a pass. The order of passes with equal requirements follows from what they gain,
 * see the table. */
typedef enum
{
  WORK_HAS_VIEWS = 1 << 0,   /* an instruction that moves no byte is a view, or marked crosses_only */
  WORK_HAS_DEVICES = 1 << 1, /* operands are on their instruction's device */
  WORK_HAS_LAYOUTS = 1 << 2, /* operands have the layout that is read; no instruction is inserted from here on */
  WORK_HAS_KERNELS = 1 << 3,
  WORK_HAS_SCHEDULE = 1 << 4,
  WORK_HAS_MEMORY = 1 << 5 /* the arena is assigned */
} WorkFacts;

typedef struct
{
  const char *name, *doc; /* one line */
  void (*run) (Work *g);
  WorkPassFlags flags;
  WorkFacts needs, gives; /* what must hold before the pass, and what also holds after it */
} WorkPass;

extern const WorkPass work_passes[]; /* ends with a NULL name */

/* Called after each pass; ran: FALSE if it was skipped. */
typedef void (*WorkPassFunc) (Work *g, const WorkPass *pass, gboolean ran, gpointer data);
gboolean work_run_passes (Work *g, WorkPassFunc behind, gpointer data, GError **error);
guint work_n_instrs (const Work *g);
/* Of all results except views, as if no memory were shared. */
gsize work_bytes (Work *g);

/* plan-collective.c: the kernel of a collective; NULL with a message. */
LoomKernel *work_collective_new (const LoomMesh *mesh, const LoomPlanDevice *device, const LoomPrim *prim,
                                 const LoomKernelSpec *spec, LoomMessage *message);

/* ---- plan-moves.c: copies (slice, permute, concatenate) ----------------------- */

/* Elements that are read from an operand: their shape, and their strides from `start` on. */
typedef struct
{
  guint from;
  int rank;
  gint64 dim[LOOM_MAX_RANK], stride[LOOM_MAX_RANK], start;
} WorkReading;

/* Finds the strides of the same elements, in the same order, in another shape. FALSE if a new axis covers several old
 * ones that have no common stride. */
gboolean
work_restride (int rank, const gint64 *dim, const gint64 *stride, int to_rank, const gint64 *to_dim, gint64 *to_stride);
/* How the result of an instruction is read from its operand; FALSE if it does not only copy elements of one operand. */
gboolean work_reading_of (Work *g, const WorkInstr *instr, WorkReading *reading);
/* Does the same, with where it is written. */
gboolean work_move_of (Work *g, const WorkInstr *instr, LoomMovePart *part);

/* plan-check.c: verifies the working form (uses, producers, order); FALSE with a sentence to be freed. For tests. */
gboolean work_check (Work *g, char **why);

/* ---- the passes, in the order of the table ------------------------------ */
void work_share_common (Work *g);
void work_fold_transposes (Work *g);
void work_fold_constants (Work *g);
void work_draw_masks (Work *g);
void work_join_parts (Work *g);
void work_find_views (Work *g);
void work_keep_classes_last (Work *g);
void work_pad_scores (Work *g);
void work_narrow_scores (Work *g);
void work_cut_heads (Work *g);
void work_join_moves (Work *g);
void work_attend_in_place (Work *g);
void work_copy_state (Work *g);
void work_log_steps (Work *g);
void work_move_relus (Work *g);
void work_fuse_epilogues (Work *g);
void work_fuse_norms (Work *g);
/* The operand that a batch norm, or batch_norm_apply, adds at the end of a residual block; 0: none. */
guint work_norm_residual (const WorkInstr *norm);
void work_absorb_casts (Work *g);
void work_widen_results (Work *g);
/* The conversion of v, a 16-bit float, to f32 if that is its only reader; else NULL. */
WorkInstr *work_only_widening (Work *g, guint v, const char *device_name);
void work_join_casts (Work *g);
void work_join_bias_gradients (Work *g);
void work_fuse_chains (Work *g);
void work_join_slopes (Work *g);
void work_rematerialise (Work *g);
void work_bundle (Work *g);
void work_view_slices (Work *g);

/* plan-place.c: devices and the copies between them. This pass and the next two report faults and continue, so that all
 * faults are found at once. */
void work_place (Work *g);
void work_schedule (Work *g);
/* Reports a fault at a node, once for each kind. message is taken; port and fix may be NULL. */
void work_refuse (Work *g, LoomErrorCode code, const char *node, const char *port, const char *fix, char *message);
/* Sets the error to the first fault, for callers that pass no list. */
void work_faults_to_error (Work *g);
/* Inserts a copy before an instruction (NULL: at the end); prim NULL: between devices. */
WorkInstr *work_insert_copy (Work *g, WorkInstr *before, const LoomPrim *prim, const void *attrs, guint from, guint to,
                             int device);

/* plan-overlap.c: exchanges of ranks that overlap the computation. */
void work_overlap_exchanges (Work *g);

/* plan-send.c: copies between devices that overlap the computation. */
void work_send_copies (Work *g);
/* Marks these copies, and the instructions that wait for them, in the plan. */
void work_tell_sends (Work *g, LoomPlan *plan);

/* plan-layout.c: algorithms and layouts, chosen for the whole graph, and the reorders between them. */
void work_choose_layouts (Work *g);

/* plan-kernel.c */
void work_make_kernels (Work *g);
/* The call of an instruction, or its call with other operands and results. */
typedef struct
{
  LoomKernelSpec spec;
  LoomTensorDesc *desc;
  LoomElementwiseAttrs elementwise;
} WorkCall;
void work_call_of (Work *g, WorkCall *call, const WorkInstr *instr);
void work_call_clear (WorkCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WorkCall, work_call_clear)
/* The plan of a body on one device. Nodes that request another device are faults. */
LoomPlan *work_plan_body (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                          LoomProgram *program, GError **error);
/* plan-visit.c: the kernel of switch and visit, and the plans of its distinct bodies. */
LoomKernel *loom_plan_visit_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                                 const LoomPrim *prim, const void *attrs, GError **error);
const LoomPlan *loom_plan_of_visit (const LoomKernel *kernel, guint body);
/* Its attributes as text, the key of measurements. (transfer full) */
char *work_describe (const WorkInstr *instr);
/* loom_plan_options() with costs by rates alone. */
guint work_estimates (const LoomPlanDevice *device, const LoomKernelSpec *spec,
                      LoomKernelOption option[LOOM_MAX_OPTIONS], LoomMessage *message);
/* Replaces estimates with measurements if all options were measured, since a time and a rate are not comparable; else
 * FALSE. */
gboolean work_take_measurements (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                                 LoomKernelOption *option, guint n);
/* work_estimates() for a call of instr. If there are no options because the device failed, that is reported as a
 * fault. */
guint work_options (Work *g, const LoomPlanDevice *device, const WorkInstr *instr, const LoomKernelSpec *spec,
                    LoomKernelOption option[LOOM_MAX_OPTIONS]);
/* TRUE if the instruction's device has a kernel for its current attributes and steps with these operands and results.
 * Call it before fusing instructions. */
gboolean work_has_kernel (Work *g, const WorkInstr *instr, guint n_in, const guint *in, guint n_out, const guint *out);
/* TRUE if that kernel also needs less than `limit` bytes of scratch: converting an operand in scratch gains nothing
 * over a separate conversion. */
gboolean work_has_small_kernel (Work *g, const WorkInstr *instr, guint n_in, const guint *in, guint n_out,
                                const guint *out, gsize limit);
/* TRUE if this device has its own memory and launched work, as a GPU has; NULL is the plan's device. */
gboolean work_is_on_gpu (Work *g, const char *device_name);

/* plan-overlap.c: makes an instruction wait for an earlier one by an event. */
void work_wait_for (WorkInstr *instr, WorkInstr *other);
/* Marks the instructions that wait for other lanes in the plan. */
void work_tell_waits (Work *g, LoomPlan *plan);

/* plan-figures.c: the memory figures of a finished plan, by device and owner. */
void work_tell_memory (Work *g, LoomPlan *plan);

/* plan-order.c: the happens-before relation, from lanes and events. */
WorkOrder *work_order_new (Work *g);
void work_order_free (WorkOrder *order, const Work *g);
/* The operations of the instruction at a position: the one that reads its operands, and the first one that may write
 * its results. They differ for a copy between devices. */
guint work_reads_at (const WorkOrder *order, guint position);
guint work_writes_at (const WorkOrder *order, guint position);
/* The operation with which a device's part of a step begins: inputs are in the arena then. */
guint work_begins_at (int device);
/* Adds an access by an operation. */
void work_span_touch (WorkSpan *span, const WorkOrder *order, guint op);
/* TRUE if all accesses are finished when the operation begins; but_for_itself: except its own. */
gboolean work_span_is_over (const WorkSpan *span, const WorkOrder *order, guint op, gboolean but_for_itself);
/* The last position in the schedule that is not ordered after the whole span: for its device's instructions the memory
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

/* TRUE if all accesses of a happen before any access of b. */
static inline gboolean
work_span_precedes (const WorkSpan *a, const WorkSpan *b)
{
  for (int k = 0; k < WORK_N_STREAMS; k++)
    if (a->ends[k] > b->begins[k])
      return FALSE;
  return TRUE;
}

/* TRUE if both may share bytes: one is finished before the other begins. */
static inline gboolean
work_span_in_turn (const WorkSpan *a, const WorkSpan *b)
{
  return work_span_precedes (a, b) || work_span_precedes (b, a);
}

/* Extends the first to cover the second. */
static inline void
work_span_join (WorkSpan *span, const WorkSpan *other)
{
  for (int k = 0; k < WORK_N_STREAMS; k++)
    {
      span->begins[k] = MIN (span->begins[k], other->begins[k]);
      span->ends[k] = MAX (span->ends[k], other->ends[k]);
    }
}

/* plan-memory.c: liveness, in-place results, offsets. */
void work_assign_memory (Work *g);
/* plan-upload.c: memory for uploads and for small results to download. */
void work_stage_uploads (Work *g);
void work_join_results (Work *g);
int work_new_storage (Work *g, gsize bytes, int device, int first, LoomOwner owner);
/* plan-arena.c: offsets in a device's arena for the storages that are in no block. */
void work_assign_offsets (Work *g, int device);
gboolean work_in_arena (Work *g, const WorkStorage *s);
/* The size of a device's arena. */
gsize work_arena (Work *g, guint device);

/* Bytes of a node: of setup results, or alive at the peak. */
typedef struct
{
  const char *node; /* NULL: none */
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
  guint n_setup;                      /* instructions that run once, when the plan is bound */
  GArray *values;                     /* LoomPlanValue */
  GArray *input_value, *output_value; /* guint */
  GArray *commit_copy;                /* pairs of value, slot: copied when the step ends */
  GArray *slot_device;                /* guint by slot of the program */
  GArray *memory;                     /* LoomPlanMemory, by device */
  GArray *holdings;                   /* PlanHolding: the parts of `once` and `peak` */
  GArray *uploads;                    /* LoomPlanUpload */
  GArray *staging, *results;          /* LoomPlanArea, by device */
};

G_END_DECLS
