/* Measures the kernels that a program could use, for a cost table. */
#pragma once

#include "engine/plan/loom-plan.h"

/* Called for each measured call, with its fastest option ("onednn nhwc") and that option's seconds. */
typedef void (*LoomTuneFunc) (const char *call, const char *fastest, double seconds, gpointer data);

/* The result of tuning. */
typedef struct
{
  guint n;         /* measured calls */
  guint n_skipped; /* calls with an option that could not be run, for which the device's estimates are kept */
  char *why;       /* the reason for the first of those, a sentence; NULL: none */
} LoomTuned;

/* The seconds of one run of a call by this option, over random operands, measured in windows that take n seconds in
 * total. spec has plain layouts. NO_KERNEL: the device does not have it. */
gboolean loom_tune_time (const LoomPlanDevice *device, const LoomKernelSpec *spec, const LoomKernelOption *option,
                         double seconds, double *took, GError **error);

void loom_tuned_clear (LoomTuned *tuned);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomTuned, loom_tuned_clear)

/* Runs every option of every call of the program that has several, and the reorders between layouts, for about n
 * seconds each with its own memory, and writes the medians into the table. A call is skipped if an option has no memory
 * or cannot be run, because measurements of only some options are not comparable. The table must not be the one that
 * the devices plan with. Results are added to `tuned`, also those before an error. Times are wall-clock times: run it
 * on an idle machine. */
gboolean loom_tune (LoomProgram *program, LoomDevices *devices, const char *device, double seconds,
                    LoomCostTable *table, LoomTuneFunc func, gpointer data, LoomTuned *tuned, GError **error);
