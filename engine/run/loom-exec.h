/* The executor of plans; loom-eager.h is the one that runs a program instruction by instruction.
 *
 * It binds a plan to a state: addresses are resolved and kernels bound once, and a step is then a loop over kernels.
 * The executors of one state share an arena on each device, so only one of them runs at a time, on one thread. */
#pragma once

#include "engine/run/loom-state.h"

typedef struct _LoomExec LoomExec;

/* Takes the plan. Adds its program's slots to the state. */
LoomExec *loom_exec_new (LoomPlan *plan /* transfer full */, LoomState *state, GError **error);
void loom_exec_free (LoomExec *exec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomExec, loom_exec_free)
LoomPlan *loom_exec_plan (const LoomExec *exec);

/* Sets the data of program input i for the next step: host memory of exactly its size, in plain layout. A device with
 * host memory reads it in place, so it must stay until the step ends; otherwise it is copied at the step's start. */
void loom_exec_feed (LoomExec *exec, guint input, const void *data);
int loom_exec_find_input (const LoomExec *exec, const char *name);
/* Uploads the newest inputs for the next step to devices with their own memory, while an earlier step may still be
 * computed. The caller's memory may change after this returns, unless a device of the plan reads it in place:
 * loom_exec_can_upload() is TRUE if there is no such device and all devices are asynchronous. loom_exec_feed() cancels
 * it. */
gboolean loom_exec_can_upload (const LoomExec *exec);
gboolean loom_exec_upload (LoomExec *exec, GError **error);

/* TRUE if the device is synchronised after every instruction (CUDA_LAUNCH_BLOCKING=1, loom_exec_walk()). */
gboolean loom_exec_is_blocking (const LoomExec *exec);

/* Makes all later steps walk the program one primitive at a time, without fusion and planned memory, as a dynamic graph
 * does (loom-eager.h). The program must not exchange with other ranks, and steps cannot be traced. */
gboolean loom_exec_walk (LoomExec *exec, LoomDevices *devices, GError **error);

/* Runs one step: every kernel once, then commits the state. Allocates nothing.
 *
 * A step with a fault writes nothing to the state if its program ends with update_gate: DATA names the node and the
 * faulty number; NAN: loss or gradients are not finite. On an asynchronous device the next call may report the fault,
 * and then neither step has written. Call loom_exec_sync() before reading outputs or freeing inputs. Other errors:
 * OUT_OF_MEMORY, NO_KERNEL, DEVICE.
 *
 * With CUDA_LAUNCH_BLOCKING=1 a device is synchronised after every instruction, so that an error belongs to the one
 * that failed; with GRADLOOM_NVTX=1, or under a profiler, steps and instructions are named for it. */
gboolean loom_exec_step (LoomExec *exec, GError **error);

/* One instruction of a step, in nanoseconds of the monotonic clock. */
typedef struct
{
  const LoomPlanInstr *instr;
  gint64 begin, end;
} LoomExecSpan;

/* Makes steps append a LoomExecSpan for each instruction, until it is called with NULL. If all devices are
 * asynchronous, spans are measured by the devices, by events before and after each instruction, which is then launched
 * separately: between two spans a device may be idle. Otherwise devices are synchronised after each instruction. */
void loom_exec_trace (LoomExec *exec, GArray *spans);

/* Waits for all launched work, and reports its faults. */
gboolean loom_exec_sync (LoomExec *exec, GError **error);

/* A step and loom_exec_sync(): outputs can be read at once. */
gboolean loom_exec_run (LoomExec *exec, GError **error);

/* ---- read one step late ----
 *
 * On an asynchronous device, loom_exec_step() waits for the previous step. So small results are read while the next
 * step runs, and the device never waits for the caller. */

/* The number of the newest step of any executor over the same state. */
gint64 loom_exec_step_number (const LoomExec *exec);
/* The number of the step whose fault was the error of the last call; 0: none. */
gint64 loom_exec_fault_step (const LoomExec *exec);
/* TRUE if the newest step, or a call after it, failed with some slots updated and others not: the state is that of no
 * step. */
gboolean loom_exec_is_between (const LoomExec *exec);
/* TRUE if a step of this executor that begins while one of `before` is still computed reports all faults of that step:
 * it uses every device of the other plan. */
gboolean loom_exec_reports_faults_of (const LoomExec *exec, const LoomExec *before);
/* TRUE if an output is downloaded with each step, so that it can be read after the next one has begun. */
gboolean loom_exec_keeps_output (const LoomExec *exec, guint output);
/* Selects the step whose downloaded outputs are read, until another step begins: this executor's newest or the one
 * before it, which must be over. FALSE: that step's outputs are no longer available. */
gboolean loom_exec_select_step (LoomExec *exec, gint64 step);

/* A program output of the last step, as a tensor in logical (NCHW) order. Outputs stay valid until the next step of any
 * executor over the same state, or until an executor is created. */
LoomTensor *loom_exec_output (LoomExec *exec, guint output, GError **error);
int loom_exec_find_output (const LoomExec *exec, const char *name);
double loom_exec_scalar (LoomExec *exec, guint output);
/* Reads the n elements of an output of type f32 or f64 and rank below 4; allocates nothing. SHAPE for another type or
 * size. Other errors are the device's. */
gboolean loom_exec_numbers (LoomExec *exec, guint output, guint n, double *to, GError **error);

/* Bytes of its plan in addition to the state: the arena, and the results of setup instructions. */
gsize loom_exec_arena_bytes (const LoomExec *exec);
