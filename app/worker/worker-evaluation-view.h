/* The parts of an evaluation as matrices of f64 for the bus. */
#pragma once

#include "app/worker/worker.h"

/* Rows of samples on a page. */
#define WORKER_PAGE_ROWS 100
/* Points of a scatter plot, spread evenly over the samples. */
#define WORKER_MAX_POINTS 4000

/* Returns (step, total, shape, data) of a part: "summary", "confusion", "calibration", "points", "names", or a page of
 * "mistakes" or "cell:T:P"; org.gradloom.Worker.xml describes them. NULL with INVALID_ARGS for another name, and with
 * FAILED if the evaluation has no such part. */
GVariant *worker_evaluation_view (const LoomEvaluation *e, gint64 step, const char *what, gint64 page, GError **error);
