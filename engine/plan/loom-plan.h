/* A plan: a program compiled for repeated execution.
 *
 * Planning removes dead code, folds constants, merges common subexpressions, and fuses element-wise chains and
 * epilogues. It chooses devices and physical layouts, inserts copies, and assigns each value its memory: a state slot,
 * a batch buffer, or an offset in one arena per device. engine/run executes plans. A plan knows programs but no graphs.
 * This header also declares the kernels that run bodies. */
#pragma once

#include "engine/core/loom-fault.h"
#include "engine/plan/loom-devices.h"
#include "engine/plan/loom-mesh.h"
#include "engine/plan/loom-owner.h"
#include "engine/program/loom-prim.h"

typedef struct _LoomPlan LoomPlan;

/* Running statistics count as parameters, scalars as workspace. */
LoomOwner loom_owner_of_slot (LoomSlotKind kind);

/* Receives each call for which a device has several options: the call with plain layouts, its attributes as text, and
 * the options. All arguments are valid only during the call. */
typedef void (*LoomPlanOptionFunc) (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                                    const LoomKernelOption *option, guint n, gpointer data);

/* The state of the program after a pass. */
typedef struct
{
  const char *name, *doc; /* one line */
  gboolean ran;           /* FALSE: skipped because of no_fusion */
  guint n_instrs;
  gsize bytes; /* of all results, as if no memory were shared; after the last pass the size of the arenas */
} LoomPlanPass;
typedef void (*LoomPlanPassFunc) (const LoomPlanPass *pass, gpointer data);

/* A kernel of the plan, with its call and the nodes that the call computes. Instructions of bodies come before the
 * instruction that runs them. */
typedef struct
{
  const LoomPlanDevice *device;
  const LoomKernelSpec *spec; /* with the chosen layouts */
  const LoomKernel *kernel;
  const char *label, *algorithm; /* algorithm: NULL if the kernel is not a back end's */
  LoomRegion region;
  guint n_nodes; /* 0: it belongs to no node */
  const char *const *node;
} LoomPlanCall;
typedef void (*LoomPlanCallFunc) (const LoomPlanCall *call, gpointer data);

typedef struct
{
  const char *device;       /* the default device: "cpu" */
  gboolean no_fusion;       /* one kernel per primitive */
  const char *last_fusion;  /* fusions after this pass are skipped; NULL: all run */
  gboolean no_reuse;        /* every value has its own memory; the reference for tests of memory reuse */
  gboolean no_layout;       /* plain layout everywhere */
  gboolean no_sends;        /* the host makes all copies between devices */
  gboolean flat_gradients;  /* gradients form one block in the parameters' order, so that one call can reduce all of
                               them; needs more memory */
  gboolean strict_devices;  /* an edge between nodes on different devices is an error */
  const LoomMesh *mesh;     /* for a partitioned program: open, and must outlive the plan */
  gboolean resident_inputs; /* inputs are in the device's memory already, as in a body */
  guint fixed_inputs;       /* with resident_inputs: inputs from this one on keep their values as long as setup results
                               are kept, as a loop's whole operands do; 0: none do */
  gboolean
      fixed_weights;        /* parameters and buffers that the program does not write keep their values from
                               loom_exec_new() on: what depends on them alone is computed there, and kernels may pack them */
  LoomPlanOptionFunc visit; /* may be NULL */
  gpointer visit_data;
  LoomPlanPassFunc on_pass; /* receives every pass: those that made the program, the program itself, the planner's */
  gpointer on_pass_data;
  LoomPlanCallFunc on_call; /* may be NULL; its argument is valid only during the call */
  gpointer on_call_data;
  LoomFaults *faults; /* receives every fault, each with its node; NULL: only the first is reported, as the error */
} LoomPlanOptions;

/* The kind of memory that holds a value. */
typedef enum
{
  LOOM_LOCATION_NONE,
  LOOM_LOCATION_ARENA,
  LOOM_LOCATION_SETUP,
  LOOM_LOCATION_SLOT,
  LOOM_LOCATION_INPUT
} LoomLocationKind;

typedef struct
{
  LoomLocationKind kind;
  guint device; /* index into the plan's devices */
  gsize offset; /* in the arena, or in the block of setup results */
  guint index;  /* of the slot or program input */
} LoomLocation;

/* Values 1 … loom_program_n_values() are the program's; those that passes made follow. */
typedef struct
{
  LoomTensorDesc desc; /* with the physical layout */
  LoomLocation location;
  LoomOwner owner;
  const char *origin;
  guint first, last; /* positions of the instructions between which the value is alive */
  guint root;        /* the value whose bytes it uses: a view's base, otherwise itself */
} LoomPlanValue;

typedef struct
{
  LoomKernel *kernel; /* owned; NULL for a copy between devices */
  guint n_bodies;     /* the programs that the kernel runs, if any; owned by it */
  const LoomPlan **body;
  gboolean syncs_host;   /* run() synchronises with the device to read numbers that decide what runs next */
  const char *algorithm; /* the chosen option's: "onednn" */
  const char *primitive;
  const LoomKernelSpec *spec; /* the call, with its layouts; owned; NULL for a copy between devices and for a wait */
  gboolean is_gate;           /* LOOM_PRIM_GATE */
  LoomMeshAxis along;         /* the axis of the mesh of an exchange */
  gboolean is_async;          /* an exchange on its own lane, for which another instruction waits */
  gboolean is_wait;           /* only waits for exchanges: has no operands and no results */
  guint until;      /* the first instruction that waits for it, if it is on an exchange or send lane; else G_MAXUINT */
  gboolean is_send; /* it is on the send lane of its operand's device */
  guint n_sent;     /* number of copies on send lanes that it waits for; `sent` has their positions */
  guint *sent;
  char *label; /* "matmul+bias+relu", "elementwise(mul,add)" */
  const char *origin;
  LoomRegion region;
  guint pass; /* see LoomInstr */
  guint device;
  guint n_in, n_out;
  const guint *value; /* n_in + n_out plan values; G_MAXUINT: absent */
  gsize scratch;      /* offset in the arena; only if scratch_bytes > 0 */
  gsize kept;         /* offset in the block of setup results; only if kept_bytes > 0 */
  double flops, bytes;
} LoomPlanInstr;

typedef struct
{
  gsize state[LOOM_N_OWNERS]; /* bytes of the slots: parameters and optimizer state, which outlive the plan and are
                                 shared */
  gsize once[LOOM_N_OWNERS];  /* results of setup instructions, which live as long as the plan is bound */
  gsize peak[LOOM_N_OWNERS];  /* everything else at the moment of the peak, by owner */
  gsize arena;                /* size of the arena, which plans with the same state share: the largest counts */
  gsize lower_bound;          /* the largest sum of live bytes */
} LoomPlanMemory;

/* ---- lanes ----
 *
 * The work of a step on a device is divided into lanes, each with its own stream if the device has streams:
 * compute: the instructions, in order
 * upload: the inputs of the next step, from page-locked memory to a staging area
 * exchange: exchanges of ranks during the computation (plan-comm-thread.c)
 * send: copies to other devices of the same back end that the device makes without the host (plan-device-copies.c)
 *
 * Only events order lanes. Two values share bytes of the arena only if lanes and events order all accesses of one
 * before all accesses of the other (plan-order.c).
 *
 * A step begins with copies from the staging area to the inputs in the arena. They wait for the upload, and the next
 * upload, which may follow at any time, waits for them. So the staging area shares its bytes with nothing. A step's
 * small results are adjacent in the arena, from where one copy after the last instruction downloads them to page-locked
 * memory. */

/* A program input that is uploaded to a device with its own memory. */
typedef struct
{
  guint input, device;
  gsize offset, bytes; /* in the staging area */
} LoomPlanUpload;

typedef struct
{
  gsize offset, bytes; /* bytes 0: no area */
} LoomPlanArea;

/* Receives every finished plan, those of bodies before the plan that runs them; NULL: none. For a checker, which is not
 * part of the planner. */
typedef void (*LoomPlanCheckFunc) (const LoomPlan *plan);
void loom_plan_set_checker (LoomPlanCheckFunc check);

/* Keeps a reference to program. A NO_KERNEL error names node, primitive, device and dtype. */
LoomPlan *loom_plan_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options, GError **error);
/* Waits for exchanges that a failed step has left running; call it before their memory is freed. */
void loom_plan_drain (LoomPlan *plan);
/* TRUE if every further exchange of this collective fails on all ranks (LoomComm.has_ended). */
gboolean loom_plan_ranks_have_ended (const LoomPlanInstr *instr);

/* TRUE if an instruction is an exchange of ranks, or waits for one. */
gboolean loom_plan_exchanges (const LoomPlanInstr *instr);

/* The times of an exchange that overlaps the computation. */
typedef struct
{
  gint64 begin, end;       /* nanoseconds of the monotonic clock; or on a device the events below */
  LoomEvent *ready, *over; /* its operands were ready; it was finished, with all exchanges before it */
} LoomPlanExchange;

/* The times of an instruction's exchange in the last step. FALSE if the instruction is no exchange or does not overlap
 * the computation. */
gboolean loom_plan_exchange_times (const LoomPlanInstr *instr, LoomPlanExchange *times);
void loom_plan_free (LoomPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomPlan, loom_plan_free)

LoomProgram *loom_plan_program (const LoomPlan *plan);
/* The sizes of the mesh and the rank's coordinates, without communicators; NULL if the plan exchanges nothing. */
const LoomMesh *loom_plan_mesh (const LoomPlan *plan);
guint loom_plan_n_devices (const LoomPlan *plan);
LoomPlanDevice *loom_plan_device (const LoomPlan *plan, guint i);
guint loom_plan_n_instrs (const LoomPlan *plan);
const LoomPlanInstr *loom_plan_instr (const LoomPlan *plan, guint i);
/* The purpose of an instruction that belongs to no node (loom_program_purpose()). (transfer full) */
char *loom_plan_purpose (const LoomPlan *plan, const LoomPlanInstr *instr);
guint loom_plan_n_values (const LoomPlan *plan);
const LoomPlanValue *loom_plan_value (const LoomPlan *plan, guint i);
/* The plan value of a program input, an output, or a slot (the value it reads or commits). G_MAXUINT: unused. */
guint loom_plan_input_value (const LoomPlan *plan, guint input);
guint loom_plan_output_value (const LoomPlan *plan, guint output);
void loom_plan_memory (const LoomPlan *plan, guint device, LoomPlanMemory *memory);
/* The device of slot i of the program, and its bytes there. */
guint loom_plan_slot_device (const LoomPlan *plan, guint slot);
gsize loom_plan_slot_bytes (const LoomSlot *slot);
/* Combines the memory of two plans that share a state and run alternately: setup results are added up. Of the arenas,
 * and of the states, of which each plan may use only a part, the larger counts. */
void loom_plan_memory_join (LoomPlanMemory *memory, const LoomPlanMemory *other);
/* State, setup results and peak together. */
void loom_plan_memory_sum (const LoomPlanMemory *memory, gsize bytes[LOOM_N_OWNERS]);
/* The number of leading instructions that run once, when the plan is bound. */
guint loom_plan_n_setup (const LoomPlan *plan);
/* The first fixed input (LoomPlanOptions), which setup instructions may read; the number of inputs: there is none. */
guint loom_plan_fixed_inputs (const LoomPlan *plan);
/* LoomPlanOptions.fixed_weights. */
gboolean loom_plan_has_fixed_weights (const LoomPlan *plan);
/* ---- for executors ---- */

guint loom_plan_n_uploads (const LoomPlan *plan);
const LoomPlanUpload *loom_plan_upload (const LoomPlan *plan, guint i);
/* The device's staging area, at an offset in the block of setup results, and its area of small results, at an offset in
 * the arena. */
LoomPlanArea loom_plan_staging (const LoomPlan *plan, guint device);
LoomPlanArea loom_plan_results (const LoomPlan *plan, guint device);
/* TRUE if an output is among its device's small results. */
gboolean loom_plan_is_result (const LoomPlan *plan, guint output);

/* TRUE if gradients form one block, which is alive from the first gradient on (LoomPlanOptions.flat_gradients). */
gboolean loom_plan_has_flat_gradients (const LoomPlan *plan);

/* The pairs (value, slot) that are copied when the step ends. */
const GArray *loom_plan_commit_copies (const LoomPlan *plan);
/* TRUE if a call of the primitive may round f32 operands to TF32, which only products may, and only if the program
 * allows it. prim NULL: a fused call or a copy. */
gboolean loom_plan_rounds_to_tf32 (const LoomProgram *program, const LoomPrim *prim);
/* The kernel call of a single program instruction, for the unfused plan and the eager executor. FALSE for an alias,
 * which needs no kernel. attrs_store holds an element-wise primitive's attributes. */
gboolean loom_plan_spec_of_instr (const LoomProgram *program, const LoomInstr *instr, const char **primitive,
                                  const void **attrs, LoomElementwiseAttrs *attrs_store);

/* Lists a device's options for a call with costs from its cost table, and returns their number. The layouts of spec are
 * plain. attributes: as text, to find measurements; may be NULL. */
guint loom_plan_options (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                         LoomKernelOption option[LOOM_MAX_OPTIONS], LoomMessage *message);
/* Makes the kernel of spec's algorithm or, if spec names none, the cheapest one for spec's layouts. algorithm (may be
 * NULL) receives its name. */
LoomStatus loom_plan_kernel_new (const LoomPlanDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel,
                                 const char **algorithm, LoomMessage *message);

/* Instructions whose kernels the planner makes itself: those with bodies (LoomPrim.bodies), whose run() is the loop,
 * and those that the host computes (LoomPrim.on_host), for which desc has operands, then results. Only the switches of
 * options are used. */
gboolean loom_plan_is_internal (const LoomPrim *prim);
LoomKernel *loom_plan_internal_kernel_new (LoomDevices *devices, const LoomPlanDevice *device,
                                           const LoomPlanOptions *options, const LoomPrim *prim, const void *attrs,
                                           guint n_in, guint n_out, const LoomTensorDesc *desc, GError **error);
LoomKernel *loom_plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                                const LoomPrim *prim, const void *attrs, GError **error);
/* The plan of a distinct body of such a kernel. */
const LoomPlan *loom_plan_of_body (const LoomKernel *kernel, guint k);
/* TRUE if a kernel synchronises with the device to read numbers, so that a step cannot be recorded and replayed. */
gboolean loom_plan_syncs_host (const LoomPlan *plan);
/* The reason why exchanges of values on devices go through the host, which is known only after the first step. NULL if
 * they do not. */
const char *loom_plan_why_via_host (const LoomPlan *plan);

/* The text of `gradloom plan`. (transfer full) */
char *loom_plan_print (const LoomPlan *plan);
/* A value's type and location, "f32[64×20×24×24] nhwc @4096", or a slot's or an input's name. (transfer full) */
char *loom_plan_describe_value (const LoomPlan *plan, guint value);
