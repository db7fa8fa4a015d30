/* A short training of a small graph in the caller's process, on one thread and without files: for a moving picture of
 * what its run will show. */
#pragma once

#include "engine/core/loom-tensor.h"
#include "engine/graph/loom-graph.h"
#include "engine/infer/loom-answer.h"

/* Graphs with more parameters, or of several ranks, are refused. */
#define LOOM_REHEARSAL_MOST_PARAMETERS 50000

/* Called after a number of steps with the predictions, one LoomAnswer per sample, or with the value of the port; the
 * other one is NULL. FALSE ends the rehearsal. */
typedef gboolean (*LoomRehearsalFrame) (const GPtrArray *answers, const LoomTensor *value, gint64 step, gint64 epoch,
                                        gpointer data);

/* Trains as `gradloom train` does, with the graph's seed, and predicts the samples (f32 [n, …], of the input port's
 * shape), or computes a port as loom_trainer_snapshot() does if one is named (then samples may be NULL), `frames`
 * times: before the first step, after the last one, and between them more often at the beginning. It ends after the
 * frame during which `seconds` of processor time are over. Errors: USAGE for a graph that is refused; those of
 * loom_trainer_new(), loom_trainer_predict() and loom_trainer_snapshot(). */
gboolean loom_rehearsal_run (const LoomGraph *graph, const LoomTensor *samples, const char *port, guint frames,
                             double seconds, LoomRehearsalFrame frame, gpointer data, GError **error);
