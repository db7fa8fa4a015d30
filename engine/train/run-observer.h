/* Calls the functions of a run's observer. Parts report through it without knowing the trainer, and nothing happens if
 * the observer lacks a function. */
#pragma once

#include "engine/train/loom-train-observer.h"

typedef struct
{
  LoomTrainer *trainer; /* is only passed on */
  LoomTrainerObserver functions;
  gpointer data;
} RunObserver;

/* observer: a RunObserver. */
void run_observer_step (const LoomTrainerStep *step, gpointer observer);
void run_observer_eval (const LoomTrainerEval *eval, gpointer observer);
void run_observer_early_stop (const LoomTrainerWatch *watch, gpointer observer);
void run_observer_checkpoint (gint64 step, const char *path, gpointer observer);
void run_observer_state (const char *state, gpointer observer);
void run_observer_note (const char *note, gpointer observer);
void run_observer_memory (gpointer observer);
void run_observer_breakpoint (const LoomBreakHit *hit, gpointer observer);
