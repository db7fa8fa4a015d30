/* The planner's internal header: the working form (PlanGraph), the functions of each file, the passes, and the struct
 * of the finished plan (struct _LoomPlan).
 *
 * The working form is a graph of instructions and values. Passes fuse and move instructions, give them kernels and,
 * later, a schedule and memory (PlanStorage). "Node" means an instruction (PlanNode); the node of the user's graph is
 * only named, by `origin`.
 *
 * Values keep the program's numbers (0 is none), and new ones are appended. A value with a number of the program equals
 * the program's value except for rounding; a pass that changes its meaning gives it a new number, because the checker
 * of plans (engine/check) relies on numbers. Each value has its producer and a list of uses, which the helpers below
 * maintain, so no pass counts readers. An erased instruction stays in the list, marked dead, until the pass is
 * finished, so that a pass can continue from it. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "engine/plan/plan-slab.h"
#include "kernels/move.h"

typedef struct _PlanNode PlanNode;
typedef struct _PlanUse PlanUse;
typedef struct _PlanOrder PlanOrder;
typedef struct _PlanPattern PlanPattern;

/* A use of a value: as an operand of an instruction, or as the base of a view. */
struct _PlanUse
{
  guint value;          /* the value used; 0: an absent operand, which is on no list */
  PlanNode *instr;      /* the reader; NULL: a view */
  guint at;             /* the operand's index, or the view's number */
  PlanUse *prev, *next; /* the value's other uses */
};

typedef struct
{
  LoomTensorDesc desc;
  PlanNode *producer; /* NULL for slots, inputs and views */
  PlanUse *first_use, *last_use;
  int slot, input;
  int commit; /* slot that takes this value when the step ends, else -1 */
  gboolean is_output;
  gboolean is_uniform; /* every element is `uniform`, known at planning */
  double uniform;
  guint alias;      /* the root of which this is a view; 0: it has its own bytes */
  PlanUse *as_view; /* its entry in the list of uses of `alias` */
  LoomRegion region;
  const char *origin;
  const char *device_name; /* as requested; NULL: the default */
  int device;              /* index; valid after placement */
  guint other_layout;      /* the same value in the other layout, made by a reorder; 0: none */
  guint on_device;         /* its newest copy on another device, which links to the copy before; 0: none */
  LoomOwner owner;
  int storage;
} PlanValue;

typedef enum
{
  PLAN_STEP_SCALAR,
  PLAN_STEP_LOAD_SLICE, /* the result is a slice of operand arg[0] (plan-bundle.c) */
  PLAN_STEP_STORE_SLICE /* arg[0] is written to a slice of the result */
} PlanStepKind;

/* A step of an element-wise instruction. Operands and results are value numbers, so fusing two instructions
 * concatenates their steps; registers are assigned once, when the kernel is made. */
typedef struct
{
  LoomScalarOp op; /* LOOM_SCALAR_ID for slices, so that code that walks arguments can ignore the kind */
  guint arg[3];
  double imm;
  guint result;
  PlanStepKind kind;
  int axis; /* for slices: the axis of the operand or result, and the range along it */
  gint64 start, length;
} PlanStep;

struct _PlanNode
{
  /* What a walk reads, in one line of the cache. */
  PlanNode *prev, *next; /* in program order, including dead ones, which graph_first() and node_next() skip */
  guint64 order;         /* ascends along the list */
  const LoomPrim *prim;  /* of the last instruction fused into it; NULL for a copy between devices */
  GPtrArray *in;         /* PlanUse */
  GArray *out;           /* guint */
  GArray *steps;         /* PlanStep; elementwise only */
  gboolean dead, setup;

  gpointer attrs;    /* prim->attrs_size bytes */
  LoomDType compute; /* elementwise only */
  LoomRegion region;
  const char *origin, *device_name;
  guint recomputation, pass;
  guint chunk; /* the chunk of a head that it belongs to, from 1; 0: none */
  int device;
  gboolean is_transfer_only; /* the result has the operand's bytes, on another device */
  LoomKernel *kernel;
  const char *algorithm; /* the chosen option's */
  GString *label;
  gsize scratch_offset, kept_offset; /* of the kernel's memory in the arena, and in that of setup results */
  int stream;                        /* PLAN_STREAM_COMPUTE, or a stream of its device that overlaps it */
  GPtrArray *after;                  /* earlier PlanNode on other lanes that it waits for by an event; NULL: none */
};

/* The streams of a device, each of which is a lane. */
enum
{
  PLAN_STREAM_COMPUTE,
  PLAN_STREAM_SEND,     /* copies to other devices of the back end, overlapping PLAN_STREAM_COMPUTE */
  PLAN_STREAM_EXCHANGE, /* exchanges of ranks that overlap it: one stream for each axis of the mesh, from this one on,
                           as in PlanLink */
  PLAN_N_STREAMS = PLAN_STREAM_EXCHANGE + LOOM_MESH_AXES
};

/* TRUE for a copy between devices that they make on their streams, without the host. */
static inline gboolean
node_is_send (const PlanNode *instr)
{
  return instr->prim == NULL && instr->stream == PLAN_STREAM_SEND;
}

/* The accesses to memory of a device, in the order of its lanes (plan-order.c). For each stream: the number of
 * operations that are finished before the first access, and the number (from 1) of the last operation that accesses the
 * memory; 0: none. */
typedef struct
{
  guint begins[PLAN_N_STREAMS], ends[PLAN_N_STREAMS];
} PlanSpan;

#define PLAN_FOREVER G_MAXUINT /* in `ends`: the memory is read after the step */

typedef struct
{
  gsize bytes;
  PlanSpan span;   /* its accesses, which decide whether it may share bytes */
  int first, last; /* the positions in the schedule that enclose the span; −1: setup */
  int device;
  int slot, input; /* not in the arena if either is ≥ 0 */
  gboolean once;   /* made by a setup instruction: not in the arena, which other plans use between steps */
  int block;       /* index of the storage that contains it at `offset`; −1: none */
  LoomOwner owner;
  const char *origin; /* the graph node of the value for which it was made; NULL: none */
  gsize offset;
} PlanStorage;

typedef struct
{
  LoomProgram *program;
  LoomDevices *devices;
  LoomPlanOptions options;
  GArray *values; /* PlanValue, by number */
  PlanSlab nodes; /* PlanNode */
  PlanNode *first, *last;
  guint64 n_edits;     /* of instructions and uses, so that a pass without any leaves nothing to clean up */
  GPtrArray *schedule; /* borrowed PlanNode that run, setup ones first */
  PlanOrder *order;    /* of the schedule, once memory is assigned */
  GArray *storages;    /* PlanStorage */
  GPtrArray *plan_devices;
  GArray *input_copied; /* gboolean by program input: it has memory in the arena */
  GArray *uploads;      /* LoomPlanUpload */
  GArray *staging;      /* int by device: the storage for uploads, else -1 */
  GArray *results;      /* int by device: the storage of small results, else -1 */
  GArray *output_value; /* guint by program output */
  LoomFaults *faults;   /* all faults of nodes so far */
  GError *error;        /* the reason why planning failed */
} PlanGraph;

static inline PlanValue *
graph_value (PlanGraph *g, guint v)
{
  return &g_array_index (g->values, PlanValue, v);
}

static inline LoomPlanDevice *
graph_device (PlanGraph *g, int device)
{
  return g_ptr_array_index (g->plan_devices, (guint)device);
}

static inline guint
node_in (const PlanNode *instr, guint i)
{
  return ((const PlanUse *)g_ptr_array_index (instr->in, i))->value;
}

static inline guint
node_out (const PlanNode *instr, guint i)
{
  return g_array_index (instr->out, guint, i);
}

static inline PlanStep *
node_step (const PlanNode *instr, guint s)
{
  return &g_array_index (instr->steps, PlanStep, s);
}

/* ---- plan-graph.c: the helpers ------------------------------------------ */

/* The value that has v's bytes: a view's base, otherwise v. */
static inline guint
graph_root (PlanGraph *g, guint v)
{
  return graph_value (g, v)->alias != 0 ? graph_value (g, v)->alias : v;
}

/* TRUE for an input that keeps its value as long as setup results are kept (LoomPlanOptions.fixed_inputs). */
static inline gboolean
graph_is_fixed_input (PlanGraph *g, const PlanValue *v)
{
  return g->options.fixed_inputs > 0 && v->input >= (int)g->options.fixed_inputs;
}

/* TRUE for a weight that keeps its value as long (LoomPlanOptions.fixed_weights). */
static inline gboolean
graph_is_fixed_weight (PlanGraph *g, const PlanValue *v)
{
  const LoomSlot *slot
      = g->options.fixed_weights && v->slot >= 0 ? loom_program_get_slot (g->program, (guint)v->slot) : NULL;

  return slot != NULL && slot->commit == 0 && (slot->kind == LOOM_SLOT_PARAMETER || slot->kind == LOOM_SLOT_BUFFER);
}

/* TRUE if v, or the value whose view it is, keeps its value as long, or is made by a setup instruction. */
gboolean graph_is_fixed (PlanGraph *g, guint v);

guint graph_new_value (PlanGraph *g, const LoomTensorDesc *desc, const PlanValue *like);
/* A new value of v's type. */
static inline guint
graph_value_like (PlanGraph *g, guint v)
{
  return graph_new_value (g, &graph_value (g, v)->desc, graph_value (g, v));
}

/* Makes v, and its views, views of base's root. base 0: v gets its own bytes. */
void graph_set_alias (PlanGraph *g, guint v, guint base);
/* Makes a slot take v when the step ends, or a view of v if another slot takes v itself. */
void graph_commit (PlanGraph *g, guint v, int slot);
/* TRUE if v is used: by an instruction, the caller, a slot, or a view that is used. */
gboolean graph_is_used (PlanGraph *g, guint v);
/* The only living instruction that reads v itself (with `views`: v or its views), if v is neither an output nor a
 * state's next value and nothing else reads it; else NULL. */
PlanNode *graph_only_reader (PlanGraph *g, guint v, gboolean views);

/* The instructions that overwrite an operand with a result: PlanNode by the root value that is overwritten. (transfer
 * full) */
GHashTable *graph_find_updaters (PlanGraph *g);
/* Counts the readers of v and stores at most `max` of them. The result exceeds `max` if the caller, a slot or a reader
 * of a view uses v. */
guint graph_readers (PlanGraph *g, guint v, guint max, PlanNode **reader);

/* Inserts an instruction without operands and results before another one (NULL: at the end). attrs are copied. */
PlanNode *graph_insert (PlanGraph *g, PlanNode *before, const LoomPrim *prim, const void *attrs);
/* Does the same and copies like's graph node, device, region, recomputation, micro-batch and chunk. */
PlanNode *graph_insert_like (PlanGraph *g, PlanNode *before, const PlanNode *like, const LoomPrim *prim,
                             const void *attrs, const char *label);
void graph_move (PlanGraph *g, PlanNode *instr, PlanNode *before);
/* Marks an instruction dead: removes its operands and leaves its results without a producer. */
void graph_erase (PlanGraph *g, PlanNode *instr);
/* Makes all readers of a read b. If a is an output or a state's next value, it becomes a view of b, so its producer has
 * to be erased. */
void graph_replace (PlanGraph *g, guint a, guint b);

void graph_add_in (PlanGraph *g, PlanNode *instr, guint v);
/* Replaces operand k with v, in the steps too. */
void graph_set_in (PlanGraph *g, PlanNode *instr, guint k, guint v);
void graph_drop_in (PlanGraph *g, PlanNode *instr, guint k);
void graph_add_out (PlanGraph *g, PlanNode *instr, guint v);
/* Replaces result o with v. */
void graph_set_out (PlanGraph *g, PlanNode *instr, guint o, guint v);

/* The living instructions in order. One that is inserted after the current one is visited. */
PlanNode *graph_first (const PlanGraph *g);
PlanNode *node_next (const PlanNode *instr);
gboolean node_is_before (const PlanNode *a, const PlanNode *b);
void node_sort (GPtrArray *instrs /* PlanNode */);

/* TRUE if v, or its root, is made before the instruction. A pass that fuses a later instruction into an earlier one
 * must not read values that are made in between. */
gboolean graph_is_ready (PlanGraph *g, guint v, const PlanNode *instr);

/* TRUE if the instruction is an unfused call of this primitive. For passes whose pattern it is. */
gboolean node_is (const PlanNode *instr, const char *primitive);
/* TRUE if the instruction is element-wise with this operation as its only step. */
gboolean node_is_step (const PlanNode *instr, LoomScalarOp op);
/* TRUE if the steps and slices are within the limits of a kernel. */
gboolean plan_steps_fit (const GArray *steps);
/* Appends the label of a fused instruction; several are put in brackets. */
void plan_join_labels (GString *label, const char *other);
/* The name, in errors, of an instruction that belongs to no graph node; else NULL. (transfer full) */
char *graph_purpose (PlanGraph *g, const PlanNode *instr);
/* The primitive of the instruction's kernel call: "matmul", "elementwise"; "transfer" for a copy between devices. */
const char *node_kernel (const PlanNode *instr);
/* The graph nodes that an instruction computes, after fusions. (transfer container) */
GPtrArray *plan_nodes_of (PlanGraph *g, const PlanNode *instr);
gboolean plan_same_dims (const LoomTensorDesc *a, const LoomTensorDesc *b);

/* Erases instructions whose results are not used. */
void pass_remove_dead (PlanGraph *g);
/* Frees erased instructions; graph_run_passes() calls it after each pass. */
void graph_sweep (PlanGraph *g);
void graph_free (PlanGraph *g);

/* plan-import.c: converts a program to the working form, unchanged. */
PlanGraph *graph_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options);

/* ---- plan-passes.c: the table ------------------------------------------- */

typedef enum
{
  PASS_IS_FUSION = 1 << 0 /* skipped if every primitive has to have its own kernel */
} PlanPassFlags;

/* Properties of the working form after a pass. The order of passes with equal requirements is explained at the
 * table. */
typedef enum
{
  GRAPH_HAS_VIEWS = 1 << 0,   /* an instruction that changes no byte is a view, or marked is_transfer_only */
  GRAPH_HAS_DEVICES = 1 << 1, /* operands are on their instruction's device */
  GRAPH_HAS_LAYOUTS = 1 << 2, /* operands have the layout that is read; no instruction is inserted from here on */
  GRAPH_HAS_KERNELS = 1 << 3,
  GRAPH_HAS_SCHEDULE = 1 << 4,
  GRAPH_HAS_MEMORY = 1 << 5 /* the arena is assigned */
} PlanProperties;

typedef struct
{
  const char *name, *doc;     /* one line */
  void (*run) (PlanGraph *g); /* NULL: the pass applies patterns */
  PlanPassFlags flags;
  PlanProperties needs, provides; /* properties before the pass, and those that also hold after it */
  const PlanPattern *patterns;    /* plan-pattern.h */
} PlanPass;

extern const PlanPass graph_passes[]; /* ends with a NULL name */

/* Called after each pass. ran: FALSE if it was skipped. */
typedef void (*PlanPassFunc) (PlanGraph *g, const PlanPass *pass, gboolean ran, gpointer data);
gboolean graph_run_passes (PlanGraph *g, PlanPassFunc on_pass, gpointer data, GError **error);
guint graph_n_nodes (const PlanGraph *g);
/* The bytes of all results except views, as if no memory were shared. */
gsize graph_bytes (PlanGraph *g);

/* ---- plan-copies.c: copies (slice, permute, concatenate) ----------------------- */

/* Elements that are read from an operand: their shape, and their strides from `start` on. */
typedef struct
{
  guint from;
  int rank;
  gint64 dim[LOOM_MAX_RANK], stride[LOOM_MAX_RANK], start;
} PlanStridedRead;

/* Finds the strides of the same elements, in the same order, in another shape. FALSE if a new axis combines several old
 * ones that have no common stride. */
gboolean
plan_restride (int rank, const gint64 *dim, const gint64 *stride, int to_rank, const gint64 *to_dim, gint64 *to_stride);
/* Finds how an instruction reads its operand. FALSE if it does more than copy elements of one operand. */
gboolean node_strided_read (PlanGraph *g, const PlanNode *instr, PlanStridedRead *reading);
/* Does the same, and finds where it writes them. */
gboolean node_copy_part (PlanGraph *g, const PlanNode *instr, LoomMovePart *part);

/* plan-verify.c: verifies the working form (uses, producers, order). FALSE with a sentence, (transfer full). For
 * tests. */
gboolean graph_verify (PlanGraph *g, char **why);

/* ---- the passes, in the order of the table; plan-pattern.h has the patterns ---- */
void pass_merge_common (PlanGraph *g);
void pass_fold_constants (PlanGraph *g);
void pass_fuse_padded_parts (PlanGraph *g);
void pass_simplify_bounds (PlanGraph *g); /* plan-clamp.c */
void pass_find_views (PlanGraph *g);
void pass_keep_classes_last (PlanGraph *g);
void pass_pad_logits (PlanGraph *g);
void pass_read_16bit_logits (PlanGraph *g);
void pass_chunk_heads (PlanGraph *g);
void pass_fuse_copies (PlanGraph *g);
void pass_copy_state (PlanGraph *g);
void pass_sgd_undo_log (PlanGraph *g);
void pass_sink_relus (PlanGraph *g);
/* The value that a batch norm, or batch_norm_apply, adds at the end of a residual block; 0: none. */
guint node_norm_residual (const PlanNode *norm);
/* The conversion of v, a 16-bit float, to f32, if that is the only reader of v; else NULL. */
PlanNode *graph_only_upcast (PlanGraph *g, guint v, const char *device_name);
void pass_rematerialise (PlanGraph *g);
void pass_bundle (PlanGraph *g);
void pass_view_slices (PlanGraph *g);

/* plan-placement.c: devices and the copies between them. Placement and the two passes after it report faults and
 * continue, so that planning finds all faults at once. */
void pass_place_on_devices (PlanGraph *g);
void graph_find_setup (PlanGraph *g); /* plan-schedule.c: marks setup instructions */
void pass_schedule (PlanGraph *g);
void pass_transpose_fixed (PlanGraph *g); /* plan-transpose.c */
/* Reports a fault at a graph node, once for each kind of fault. message: (transfer full). port and fix may be NULL. */
void graph_report_fault (PlanGraph *g, LoomErrorCode code, const char *node, const char *port, const char *fix,
                         char *message);
/* Sets the error to the first fault, for callers that pass no list of faults. */
void graph_faults_to_error (PlanGraph *g);
/* Inserts a copy before an instruction (NULL: at the end). prim NULL: a copy between devices. */
PlanNode *graph_insert_copy (PlanGraph *g, PlanNode *before, const LoomPrim *prim, const void *attrs, guint from,
                             guint to, int device);

/* plan-overlap.c: exchanges of ranks that overlap the computation. */
void pass_overlap_exchanges (PlanGraph *g);

/* plan-device-copies.c: copies between devices that overlap the computation. */
void pass_overlap_copies (PlanGraph *g);
/* Marks the copies on send lanes, and the instructions that wait for them, in the finished plan. */
void graph_export_sends (PlanGraph *g, LoomPlan *plan);

/* plan-layout.c: algorithms and layouts, chosen for the whole graph, and the reorders between them. */
void pass_choose_layouts (PlanGraph *g);

/* plan-kernel.c */
void pass_make_kernels (PlanGraph *g);
/* The kernel call of an instruction, with its own or with other operands and results. */
typedef struct
{
  LoomKernelSpec spec;
  LoomTensorDesc *desc;
  LoomElementwiseAttrs elementwise;
} PlanKernelCall;
void node_kernel_call (PlanGraph *g, PlanKernelCall *call, const PlanNode *instr);
void plan_kernel_call_clear (PlanKernelCall *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlanKernelCall, plan_kernel_call_clear)
/* The operands that a kernel may pack, as bits. A setup instruction, which runs once, has none. */
guint64 graph_fixed_operands (PlanGraph *g, const PlanNode *instr);
/* plan-visit.c: the kernel of switch and visit. */
LoomKernel *loom_plan_visit_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                                 const LoomPrim *prim, const void *attrs, GError **error);
/* plan-kernel.c: the attributes of an instruction as text, a part of the key of measurements. (transfer full) */
char *node_describe (const PlanNode *instr);
/* loom_plan_options() with costs from rates alone. */
guint plan_estimate_options (const LoomPlanDevice *device, const LoomKernelSpec *spec,
                             LoomKernelOption option[LOOM_MAX_OPTIONS], LoomMessage *message);
/* Replaces estimates with measurements if all options were measured; else FALSE, because a measured time and an
 * estimate are not comparable. */
gboolean plan_use_measurements (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                                LoomKernelOption *option, guint n);
/* plan_estimate_options() for a call of instr, without those that the plan's layouts exclude. If there are no options
 * because the device failed, reports that as a fault. */
guint graph_options (PlanGraph *g, const LoomPlanDevice *device, const PlanNode *instr, const LoomKernelSpec *spec,
                     LoomKernelOption option[LOOM_MAX_OPTIONS]);
/* TRUE if the instruction's device has a kernel for its current attributes and steps with these operands and results.
 * Passes call it before they fuse instructions. */
gboolean
graph_has_kernel (PlanGraph *g, const PlanNode *instr, guint n_in, const guint *in, guint n_out, const guint *out);
/* TRUE if that kernel also needs less than `limit` bytes of scratch. A kernel that converts an operand in scratch saves
 * nothing compared with a separate conversion. */
gboolean graph_has_small_kernel (PlanGraph *g, const PlanNode *instr, guint n_in, const guint *in, guint n_out,
                                 const guint *out, gsize limit);
/* TRUE if this device (NULL: the plan's own) has its own memory and launched kernels, like a GPU. */
gboolean graph_is_on_gpu (PlanGraph *g, const char *device_name);

/* plan-overlap.c: makes an instruction wait for an earlier one on another lane by an event. */
void node_wait_for (PlanNode *instr, PlanNode *other);
/* Marks the instructions that wait for other lanes in the finished plan. */
void graph_export_waits (PlanGraph *g, LoomPlan *plan);

/* plan-memory-owners.c: makes gradients the owner of the values that the update, or an exchange before it, reads. */
void graph_mark_gradients (PlanGraph *g);
/* The memory figures of a finished plan, by device and owner. */
void graph_export_memory (PlanGraph *g, LoomPlan *plan);

/* plan-order.c: the happens-before relation, from lanes and events. */
PlanOrder *plan_order_new (PlanGraph *g);
void plan_order_free (PlanOrder *order, const PlanGraph *g);
/* The operation of the instruction at a position that reads its operands, and the first one that writes its results.
 * They differ for a copy between devices. */
guint plan_order_reads_at (const PlanOrder *order, guint position);
guint plan_order_writes_at (const PlanOrder *order, guint position);
/* The operation with which a device begins a step: inputs are in the arena when it begins. */
guint plan_order_begins_at (int device);
/* Adds an access by an operation to a span. */
void plan_span_touch (PlanSpan *span, const PlanOrder *order, guint op);
/* TRUE if all accesses are finished when the operation begins. but_for_itself: except the operation's own. */
gboolean plan_span_is_over (const PlanSpan *span, const PlanOrder *order, guint op, gboolean but_for_itself);
/* The last position in the schedule that is not ordered after the whole span. Up to there the memory is in use for the
 * instructions of its device. */
int plan_span_last (const PlanSpan *span, const PlanOrder *order, guint device);

static inline gboolean
plan_span_is_empty (const PlanSpan *span)
{
  guint most = 0;

  for (int k = 0; k < PLAN_N_STREAMS; k++)
    most = MAX (most, span->ends[k]);
  return most == 0;
}

/* TRUE if all accesses of a happen before any access of b. */
static inline gboolean
plan_span_precedes (const PlanSpan *a, const PlanSpan *b)
{
  for (int k = 0; k < PLAN_N_STREAMS; k++)
    if (a->ends[k] > b->begins[k])
      return FALSE;
  return TRUE;
}

/* TRUE if both may share bytes: one is finished before the other begins. */
static inline gboolean
plan_spans_are_disjoint (const PlanSpan *a, const PlanSpan *b)
{
  return plan_span_precedes (a, b) || plan_span_precedes (b, a);
}

/* Extends `span` to cover `other`. */
static inline void
plan_span_join (PlanSpan *span, const PlanSpan *other)
{
  for (int k = 0; k < PLAN_N_STREAMS; k++)
    {
      span->begins[k] = MIN (span->begins[k], other->begins[k]);
      span->ends[k] = MAX (span->ends[k], other->ends[k]);
    }
}

/* plan-memory.c: liveness, in-place results, offsets. */
void pass_assign_memory (PlanGraph *g);
int graph_new_storage (PlanGraph *g, gsize bytes, int device, int first, LoomOwner owner);
/* plan-upload.c: memory for uploads and for small results to download. */
void graph_stage_uploads (PlanGraph *g);
void graph_pack_results (PlanGraph *g);
/* plan-arena.c: offsets in a device's arena for the storages that are in no block. */
void graph_assign_offsets (PlanGraph *g, int device);
gboolean graph_in_arena (PlanGraph *g, const PlanStorage *s);
/* The size of a device's arena. */
gsize graph_arena_bytes (PlanGraph *g, guint device);

/* Bytes of a graph node in a plan: setup results, or bytes alive at the peak. */
typedef struct
{
  const char *node; /* NULL: of no node */
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
  GPtrArray *nodes;                   /* by instruction: the nodes that it computes, which the program owns */
  guint n_setup;                      /* instructions that run once, when the plan is bound */
  guint fixed_inputs;                 /* see loom_plan_fixed_inputs() */
  GArray *values;                     /* LoomPlanValue */
  GArray *input_value, *output_value; /* guint */
  GArray *commit_copy;                /* pairs (value, slot): copied when the step ends */
  GArray *slot_device;                /* guint by slot of the program */
  GArray *memory;                     /* LoomPlanMemory, by device */
  GArray *holdings;                   /* PlanHolding: the contributions to `once` and `peak` */
  GArray *storages;                   /* LoomPlanStorage */
  GArray *uploads;                    /* LoomPlanUpload */
  GArray *staging, *results;          /* LoomPlanArea, by device */
  gboolean flat_gradients, has_mesh, has_fixed_weights;
  LoomMesh mesh; /* without communicators, which may be closed before the plan is freed */
};
