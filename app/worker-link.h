/* A command's connection to a worker: one that it has started, or that of a run without a window. */
#pragma once

#include <gio/gio.h>

#include "app/shared/command.h"

#include "loom-worker-bus.h"

typedef struct
{
  GDBusConnection *connection;
  LoomBusWorker1 *proxy;
} WorkerLink;

/* Starts this program as a worker. Errors: IO. */
gboolean worker_link_start (WorkerLink *link, GError **error);
/* Connects to the worker of the run in this folder, which goes on without a window. Errors: DATA if there is none, IO
 * if another window or command has it, or it is of another version. */
gboolean worker_link_attach (WorkerLink *link, const char *folder, GError **error);
/* Connects to a worker at the other end of this stream. Errors: those of worker_link_attach(). */
gboolean worker_link_open (WorkerLink *link, GIOStream *stream, GError **error);
/* Waits until what was sent is written, and disconnects. */
void worker_link_close (WorkerLink *link);
/* The error of a run, by the name of its code (NULL: unknown) in Problem and in the faults of Load. (transfer full) */
GError *worker_link_error (const char *code, const char *sentence);
/* Removes what D-Bus writes before the sentence of an error of the worker, which it makes an error of Gradloom. */
void worker_link_clean (GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WorkerLink, worker_link_close)
