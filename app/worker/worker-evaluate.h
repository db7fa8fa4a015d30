/* Evaluations and generated texts for Studio, on a thread of their own.
 *
 * Both compute with a copy of the weights, which the run hands out between two steps, so that training goes on
 * meanwhile with the same bits, and all samples of an evaluation see the same weights. While a run trains, one thread
 * of the CPU computes them; otherwise as many as the run has. Methods of the bus only post work and read results. */
#pragma once

#include "app/worker/worker.h"

typedef struct _WorkerEvaluator WorkerEvaluator;

/* Connects Evaluate, StopEvaluation, GetEvaluation, Generate, GetGenerated, StopGenerating, Write and WriteSamples. Both
 * arguments must outlive it. */
WorkerEvaluator *worker_evaluator_new (LoomBusWorker1 *bus, WorkerRunner *runner);
/* Disconnects the methods, stops what is in progress and joins the thread. */
void worker_evaluator_free (WorkerEvaluator *self);
