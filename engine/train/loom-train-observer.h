/* The reports of a trainer while it runs, on the compute thread between steps. */
#pragma once

#include "engine/train/loom-breakpoint.h"
#include "engine/train/loom-train-events.h"

typedef struct _LoomTrainer LoomTrainer;

typedef struct
{
  void (*step) (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data);
  void (*eval) (LoomTrainer *trainer, const LoomTrainerEval *eval, gpointer data);
  /* Training ends before its last epoch. */
  void (*early_stop) (LoomTrainer *trainer, const LoomTrainerWatch *watch, gpointer data);
  void (*checkpoint) (LoomTrainer *trainer, gint64 step, const char *path, gpointer data);
  void (*state) (LoomTrainer *trainer, const char *state,
                 gpointer data); /* preparing running paused done stopped failed */
  void (*note) (LoomTrainer *trainer, const char *text, gpointer data); /* as loom_trainer_notes(), while it runs */
  void (*memory) (LoomTrainer *trainer, gpointer data); /* another plan is live: loom_trainer_memory() has changed */
  /* Training stands before a step, at a breakpoint. */
  void (*breakpoint) (LoomTrainer *trainer, const LoomBreakHit *hit, gpointer data);
} LoomTrainerObserver;
