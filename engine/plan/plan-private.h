/* The planner's working form: a program whose instructions may be merged, moved and
 * given kernels.
 *
 * Values keep the program's numbers (0 is none) and new ones are appended; an instruction
 * that was merged into another is marked dead. An element-wise instruction keeps its steps
 * with value numbers as operands, so that merging two is concatenation; registers
 * are assigned once, when the kernel is made. */
#pragma once

#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

typedef struct
{
  LoomTensorDesc desc;
  int producer; /* instruction, -1 for slots and inputs */
  int slot, input;
  int commit; /* slot that takes this value when the step ends, else -1 */
  gboolean is_output;
  gboolean is_uniform; /* every element is `uniform`, known at planning */
  double uniform;
  guint alias; /* same bytes as this value (reshape); 0: bytes of its own */
  LoomRegion region;
  const char *origin;
  const char *device_name; /* as asked for; NULL: the default */
  int device;              /* once placed */
  guint other_layout;      /* the same value in the other layout once a reorder made it, else 0 */
  guint on_device;         /* the newest copy of it on another device, else 0 */
  LoomOwner owner;
  guint n_uses; /* operands of living instructions, outputs and commits */
  int storage;
} WorkValue;

typedef struct
{
  LoomScalarOp op;
  guint arg[3];
  double imm;
  guint result;
} WorkStep;

typedef struct
{
  const LoomPrim *prim; /* of the first instruction in it; NULL for copies the planner made */
  const char *primitive;
  gpointer attrs;
  gsize attrs_size;
  GArray *in, *out;  /* guint */
  GArray *steps;     /* WorkStep; elementwise only */
  LoomDType compute; /* elementwise only */
  LoomRegion region;
  const char *origin, *device_name;
  guint recomputation;
  int device;
  gboolean dead, setup, is_transfer;
  gboolean crosses_only; /* the result is the operand's bytes on another device */
  LoomKernel *kernel;
  GString *label;
  gsize scratch_offset;
} WorkInstr;

typedef struct
{
  gsize bytes;
  int first, last; /* positions in the schedule; setup is -1 */
  int device;
  int slot, input; /* not in the arena when either is ≥ 0 */
  int block;       /* the storage it is a part of, at `offset` in it, else -1 */
  LoomOwner owner;
  gsize offset;
} WorkStorage;

typedef struct
{
  LoomProgram *program;
  LoomDevices *devices;
  LoomPlanOptions options;
  GArray *values;      /* WorkValue, by number */
  GPtrArray *instrs;   /* WorkInstr, in program order; planner's own inserted where they run */
  GPtrArray *schedule; /* borrowed WorkInstr, those that run, setup ones first */
  GArray *storages;    /* WorkStorage */
  GPtrArray *plan_devices;
  GArray *input_copied; /* gboolean by program input: it has a place in the arena */
  GArray *output_value; /* guint by program output */
  LoomFaults *faults;   /* what no device can do */
} Work;

static inline WorkValue *
work_value (Work *w, guint v)
{
  return &g_array_index (w->values, WorkValue, v);
}

static inline WorkInstr *
work_instr (Work *w, guint i)
{
  return g_ptr_array_index (w->instrs, i);
}

static inline guint
work_in (const WorkInstr *instr, guint i)
{
  return g_array_index (instr->in, guint, i);
}

static inline guint
work_out (const WorkInstr *instr, guint i)
{
  return g_array_index (instr->out, guint, i);
}

/* The value whose bytes v has. */
guint work_root (Work *w, guint v);
guint work_new_value (Work *w, const LoomTensorDesc *desc, const WorkValue *like);
WorkInstr *work_new_instr (Work *w, const char *primitive, const void *attrs, gsize attrs_size);
void work_instr_free (WorkInstr *instr);
void work_count_uses (Work *w);

/* Who reads each value: looked for once, because a search for each value makes planning quadratic. What has died since,
 * or reads something else by now, is left out when it is asked; readers that came later are not known. */
typedef struct
{
  guint n;      /* values there were */
  guint *start; /* of each root value, its place in instr; n + 1 entries */
  guint *instr; /* numbers of instructions, ascending */
} WorkReaders;

WorkReaders *work_readers_new (Work *w);
void work_readers_free (WorkReaders *readers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (WorkReaders, work_readers_free)
/* The only living instruction that reads v itself (or, with aliases, something that has v's bytes), where v is neither
 * an output nor a state's next value and nothing else reads it; NULL otherwise. index may be NULL. */
WorkInstr *work_only_reader (Work *w, const WorkReaders *readers, guint v, gboolean aliases, guint *index);

/* plan-import.c: program → work; dead code, uniform constants, common values, aliases. */
Work *work_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options);
void work_free (Work *w);
void work_remove_dead (Work *w);

/* plan-fuse.c: epilogues and element-wise chains. */
void work_fuse (Work *w);

/* plan-norm.c: batch normalisation with the ReLU behind it. */
void work_fuse_norms (Work *w, const WorkReaders *readers);

/* plan-pool.c: a ReLU in front of a maximum over windows moves behind it. */
void work_move_relus (Work *w);

/* plan-again.c: what is cheap is made a second time for the backward pass instead of being kept. */
void work_make_again (Work *w);

/* plan-cast.c: conversions that loads, stores and products make on the way. */
void work_settle_casts (Work *w);

/* plan-place.c: devices, layouts, copies, kernels, and the schedule. Where something cannot be done the fault is noted
 * and the rest goes on, so that all faults are found at once; FALSE then, with the first of them. */
gboolean work_place (Work *w, GError **error);

/* plan-memory.c: liveness, in-place, offsets. */
void work_assign_memory (Work *w);

/* The kernel call that one program instruction is on its own, as both the unfused plan and the eager executor
 * make it. FALSE for an alias, which needs no kernel. attrs_store keeps an element-wise primitive's attributes. */
gboolean loom_plan_spec_of_instr (const LoomProgram *program, const LoomInstr *instr, const char **primitive,
                                  const void **attrs, LoomElementwiseAttrs *attrs_store);
LoomDType loom_plan_compute_type (LoomDType float_type, guint n_in, const LoomDType *in, LoomDType out);

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
};

/* For the executor: pairs (value, slot) copied at the end. */
const GArray *loom_plan_commit_copies (const LoomPlan *plan);

G_END_DECLS
