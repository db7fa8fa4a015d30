/* A worker process and the connection to it.
 *
 * Studio never computes in its own process. Nothing here blocks the main loop, and whatever ends
 * the worker (exit, signal, a broken connection) arrives as one sentence. One worker serves one run: a new run gets a
 * clean process, whatever the last one did to its memory. */
#pragma once

#include <gio/gio.h>

#include "loom-worker-bus.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_WORKER (studio_worker_get_type ())
G_DECLARE_FINAL_TYPE (StudioWorker, studio_worker, STUDIO, WORKER, GObject)

/* Signal "ended"(const char *sentence), once: sentence is NULL when it was asked to end and did so in order. */

/* The program: $GRADLOOM_WORKER, else `gradloom` beside this program or in its build tree, else in PATH. NULL with an
 * IO error that says where it was looked for. */
char *studio_worker_find_program (GError **error);

/* Into how many devices the processor is to be divided for a graph, as its nodes name them (cpu:1). */
int studio_worker_cpu_devices (const char *graph_xml);
/* The name in the list of devices of what a graph may also call otherwise: "cuda" is "cuda:0", as in PyTorch. */
const char *studio_worker_device_name (const char *device);
/* Starts `PROGRAM worker` and waits for its magic line. The processor is so many devices to it (cpu, cpu:1 …), where
 * the environment (GRADLOOM_CPU_DEVICES) does not say how many. With several ranks mpirun starts as many of them, and
 * the first one is spoken with; without it, or without MPI, there is one, whose threads they are. */
void studio_worker_spawn_async (int cpu_devices, int ranks, GCancellable *cancellable, GAsyncReadyCallback callback,
                                gpointer data);
StudioWorker *studio_worker_spawn_finish (GAsyncResult *result, GError **error);

/* Calls have no time limit: planning a large graph may take a while. (transfer none) */
LoomBusWorker1 *studio_worker_get_proxy (StudioWorker *self);
/* Closes its input: it finishes the step, writes a checkpoint and exits. */
void studio_worker_finish (StudioWorker *self);
/* Ends it and its ranks without waiting for the step. */
void studio_worker_force_exit (StudioWorker *self);
/* How many were asked to end, by whichever of the two, and have not. */
guint studio_worker_n_leaving (void);
/* Ends all of these without waiting for their steps. */
void studio_worker_force_leaving (void);
/* Calls it behind each of them that has ended; NULL: nothing. */
void studio_worker_set_left_func (void (*left) (void));
gboolean studio_worker_has_ended (StudioWorker *self);
const char *studio_worker_get_pid (StudioWorker *self); /* NULL once it ended */

/* "The worker was killed (signal 9, Killed)." and the like, from waitpid's status; last_line may be NULL. */
char *studio_worker_describe_end (gboolean signalled, int code, const char *last_line);

G_END_DECLS
