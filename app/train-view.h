/* Prints the progress of `gradloom train` and `gradloom eval`: for a terminal, a log or a program. */
#pragma once

#include "app/train-board.h"

typedef struct
{
  gboolean json, terminal, bar_shown;
  gboolean waits;   /* a table of stalls at the end */
  gboolean silent;  /* no bar: programs read the output, or it would share a terminal with events */
  gboolean lost;    /* standard output cannot be written */
  gboolean by_step; /* a loss without data: an epoch is one step */
  gint64 epochs;
  gint64 epoch_start, start; /* µs */
  LoomRate bars, flushes;
  double recent_loss; /* mean over the last recent_steps; NaN: no step yet */
  gint64 recent_steps;
  gboolean only_eval;  /* evaluates only, */
  gint64 weights_step; /* with the weights after this step; -1: unknown */
  TrainBoard *board;   /* receives the same; NULL: none. The caller's. */
  const Command *command;
} TrainView;

/* Connects to the trainer and prints its reports in the form that view->json selects. */
void train_view_begin (TrainView *view, const Command *command, LoomTrainer *trainer);
/* The same for an evaluation, with the weights after weights_step (-1: unknown). */
void train_view_begin_eval (TrainView *view, const Command *command, LoomTrainer *trainer, gint64 weights_step);
/* Reports the file with the initial weights, if any. */
void train_view_print_transfer (TrainView *view, LoomTrainer *trainer);
/* The number of trainable elements of the net. */
double train_view_parameters (LoomTrainer *trainer);
/* Reports the end of a run that did not fail; folder: the run's, or NULL. */
void train_view_end (TrainView *view, LoomTrainer *trainer, LoomTrainerEnd end, const char *folder);
