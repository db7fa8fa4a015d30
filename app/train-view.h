/* Prints the progress of `gradloom train` and `gradloom eval`: for a terminal, a log or a program. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

typedef struct
{
  gboolean json, terminal, bar_shown;
  gboolean waits;   /* a table of stalls at the end */
  gboolean silent;  /* no bar: programs read, or events and a bar would share a terminal */
  gboolean lost;    /* standard output cannot be written */
  gboolean by_step; /* a loss without data: an epoch is one step */
  gint64 epochs;
  gint64 last, last_flush, epoch_start, start; /* µs */
  double recent_loss;                          /* of the last recent_steps; NaN: no step was made */
  gint64 recent_steps;
  gboolean only_eval;  /* nothing is trained, */
  gint64 weights_step; /* with the weights after this step; -1: unknown */
  const Command *command;
} TrainView;

/* Begins to show the trainer, in the form that view->json has chosen. */
void train_view_begin (TrainView *view, const Command *command, LoomTrainer *trainer);
/* The same of an evaluation alone, with the weights after weights_step (-1: unknown). */
void train_view_begin_eval (TrainView *view, const Command *command, LoomTrainer *trainer, gint64 weights_step);
/* Shows the file that the run began from, if any. */
void train_view_say_transfer (TrainView *view, LoomTrainer *trainer);
/* Trainable numbers of the net. */
double train_view_parameters (LoomTrainer *trainer);
/* How it ended, where that is no error; folder: the run's, or NULL. */
void train_view_end (TrainView *view, LoomTrainer *trainer, LoomTrainerEnd end, const char *folder);

G_END_DECLS
