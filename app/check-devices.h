/* `gradloom check`: plans a graph, to find nodes that its devices cannot compute and the memory that it needs. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

typedef struct
{
  GPtrArray *devices; /* names */
  GArray *bytes;      /* LoomPlanMemory, by device */
} CheckMemory;

void check_memory_clear (CheckMemory *memory);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CheckMemory, check_memory_clear)

/* Plans the training and the evaluation step of a graph with a <train> (spec), else what nothing reads, as `train` and
 * `run` would on this machine, and executes nothing. What a device cannot do is a fault at its node; a step that needs
 * more memory than is free, a warning. device overrides the graph's. memory is that of the training step, or of
 * the evaluation; it stays empty where symbols but B leave shapes open. FALSE: there are faults. */
gboolean check_devices (const LoomGraph *graph, const LoomNet *net, LoomTrainSpec *spec, gint64 batch,
                        const char *device, LoomFaults *faults, CheckMemory *memory);

/* A row for each device, with kinds of memory as columns, or {"event":"memory"} objects. */
void check_memory_print (const CheckMemory *memory, gboolean trains, gint64 batch, gboolean json);

G_END_DECLS
