/* The time that watching a run has cost, view by view (pins, health, timeline, picture of the task): requests it from
 * the worker, and words it for the tooltip of the run's speed. */
#pragma once

#include "ui/run/studio-run.h"

/* The port whose snapshot are these lines: LOOM_SNAPSHOT_COSTS of loom-trainer.h. */
#define RUN_COSTS_PORT "costs:"

/* From the lines of the worker, "Watching took 0.02 s, all steps 5 s:\nconv1: 0.31 ms, 12 times". seconds: those
 * of all steps; 0: unknown. NULL: nothing was watched, or the lines cannot be read. (transfer full) */
char *run_costs_describe (const char *text, gsize length, double seconds);

typedef struct _RunCosts RunCosts;

/* changed is called after an answer. */
RunCosts *run_costs_new (StudioRun *run, void (*changed) (gpointer data), gpointer data);
void run_costs_free (RunCosts *self);
/* Requests the lines, at most once a second; nothing while there is no worker. */
void run_costs_request (RunCosts *self);
/* The words of the last answer for the present run; NULL: none. */
const char *run_costs_words (const RunCosts *self);
/* Of the last answer, those of one view, such as LOOM_SNAPSHOT_TRACE: "0.31 ms, 12 times"; NULL: none. Valid until the
 * next call. */
const char *run_costs_of (RunCosts *self, const char *view);
