/* Handles SIGINT and SIGTERM while `gradloom train` runs. */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "engine/loom-run.h"

typedef struct
{
  LoomTrainer *trainer;
  const char *folder; /* the run's; NULL: no files are kept */
  gboolean speaks;    /* prints that a second signal ends the process at once; only on one rank */
  sigset_t set;
  gint number; /* atomic: the first signal; 0: none */
  pthread_t thread;
  gboolean waits; /* the thread exists */
} TrainSignals;

/* The name of a handled signal: "SIGINT". */
const char *train_signals_name (int number);
/* Call before any thread is created, so that all inherit the mask. */
void train_signals_block (TrainSignals *signals);
/* After this, signals interrupt the trainer, until the end of the run. If the thread that waits for them cannot be
 * started, they end the process, as in a program that does not handle them. */
void train_signals_begin (TrainSignals *signals, LoomTrainer *trainer, const char *folder, gboolean speaks);
/* Returns the signal that interrupted the trainer, or 0. */
int train_signals_end (TrainSignals *signals);
