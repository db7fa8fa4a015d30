/* `gradloom check`: plans a graph, to find nodes that its devices cannot compute and the memory that it needs. */
#pragma once

#include "app/shared/command.h"

typedef struct
{
  GPtrArray *devices; /* names */
  GArray *bytes;      /* LoomPlanMemory, by device */
} CheckMemory;

void check_memory_clear (CheckMemory *memory);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CheckMemory, check_memory_clear)

/* Plans the training and the evaluation step of a graph with a <train> (spec), or the unread outputs of other graphs,
 * as `train` and `run` would on this machine, and executes nothing. An operation that the device cannot compute is a
 * fault of its node; a step that needs more memory than is free is a warning. device overrides the graph's. memory
 * receives the bytes of the training step, or of the evaluation; it stays empty if symbols other than B leave shapes
 * open. Returns FALSE if there are faults. */
gboolean check_devices (const LoomGraph *graph, const LoomNet *net, LoomTrainSpec *spec, gint64 batch,
                        const char *device, LoomFaults *faults, CheckMemory *memory);

/* A row for each device, with kinds of memory as columns, or {"event":"memory"} objects. */
void check_memory_print (const CheckMemory *memory, gboolean trains, gint64 batch, gboolean json);
