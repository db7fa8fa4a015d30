/* A worker process and the D-Bus connection to it.
 *
 * Studio computes nothing in its own process. No function blocks the main loop, and every end of the worker (exit,
 * signal, broken connection) is reported as one sentence. One worker serves one run, so each run has a clean process.
 */
#pragma once

#include <gio/gio.h>

#include "loom-worker-bus.h"

#define STUDIO_TYPE_WORKER (studio_worker_get_type ())
G_DECLARE_FINAL_TYPE (StudioWorker, studio_worker, STUDIO, WORKER, GObject)

/* Signal "ended"(const char *sentence), emitted once; sentence is NULL if it exited normally on request. */

/* Returns $GRADLOOM_WORKER, else `gradloom` next to this program or in its build tree, else in PATH. NULL with a
 * G_IO_ERROR that lists the places searched. */
char *studio_worker_find_program (GError **error);

/* The number of CPU devices that the nodes of a graph name (cpu:1). */
int studio_worker_cpu_devices (const char *graph_xml);
/* The name of a device in the worker's list: "cuda" is "cuda:0", as in PyTorch. */
const char *studio_worker_device_name (const char *device);
/* Starts `PROGRAM worker` and waits for its magic line. cpu_devices is the number of CPU devices (cpu, cpu:1 …), unless
 * GRADLOOM_CPU_DEVICES is set. With several ranks mpirun starts one process per rank and Studio connects to the first;
 * without mpirun or MPI support one process runs the ranks as threads. */
void studio_worker_spawn_async (int cpu_devices, int ranks, GCancellable *cancellable, GAsyncReadyCallback callback,
                                gpointer data);
StudioWorker *studio_worker_spawn_finish (GAsyncResult *result, GError **error);
/* Connects to the worker of a run that goes on in this folder without a window, or on the host whose run the folder
 * mirrors. Errors are sentences. It runs on without the connection unless studio_worker_finish() ends it. */
void
studio_worker_attach_async (const char *folder, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
StudioWorker *studio_worker_attach_finish (GAsyncResult *result, GError **error);

/* Calls have no timeout, because planning a large graph may take long. (transfer none) */
LoomBusWorker1 *studio_worker_get_proxy (StudioWorker *self);
/* The worker has accepted Keep: without the connection it runs on, unless studio_worker_finish() ends it. */
void studio_worker_note_kept (StudioWorker *self);
/* Disconnects, and lets the run go on without a window. */
void studio_worker_release (StudioWorker *self);
/* Disconnects: the worker finishes the step, writes a checkpoint and exits. */
void studio_worker_finish (StudioWorker *self);
/* Ends the worker and its ranks without waiting for the step. */
void studio_worker_force_exit (StudioWorker *self);
/* The number of workers that were asked to exit or released by these functions and have not yet. */
guint studio_worker_n_exiting (void);
/* Ends all of them without waiting for their steps. */
void studio_worker_force_exiting (void);
/* Sets a function that is called after each of them has exited; NULL: none. */
void studio_worker_set_exited_func (void (*left) (void));
gboolean studio_worker_has_ended (StudioWorker *self);
const char *studio_worker_get_pid (StudioWorker *self); /* NULL after it has ended */

/* "The worker was killed (signal 9, Killed)." and the like, from the status of waitpid(); last_line may be NULL. */
char *studio_worker_describe_end (gboolean signalled, int code, const char *last_line);
