/* The registry of devices: opens each device once, by name, and shares it among plans and runs. It can also have a
 * device that this machine lacks, for plans that are only read. The header also declares the number of processors for
 * CPU threads, the check of a device's free memory, and the errors and the list of back ends. */
#pragma once

#include "engine/plan/loom-cost-table.h"
#include "engine/program/loom-prim.h"
#include "kernels/comm.h"
#include "kernels/tools.h"

/* An opened device, shared by plans and runs. */
typedef struct
{
  char *name; /* "cpu", "cpu:1", "cuda:0", "ref" */
  const LoomBackend *backend;
  const LoomBackendTools *tools; /* NULL: the back end has none */
  LoomDevice *device;
  LoomDeviceInfo info;
  gboolean is_absent;   /* this machine lacks it (loom_devices_add_absent()) */
  LoomCostTable *costs; /* the table of the LoomDevices */
  char *cost_key;       /* the key of this device's measurements */
} LoomPlanDevice;

/* Opens devices by name, once each; modules (CUDA) are loaded on demand. Errors: DEVICE if the device is not available,
 * SCHEMA if no machine has a device of that name. */
typedef struct _LoomDevices LoomDevices;
LoomDevices *loom_devices_new (int threads /* 0 or too many: all processors of the process */);
LoomDevices *loom_devices_ref (LoomDevices *devices);
void loom_devices_unref (LoomDevices *devices);
/* Sets the rank's index on its machine (its local rank). A GPU name without a number, "cuda", then means GPU local_rank
 * modulo the number of GPUs. */
void loom_devices_set_local_rank (LoomDevices *devices, int rank);
/* The cost table by which plans choose kernels. It can be set only before the first device is opened. */
LoomCostTable *loom_devices_costs (LoomDevices *devices);
void loom_devices_set_costs (LoomDevices *devices, LoomCostTable *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomDevices, loom_devices_unref)
LoomPlanDevice *loom_devices_get (LoomDevices *devices, const char *name, GError **error);
/* A registry whose device of this name runs its kernels on one thread, within run_parts() of `device`, whose back end
 * has parts. Errors: those of opening it. */
LoomDevices *loom_devices_new_part (const LoomPlanDevice *device, GError **error);
/* Adds a device that this machine lacks, for plans that are made to be read: it has the kernels of the processor and
 * this title and memory, in bytes. name: "cuda:0". Errors: those of the device cpu. */
gboolean
loom_devices_add_absent (LoomDevices *devices, const char *name, const char *title, gint64 memory, GError **error);
/* TRUE if some machine can have a device of this name. Otherwise the SCHEMA error lists the devices that are available
 * here. Opens nothing. */
gboolean loom_devices_check_name (LoomDevices *devices, const char *name, GError **error);
/* The tools of the back end of a device's name, whether or not that device exists. NULL if the name is not a device's,
 * the module cannot be opened, or the back end has no tools. */
const LoomBackendTools *loom_devices_find_tools (LoomDevices *devices, const char *name);
/* The device for a node that requests the device `name` and computes in float_type. It is `name` itself, except in
 * f64, which only ref computes: then it is ref's device of the same number. NULL (the plan's default device) if name
 * is NULL or ref has no such number, so that a graph can be inspected in f64 although it names devices that this
 * machine lacks. */
const char *loom_devices_for_dtype (LoomDevices *devices, const char *name, LoomDType float_type);
/* The maximum number of threads of a CPU device: the processors that the process may use (affinity mask, control
 * group). */
int loom_processors (void);
/* The processors for each rank of this machine; comm NULL: a single rank. */
int loom_processors_of_rank (const LoomComm *comm);
/* The warning for a request of more threads than loom_processors(), or NULL. (transfer full) */
char *loom_threads_warning (int threads);
/* Receives each back end for `gradloom devices`: its devices, or why_not, the reason why it is not available. */
typedef void (*LoomDeviceFunc) (const char *name, const LoomDeviceInfo *info, const char *why_not, gpointer data);
void loom_devices_foreach (LoomDevices *devices, LoomDeviceFunc func, gpointer data);

/* FALSE with OUT_OF_MEMORY if the device has less than `bytes` free. A system that overcommits would grant the memory
 * and kill the process when it is accessed. what: the subject of the error, "A step". */
gboolean loom_plan_device_fits (LoomPlanDevice *device, gsize bytes, const char *what, GError **error);
/* Sets the same error after a failed allocation. why: the back end's message, or NULL. */
void
loom_plan_device_out_of_memory (LoomPlanDevice *device, gsize bytes, const char *what, const char *why, GError **error);
/* Converts a back end's status into an error with a remedy. where: the subject, "A step on cuda:0"; why: the back end's
 * sentence without a full stop. */
void loom_plan_device_error (LoomStatus status, const char *where, const char *why, GError **error);
