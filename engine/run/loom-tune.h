/* Measures the kernels that a program could use, for a cost table. */
#pragma once

#include "engine/plan/loom-plan.h"

G_BEGIN_DECLS

/* Called for each call that was measured, with its fastest option, "onednn nhwc", and seconds. */
typedef void (*LoomTuneFunc) (const char *call, const char *fastest, double seconds, gpointer data);

/* The result of tuning. */
typedef struct
{
  guint n;         /* calls that were measured */
  guint n_skipped; /* calls of which an option could not be run, so that the device's estimates are kept for all of
                      theirs */
  char *why;       /* the reason of the first of those, a sentence; NULL: none */
} LoomTuned;

/* Seconds of one run of a call by this option, over random operands of its own, from windows of n seconds
 * together. spec has plain layouts. NO_KERNEL: the device does not have it. */
gboolean loom_tune_time (const LoomPlanDevice *device, const LoomKernelSpec *spec, const LoomKernelOption *option,
                         double seconds, double *took, GError **error);

void loom_tuned_clear (LoomTuned *tuned);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LoomTuned, loom_tuned_clear)

/* Runs every option of every call of the program that has several, and the reorders between layouts, for about n
 * seconds each over memory of its own, and writes the medians into the table. A call of which an option has no memory,
 * or cannot be run, is skipped: measurements of some of its options alone are not comparable. The table that the
 * devices plan with must be another one. Results are added to `tuned`, also those before an error. Times are wall-clock
 * times: run it on an idle machine. */
gboolean loom_tune (LoomProgram *program, LoomDevices *devices, const char *device, double seconds,
                    LoomCostTable *table, LoomTuneFunc func, gpointer data, LoomTuned *tuned, GError **error);

G_END_DECLS
