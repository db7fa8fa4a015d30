/* Handles SIGINT and SIGTERM while `gradloom train` runs. */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "engine/loom-run.h"

G_BEGIN_DECLS

typedef struct
{
  LoomTrainer *trainer;
  const char *folder; /* the run's; NULL: nothing is kept */
  gboolean speaks;    /* where a second signal ends it at once; of ranks others do */
  sigset_t set;
  gint number; /* atomic: the signal that came first; 0: none */
  pthread_t thread;
} TrainSignals;

/* "SIGINT", of those that are taken here. */
const char *train_signals_name (int number);
/* Before any thread is made: all of them inherit the mask. */
void train_signals_block (TrainSignals *signals);
/* From here to the end of the run a signal interrupts the trainer. */
void train_signals_begin (TrainSignals *signals, LoomTrainer *trainer, const char *folder, gboolean speaks);
/* Returns the signal that interrupted it, 0 where none did. */
int train_signals_end (TrainSignals *signals);

G_END_DECLS
