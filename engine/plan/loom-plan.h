/* A plan: a program made ready to run again and again.
 *
 * Dead code is removed, constants folded, common values shared, element-wise chains and
 * epilogues fused, devices and physical layouts chosen, copies inserted, every value given a
 * place: a state slot, a batch buffer, or an offset in one arena per device. Nothing is
 * executed here; engine/run does that. The plan knows programs only. */
#pragma once

#include "engine/core/loom-fault.h"
#include "engine/plan/loom-costs.h"
#include "engine/plan/loom-mesh.h"
#include "engine/program/loom-prim.h"
#include "kernels/tools.h"

G_BEGIN_DECLS

typedef struct _LoomPlan LoomPlan;

/* An opened device, shared by plans and runs. */
typedef struct
{
  char *name; /* "cpu", "cpu:1", "cuda:0", "ref" */
  const LoomBackend *backend;
  const LoomBackendTools *tools; /* NULL: the back end has none */
  LoomDevice *device;
  LoomDeviceInfo info;
  LoomCostTable *costs; /* that of the LoomDevices */
  char *cost_key;       /* what measurements on this device are kept under */
} LoomPlanDevice;

/* Opens devices by name once; modules (CUDA) are loaded on demand. DEVICE error with a sentence when there is none,
 * SCHEMA where the name is no device's on any machine. */
typedef struct _LoomDevices LoomDevices;
LoomDevices *loom_devices_new (int threads /* 0: all processors; of more than those no use is made */);
LoomDevices *loom_devices_ref (LoomDevices *devices);
void loom_devices_unref (LoomDevices *devices);
/* A rank's place among those on its machine: a GPU's name without a number is then this one's, rank % how many there
 * are. */
void loom_devices_set_local_rank (LoomDevices *devices, int rank);
/* The table that choices are made by: the default one, unless another was given before the first device was opened. */
LoomCostTable *loom_devices_costs (LoomDevices *devices);
void loom_devices_set_costs (LoomDevices *devices, LoomCostTable *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDevices, loom_devices_unref)
LoomPlanDevice *loom_devices_get (LoomDevices *devices, const char *name, GError **error);
/* That SCHEMA error alone, which lists the devices that are here; nothing is opened. */
gboolean loom_devices_check_name (LoomDevices *devices, const char *name, GError **error);
/* The tools of the back end that a device's name means, whether or not there is such a device; NULL where it is none's
 * name, the back end's module cannot be opened, or it has none. */
const LoomBackendTools *loom_devices_find_tools (LoomDevices *devices, const char *name);
/* The device that computes in float_type where a node asks for the one called name: that one, but in f64, which only
 * plain loops compute, the one of theirs with its number. NULL, the plan's own, where name is NULL or there are not so
 * many of them: a graph that is inspected in f64 may name devices that are not here. */
const char *loom_devices_for (LoomDevices *devices, const char *name, LoomDType float_type);
/* How many threads a CPU device has at most: as many as the process may use processors (affinity, control group). */
int loom_processors (void);
/* And how many a rank has of them by itself; NULL: of one rank. */
int loom_processors_of_rank (const LoomComm *comm);
/* The warning where more threads than that are asked for; else NULL. (transfer full) */
char *loom_threads_warning (int threads);
/* All that could be opened, for `gradloom devices`: names of back ends with their count or the sentence why not. */
typedef void (*LoomDeviceFunc) (const char *name, const LoomDeviceInfo *info, const char *why_not, gpointer data);
void loom_devices_foreach (LoomDevices *devices, LoomDeviceFunc func, gpointer data);

/* FALSE with OUT_OF_MEMORY when the device has fewer than `bytes` free now. A system that overcommits would grant them
 * and kill the process when they are touched. what: "A step" */
gboolean loom_plan_device_has_room (LoomPlanDevice *device, gsize bytes, const char *what, GError **error);
/* The same error after an allocation has failed; why: the back end's own words, or NULL. */
void loom_plan_device_no_room (LoomPlanDevice *device, gsize bytes, const char *what, const char *why, GError **error);
/* The error that a back end's status is, with its remedy. where: what failed and on which device, "A step on cuda:0";
 * why: the back end's sentence, without a full stop. */
void loom_plan_device_error (LoomStatus status, const char *where, const char *why, GError **error);

/* Owner of a byte. */
typedef enum
{
  LOOM_OWNER_PARAMETERS,
  LOOM_OWNER_GRADIENTS,
  LOOM_OWNER_OPTIMIZER,
  LOOM_OWNER_ACTIVATIONS,
  LOOM_OWNER_WORKSPACE,
  LOOM_OWNER_DATA,
  LOOM_N_OWNERS
} LoomOwner;
const char *loom_owner_name (LoomOwner owner);    /* "parameters" */
LoomOwner loom_owner_of_slot (LoomSlotKind kind); /* running statistics count as parameters, scalars as workspace */

/* Receives each call that a device can compute in several ways: the call with plain layouts, its attributes in words,
 * and the options. All of it lives only as long as the call. */
typedef void (*LoomPlanVisit) (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                               const LoomKernelOption *option, guint n, gpointer data);

/* The program behind a pass. */
typedef struct
{
  const char *name, *doc; /* one line */
  gboolean ran;           /* FALSE: left out, as no_fusion asks */
  guint n_instrs;
  gsize
      bytes; /* of all that instructions make, as if nothing shared a place; behind the last pass those of the arenas */
} LoomPlanPass;
typedef void (*LoomPlanPassFunc) (const LoomPlanPass *pass, gpointer data);

/* A kernel of the plan: the call that it was made for, and the nodes that the call computes something of. Bodies come
 * before the instruction that runs them. */
typedef struct
{
  const LoomPlanDevice *device;
  const LoomKernelSpec *spec; /* with the layouts that were chosen */
  const LoomKernel *kernel;
  const char *label, *algorithm; /* algorithm: NULL where it is none of a back end's */
  LoomRegion region;
  guint n_nodes; /* 0: it is of no node */
  const char *const *node;
} LoomPlanCall;
typedef void (*LoomPlanCallFunc) (const LoomPlanCall *call, gpointer data);

typedef struct
{
  const char *device;       /* default device: "cpu" */
  gboolean no_fusion;       /* one kernel a primitive */
  gboolean no_reuse;        /* every value has a place of its own: what the reusing plan is tested against */
  gboolean no_layout;       /* plain layout everywhere */
  gboolean flat_gradients;  /* one block in the parameters' order, so that one call can reduce them all; costs memory */
  gboolean strict_devices;  /* a wire across devices is an error */
  const LoomMesh *mesh;     /* of a program that is divided among ranks; open, and must outlive the plan */
  gboolean resident_inputs; /* inputs lie in the device's memory already, as those of a body do */
  LoomPlanVisit visit;      /* may be NULL */
  gpointer visit_data;
  LoomPlanPassFunc on_pass; /* receives every pass: those that made the program, the program as it is, the planner's */
  gpointer on_pass_data;
  LoomPlanCallFunc on_call; /* may be NULL; what it gets lives only as long as the call */
  gpointer on_call_data;
  LoomFaults *faults; /* receives whatever no device can do, each with its node; may be NULL: the first is the error */
} LoomPlanOptions;

/* Where a value lives. */
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
  gsize offset; /* in the arena, or among what setup instructions make once */
  guint index;  /* of the slot or program input */
} LoomLocation;

typedef struct
{
  LoomTensorDesc desc; /* with the physical layout */
  LoomLocation location;
  LoomOwner owner;
  const char *origin;
  guint first, last; /* instructions between which it is alive, by the order in which they are listed */
  guint root;        /* the value whose bytes it has: itself, unless it is a view */
} LoomPlanValue;

typedef struct
{
  LoomKernel *kernel;    /* owned; NULL for a copy between devices */
  guint n_bodies;        /* what the kernel runs, where that is other programs; borrowed from it */
  const LoomPlan **body;
  gboolean waits;        /* its run() waits for the device and reads numbers that decide what it does */
  const char *algorithm; /* which of its options that is: "onednn" */
  const char *primitive;
  gboolean is_gate; /* LOOM_PRIM_GATE */
  LoomMeshAxis along; /* of what ranks exchange */
  guint until;        /* the first that waits for it, where it lies on an exchange or a send lane; else G_MAXUINT */
  gboolean is_send; /* it lies on the send lane of the device that its operand has */
  guint n_sent;     /* copies of such lanes that it waits for, by their places in the listing */
  guint *sent;
  char *label;      /* "matmul+bias+relu", "elementwise(mul,add)" */
  const char *origin;
  LoomRegion region;
  guint pass; /* as LoomInstr has it */
  guint device;
  guint n_in, n_out;
  const guint *value; /* n_in + n_out plan values; G_MAXUINT: absent */
  gsize scratch;      /* offset in the arena; meaningful where scratch_bytes > 0 */
  double flops, bytes;
} LoomPlanInstr;

typedef struct
{
  gsize
      state[LOOM_N_OWNERS];  /* bytes of the slots: parameters, optimiser state; they outlive the plan and are shared */
  gsize once[LOOM_N_OWNERS]; /* of what setup instructions make: they stay as long as the plan is bound */
  gsize peak[LOOM_N_OWNERS]; /* of all else at the moment of the peak, by owner */
  gsize arena;               /* bytes of the arena, which plans over one state share: the largest one counts */
  gsize lower_bound;         /* largest sum of live bytes */
} LoomPlanMemory;

/* ---- lanes ----
 *
 * What a step does on a device lies on lanes, each with a stream of its own where the device has streams:
 *   compute   the instructions, in their order
 *   upload    what is fed, from page-locked memory into a staging area, while the step before is computed
 *   exchange  what ranks exchange beside the computation (plan-lane.c)
 *   send      copies to other devices of the same back end, where it makes them by itself (plan-send.c)
 * Between lanes only events order. Two values share bytes in the arena only where lanes and events order all that reads
 * or writes the one before all that touches the other (plan-order.c). A step begins with copies from the staging area
 * to the inputs' places in the arena; they wait for the upload, and the next upload waits for them. It may come at any
 * time behind that, so the staging area shares its bytes with nothing. The results of a step that are small lie side by
 * side in the arena, from where one copy behind the last instruction brings them to page-locked memory. */

/* A program input that goes up to a device with memory of its own. */
typedef struct
{
  guint input, device;
  gsize offset, bytes; /* in the staging area */
} LoomPlanUpload;

typedef struct
{
  gsize offset, bytes; /* bytes 0: there is none */
} LoomPlanArea;

/* program is kept by reference. NO_KERNEL error names node, primitive, device and dtype. */
LoomPlan *loom_plan_new (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options, GError **error);
/* Waits for exchanges that a step which failed has left under way: before what they read is freed. */
void loom_plan_settle (LoomPlan *plan);
/* Of a collective's instruction: whether every exchange fails from here on, on all ranks (LoomComm.has_ended). */
gboolean loom_plan_ranks_have_ended (const LoomPlanInstr *instr);

/* Whether an instruction is an exchange of ranks, or waits for one. */
gboolean loom_plan_exchanges (const LoomPlanInstr *instr);

/* When what an instruction exchanges beside the computation was exchanged. */
typedef struct
{
  gint64 begin, end;       /* nanoseconds of the monotonic clock; or on a device, where they are */
  LoomEvent *ready, *over; /* when all of it was there, and when it was exchanged: behind what was so before it */
} LoomPlanExchange;

/* Of the step that is over; FALSE: the instruction exchanges nothing, or nothing beside. */
gboolean loom_plan_exchange_times (const LoomPlanInstr *instr, LoomPlanExchange *times);
void loom_plan_free (LoomPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomPlan, loom_plan_free)

LoomProgram *loom_plan_program (const LoomPlan *plan);
guint loom_plan_n_devices (const LoomPlan *plan);
LoomPlanDevice *loom_plan_device (const LoomPlan *plan, guint i);
guint loom_plan_n_instrs (const LoomPlan *plan);
const LoomPlanInstr *loom_plan_instr (const LoomPlan *plan, guint i);
/* The purpose of an instruction that belongs to no node, as loom_program_purpose() calls it. (transfer full) */
char *loom_plan_purpose (const LoomPlan *plan, const LoomPlanInstr *instr);
guint loom_plan_n_values (const LoomPlan *plan);
const LoomPlanValue *loom_plan_value (const LoomPlan *plan, guint i);
/* The plan value of a program input, output, or slot (its committed or read value). G_MAXUINT: dead, not needed. */
guint loom_plan_input_value (const LoomPlan *plan, guint input);
guint loom_plan_output_value (const LoomPlan *plan, guint output);
void loom_plan_memory (const LoomPlan *plan, guint device, LoomPlanMemory *memory);
/* Where slot i of the program lies, and how many bytes it takes there. */
guint loom_plan_slot_device (const LoomPlan *plan, guint slot);
gsize loom_plan_slot_bytes (const LoomSlot *slot);
/* Adds another plan over the same state, which runs while this one rests: what is made once adds up, of the arenas the
 * larger one counts, and so of the states, since what the one has the other may not need. */
void loom_plan_memory_join (LoomPlanMemory *memory, const LoomPlanMemory *other);
/* State, what is made once, and peak together. */
void loom_plan_memory_sum (const LoomPlanMemory *memory, gsize bytes[LOOM_N_OWNERS]);
/* The first so many instructions run once, when the plan is bound. */
guint loom_plan_n_setup (const LoomPlan *plan);
/* ---- for executors ---- */

guint loom_plan_n_uploads (const LoomPlan *plan);
const LoomPlanUpload *loom_plan_upload (const LoomPlan *plan, guint i);
/* Where a device's uploads come to, among what is made once; where its small results lie, in the arena. */
LoomPlanArea loom_plan_staging (const LoomPlan *plan, guint device);
LoomPlanArea loom_plan_results (const LoomPlan *plan, guint device);
/* TRUE if an output lies in its device's results. */
gboolean loom_plan_is_result (const LoomPlan *plan, guint output);

/* For the executor: pairs (value, slot) copied at the end. */
const GArray *loom_plan_commit_copies (const LoomPlan *plan);
/* Whether a call of the primitive (NULL: a merged or a copying one) may round f32 operands to TF32: a product may,
 * where the program allows it. */
gboolean loom_plan_rounds_to_tf32 (const LoomProgram *program, const LoomPrim *prim);
/* The kernel call that one program instruction is on its own, as both the unfused plan and the eager executor
 * make it. FALSE for an alias, which needs no kernel. attrs_store keeps an element-wise primitive's attributes. */
gboolean loom_plan_spec_of_instr (const LoomProgram *program, const LoomInstr *instr, const char **primitive,
                                  const void **attrs, LoomElementwiseAttrs *attrs_store);

/* In which ways a device computes a call, with their costs by the device's table. Layouts of spec are plain; attributes
 * describe its attrs in words, for measurements to be found, and may be NULL. Returns how many. */
guint loom_plan_options (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
                         LoomKernelOption option[LOOM_MAX_OPTIONS], LoomMessage *message);
/* The kernel of spec's algorithm or, where it names none, of least cost among those for the layouts that it has.
 * algorithm (may be NULL) receives which. */
LoomStatus loom_plan_kernel_new (const LoomPlanDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel,
                                 const char **algorithm, LoomMessage *message);

/* The kernel of an instruction that is none of a back end's: of one that runs programs (LoomPrim.bodies), planned for a
 * device, whose run() is the loop; or of one that the host computes (LoomPrim.on_host), of which desc has the operands
 * and behind them the results. Of options only the switches count. */
gboolean loom_plan_is_own (const LoomPrim *prim);
LoomKernel *loom_plan_own_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                               const LoomPrim *prim, const void *attrs, guint n_in, guint n_out,
                               const LoomTensorDesc *desc, GError **error);
LoomKernel *loom_plan_body_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                                const LoomPrim *prim, const void *attrs, GError **error);
const LoomPlan *loom_plan_of_body (const LoomKernel *kernel);
/* TRUE if some kernel waits for numbers, so that a step cannot be recorded once and replayed. */
gboolean loom_plan_waits (const LoomPlan *plan);
/* Why what ranks on devices exchange goes by way of the host, which is known behind the first step; NULL: it does not.
 */
const char *loom_plan_why_by_host (const LoomPlan *plan);

/* The listing of `gradloom plan`. */
char *loom_plan_print (const LoomPlan *plan);

G_END_DECLS
