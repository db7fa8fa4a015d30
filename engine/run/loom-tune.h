/* Measures the kernels that a program could use, for a cost table. */
#pragma once

#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

/* Is told of each call that was measured, with its fastest option: "onednn nhwc", seconds. */
typedef void (*LoomTuneFunc) (const char *call, const char *fastest, double seconds, gpointer data);

/* Runs every option of every call of the program that has several, and the reorders between layouts, for about so many
 * seconds each over memory of its own, and writes the medians into the table. Which table the devices choose by does
 * not matter, and must not be this one. n is told how many calls were measured. What this takes is wall-clock time:
 * quiet the machine. */
gboolean loom_tune (LoomProgram *program, LoomDevices *devices, const char *device, double seconds,
                    LoomCostTable *table, LoomTuneFunc func, gpointer data, guint *n, GError **error);

G_END_DECLS
